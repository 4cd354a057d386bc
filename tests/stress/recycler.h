// An allocator that reuses the block that was freed last, so that addresses are reused as often as
// possible. It overwrites freed blocks, and finds bytes written outside of blocks or after they
// were freed, and blocks that were never freed.
#pragma once

#include <latchkey/base.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace stress {

class Recycler {
public:
  Recycler() : allocator_{this, alloc, free} {}
  Recycler(const Recycler &) = delete;
  ~Recycler();

  const lk_allocator &get() const { return allocator_; }
  uint64_t live_blocks();
  uint64_t reused() const { return reused_; } // how often an address was given again
  // All freed memory is as it was when it was freed; else a violation.
  void check();

private:
  struct Block; // lies before what is handed out

  static void *alloc(void *user, size_t size, size_t alignment);
  static void free(void *user, void *pointer);

  lk_allocator allocator_;
  std::mutex mutex_;                       // guards all below
  std::vector<std::vector<Block *>> free_; // by size class, last freed last
  std::vector<Block *> all_;
  uint64_t live_ = 0, reused_ = 0;
};

} // namespace stress
