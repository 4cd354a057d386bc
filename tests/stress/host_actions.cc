// Executors of a host: nodes by the first level of the ABI, in nested graphs with equal names. They
// write over their inputs, run on one thread or all, and are replaced under their names.
#include "tests/stress/worker.h"

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

// What it had attached before is run again first: its plans are in use, whatever was evicted,
// cleared, replaced or given up since.
void Worker::run_hosts() {
  for (const auto &attached : attached_) compare(attached.second, attached.first);
  if (one_in(3)) release_host();
  if (!host_) {
    host_ = stage_->hosts.pick(&random_);
    if (!host_) return;
    lk_error error;
    STRESS_CHECK(lk::api()->frame_create(host_->executor.get(), frame_.out(), &error) == LK_OK,
                 "making a frame: %s", error.message);
  }
  for (int64_t n = random_.in(1, 8); n > 0; n--) {
    const size_t index = some(0, Host::kPlaces - 1);
    if (one_in(4)) {
      const PreparedNode &node = random_.of(prepared_nodes());
      const bool new_generation = random_.maybe();
      note("place %zu becomes %s, %s generation", index, node.text.c_str(),
           new_generation ? "a new" : "the same");
      host_->replace(index, node, new_generation);
    }
    run_place(*host_->place(index));
    if (one_in(6)) bind_twins(*host_->place(index), *host_->twin_of(index));
    if (one_in(3)) former_.reset();
    if (attached_.size() >= 4) {
      lk::api()->frame_reset(frame_);
      attached_.clear();
    }
  }
}

void Worker::release_host() {
  attached_.clear();
  former_.reset();
  frame_.reset();
  host_.reset();
}

NodeRun Worker::random_run(const PreparedNode &node) {
  NodeRun run{};
  run.node = &node;
  run.request = some(0, static_cast<int64_t>(node.requests.size()) - 1);
  run.over = node.in_place && random_.maybe();
  if (stage_->engine_ == kAuto)
    run.flags = random_.of<uint32_t>({0, 0, LK_BIND_RECURS, LK_BIND_ENGINE});
  const Ask ask = ask_of(stage_->engine_, run.flags);
  run.expected = &node.expected[ask][stage_->threads_ - 1][run.over ? 1 : 0].at(run.request);
  return run;
}

// Nodes that write one tensor one after the other, as a place has them. Which of two plans that do
// the same is whose can be seen by nothing but themselves. The place may be replaced meanwhile:
// then its twin has another generation.
void Worker::bind_twins(const Host::Place &place, const Host::Place &twin) {
  if (place.node != twin.node) return;
  const NodeRun run = random_run(*place.node);
  note("twins of %s, request %zu, flags %u", run.node->text.c_str(), run.request, run.flags);
  lk_plan *plans[2] = {};
  for (size_t i = 0; i < 2; i++) {
    lk_error error;
    const lk_status status = bind_node(i == 0 ? place.op : twin.op, run, &plans[i], &error);
    STRESS_CHECK(status == LK_OK, "binding %s: %s", run.node->text.c_str(), error.message);
  }
  STRESS_CHECK(plans[0] != plans[1], "two nodes that differ in their position have one plan: %s",
               run.node->text.c_str());
  for (lk_plan *plan : plans) lk::api()->plan_release(plan);
}

void Worker::run_place(const Host::Place &place) {
  const PreparedNode &node = *place.node;
  const NodeRun run = random_run(node);
  const bool in_one_call = one_in(4);
  note("%s, request %zu, flags %u%s%s", node.text.c_str(), run.request, run.flags,
       run.over ? ", in place" : "", in_one_call ? ", in one call" : "");
  lk_error error;
  if (in_one_call) {
    Value output;
    const lk_status status = run_node_alloc(frame_, place.op, run, &output, &error);
    STRESS_CHECK(status == LK_OK, "running %s: %s", node.text.c_str(), error.message);
    compare(run, output);
    return;
  }
  uint32_t slot = 0;
  lk_plan *plan = former_.release();
  const lk_status status = attach_node(frame_, place.op, run, &plan, &slot, &error);
  former_.reset(plan);
  STRESS_CHECK(status == LK_OK, "binding %s: %s", node.text.c_str(), error.message);
  attached_.push_back({slot, run});
  compare(run, slot);
}

void Worker::compare(const NodeRun &run, uint32_t slot) {
  Value output;
  lk_error error;
  const lk_status status = run_node(frame_, slot, run, &output, &error);
  STRESS_CHECK(status == LK_OK, "running %s: %s", run.node->text.c_str(), error.message);
  compare(run, output);
}

void Worker::compare(const NodeRun &run, const Value &output) {
  const std::string wrong = difference(run.expected->output, output.desc, output.bytes.data());
  STRESS_CHECK(wrong.empty(), "MISMATCH: %s of executor %s, request %zu%s, %s",
               run.node->text.c_str(), host_->executor.identity().c_str(), run.request,
               run.over ? ", in place" : "", wrong.c_str());
}

} // namespace stress
