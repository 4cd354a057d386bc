// Are element programs, which know no size before they run, as fast as oneDNN's element-wise and
// binary primitives, which are compiled for one shape, and as fast as memory allows?
//
// One thread, f32. By turns in rounds: the program, the primitive, and a copy of as many bytes by
// memcpy. Targets: at most the primitive's time in the median of the rounds; cheap functions at
// 85 % of the speed of plain moves where the data come from memory, with two threads too; a chain
// of five in less time than five passes. Sizes: 1 KiB, what fits the caches of the first three
// levels, and what fits none.
//
// element [--json] [--quick | --long]
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/share.h"

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/element/element.h"
#include "ops/kernel/isa.h"
}

namespace {

constexpr double TARGET = 1.0;

void check(dnnl_status_t status) {
  if (status == dnnl_success) return;
  std::fprintf(stderr, "element: oneDNN failed with %d\n", int(status));
  std::exit(1);
}
void check(lk_status status, const lk_error &error) {
  if (status == LK_OK) return;
  std::fprintf(stderr, "element: %s\n", error.message);
  std::exit(1);
}

struct Size {
  const char *name;
  int64_t n, c, h, w;
  int64_t elements() const { return n * c * h * w; }
};
constexpr Size SIZES[] = {{"1 KiB", 1, 16, 4, 4},
                          {"L1", 1, 8, 16, 16},
                          {"L2", 1, 32, 40, 50},
                          {"L3", 1, 64, 112, 112},
                          {"memory", 4, 64, 256, 256}};

// Memory from pages of its own, touched.
class Buffer {
public:
  explicit Buffer(int64_t count) : data_(size_t(count + 1023) / 1024 * 1024) {
    for (int64_t i = 0; i < count; i++) data_[size_t(i)] = float(i * 7919 % 1009) / 200 - 2.5F;
  }
  float *data() { return data_.data(); }

private:
  Lines data_;
};

// ---- oneDNN ------------------------------------------------------------------------------------

class Primitive {
public:
  explicit Primitive(dnnl_engine_t engine) : engine_(engine) {
    check(dnnl_stream_create(&stream_, engine, dnnl_stream_default_flags));
  }
  ~Primitive() {
    for (dnnl_exec_arg_t &arg : args_) dnnl_memory_destroy(arg.memory);
    if (primitive_ != nullptr) dnnl_primitive_destroy(primitive_);
    dnnl_stream_destroy(stream_);
  }
  Primitive(const Primitive &) = delete;
  Primitive &operator=(const Primitive &) = delete;

