// What the threads of a round share: objects that any of them may use while another gives them up.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tests/ops/reference.h"

namespace stress {

using Random = lk::Draw;

// Objects that threads share: pick takes one at random, put adds one, drop gives one up.
template <typename T> class Pool {
public:
  void put(std::shared_ptr<T> object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    objects_.push_back(std::move(object));
  }
  std::shared_ptr<T> pick(Random *random) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return objects_.empty() ? nullptr : objects_[index(random)];
  }
  // The caller has what may be the last reference.
  std::shared_ptr<T> drop(Random *random) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (objects_.empty()) return nullptr;
    const size_t i = index(random);
    std::shared_ptr<T> object = std::move(objects_[i]);
    objects_.erase(objects_.begin() + static_cast<std::ptrdiff_t>(i));
    return object;
  }
  size_t size() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return objects_.size();
  }
  std::vector<std::shared_ptr<T>> all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return objects_;
  }
  void clear() {
    std::vector<std::shared_ptr<T>> gone;
    const std::lock_guard<std::mutex> lock(mutex_);
    gone.swap(objects_);
  }

private:
  size_t index(Random *random) const {
    return static_cast<size_t>(random->in(0, static_cast<int64_t>(objects_.size()) - 1));
  }
  std::mutex mutex_;
  std::vector<std::shared_ptr<T>> objects_;
};

} // namespace stress
