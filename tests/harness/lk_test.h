// What every test of the C code uses: matchers for statuses, owners for handles, and allocators
// that count and fail. Internal C headers are included by tests inside extern "C" { }.
//
//   lk::FailingAllocator allocator;
//   lk::Owned<lk_intern, lk_intern_destroy> intern;
//   LK_ASSERT_OK(lk_intern_create(allocator.get(), intern.out(), LK_ERR));
//   LK_EXPECT_STATUS(LK_MALFORMED, lk_key_parse(..., LK_ERR));
//   EXPECT_THAT(LK_MESSAGE, HasSubstr("expected"));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <latchkey/session.h>

#include <string>
#include <utility>

#include "tests/harness/allocator.h"

namespace lk {

// The calling thread's error, for a call that is checked by one of the macros below.
struct TestError {
  lk_error error;
  bool passed = false; // to a call whose status has not been looked at yet
};
inline TestError &test_error() {
  static thread_local TestError instance;
  return instance;
}
inline lk_error *arm_error() {
  TestError &e = test_error();
  e.error.status = LK_OK;
  e.error.message[0] = '\0';
  e.passed = true;
  return &e.error;
}

inline const char *status_name(lk_status status) {
  switch (status) {
#define LK_TEST_NAME(symbol, value, text)                                                          \
  case symbol:                                                                                     \
    return #symbol;
    LK_STATUS_LIST(LK_TEST_NAME)
#undef LK_TEST_NAME
  }
  return "unknown status";
}

// A failure must also have been told in the error that was passed.
inline ::testing::AssertionResult has_status(const char *, const char *text, lk_status expected,
                                             lk_status status) {
  TestError &e = test_error();
  const bool passed = std::exchange(e.passed, false);
  if (status != expected) {
    return ::testing::AssertionFailure()
           << text << "\nreturned " << status_name(status) << ", expected " << status_name(expected)
           << (passed ? std::string("\n") + e.error.message : "");
  }
  if (passed && status != LK_OK && (e.error.status != status || e.error.message[0] == '\0')) {
    return ::testing::AssertionFailure()
           << text << "\nreturned " << status_name(status) << " but its error says "
           << status_name(e.error.status) << ": '" << e.error.message << "'";
  }
  return ::testing::AssertionSuccess();
}

// Owns a handle of a C type; the destroy function takes NULL.
template <typename T, auto Destroy> class Owned {
public:
  Owned() = default;
  explicit Owned(T *handle) : handle_(handle) {}
  Owned(Owned &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned &operator=(Owned &&other) noexcept {
    reset(std::exchange(other.handle_, nullptr));
    return *this;
  }
  ~Owned() { reset(); }

  void reset(T *handle = nullptr) {
    if (handle_ != nullptr) Destroy(handle_);
    handle_ = handle;
  }
  T *release() { return std::exchange(handle_, nullptr); }
  T *get() const { return handle_; }
  T **out() {
    reset();
    return &handle_;
  }
  operator T *() const { return handle_; }
  template <typename U = T> U *operator->() const { return handle_; } // for complete types

private:
  T *handle_ = nullptr;
};

inline lk_run_options run_options(const volatile int32_t *cancel, uint64_t deadline_ns,
                                  lk_profile *profile = nullptr) {
  lk_run_options options = {};
  options.struct_size = sizeof options;
  options.cancel = cancel;
  options.deadline_ns = deadline_ns;
  options.profile = profile;
  return options;
}

// How often a random case is drawn where what ThreadSanitizer finds does not depend on numbers: it
// takes ten times as long.
inline int repeats(int count) {
#if defined(__SANITIZE_THREAD__)
  return count / 10;
#else
  return count;
#endif
}

// Runs `body(allocator)` again and again, its 1st, 2nd, ... allocation failing, until it runs
// through. A run in which an allocation failed must return LK_OUT_OF_MEMORY, and no run may leak.
template <typename Body> void fail_every_allocation(Body body) {
  for (size_t n = 1; n < 100000; n++) {
    FailingAllocator allocator;
    allocator.fail_at(n);
    const lk_status status = body(allocator);
    test_error().passed = false;
    ASSERT_EQ(allocator.live_blocks(), 0u) << "leak when allocation " << n << " fails";
    if (!allocator.failed()) {
      ASSERT_EQ(status, LK_OK) << test_error().error.message;
      ASSERT_GT(n, 1u) << "nothing was allocated";
      return;
    }
    ASSERT_EQ(status, LK_OUT_OF_MEMORY) << "when allocation " << n << " fails";
  }
  FAIL() << "does not come to an end";
}

} // namespace lk

#define LK_ERR (::lk::arm_error())
#define LK_MESSAGE (::std::string(::lk::test_error().error.message))
#define LK_EXPECT_STATUS(expected, expression)                                                     \
  EXPECT_PRED_FORMAT2(::lk::has_status, expected, expression)
#define LK_ASSERT_STATUS(expected, expression)                                                     \
  ASSERT_PRED_FORMAT2(::lk::has_status, expected, expression)
#define LK_EXPECT_OK(expression) LK_EXPECT_STATUS(LK_OK, expression)
#define LK_ASSERT_OK(expression) LK_ASSERT_STATUS(LK_OK, expression)
