// Values of a host's own, found by name through the public table.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "tests/harness/wait.h"
#include "tests/plugin/handles.h"

namespace lk {

// A key of the context's own, or of an executor's, by name.
class NamedKey {
public:
  NamedKey(lk_context *context, const std::string &name, lk_executor *executor = nullptr,
           uint32_t flags = 0)
      : context_(context) {
    lk_key_desc desc{};
    desc.struct_size = sizeof desc;
    desc.flags = flags;
    desc.name = name.c_str();
    LK_EXPECT_OK(api()->key_create(context, executor, &desc, &key_, LK_ERR));
  }
  NamedKey(const NamedKey &) = delete;
  ~NamedKey() { api()->key_destroy(context_, key_); }
  lk_context *context() const { return context_; }
  lk_key *get() const { return key_; }

private:
  lk_context *context_;
  lk_key *key_ = nullptr;
};

// What a build does; its value is a number of its own. `ended` (or null) counts values that were
// destroyed.
struct NumberBuild {
  std::atomic<int> *count;
  std::function<lk_status(lk_error *)> during;
  std::atomic<int> *ended = nullptr;

  static lk_status run(void *arg, const lk_key *, lk_built *out, lk_error *error) {
    auto *self = static_cast<NumberBuild *>(arg);
    const int number = ++*self->count;
    const lk_status status = self->during ? self->during(error) : LK_OK;
    if (status != LK_OK) return status;
    out->value = new int(number);
    out->bytes = sizeof(int);
    out->user = self->ended;
    out->destroy = [](void *value, void *ended) {
      delete static_cast<int *>(value);
      if (ended != nullptr) ++*static_cast<std::atomic<int> *>(ended);
    };
    return LK_OK;
  }
};

inline int number_of(const lk_ref *ref) {
  return *static_cast<const int *>(api()->ref_value(ref));
}

inline void end_ref(lk_ref *ref) {
  api()->ref_release(ref);
}
using Ref = Owned<lk_ref, end_ref>;

// Values by name in one context, whose builds and ends are counted.
class NamedValues : public ::testing::TestWithParam<uint32_t> {
protected:
  bool shared() const { return GetParam() == LK_CACHE_SHARED; }
  lk_kind_stats counts(lk_executor *executor = nullptr) {
    return stats(context, executor).kind[LK_KIND_USER];
  }
  // Must succeed.
  Ref get(const NamedKey &key, int *out_hit = nullptr, lk_executor *executor = nullptr,
          std::function<lk_status(lk_error *)> during = {}) {
    NumberBuild build{&built, std::move(during), &ended};
    Ref ref;
    LK_EXPECT_OK(api()->get_or_create(key.context(), executor, key.get(), NumberBuild::run, &build,
                                      ref.out(), out_hit, LK_ERR));
    return ref;
  }
  Ref find(const NamedKey &key, lk_executor *executor = nullptr) {
    Ref ref;
    LK_EXPECT_OK(api()->cache_find(key.context(), executor, key.get(), ref.out(), LK_ERR));
    return ref;
  }
  uint64_t drop(const NamedKey &key, lk_executor *executor = nullptr) {
    uint64_t dropped = 99;
    LK_EXPECT_OK(api()->cache_drop(key.context(), executor, key.get(), &dropped, LK_ERR));
    return dropped;
  }

  std::atomic<int> built{0}, ended{0}; // they outlive the context
  Context context = lk::open(GetParam());
};

inline std::string cache_mode_name(const ::testing::TestParamInfo<uint32_t> &info) {
  return info.param == LK_CACHE_OFF ? "off" : info.param == LK_CACHE_SHARED ? "shared" : "thread";
}

// A build on a thread of its own that has begun, and ends when it is told to. `number` is that of
// its value.
class HeldBuild {
public:
  HeldBuild(const NamedKey &key, std::atomic<int> *built, std::atomic<int> *ended)
      : thread_([this, &key, built, ended] {
          NumberBuild build{built,
                            [this](lk_error *) {
                              inside_ = true;
                              wait_until([this] { return go_.load(); });
                              return LK_OK;
                            },
                            ended};
          Ref ref;
          LK_EXPECT_OK(api()->get_or_create(key.context(), nullptr, key.get(), NumberBuild::run,
                                            &build, ref.out(), nullptr, LK_ERR));
          number_ = number_of(ref);
        }) {
    wait_until([this] { return inside_.load(); });
  }
  ~HeldBuild() {
    if (thread_.joinable()) (void)end();
  }
  int end() {
    go_ = true;
    thread_.join();
    return number_;
  }

private:
  std::atomic<bool> inside_{false}, go_{false};
  int number_ = 0;
  std::thread thread_; // last: it uses the others
};

} // namespace lk