  static dnnl_memory_desc_t desc(int64_t n, int64_t c, int64_t h, int64_t w, bool is_last) {
    const dnnl_dims_t dims = {n, c, h, w};
    dnnl_memory_desc_t out = nullptr;
    check(
        dnnl_memory_desc_create_with_tag(&out, 4, dims, dnnl_f32, is_last ? dnnl_acdb : dnnl_abcd));
    return out;
  }
  void set(dnnl_primitive_desc_t pd) {
    check(dnnl_primitive_create(&primitive_, pd));
    dnnl_primitive_desc_destroy(pd);
  }
  void arg(int index, dnnl_memory_desc_t desc, float *data) {
    dnnl_memory_t memory = nullptr;
    check(dnnl_memory_create(&memory, desc, engine_, data));
    args_.push_back({index, memory});
  }
  void run() const {
    check(dnnl_primitive_execute(primitive_, stream_, int(args_.size()), args_.data()));
  }

private:
  dnnl_engine_t engine_;
  dnnl_stream_t stream_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<dnnl_exec_arg_t> args_;
};

// ---- cases -------------------------------------------------------------------------------------

struct Step {
  lk_element_op op;
  float p, q;
  dnnl_alg_kind_t algorithm;
  float alpha, beta;
  bool is_binary;
};
// The second operand: as large as the first, or a number for each channel (in plain layout or in
// channels-last), for each element along the last dimension, or one in all.
enum Second { NONE, FULL, CHANNEL, CHANNEL_LAST, ROW, ONE };

struct Case {
  const char *name;
  std::vector<Step> steps;
  Second second; // of binary steps
  bool is_cheap; // bound by memory
};

Step unary(lk_element_op op, dnnl_alg_kind_t algorithm, float alpha = 0, float beta = 0,
           float p = 0, float q = 0) {
  return {op, p, q, algorithm, alpha, beta, false};
}
Step binary(lk_element_op op, dnnl_alg_kind_t algorithm) {
  return {op, 0, 0, algorithm, 0, 0, true};
}

const Case CASES[] = {
    {"relu", {unary(LK_ELEMENT_RELU, dnnl_eltwise_relu)}, NONE, true},
    {"clip", {unary(LK_ELEMENT_CLIP, dnnl_eltwise_clip, 0, 6, 0, 6)}, NONE, true},
    {"sqrt", {unary(LK_ELEMENT_SQRT, dnnl_eltwise_sqrt)}, NONE, true},
    {"hard_swish",
     {unary(LK_ELEMENT_HARDSWISH, dnnl_eltwise_hardswish, 1.0F / 6, 0.5F, 1.0F / 6, 0.5F)},
     NONE,
     true},
    {"exp", {unary(LK_ELEMENT_EXP, dnnl_eltwise_exp)}, NONE, false},
    {"log", {unary(LK_ELEMENT_LOG, dnnl_eltwise_log)}, NONE, false},
    {"sigmoid", {unary(LK_ELEMENT_SIGMOID, dnnl_eltwise_logistic)}, NONE, false},
    {"swish", {unary(LK_ELEMENT_SWISH, dnnl_eltwise_swish, 1, 0, 1)}, NONE, false},
    {"tanh", {unary(LK_ELEMENT_TANH, dnnl_eltwise_tanh)}, NONE, false},
    {"gelu", {unary(LK_ELEMENT_GELU, dnnl_eltwise_gelu_erf)}, NONE, false},
    {"gelu_tanh", {unary(LK_ELEMENT_GELU_TANH, dnnl_eltwise_gelu_tanh)}, NONE, false},
    {"elu", {unary(LK_ELEMENT_ELU, dnnl_eltwise_elu, 1, 0, 1, 1)}, NONE, false},
    {"mish", {unary(LK_ELEMENT_MISH, dnnl_eltwise_mish)}, NONE, false},
    {"softplus", {unary(LK_ELEMENT_SOFTPLUS, dnnl_eltwise_soft_relu, 1)}, NONE, false},
    {"add", {binary(LK_ELEMENT_ADD, dnnl_binary_add)}, FULL, true},
    {"mul", {binary(LK_ELEMENT_MUL, dnnl_binary_mul)}, FULL, true},
    {"div", {binary(LK_ELEMENT_DIV, dnnl_binary_div)}, FULL, true},
    {"max", {binary(LK_ELEMENT_MAX, dnnl_binary_max)}, FULL, true},
    {"add, channels", {binary(LK_ELEMENT_ADD, dnnl_binary_add)}, CHANNEL, true},
    {"mul, channels", {binary(LK_ELEMENT_MUL, dnnl_binary_mul)}, CHANNEL, true},
    {"add, last", {binary(LK_ELEMENT_ADD, dnnl_binary_add)}, CHANNEL_LAST, true},
    {"add, row", {binary(LK_ELEMENT_ADD, dnnl_binary_add)}, ROW, true},
    {"add, one", {binary(LK_ELEMENT_ADD, dnnl_binary_add)}, ONE, true},
    {"add, relu",
     {binary(LK_ELEMENT_ADD, dnnl_binary_add), unary(LK_ELEMENT_RELU, dnnl_eltwise_relu)},
     FULL,
     true},
    {"five steps",
     {binary(LK_ELEMENT_MUL, dnnl_binary_mul),
      unary(LK_ELEMENT_CLIP, dnnl_eltwise_clip, -2, 2, -2, 2),
      binary(LK_ELEMENT_ADD, dnnl_binary_add), unary(LK_ELEMENT_RELU, dnnl_eltwise_relu),
      binary(LK_ELEMENT_SUB, dnnl_binary_sub)},
     FULL,
     true},
};

// The steps `first` to `end` - 1 as a program; inputs: x and the second operand.
lk_element plan_steps(const Case &test, const Size &size, size_t first, size_t end) {
  lk_element_program program = lk_element_begin();
  lk_element_value x = lk_element_input(&program, LK_F32),
                   second = lk_element_input(&program, LK_F32);
  for (size_t i = first; i < end; i++) {
    const Step &step = test.steps[i];
    x = step.is_binary ? lk_element_binary(&program, step.op, x, second)
                       : lk_element_unary(&program, step.op, x, step.p, step.q);
  }
  lk_element_output(&program, x, LK_F32);
  const int64_t dims[] = {size.n, size.c, size.h, size.w};
  const int64_t image = size.c * size.h * size.w;
  const lk_element_strides dense = test.second == CHANNEL_LAST
                                       ? lk_element_strides{{image, 1, size.w * size.c, size.c}}
                                       : lk_element_strides{{image, size.h * size.w, size.w, 1}};
  lk_element_strides other = dense;
  if (test.second == CHANNEL || test.second == CHANNEL_LAST) other = {{0, 1, 0, 0}};
  if (test.second == ROW) other = {{0, 0, 0, 1}};
  if (test.second == ONE) other = {};
  const lk_element_strides operands[] = {dense, other, dense};
  lk_element plan;
  lk_error error;
  check(lk_element_plan(&program, 4, dims, operands, &plan, &error), error);
  return plan;
}

// The same as a primitive; steps behind the first are its post-ops.
void build(Primitive &to, dnnl_engine_t engine, const Case &test, const Size &size, float *x,
           float *second, float *y) {
  const bool is_last = test.second == CHANNEL_LAST, is_channel = is_last || test.second == CHANNEL;
  dnnl_memory_desc_t full = Primitive::desc(size.n, size.c, size.h, size.w, is_last);
  dnnl_memory_desc_t other = test.second == NONE || test.second == FULL
                                 ? full
                                 : Primitive::desc(1, is_channel ? size.c : 1, 1,
                                                   test.second == ROW ? size.w : 1, is_last);
  dnnl_primitive_attr_t attr = nullptr;
  dnnl_post_ops_t chain = nullptr;
  check(dnnl_primitive_attr_create(&attr));
  check(dnnl_post_ops_create(&chain));
  for (size_t i = 1; i < test.steps.size(); i++) {
    const Step &step = test.steps[i];
    check(step.is_binary
              ? dnnl_post_ops_append_binary(chain, step.algorithm, other)
              : dnnl_post_ops_append_eltwise(chain, step.algorithm, step.alpha, step.beta));
  }
  check(dnnl_primitive_attr_set_post_ops(attr, chain));
  dnnl_primitive_desc_t pd = nullptr;
  const Step &step = test.steps[0];
  if (step.is_binary) {
    check(dnnl_binary_primitive_desc_create(&pd, engine, step.algorithm, full, other, full, attr));
    to.arg(DNNL_ARG_SRC_0, full, x);
    to.arg(DNNL_ARG_SRC_1, other, second);
  } else {
    check(dnnl_eltwise_forward_primitive_desc_create(&pd, engine, dnnl_forward_inference,
                                                     step.algorithm, full, full, step.alpha,
                                                     step.beta, attr));
    to.arg(DNNL_ARG_SRC, full, x);
  }
  for (size_t i = 1; i < test.steps.size(); i++) {
    if (test.steps[i].is_binary) {
      to.arg(DNNL_ARG_ATTR_MULTIPLE_POST_OP(int(i) - 1) | DNNL_ARG_SRC_1, other, second);
    }
  }
  to.arg(DNNL_ARG_DST, full, y);
  to.set(pd);
  check(dnnl_post_ops_destroy(chain));
  check(dnnl_primitive_attr_destroy(attr));
  if (other != full) dnnl_memory_desc_destroy(other);
  dnnl_memory_desc_destroy(full);
}

// ---- measuring ---------------------------------------------------------------------------------

using Way = std::function<void()>;

double seconds_of(const Way &way, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; i++) way();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
}

