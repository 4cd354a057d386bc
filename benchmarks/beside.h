// What the benchmarks that compare kernels with oneDNN's primitives have in common: operands,
// primitives on one thread, and comparing what the two compute.
#pragma once

#include <latchkey/latchkey.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_threadpool.h>
#include <oneapi/dnnl/dnnl_threadpool_iface.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/pages.h"

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/isa.h"
}

namespace beside {

inline void check(dnnl_status_t status) {
  if (status == dnnl_success) return;
  std::fprintf(stderr, "oneDNN's status %d\n", int(status));
  std::exit(1);
}
// Of our kernels.
inline void check(lk_status status) {
  if (status == LK_OK) return;
  std::fprintf(stderr, "a kernel's status %d\n", int(status));
  std::exit(1);
}

class Buffer {
public:
  explicit Buffer(int64_t size)
      : size_(size_t(size)), data_(HugePages<float, AtLines>().allocate(size_ + 1)) {
    std::fill(data_, data_ + size_, -7.0f);
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { HugePages<float, AtLines>().deallocate(data_, size_ + 1); }
  Buffer &fill(std::mt19937 &random) {
    std::uniform_real_distribution<float> number(-1, 1);
    for (size_t i = 0; i < size_; i++) data_[i] = number(random);
    return *this;
  }
  float *get() const { return data_; }
  size_t size() const { return size_; }

private:
  size_t size_;
  float *data_;
};

using Dims = std::vector<dnnl_dim_t>;

inline dnnl_engine_t engine;
inline dnnl_stream_t stream;

// oneDNN gets the limit that LATCHKEY_MAX_ISA sets for our kernels.
inline void make_engine() {
  static const char *const names[LK_ISA_COUNT] = {"SSE41", "AVX2", "ALL"};
  setenv("ONEDNN_MAX_CPU_ISA", names[lk_isa_get()], 0);
  check(dnnl_engine_create(&engine, dnnl_cpu, 0));
}

// So many threads, for as long as it lives. oneDNN finds its in `pool`; NULL: it has one.
class Threads {
public:
  explicit Threads(int threads = 1, dnnl::threadpool_interop::threadpool_iface *pool = nullptr)
      : before_(lk_team_begin(threads)) {
    make_engine();
    check(dnnl_threadpool_interop_set_max_concurrency(threads));
    check(dnnl_threadpool_interop_stream_create(&stream, engine, pool));
  }
  Threads(const Threads &) = delete;
  ~Threads() {
    check(dnnl_stream_destroy(stream));
    check(dnnl_engine_destroy(engine));
    lk_team_end(before_);
  }

private:
  int before_;
};

inline dnnl_memory_desc_t describe(const Dims &dims, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t desc = nullptr;
  check(dnnl_memory_desc_create_with_tag(&desc, int(dims.size()), dims.data(), dnnl_f32, tag));
  return desc;
}
// Of one to five dimensions; channels come last from three on.
inline dnnl_memory_desc_t describe(const Dims &dims, bool channels_last) {
  static const dnnl_format_tag_t plain[] = {dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde},
                                 last[] = {dnnl_a, dnnl_ab, dnnl_acb, dnnl_acdb, dnnl_acdeb};
  return describe(dims, (channels_last ? last : plain)[dims.size() - 1]);
}

// A primitive with its arguments. Takes over the descriptor.
class Primitive {
public:
  explicit Primitive(dnnl_primitive_desc_t desc) : desc_(desc) {
    check(dnnl_primitive_create(&primitive_, desc));
  }
  Primitive(const Primitive &) = delete;
  ~Primitive() {
    for (const auto &arg : args_) check(dnnl_memory_destroy(arg.memory));
    check(dnnl_primitive_destroy(primitive_));
    check(dnnl_primitive_desc_destroy(desc_));
  }
  void add(int arg, const_dnnl_memory_desc_t desc, const Buffer &buffer) {
    add_data(arg, desc, buffer.get());
  }
  // In the layout that the primitive chose, with memory of its own.
  void add_reordered(int arg, const_dnnl_memory_desc_t chosen, const_dnnl_memory_desc_t plain,
                     const Buffer &buffer) {
    dnnl_primitive_desc_t desc = nullptr;
    dnnl_primitive_t reorder = nullptr;
    dnnl_memory_t from = nullptr;
    add_data(arg, chosen, DNNL_MEMORY_ALLOCATE);
    check(dnnl_reorder_primitive_desc_create(&desc, plain, engine, chosen, engine, nullptr));
    check(dnnl_primitive_create(&reorder, desc));
    check(dnnl_memory_create(&from, plain, engine, buffer.get()));
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, args_.back().memory}};
    check(dnnl_primitive_execute(reorder, stream, 2, args));
    check(dnnl_memory_destroy(from));
    check(dnnl_primitive_destroy(reorder));
    check(dnnl_primitive_desc_destroy(desc));
  }
  void run() const {
    check(dnnl_primitive_execute(primitive_, stream, int(args_.size()), args_.data()));
  }

private:
  void add_data(int arg, const_dnnl_memory_desc_t desc, void *data) {
    dnnl_memory_t memory = nullptr;
    check(dnnl_memory_create(&memory, desc, engine, data));
    args_.push_back({arg, memory});
  }
  dnnl_primitive_desc_t desc_;
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<dnnl_exec_arg_t> args_;
};

// ---- measuring ----

template <typename Work> double seconds(int repeats, const Work &work) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; i++) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
}

inline void compare(const std::string &name, const Buffer &ours, const Buffer &theirs,
                    double allowed) {
  for (size_t i = 0; i < ours.size(); i++) {
    if (std::fabs(ours.get()[i] - theirs.get()[i]) <= allowed) continue;
    std::fprintf(stderr, "%s: element %zu is %g, oneDNN's %g\n", name.c_str(), i,
                 double(ours.get()[i]), double(theirs.get()[i]));
    std::exit(1);
  }
}

inline int64_t count_of(const Dims &dims) {
  int64_t count = 1;
  for (dnnl_dim_t dim : dims) count *= dim;
  return count;
}

inline std::string text_of(const Dims &dims) {
  std::string text;
  for (dnnl_dim_t dim : dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

inline int64_t random_number(std::mt19937 &random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

} // namespace beside
