// Values of hosts, by their own keys: each value remembers what it was built for, and must never be
// given to a caller that asks for anything else.
#include <sched.h>

#include <tuple>

#include "tests/stress/worker.h"

namespace stress {

struct Wanted {
  uint32_t kind;
  lk_executor *executor; // NULL: the context's
  Identity identity;     // of the executor
  std::string scope, name, tag;
  uint64_t generation;
  std::vector<Dims> shapes;
  std::vector<int64_t> attr, value;
  bool is_leaf; // asks for no other value when it is built

  // No two that differ have the same.
  std::string signature(const Identity &thread) const {
    std::string result = std::to_string(kind) + "|" + identity + "|" + scope + "|" + name + "|" +
                         tag + "|" + std::to_string(generation) + "|" + thread + "|";
    for (const Dims &shape : shapes) result += lk::text_of(shape);
    return result + "|" + lk::text_of(attr) + "|" + lk::text_of(value);
  }
};

struct UserValue {
  static constexpr uint64_t kAlive = 0x600dca11600dca11, kEnded = 0xdeaddeaddeaddead;
  uint64_t state;
  std::string signature;
  Stage *stage;
};

namespace {

struct BuildArg {
  Worker *worker;
  const Wanted *wanted;
};

void end_value(void *value, void *) {
  auto *self = static_cast<UserValue *>(value);
  STRESS_CHECK(self->state == UserValue::kAlive, "a value was ended twice: %s",
               self->signature.c_str());
  self->state = UserValue::kEnded;
  self->stage->user_values--;
  delete self;
}

void check_value(const lk_ref *ref, const std::string &signature) {
  const auto *value = static_cast<const UserValue *>(lk::api()->ref_value(ref));
  STRESS_CHECK(value->state == UserValue::kAlive, "a value was ended while it was in use: %s",
               signature.c_str());
  STRESS_CHECK(value->signature == signature,
               "MISMATCH: asked for the value of\n  %s\nand got that of\n  %s", signature.c_str(),
               value->signature.c_str());
}

// A description, with all that it points to.
struct Description {
  std::vector<lk_tensor_desc> tensors;
  lk_key_attr attr;
  lk_tensor value;
  lk_key_desc desc{};

  explicit Description(const Wanted &wanted) {
    for (const Dims &shape : wanted.shapes) tensors.push_back(lk::desc_of(LK_F32, shape));
    attr = {"axis", wanted.attr.data(), static_cast<uint32_t>(wanted.attr.size()), 0};
    value = {lk::desc_of(LK_I64, {static_cast<int64_t>(wanted.value.size())}),
             const_cast<int64_t *>(wanted.value.data())};
    desc.struct_size = sizeof desc;
    desc.kind = wanted.kind;
    desc.scope = wanted.scope.c_str();
    desc.name = wanted.name.c_str();
    desc.tag = wanted.tag.c_str();
    desc.generation = wanted.generation;
    desc.n_tensors = static_cast<uint32_t>(tensors.size());
    desc.tensors = tensors.data();
    desc.n_attrs = wanted.attr.empty() ? 0 : 1;
    desc.attrs = &attr;
    desc.n_values = wanted.value.empty() ? 0 : 1;
    desc.values = &value;
  }
};

} // namespace

lk_status Worker::build_value(void *arg, const lk_key *, lk_built *out, lk_error *) {
  const auto *from = static_cast<const BuildArg *>(arg);
  Worker *self = from->worker;
  for (int64_t n = self->random_.in(0, 3); n > 0; n--) sched_yield();
  if (self->one_in(12)) return LK_IO; // and all who wait are told
  if (!from->wanted->is_leaf && self->one_in(4)) {
    Wanted other = *from->wanted;
    lk_ref *ref = nullptr;
    other.is_leaf = true;
    other.name = other.tag = "leaf";
    if (self->get(other, &ref) == LK_OK) lk::api()->ref_release(ref);
  }
  self->stage_->user_values++;
  *out = {new UserValue{UserValue::kAlive, from->wanted->signature(self->identity_), self->stage_},
          self->some(100, 20000), end_value, nullptr};
  return LK_OK;
}

lk_status Worker::get(const Wanted &wanted, lk_ref **out_ref) {
  const lk_api *api = lk::api();
  const Description whole(wanted);
  lk_key *key = nullptr;
  lk_error error;
  BuildArg arg = {this, &wanted};
  lk_status status = api->key_create(stage_->context(), wanted.executor, &whole.desc, &key, &error);
  STRESS_CHECK(status == LK_OK, "making a key: %s", error.message);
  (wanted.kind == LK_KEY_RUN ? stage_->run_lookups : stage_->user_lookups)++;
  if (one_in(2)) {
    status = api->get_or_create(stage_->context(), wanted.executor, key, build_value, &arg, out_ref,
                                nullptr, &error);
  } else {
    status = api->get_or_create_like(stage_->context(), wanted.executor, key, &whole.desc,
                                     build_value, &arg, out_ref, nullptr, &error);
  }
  api->key_destroy(stage_->context(), key);
  STRESS_CHECK(status == LK_OK || status == LK_IO, "asking for %s: %s",
               wanted.signature(identity_).c_str(), error.message);
  if (status == LK_OK) check_value(*out_ref, wanted.signature(identity_));
  return status;
}

void Worker::get_value() {
  const std::shared_ptr<Session> session = one_in(3) ? stage_->sessions.pick(&random_) : nullptr;
  const std::shared_ptr<Host> host = one_in(2) ? stage_->hosts.pick(&random_) : nullptr;
  Wanted wanted{};
  const KnownExecutor *executor = session ? &session->executor : host ? &host->executor : nullptr;
  if (executor != nullptr) wanted.executor = executor->get();
  // few of each, which differ by as little as can be
  wanted.kind = one_in(6) && executor != nullptr ? LK_KEY_RUN : LK_KEY_USER;
  wanted.scope = random_.of<std::string>({"", "", "then_branch"});
  wanted.name = random_.of<std::string>({"t0", "t0", "t1"});
  wanted.tag = random_.of<std::string>({"axis=1", "axis=1", "M"});
  wanted.generation = some(0, 1);
  wanted.shapes = {random_.of<Dims>({{1, 3, 11, 224}, {1, 3, 11, 224}, {1, 3, 112, 24}})};
  if (one_in(4)) wanted.attr = {random_.in(0, 1)};
  if (one_in(4)) wanted.value = {-1, random_.in(4, 5)};
  wanted.identity = session ? "session" : host ? "host" : "";
  note("value %s", wanted.signature("").c_str());
  if (executor != nullptr) wanted.identity = executor->identity();
  lk_ref *ref = nullptr;
  if (get(wanted, &ref) != LK_OK) return;
  if (one_in(4)) lk::api()->ref_charge(ref, some(100, 60000));
  held_.push_back({ref, wanted.signature(identity_)});
}

void Worker::release_values(size_t at_most) {
  while (held_.size() > at_most) {
    const size_t i = some(0, static_cast<int64_t>(held_.size()) - 1);
    std::swap(held_[i], held_.back());
    check_value(held_.back().ref, held_.back().signature);
    lk::api()->ref_release(held_.back().ref);
    held_.pop_back();
  }
}

void Worker::use_values() {
  for (int64_t n = random_.in(1, 12); n > 0; n--) get_value();
  release_values(some(0, 8));
}

} // namespace stress
