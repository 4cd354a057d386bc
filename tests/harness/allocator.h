// An allocator that counts, finds what was not freed, and fails when it is told to.
#ifndef LK_TESTS_HARNESS_ALLOCATOR_H
#define LK_TESTS_HARNESS_ALLOCATOR_H

#include <gtest/gtest.h>
#include <latchkey/base.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace lk {

class FailingAllocator {
public:
  FailingAllocator() : allocator_{this, alloc, free} {}
  FailingAllocator(const FailingAllocator &) = delete;
  ~FailingAllocator() { EXPECT_EQ(live_blocks(), 0u) << "blocks that were never freed"; }

  const lk_allocator *get() const { return &allocator_; }

  // The nth call of alloc from now fails (1: the next one); with `on`, all that follow it too.
  void fail_at(size_t nth, bool on = false) {
    on_ = on;
    failed_ = false;
    countdown_ = static_cast<int64_t>(nth);
  }
  void fail_never() { countdown_ = INT64_MAX; }
  bool failed() const { return failed_; } // since fail_at

  size_t allocations() const { return allocations_; } // calls so far, failed ones too
  size_t live_blocks() const { return live_blocks_; }
  size_t live_bytes() const { return live_bytes_; }
  size_t peak_bytes() const { return peak_bytes_; }

private:
  // Lies before each block, at the end of one unit of its alignment.
  struct Header {
    size_t size;
    void *block;
  };

  static void *alloc(void *user, size_t size, size_t alignment) {
    auto *self = static_cast<FailingAllocator *>(user);
    self->allocations_++;
    const int64_t left = self->countdown_ == INT64_MAX ? INT64_MAX : --self->countdown_;
    if (left == 0 || (left < 0 && self->on_)) {
      self->failed_ = true;
      return nullptr;
    }
    if (alignment < alignof(std::max_align_t)) alignment = alignof(std::max_align_t);
    const size_t before = alignment < sizeof(Header) ? sizeof(Header) : alignment;
    if (size > SIZE_MAX - before) return nullptr;
    void *block = nullptr;
    if (posix_memalign(&block, alignment, before + size) != 0) return nullptr;
    auto *data = static_cast<uint8_t *>(block) + before;
    reinterpret_cast<Header *>(data)[-1] = {size, block};
    self->live_blocks_++;
    const size_t now = self->live_bytes_ += size;
    size_t peak = self->peak_bytes_;
    while (now > peak && !self->peak_bytes_.compare_exchange_weak(peak, now)) {
    }
    return data;
  }

  static void free(void *user, void *pointer) {
    auto *self = static_cast<FailingAllocator *>(user);
    if (pointer == nullptr) return;
    const Header header = static_cast<Header *>(pointer)[-1];
    self->live_blocks_--;
    self->live_bytes_ -= header.size;
    std::free(header.block);
  }

  lk_allocator allocator_;
  std::atomic<int64_t> countdown_{INT64_MAX};
  std::atomic<bool> on_{false}, failed_{false};
  std::atomic<size_t> allocations_{0}, live_blocks_{0}, live_bytes_{0}, peak_bytes_{0};
};

} // namespace lk

#endif
