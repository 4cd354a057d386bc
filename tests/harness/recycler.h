// An allocator that gives the block that was freed last again: so addresses are surely reused.
#pragma once

#include <latchkey/base.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace lk {

class Recycler {
public:
  Recycler() : allocator_{this, alloc, free} {}
  ~Recycler() {
    for (auto &blocks : free_) {
      for (void *block : blocks.second) std::free(block);
    }
  }
  lk_allocator get() const { return allocator_; }

private:
  static void *alloc(void *user, size_t size, size_t alignment) {
    auto *self = static_cast<Recycler *>(user);
    const std::lock_guard<std::mutex> lock(self->mutex_);
    alignment = std::max<size_t>(alignment, 64);
    size = (std::max<size_t>(size, 1) + alignment - 1) / alignment * alignment;
    std::vector<void *> &blocks = self->free_[{size, alignment}];
    void *block = blocks.empty() ? std::aligned_alloc(alignment, size) : blocks.back();
    if (!blocks.empty()) blocks.pop_back();
    self->sizes_[block] = {size, alignment};
    return block;
  }
  static void free(void *user, void *block) {
    if (block == nullptr) return;
    auto *self = static_cast<Recycler *>(user);
    const std::lock_guard<std::mutex> lock(self->mutex_);
    self->free_[self->sizes_[block]].push_back(block);
  }

  using Size = std::pair<size_t, size_t>;
  lk_allocator allocator_;
  std::mutex mutex_;
  std::map<Size, std::vector<void *>> free_;
  std::map<void *, Size> sizes_;
};

} // namespace lk
