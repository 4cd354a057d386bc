// Executors of another host: nodes by the first level of the ABI, in nested graphs with equal names,
// written over their inputs, for one thread or all, and replaced under their names.
#include "tests/stress/worker.h"

extern "C" {
#include "tests/stress/peek.h"
}

namespace stress {

void Worker::make_host() {
  note("make a host");
  auto host = std::make_shared<Host>(stage_);
  for (size_t i = 0; i < Host::kPlaces; i++) {
    host->replace(i, random_.of(prepared_nodes()), random_.maybe());
  }
  stage_->hosts.put(std::move(host));
}

void Worker::end_host() {
  if (stage_->hosts.drop(&random_)) note("end a host");
}

void Worker::run_hosts() {
  const std::shared_ptr<Host> host = stage_->hosts.pick(&random_);
  if (!host) return;
  lk::Frame frame;
  lk::Plan former;
  lk_error error;
  STRESS_CHECK(lk::api()->frame_create(host->executor.get(), frame.out(), &error) == LK_OK,
               "making a frame: %s", error.message);
  for (int64_t n = random_.in(1, 8); n > 0; n--) {
    const size_t index = some(0, Host::kPlaces - 1);
    if (one_in(4)) {
      const PreparedNode &node = random_.of(prepared_nodes());
      const bool new_generation = random_.maybe();
      note("place %zu becomes %s, %s generation", index, node.text.c_str(),
           new_generation ? "a new" : "the same");
      host->replace(index, node, new_generation);
    }
    const std::shared_ptr<Host::Place> place = host->place(index);
    lk_plan *plan = former.release();
    run_place(*host, *place, frame, &plan);
    former.reset(plan);
    if (one_in(3)) former.reset();
    if (one_in(3)) lk::api()->frame_reset(frame);
  }
}

void Worker::run_place(const Host &host, const Host::Place &place, lk_frame *frame,
                       lk_plan **former) {
  const PreparedNode &node = *place.node;
  const size_t request = some(0, static_cast<int64_t>(node.inputs.size()) - 1);
  const int32_t asked = random_.of<int32_t>({0, 1, stage_->threads_});
  const int32_t threads = asked == 0 ? stage_->threads_ : asked;
  const bool over = node.in_place && random_.maybe();
  note("%s, request %zu, %d threads%s%s", node.text.c_str(), request, asked,
       over ? ", in place" : "", *former != nullptr ? ", with a former plan" : "");
  Value output;
  lk_error error;
  const lk_status status = run_node(frame, place.op, node.node.n_inputs, node.inputs[request], over,
                                    asked, former, &output, &error);
  STRESS_CHECK(status == LK_OK, "running %s with request %zu: %s", node.text.c_str(), request,
               error.message);
  STRESS_CHECK(stress_plan_threads(*former) == threads,
               "a plan for %d threads was asked for, this one is for %d", threads,
               stress_plan_threads(*former));
  const std::string wrong =
      difference(node.expected[threads - 1][request], output.desc, output.bytes.data());
  STRESS_CHECK(wrong.empty(), "MISMATCH: %s of executor %s, request %zu, %d threads%s, %s",
               node.text.c_str(), host.executor.identity().c_str(), request, threads,
               over ? ", in place" : "", wrong.c_str());
}

} // namespace stress
