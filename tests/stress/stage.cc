#include "tests/stress/stage.h"

namespace stress {
namespace {

const lk_session_api *sessions_api() {
  return lk_get_session_api(LK_SESSION_API_VERSION);
}

// Identities of the whole process: none may come twice.
std::mutex identities_mutex;
std::set<Identity> identities;

void expect_new(const Identity &identity, const char *whose) {
  const std::lock_guard<std::mutex> lock(identities_mutex);
  STRESS_CHECK(!identity.empty(), "a key says nothing of the %s that it is for", whose);
  STRESS_CHECK(identities.insert(identity).second, "two %ss have one identity: %s", whose,
               identity.c_str());
}

} // namespace

std::string field_of(const std::string &key, const char *name) {
  const std::string wanted = name;
  for (size_t at = key.find(wanted); at != std::string::npos; at = key.find(wanted, at + 1)) {
    const char before = at > 0 ? key[at - 1] : ';', behind = key[at + wanted.size()];
    if (!std::strchr(";:,=", before) || !std::strchr("=:", behind)) continue;
    const size_t start = at + wanted.size() + 1;
    return key.substr(start, key.find_first_of(";,", start) - start);
  }
  return "";
}

Identity executor_of(const std::string &key) {
  const std::string address = field_of(key, "executor");
  const std::string high = field_of(key, "uuid_high"), low = field_of(key, "uuid_low");
  return address.empty() && high.empty() && low.empty() ? "" : address + " " + high + " " + low;
}

Identity thread_of(const std::string &key) {
  const std::string hash = field_of(key, "thread"), count = field_of(key, "thread_generation");
  return hash.empty() && count.empty() ? "" : hash + " " + count;
}

// ---- executors ----

void KnownExecutor::begin(Stage *stage, lk_executor *executor) {
  stage_ = stage;
  executor_ = executor;
  identity_ = stage->identity_of(executor);
  stage->executor_begins(identity_);
}

void KnownExecutor::before_end() {
  stage_->check_sums(executor_);
}

void KnownExecutor::after_end() {
  stage_->check_nothing_of(identity_);
  stage_->executor_ends(identity_);
}

void KnownExecutor::limit(const Limits &limits) {
  const std::lock_guard<std::mutex> lock(mutex_);
  limits_ = limits;
  lk_error error;
  const lk_status status = lk::api()->cache_set_capacity(stage_->context(), executor_,
                                                         limits.entries, limits.bytes, &error);
  STRESS_CHECK(status == LK_OK, "limits of an executor: %s", error.message);
}

Limits KnownExecutor::limits() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return limits_;
}

namespace {

lk_session *open_session(lk_context *context, const PreparedModel &model, Session::Kind kind) {
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.run_plans = kind.run_plans ? 0 : -1;
  options.executor = kind.inter > 0 ? LK_EXECUTOR_PARALLEL : LK_EXECUTOR_NAIVE;
  options.inter = kind.inter;
  lk_session *session = nullptr;
  lk_error error;
  const lk_status status = sessions_api()->open_memory(
      context, model.bytes.data(), model.bytes.size(), &options, &session, &error);
  STRESS_CHECK(status == LK_OK, "opening %s: %s", model.model.text().c_str(), error.message);
  return session;
}

lk_session *clone_session(const Session &other) {
  lk_session *session = nullptr;
  lk_error error;
  const lk_status status = sessions_api()->clone(other.handle, &session, &error);
  STRESS_CHECK(status == LK_OK, "cloning %s: %s", other.model->model.text().c_str(), error.message);
  return session;
}

} // namespace

Session::Session(Stage *stage, std::shared_ptr<const PreparedModel> prepared, Kind kind)
    : stage(stage), model(std::move(prepared)), kind(kind),
      handle(open_session(stage->context(), *model, kind)) {
  executor.begin(stage, sessions_api()->executor(handle));
}

Session::Session(const Session *other)
    : stage(other->stage), model(other->model), kind(other->kind), handle(clone_session(*other)) {
  executor.begin(stage, sessions_api()->executor(handle));
}

Session::~Session() {
  executor.before_end();
  sessions_api()->close(handle);
  executor.after_end();
}

// ---- hosts ----

Host::Host(Stage *stage) : stage(stage) {
  lk_executor *made = nullptr;
  lk_error error;
  const lk_status status = lk::api()->executor_create(stage->context(), "host", &made, &error);
  STRESS_CHECK(status == LK_OK, "making an executor: %s", error.message);
  executor.begin(stage, made);
}

Host::~Host() {
  for (auto &place : places_) place.reset();
  executor.before_end();
  lk::api()->executor_destroy(executor.get());
  executor.after_end();
}

std::shared_ptr<Host::Place> Host::place(size_t index) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return places_[index];
}

