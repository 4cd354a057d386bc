// A malloc that counts the blocks of Latchkey's libraries, and fails for them alone on demand.
// To be included by one file of a test.
#pragma once

// Sanitizers have a malloc of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LK_TEST_FAILS_MALLOC 1

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <unordered_set>

#include "tests/faults/ours.h"
#include "tests/harness/places.h"

namespace ort {

class FailingMalloc {
public:
  // Before the provider is loaded, which takes this library then.
  static void load() {
    ASSERT_NE(dlopen(lk_test_library, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  }
  // From now on blocks are counted: the libraries are loaded, and stay.
  static void begin() { ASSERT_TRUE(ours_find()) << "the libraries are not loaded"; }
  // The nth call from now fails (1: the next one).
  static void fail_at(int64_t nth) {
    failed_ = false;
    countdown_ = nth;
  }
  static void fail_never() { countdown_ = INT64_MAX; }
  static bool failed() { return failed_; } // since fail_at
  static size_t live_blocks() {
    const std::lock_guard<std::mutex> lock(mutex());
    return blocks().size();
  }

  static bool must_fail() {
    if (countdown_ == INT64_MAX || --countdown_ != 0) return false;
    return failed_ = true;
  }
  static void *add(void *block) {
    if (block == nullptr || is_busy_) return block;
    const Busy busy;
    const std::lock_guard<std::mutex> lock(mutex());
    blocks().insert(block);
    return block;
  }
  static void remove(void *block) {
    if (block == nullptr || ours_n_code == 0 || is_busy_) return;
    const Busy busy;
    const std::lock_guard<std::mutex> lock(mutex());
    blocks().erase(block);
  }

private:
  struct Busy { // the set's own blocks are not in the set
    Busy() { is_busy_ = true; }
    ~Busy() { is_busy_ = false; }
  };

  // Never destroyed: memory is freed after the last destructor, too.
  static std::mutex &mutex() {
    static auto &it = *new std::mutex;
    return it;
  }
  static std::unordered_set<void *> &blocks() {
    static auto &it = *new std::unordered_set<void *>;
    return it;
  }

  static inline std::atomic<int64_t> countdown_{INT64_MAX};
  static inline std::atomic<bool> failed_{false};
  static inline thread_local bool is_busy_ = false;
};

} // namespace ort

// What the C library calls its own.
extern "C" void *__libc_malloc(size_t);
extern "C" void *__libc_memalign(size_t, size_t);
extern "C" void __libc_free(void *);

extern "C" void *malloc(size_t size) noexcept {
  using ort::FailingMalloc;
  if (!ours_has(__builtin_return_address(0))) return __libc_malloc(size);
  return FailingMalloc::must_fail() ? nullptr : FailingMalloc::add(__libc_malloc(size));
}
extern "C" int posix_memalign(void **out, size_t alignment, size_t size) noexcept {
  using ort::FailingMalloc;
  const bool ours = ours_has(__builtin_return_address(0));
  if (ours && FailingMalloc::must_fail()) return ENOMEM;
  void *block = __libc_memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *out = ours ? FailingMalloc::add(block) : block;
  return 0;
}
extern "C" void free(void *block) noexcept {
  ort::FailingMalloc::remove(block);
  __libc_free(block);
}

#endif
