// See dnnl.h.
#pragma once

#include <cstdint>
#include <functional>

namespace dnnl::threadpool_interop {
struct threadpool_iface {
  virtual ~threadpool_iface() = default;
  virtual int get_num_threads() const = 0;
  virtual bool get_in_parallel() const = 0;
  virtual void parallel_for(int n, const std::function<void(int, int)> &fn) = 0;
  virtual uint64_t get_flags() const = 0;
  virtual void wait() = 0;
};
} // namespace dnnl::threadpool_interop