lk_op *Host::create(size_t index, const PreparedNode &prepared, uint32_t position) {
  // The main graph and two nested ones, all of whose tensors have the same names.
  static const char *const scopes[kPlaces] = {"", "then_branch", "else_branch", ""};
  static const char *const names[kPlaces] = {"t0", "t0", "t0", "t1"};
  lk::TestNode node = prepared.node;
  node.scope = scopes[index];
  node.name = names[index];
  node.generation = generations_[index];
  node.position = position;
  lk::Op op;
  lk_error error;
  const lk_status status = node.create(executor.get(), &op, &error);
  STRESS_CHECK(status == LK_OK, "making %s: %s", prepared.text.c_str(), error.message);
  return op.release();
}

void Host::replace(size_t index, const PreparedNode &prepared, bool new_generation) {
  auto place = std::make_shared<Place>();
  place->node = &prepared;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (new_generation) generations_[index]++;
  place->op = create(index, prepared, 0);
  places_[index] = place;
}

std::shared_ptr<Host::Place> Host::twin_of(size_t index) {
  auto twin = std::make_shared<Place>();
  const std::lock_guard<std::mutex> lock(mutex_);
  twin->node = places_[index]->node;
  twin->op = create(index, *twin->node, 1);
  return twin;
}

// ---- the round ----

Stage::Stage(uint32_t mode, Engine engine, int32_t threads, uint32_t workers, bool recycles,
             const Models &models)
    : mode_(mode), engine_(engine), threads_(threads), workers_(workers), models_(models),
      recycles_(recycles) {
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = mode;
  options.threads = threads;
  options.engine = engine_name(engine);
  options.cache_entries = limits_.entries;
  options.cache_bytes = limits_.bytes;
  if (recycles) options.allocator = recycler_.get();
  lk_error error;
  const lk_status status = lk::api()->context_create(&options, &context_, &error);
  STRESS_CHECK(status == LK_OK, "making a context: %s", error.message);
}

Stage::~Stage() {
  sessions.clear();
  hosts.clear();
  check_at_rest(true);
  lk_error error;
  STRESS_CHECK(lk::api()->cache_clear(context_, nullptr, &error) == LK_OK, "clear: %s",
               error.message);
  const lk_stats left = stats();
  STRESS_CHECK(left.entries == 0 && left.bytes == 0 && left.unlinked_bytes == 0,
               "%llu entries, %llu bytes and %llu unlinked bytes are left when nothing uses them",
               static_cast<unsigned long long>(left.entries),
               static_cast<unsigned long long>(left.bytes),
               static_cast<unsigned long long>(left.unlinked_bytes));
  STRESS_CHECK(left.weights_entries == 0 && left.weights_bytes == 0,
               "%llu packed weights are left when nothing uses them",
               static_cast<unsigned long long>(left.weights_entries));
  STRESS_CHECK(user_values == 0, "%lld values of hosts were not ended",
               static_cast<long long>(user_values.load()));
  lk::api()->context_destroy(context_);
  if (!recycles_) return;
  STRESS_CHECK(recycler_.live_blocks() == 0, "%llu blocks were never freed",
               static_cast<unsigned long long>(recycler_.live_blocks()));
  recycler_.check();
}

Identity Stage::identity_of(lk_executor *executor) {
  lk_key_desc desc{};
  desc.struct_size = sizeof desc;
  desc.name = "identity";
  lk_key *key = nullptr;
  lk_error error;
  char buffer[512];
  lk_status status = lk::api()->key_create(context_, executor, &desc, &key, &error);
  if (status == LK_OK) {
    status = lk::api()->key_print(context_, key, buffer, sizeof buffer, nullptr, &error);
  }
  STRESS_CHECK(status == LK_OK, "making a key: %s", error.message);
  lk::api()->key_destroy(context_, key);
  return executor != nullptr ? executor_of(buffer) : thread_of(buffer);
}

void Stage::executor_begins(const Identity &identity) {
  expect_new(identity, "executor");
  const std::lock_guard<std::mutex> lock(mutex_);
  executors_.insert(identity);
}

void Stage::executor_ends(const Identity &identity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  executors_.erase(identity);
}

Identity Stage::thread_begins(bool is_new) {
  const Identity identity = identity_of(nullptr);
  if (per_thread()) {
    if (is_new) expect_new(identity, "thread");
    const std::lock_guard<std::mutex> lock(mutex_);
    threads_alive_.insert(identity);
  }
  return identity;
}

void Stage::thread_ended(const Identity &identity) {
  if (!per_thread()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  threads_alive_.erase(identity);
}

void Stage::limit(const Limits &limits) {
  const std::lock_guard<std::mutex> lock(mutex_);
  limits_ = limits;
  lk_error error;
  const lk_status status =
      lk::api()->cache_set_capacity(context_, nullptr, limits.entries, limits.bytes, &error);
  STRESS_CHECK(status == LK_OK, "limits of the context: %s", error.message);
}

} // namespace stress
