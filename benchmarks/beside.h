// What the benchmarks that compare kernels with oneDNN's primitives have in common: operands,
// primitives, measuring by turns, and the table that they print.
#pragma once

#include <latchkey/latchkey.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_threadpool.h>

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

extern "C" {
#include "base/team/team.h"
#include "ops/plan/threadpool.h"
}

namespace beside {

constexpr double TARGET_MEDIAN = 1.00, TARGET_MOST = 1.30, TARGET_BANDWIDTH = 0.85;

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
      : size_(size_t(size)),
        data_(static_cast<float *>(std::aligned_alloc(64, (size_ * 4 + 64) / 64 * 64))) {
    std::fill(data_, data_ + size_, -7.0f);
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { std::free(data_); }
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

// One thread, for as long as it lives.
class OneThread {
public:
  OneThread() : before_(lk_team_begin(1)) {
    check(dnnl_engine_create(&engine, dnnl_cpu, 0));
    check(dnnl_threadpool_interop_set_max_concurrency(1));
    check(dnnl_threadpool_interop_stream_create(&stream, engine, nullptr));
  }
  OneThread(const OneThread &) = delete;
  ~OneThread() {
    check(dnnl_stream_destroy(stream));
    check(dnnl_engine_destroy(engine));
    lk_team_end(before_);
  }

private:
  int before_;
};

inline dnnl_memory_desc_t describe(const Dims &dims, bool channels_last) {
  static const dnnl_format_tag_t plain[] = {dnnl_abc, dnnl_abcd, dnnl_abcde},
                                 last[] = {dnnl_acb, dnnl_acdb, dnnl_acdeb};
  const size_t at = dims.size() - 3;
  dnnl_memory_desc_t desc = nullptr;
  check(dnnl_memory_desc_create_with_tag(&desc, int(dims.size()), dims.data(), dnnl_f32,
                                         channels_last ? last[at] : plain[at]));
  return desc;
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
    dnnl_memory_t memory = nullptr;
    check(dnnl_memory_create(&memory, desc, engine, buffer.get()));
    args_.push_back({arg, memory});
  }
  void run() const {
    check(dnnl_primitive_execute(primitive_, stream, int(args_.size()), args_.data()));
  }

private:
  dnnl_primitive_desc_t desc_;
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<dnnl_exec_arg_t> args_;
};

// ---- measuring ----

struct Result {
  std::string name;
  double ours, theirs, copy, bytes; // seconds; `copy`: memcpy that moves as many bytes
  double ratio() const { return ours / theirs; }
  double bandwidth() const { return copy / ours; }
};

template <typename Work> double seconds(int repeats, const Work &work) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; i++) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
}

// `bytes` that are read and written together.
template <typename Ours, typename Theirs>
Result measure(const std::string &name, int64_t bytes, int rounds, const Ours &ours,
               const Theirs &theirs) {
  const Buffer from(bytes / 8 + 1), to(bytes / 8 + 1);
  const auto copy = [&] { std::memcpy(to.get(), from.get(), size_t(bytes / 2)); };
  const int repeats = int(std::min(1e5, 2e6 / double(bytes))) + 1; // a fraction of a millisecond
  Result result = {name, INFINITY, INFINITY, INFINITY, double(bytes)};
  for (int i = 0; i < rounds; i++) {
    result.theirs = std::min(result.theirs, seconds(repeats, theirs));
    result.ours = std::min(result.ours, seconds(repeats, ours));
    result.copy = std::min(result.copy, seconds(repeats, copy));
  }
  return result;
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

// ---- report ----

inline bool report(const char *what, std::vector<Result> results, bool json) {
  std::sort(results.begin(), results.end(),
            [](const Result &a, const Result &b) { return a.ratio() < b.ratio(); });
  const double middle = results[results.size() / 2].ratio(), most = results.back().ratio();
  double large = 0; // the median of those that fit no cache
  std::vector<double> bandwidths;
  for (const Result &each : results) {
    if (each.bytes >= 16e6) bandwidths.push_back(each.bandwidth());
  }
  std::sort(bandwidths.begin(), bandwidths.end());
  if (!bandwidths.empty()) large = bandwidths[bandwidths.size() / 2];
  if (json) {
    std::printf("\"%s\": {\"median\": %.4f, \"most\": %.4f, \"bandwidth\": %.4f, \"sizes\": [",
                what, middle, most, large);
    for (size_t i = 0; i < results.size(); i++) {
      std::printf("%s{\"size\": \"%s\", \"us\": %.3f, \"primitive_us\": %.3f, \"memcpy_us\": %.3f}",
                  i > 0 ? ", " : "", results[i].name.c_str(), results[i].ours * 1e6,
                  results[i].theirs * 1e6, results[i].copy * 1e6);
    }
    std::printf("]}");
    return middle <= TARGET_MEDIAN && most <= TARGET_MOST;
  }
  std::printf("%s: time of the primitive's, %zu sizes\n", what, results.size());
  const auto line = [](const char *name, double value, double target, bool missed) {
    std::printf("  %-36s %6.3f   target %.2f%s\n", name, value, target, missed ? "   MISSED" : "");
  };
  line("median", middle, TARGET_MEDIAN, middle > TARGET_MEDIAN);
  line("the most", most, TARGET_MOST, most > TARGET_MOST);
  line("of memcpy's bandwidth, from 16 MB on", large, TARGET_BANDWIDTH, large < TARGET_BANDWIDTH);
  const auto row = [](const Result &each) {
    std::printf("    %-34s %9.2f us %5.1f GB/s, primitive %9.2f us: %.3f; of memcpy's %.2f\n",
                each.name.c_str(), each.ours * 1e6, each.bytes / each.ours / 1e9, each.theirs * 1e6,
                each.ratio(), each.bandwidth());
  };
  const size_t first = std::min<size_t>(3, results.size());
  for (size_t i = 0; i < first; i++) row(results[i]);
  std::printf("    ...\n");
  for (size_t i = std::max(first, results.size() - std::min<size_t>(10, results.size()));
       i < results.size(); i++) {
    row(results[i]);
  }
  return middle <= TARGET_MEDIAN && most <= TARGET_MOST;
}

} // namespace beside
