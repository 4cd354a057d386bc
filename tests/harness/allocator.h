// The allocator of faults.h for C++: it also tells of what was never freed.
#pragma once

#include <gtest/gtest.h>

#include "tests/harness/faults.h"

namespace lk {

class FailingAllocator {
public:
  FailingAllocator() = default;
  FailingAllocator(const FailingAllocator &) = delete;
  ~FailingAllocator() {
    EXPECT_EQ(live_blocks(), 0u) << "blocks that were never freed";
    host_faults_destroy(faults_);
  }

  const lk_allocator *get() const { return host_faults_allocator(faults_); }

  void fail_at(size_t nth, bool on = false) { host_faults_at(faults_, nth, on); }
  void fail_never() { host_faults_never(faults_); }
  bool failed() const { return state().has_failed; } // since fail_at

  size_t allocations() const { return state().allocations; }
  size_t live_blocks() const { return state().live_blocks; }
  size_t live_bytes() const { return state().live_bytes; }
  size_t peak_bytes() const { return state().peak_bytes; }

private:
  host_faults_state state() const { return host_faults_state_get(faults_); }

  host_faults *faults_ = host_faults_create();
};

} // namespace lk
