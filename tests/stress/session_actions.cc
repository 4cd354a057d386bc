// Sessions: opened, run with inputs of any shape, compared, closed.
#include "tests/stress/worker.h"

namespace stress {
namespace {

// More than any input or output takes, so that a wrong plan is a wrong result and no crash.
constexpr size_t kRoom = 64 << 10;

const lk_session_api *api() {
  return lk_get_session_api(LK_SESSION_API_VERSION);
}

} // namespace

void Worker::open_session() {
  const std::shared_ptr<Session> other = one_in(3) ? stage_->sessions.pick(&random_) : nullptr;
  const std::shared_ptr<const PreparedModel> model = random_.of(stage_->models_);
  const Session::Kind kind = {!one_in(4), random_.of<int32_t>({0, 0, 2, 3})};
  if (other) {
    note("clone '%s'", other->model->model.name.c_str());
    stage_->sessions.put(std::make_shared<Session>(other.get()));
  } else {
    note("open '%s', run plans %s, inter %d", model->model.name.c_str(),
         kind.run_plans ? "on" : "off", kind.inter);
    stage_->sessions.put(std::make_shared<Session>(stage_, model, kind));
  }
}

void Worker::close_session() {
  const std::shared_ptr<Session> session = stage_->sessions.drop(&random_);
  if (session) note("close '%s'", session->model->model.name.c_str());
}

// A few in turn: without the pool's lock in between, which would order what threads do.
void Worker::run_sessions() {
  std::vector<std::shared_ptr<Session>> some;
  for (int64_t n = random_.in(1, 3); n > 0; n--) some.push_back(stage_->sessions.pick(&random_));
  for (int64_t n = random_.in(1, 6); n > 0; n--) {
    const std::shared_ptr<Session> &session = random_.of(some);
    if (session) run(*session);
  }
}

void Worker::run(const Session &session) {
  const PreparedModel &model = *session.model;
  const size_t request = some(0, static_cast<int64_t>(model.model.requests.size()) - 1);
  std::vector<std::string> wanted = model.model.outputs;
  if (one_in(4)) wanted = {random_.of(model.model.outputs)};
  if (one_in(2)) std::reverse(wanted.begin(), wanted.end());
  const bool own_memory = random_.maybe();
  lk_run_options options{};
  options.struct_size = sizeof options;
  const int32_t stop = one_in(24) ? 1 : 0;
  options.cancel = &stop;
  note("run '%s', request %zu, %zu outputs from '%s', %s memory%s", model.model.name.c_str(),
       request, wanted.size(), wanted[0].c_str(), own_memory ? "own" : "given",
       stop != 0 ? ", cancelled" : "");
  if (session.kind.run_plans && stage_->mode_ != LK_CACHE_OFF) {
    if (stop == 0) stage_->run_lookups++;
    // A run that has to wait for processors is cancelled there. When its build is cancelled, each
    // other worker may have waited for it, and looks again.
    if (stop != 0) stage_->run_lookups_more += stage_->workers_;
  }
  const lk_status status = run_with(session, request, wanted, own_memory, &options);
  STRESS_CHECK(status == (stop != 0 ? LK_CANCELLED : LK_OK), "a run%s returned %s",
               stop != 0 ? " that was cancelled" : "", lk::api()->status_text(status));
}

const Values &Worker::expected_of(const Session &session, size_t request) const {
  return session.model->expected(stage_->engine_, stage_->threads_).at(request);
}

void Worker::check_outputs(const Session &session, size_t request,
                           const std::vector<lk_named_tensor> &outputs) {
  const PreparedModel &model = *session.model;
  for (const lk_named_tensor &output : outputs) {
    const Value &expected = expected_of(session, request).at(output.name);
    const std::string wrong = difference(expected, output.tensor.desc, output.tensor.data);
    STRESS_CHECK(wrong.empty(), "MISMATCH: of '%s' with request %zu, output '%s' %s\n%s",
                 model.model.name.c_str(), request, output.name, wrong.c_str(),
                 model.model.text().c_str());
  }
}

lk_status Worker::run_with(const Session &session, size_t request,
                           const std::vector<std::string> &wanted, bool own_memory,
                           const lk_run_options *options) {
  const PreparedModel &model = *session.model;
  const Values &given = model.model.requests[request];
  std::vector<lk_named_tensor> inputs, outputs;
  for (const auto &input : given) {
    std::vector<uint8_t> &memory = input_memory_[inputs.size()];
    memory.resize(kRoom);
    std::memcpy(memory.data(), input.second.bytes.data(), input.second.bytes.size());
    inputs.push_back({input.first.c_str(), {input.second.desc, memory.data()}});
  }
  for (const std::string &name : wanted) {
    lk_tensor tensor{};
    if (own_memory) {
      std::vector<uint8_t> &memory = output_memory_[outputs.size()];
      memory.assign(kRoom, 0x77);
      tensor = {expected_of(session, request).at(name).desc, memory.data()};
    }
    outputs.push_back({name.c_str(), tensor});
  }
  lk_error error;
  const lk_status status = api()->run(session.handle, inputs.data(), uint32_t(inputs.size()),
                                      outputs.data(), uint32_t(outputs.size()), options, &error);
  STRESS_CHECK(status == LK_OK || status == LK_CANCELLED, "a run of '%s' with request %zu: %s",
               model.model.name.c_str(), request, error.message);
  if (status == LK_OK) check_outputs(session, request, outputs);
  for (const lk_named_tensor &input : inputs) {
    const Value &value = given.at(input.name);
    STRESS_CHECK(std::memcmp(value.bytes.data(), input.tensor.data, value.bytes.size()) == 0,
                 "input '%s' of '%s' was written to", input.name, model.model.name.c_str());
  }
  if (!own_memory) {
    api()->outputs_release(session.handle, outputs.data(), uint32_t(outputs.size()));
  }
  return status;
}

} // namespace stress