struct Figures {
  double seconds[4], ratio[4]; // of each way: the best; the median of the program's to its
};

// By turns: every round each way once, some tens of microseconds or more. The best of a round's
// three tries counts, since this machine may do something else too.
Figures measure(const std::vector<Way> &ways, int rounds, double seconds_each) {
  std::vector<int> repeats;
  for (const Way &way : ways) {
    way();
    repeats.push_back(std::max(1, int(seconds_each / std::max(1e-9, seconds_of(way, 3)))));
  }
  std::vector<std::vector<double>> ratios(ways.size());
  Figures out = {{1e9, 1e9, 1e9, 1e9}, {}};
  for (int round = 0; round < rounds; round++) {
    std::vector<double> best(ways.size(), 1e9);
    for (int attempt = 0; attempt < 3; attempt++) {
      for (size_t i = 0; i < ways.size(); i++) {
        const size_t way = (i + size_t(round)) % ways.size();
        best[way] = std::min(best[way], seconds_of(ways[way], repeats[way]));
      }
    }
    for (size_t i = 0; i < ways.size(); i++) {
      out.seconds[i] = std::min(out.seconds[i], best[i]);
      ratios[i].push_back(best[0] / best[i]);
    }
  }
  for (size_t i = 0; i < ways.size(); i++) {
    std::sort(ratios[i].begin(), ratios[i].end());
    out.ratio[i] = ratios[i][ratios[i].size() / 2];
  }
  return out;
}

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("element", argc, argv, {9, 3, 31});
  const bool json = arguments.json;
  lk_team_set_threads(1);
  dnnl_engine_t engine = nullptr;
  check(dnnl_engine_create(&engine, dnnl_cpu, 0));
  static constexpr const char *ISAS[] = {"SSE2", "AVX2", "AVX-512"};
  std::printf(json ? "{\"isa\": \"%s\", \"cases\": ["
                   : "Are element programs as fast as oneDNN's primitives, and as memory allows?\n"
                     "1 thread, f32, %s\n",
              ISAS[lk_isa_get()]);
  if (!json) {
    std::printf("  %-14s %-7s %12s %12s %7s %8s %7s %9s  %s\n", "", "size", "us", "oneDNN us",
                "ratio", "GB/s", "of copy", "of passes", "");
  }
  bool first = true;
  std::vector<double> all;
  std::vector<share::Shares> all_shares;
  if (!json) share::print_peak();
  for (const Size &size : SIZES) {
    Buffer x(size.elements()), second(size.elements()), y(size.elements());
    for (const Case &test : CASES) {
      const lk_element plan = plan_steps(test, size, 0, test.steps.size());
      Primitive primitive(engine);
      build(primitive, engine, test, size, x.data(), second.data(), y.data());
      void *const pointers[] = {x.data(), second.data(), y.data()};
      lk_error error;
      const double bytes = double(size.elements()) * (test.second == FULL ? 12 : 8);
      std::vector<Way> ways = {
          [&] { check(lk_element_kernel(&plan, pointers, &error), error); },
          [&] { primitive.run(); },
          [&] { std::memcpy(y.data(), x.data(), size_t(size.elements() * 4)); },
      };
      std::vector<lk_element> passes;
      for (size_t i = 0; i < test.steps.size() && test.steps.size() > 2; i++) {
        passes.push_back(plan_steps(test, size, i, i + 1));
      }
      if (!passes.empty()) {
        ways.push_back([&] {
          for (size_t i = 0; i < passes.size(); i++) {
            void *const each[] = {i == 0 ? x.data() : y.data(), second.data(), y.data()};
            check(lk_element_kernel(&passes[i], each, &error), error);
          }
        });
      }
      const Figures f = measure(ways, arguments.rounds, 30e-6);
      const double bandwidth = bytes / f.seconds[0] * 1e-9;
      const double copy = double(size.elements()) * 8 / f.seconds[2] * 1e-9;
      all.push_back(f.ratio[1]);
      const bool is_in_memory = std::strcmp(size.name, "memory") == 0;
      std::string missed;
      if (f.ratio[1] > TARGET) missed += " <= 1.0";
      share::Shares shares;
      if (is_in_memory && test.is_cheap) {
        shares = share::measure(bytes - double(size.elements()) * 4, double(size.elements()) * 4,
                                arguments.rounds, ways[0]);
        all_shares.push_back(shares);
      }
      if (!passes.empty() && f.ratio[3] >= 1) missed += " < passes";
      if (json) {
        std::printf("%s{\"case\": \"%s\", \"size\": \"%s\", \"us\": %.3f, \"onednn_us\": %.3f, "
                    "\"ratio\": %.3f, \"gb_per_s\": %.2f, \"copy_gb_per_s\": %.2f",
                    first ? "" : ", ", test.name, size.name, f.seconds[0] * 1e6, f.seconds[1] * 1e6,
                    f.ratio[1], bandwidth, copy);
        share::print_json(shares);
        std::printf("}");
      } else {
        std::printf("  %-14s %-7s %12.3f %12.3f %7.2f %8.1f %7.2f ", test.name, size.name,
                    f.seconds[0] * 1e6, f.seconds[1] * 1e6, f.ratio[1], bandwidth,
                    bandwidth / copy);
        char of_passes[16] = "";
        if (!passes.empty()) std::snprintf(of_passes, sizeof of_passes, "%.2f", f.ratio[3]);
        std::printf("%9s", of_passes);
        std::printf("  %s%s\n",
                    missed.empty() ? "met" : ("MISSED (" + missed.substr(1) + ")").c_str(),
                    share::text_of(shares).c_str());
        std::fflush(stdout);
      }
      first = false;
    }
  }
  std::sort(all.begin(), all.end());
  if (json) {
    std::printf("], \"median_ratio\": %.3f, \"worst_ratio\": %.3f}\n", all[all.size() / 2],
                all.back());
  } else {
    share::print_summary(all_shares);
    std::printf("  ratio to oneDNN: median %.2f, worst %.2f\n", all[all.size() / 2], all.back());
  }
  dnnl_engine_destroy(engine);
  return 0;
}
