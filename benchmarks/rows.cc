// How fast are the kernels that reduce (poolings, softmax, means, local response normalization),
// which serve every size, beside oneDNN's primitives, each of which was made for one size? And what
// share of the speed of plain moves do they reach, with one thread and with two, where tensors do
// not fit the caches?
//
// Sizes of models and random ones, seeded; one thread; the same operands, outputs compared. The two
// run by turns, and the ratio is the median of the turns'. LATCHKEY_MAX_ISA=avx2 measures AVX2.
//
// rows [--json] [--quick | --long]
#include <functional>
#include <memory>

#include "benchmarks/arguments.h"
#include "benchmarks/beside.h"
#include "benchmarks/share.h"

extern "C" {
#include "base/tensor.h"
#include "ops/kernel/reduce/lrn.h"
#include "ops/kernel/reduce/pool.h"
#include "ops/kernel/reduce/reduce.h"
#include "ops/kernel/reduce/softmax.h"
#include "ops/kernel/strides.h"
}

using namespace beside;

namespace {

constexpr double TARGET_MEDIAN = 1.00, TARGET_MOST = 1.30;
constexpr int RANDOM = 30; // of each kind

// ---- measuring ----

struct Result {
  std::string name, theirs_by;
  double ours, theirs, bytes; // seconds
  double ratio;
  share::Shares shares;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// What a kind of operation is for one size.
struct Case {
  std::string name;
  Dims from, to;
  bool channels_last = false;
  std::function<void(float *, float *)> ours;
  std::function<dnnl_primitive_desc_t(dnnl_memory_desc_t, dnnl_memory_desc_t)> theirs;
};

Result measure(const Case &work, int rounds, std::mt19937 &random) {
  const int64_t from = count_of(work.from), to = count_of(work.to);
  const Buffer x(from), ours(to), theirs(to);
  std::normal_distribution<float> number(0, 1);
  for (int64_t i = 0; i < from; i++) x.get()[i] = number(random);
  dnnl_memory_desc_t src = describe(work.from, work.channels_last),
                     dst = describe(work.to, work.channels_last);
  dnnl_primitive_desc_t desc = work.theirs(src, dst);
  const char *implementation = nullptr;
  check(dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &implementation));
  Primitive primitive(desc);
  primitive.add(DNNL_ARG_SRC, src, x);
  primitive.add(DNNL_ARG_DST, dst, theirs);
  check(dnnl_memory_desc_destroy(src));
  check(dnnl_memory_desc_destroy(dst));
  const auto run_ours = [&] { work.ours(x.get(), ours.get()); };
  const auto run_theirs = [&] { primitive.run(); };
  run_ours();
  run_theirs();
  compare(work.name, ours, theirs, 2e-5);
  const double bytes = 4.0 * double(from + to);
  const int repeats = int(std::min(1e4, 2e6 / bytes)) + 1; // a fraction of a millisecond
  std::vector<double> of_ours, of_theirs, ratios;
  for (int i = 0; i < rounds; i++) {
    of_theirs.push_back(seconds(repeats, run_theirs));
    of_ours.push_back(seconds(repeats, run_ours));
    ratios.push_back(of_ours.back() / of_theirs.back());
  }
  return {work.name,
          implementation,
          median(of_ours),
          median(of_theirs),
          bytes,
          median(ratios),
          share::measure(4.0 * double(from), 4.0 * double(to), rounds, run_ours)};
}

// ---- poolings ----

struct PoolSize {
  Dims x, kernel, strides;
  int64_t pad;
  bool mean, channels_last;
};

Case pool_case(const PoolSize &size) {
  Case work;
  auto pool = std::make_shared<lk_pool>();
  const size_t spatial = size.kernel.size(), missing = LK_POOL_DIMS - spatial;
  *pool = {};
  lk_pool_geometry &g = pool->geometry;
  g.outer = size.channels_last ? size.x[0] : size.x[0] * size.x[1];
  g.inner = size.channels_last ? size.x[1] : 1;
  Dims to = {size.x[0], size.x[1]};
  for (size_t i = 0; i < LK_POOL_DIMS; i++) {
    g.in[i] = g.out[i] = g.kernel[i] = g.strides[i] = g.dilations[i] = 1;
    if (i < missing) continue;
    const size_t k = i - missing;
    g.in[i] = size.x[2 + k];
    g.kernel[i] = size.kernel[k];
    g.strides[i] = size.strides[k];
    g.begin[i] = g.declared[i] = g.kernel[i] > 1 ? size.pad : 0;
    g.out[i] = (g.in[i] + 2 * g.begin[i] - g.kernel[i]) / g.strides[i] + 1;
    to.push_back(g.out[i]);
  }
  pool->kind = size.mean ? LK_POOL_MEAN : LK_POOL_MAX;
  pool->dtype = LK_F32;
  lk_pool_plan(pool.get(), lk_isa_get());
  work.name = std::string(size.mean ? "mean " : "max ") + text_of(size.x) + " k" +
              text_of(size.kernel) + " s" + text_of(size.strides) +
              (size.pad > 0 ? " p" + std::to_string(size.pad) : "") +
              (size.channels_last ? " last" : "");
  work.from = size.x;
  work.to = to;
  work.channels_last = size.channels_last;
  work.ours = [pool](float *x, float *y) {
    void *const pointers[] = {x, y};
    check(lk_pool_kernel(pool.get(), pointers, nullptr));
  };
  work.theirs = [size, pool, spatial](dnnl_memory_desc_t src, dnnl_memory_desc_t dst) {
    dnnl_primitive_desc_t desc = nullptr;
    dnnl_dims_t none = {}, begin = {}, end = {};
    const lk_pool_geometry &geometry = pool->geometry;
    for (size_t i = 0; i < spatial; i++) {
      const size_t d = LK_POOL_DIMS - spatial + i;
      begin[i] = geometry.begin[d];
      end[i] = (geometry.out[d] - 1) * geometry.strides[d] + geometry.kernel[d] - geometry.in[d] -
               begin[i];
    }
    check(dnnl_pooling_forward_primitive_desc_create(
        &desc, engine, dnnl_forward_inference,
        size.mean ? dnnl_pooling_avg_exclude_padding : dnnl_pooling_max, src, dst,
        size.strides.data(), size.kernel.data(), none, begin, end, nullptr));
    return desc;
  };
  return work;
}

// Of ResNet-50, VGG, SqueezeNet, Inception, OCR models; in both layouts.
std::vector<PoolSize> pools() {
  std::vector<PoolSize> all = {
      {{1, 64, 112, 112}, {3, 3}, {2, 2}, 1, false, true},
      {{1, 64, 224, 224}, {2, 2}, {2, 2}, 0, false, true},
      {{1, 256, 56, 56}, {2, 2}, {2, 2}, 0, false, true},
      {{1, 512, 14, 14}, {2, 2}, {2, 2}, 0, false, true},
      {{1, 96, 55, 55}, {3, 3}, {2, 2}, 0, false, true},
      {{1, 192, 28, 28}, {3, 3}, {1, 1}, 1, false, true},
      {{1, 192, 35, 35}, {3, 3}, {1, 1}, 1, true, true},
      {{1, 768, 17, 17}, {5, 5}, {3, 3}, 0, true, true},
      {{1, 48, 24, 160}, {2, 1}, {2, 1}, 0, false, true},
      {{1, 120, 6, 80}, {2, 2}, {2, 2}, 0, true, true},
      {{1, 480, 3, 80}, {3, 2}, {3, 2}, 0, true, true},
      {{1, 24, 96, 96}, {5, 5}, {1, 1}, 2, false, true},
      {{1, 512, 13, 13}, {13, 13}, {1, 1}, 6, false, true},
      {{8, 64, 112, 112}, {3, 3}, {2, 2}, 1, false, true},
      {{1, 64, 300}, {3}, {2}, 1, false, true},
      {{1, 32, 16, 28, 28}, {2, 2, 2}, {2, 2, 2}, 0, false, true},
  };
  std::mt19937 random(5);
  const size_t named = all.size();
  for (size_t i = 0; i < named; i++) {
    all.push_back(all[i]);
    all.back().channels_last = false;
  }
  for (int i = 0; i < RANDOM; i++) {
    const int64_t kernel = random_number(random, 2, 4);
    all.push_back({{1, random_number(random, 3, 256), random_number(random, 7, 80),
                    random_number(random, 7, 80)},
                   {kernel, kernel},
                   Dims(2, random_number(random, 1, 2)),
                   random_number(random, 0, 1),
                   random_number(random, 0, 1) == 1,
                   random_number(random, 0, 1) == 1});
  }
  return all;
}

// ---- softmax ----

Case softmax_case(const Dims &dims, int axis) {
  Case work;
  auto step = std::make_shared<lk_softmax>();
  step->loops = lk_row_loops_get(lk_isa_get());
  step->n = dims[size_t(axis)];
  step->outer = step->inner = 1;
  for (size_t i = 0; i < dims.size(); i++) {
    if (int(i) < axis) step->outer *= dims[i];
    if (int(i) > axis) step->inner *= dims[i];
  }
  step->is_last = axis + 1 == int(dims.size());
  work.name = text_of(dims) + " axis " + std::to_string(axis);
  work.from = work.to = dims;
  work.ours = [step](float *x, float *y) {
    void *const pointers[] = {x, y};
    check(lk_softmax_kernel(step.get(), pointers, nullptr));
  };
  work.theirs = [axis](dnnl_memory_desc_t src, dnnl_memory_desc_t dst) {
    dnnl_primitive_desc_t desc = nullptr;
    check(dnnl_softmax_forward_primitive_desc_create(
        &desc, engine, dnnl_forward_inference, dnnl_softmax_accurate, src, dst, axis, nullptr));
    return desc;
  };
  return work;
}

std::vector<Case> softmaxes() {
  std::vector<Case> all;
  for (const Dims &dims : std::vector<Dims>{{1, 1000},
                                            {40, 6625},
                                            {160, 97},
                                            {12, 128, 128},
                                            {8, 197, 197},
                                            {12, 512, 512},
                                            {1, 2},
                                            {64, 2},
                                            {4096, 2},
                                            {8732, 21},
                                            {1, 10},
                                            {1000, 10},
                                            {6, 50257},
                                            {1, 100000},
                                            {32, 32, 64},
                                            {300, 80},
                                            {64, 100000}}) {
    all.push_back(softmax_case(dims, int(dims.size()) - 1));
  }
  for (const Dims &dims : std::vector<Dims>{{1, 1000, 1, 1},
                                            {1, 2, 160, 160},
                                            {1, 21, 65, 65},
                                            {1, 64, 300},
                                            {8, 19, 64, 128},
                                            {4, 16, 16}}) {
    all.push_back(softmax_case(dims, 1));
  }
  std::mt19937 random(6);
  const auto number = [&](double least, double most) {
    return int64_t(
        std::exp(std::uniform_real_distribution<double>(std::log(least), std::log(most))(random)));
  };
  for (int i = 0; i < RANDOM; i++) {
    const Dims dims = {number(1, 16), number(2, 400), number(2, 400)};
    all.push_back(softmax_case(dims, i % 3 == 0 ? 1 : 2));
  }
  return all;
}

// ---- means ----

Case mean_case(const Dims &dims, uint32_t mask, bool channels_last) {
  Case work;
  auto step = std::make_shared<lk_reduce>();
  const lk_layout layout = channels_last ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
  lk_tensor_desc from = lk_tensor_desc_make(LK_F32, uint32_t(dims.size()), dims.data());
  from.layout = layout;
  work.from = work.to = dims;
  for (size_t i = 0; i < dims.size(); i++) {
    work.name += (i > 0 ? "x" : "") + std::to_string(dims[i]);
    if ((mask >> i & 1) != 0) {
      work.to[i] = 1;
      work.name += "*";
    }
  }
  work.name += channels_last ? " last" : "";
  lk_tensor_desc to = lk_tensor_desc_make(LK_F32, uint32_t(dims.size()), work.to.data());
  to.layout = layout;
  int64_t strides[LK_MAX_RANK];
  lk_strides(&to, 1, strides);
  const double n = double(count_of(dims)) / double(count_of(work.to));
  const lk_reduction mean = {LK_REDUCE_SUM, LK_REDUCE_AS_IT_IS, n, LK_DTYPE_NONE};
  lk_reduce_plan(&from, mask, strides, &mean, lk_isa_get(), step.get());
  work.channels_last = channels_last;
  work.ours = [step](float *x, float *y) {
    void *const pointers[] = {x, y};
    check(lk_reduce_kernel(step.get(), pointers, nullptr));
  };
  // A mean over all places is fastest as a pooling.
  const uint32_t places = ((1U << dims.size()) - 1) & ~3U;
  work.theirs = [dims, mask, places](dnnl_memory_desc_t src, dnnl_memory_desc_t dst) {
    dnnl_primitive_desc_t desc = nullptr;
    if (mask == places) {
      const Dims kernel(dims.begin() + 2, dims.end());
      const dnnl_dims_t ones = {1, 1, 1}, none = {};
      check(dnnl_pooling_forward_primitive_desc_create(
          &desc, engine, dnnl_forward_inference, dnnl_pooling_avg_exclude_padding, src, dst, ones,
          kernel.data(), none, none, none, nullptr));
    } else {
      check(dnnl_reduction_primitive_desc_create(&desc, engine, dnnl_reduction_mean, src, dst, 0, 0,
                                                 nullptr));
    }
    return desc;
  };
  return work;
}

std::vector<Case> means() {
  std::vector<Case> all;
  for (bool last : {true, false}) {
    for (const Dims &dims : std::vector<Dims>{{1, 1280, 7, 7},
                                              {1, 2048, 7, 7},
                                              {1, 512, 1, 80},
                                              {1, 96, 24, 160},
                                              {8, 1024, 14, 14},
                                              {1, 16, 56, 56},
                                              {16, 64, 112, 112}}) {
      all.push_back(mean_case(dims, 12, last));
    }
  }
  for (const Dims &dims : std::vector<Dims>{{128, 768},
                                            {1, 100000},
                                            {7, 384},
                                            {512, 512, 80},
                                            {1, 1000},
                                            {8192, 10},
                                            {512, 512, 8},
                                            {160, 40, 64}}) {
    all.push_back(mean_case(dims, 1U << (dims.size() - 1), false)); // the last
    if (dims[dims.size() - 2] == 1) continue;
    all.push_back(mean_case(dims, 1U << (dims.size() - 2), false)); // the one before
  }
  all.push_back(mean_case({8, 64, 32, 32}, 1 | 4 | 8, false));
  all.push_back(mean_case({8, 64, 32, 32}, 1 | 4 | 8, true));
  all.push_back(mean_case({16, 20, 30, 40}, 2 | 8, false));
  return all;
}

// ---- local response normalization ----

Case lrn_case(const Dims &dims, int64_t size, bool channels_last) {
  constexpr float ALPHA = 1e-4F, BETA = 0.75F, BIAS = 1;
  Case work;
  auto step = std::make_shared<lk_lrn>();
  const int64_t places = dims[2] * dims[3];
  lk_lrn_plan(dims[0] * (channels_last ? places : 1), dims[1], channels_last ? 1 : places, size,
              ALPHA, BETA, BIAS, lk_isa_get(), step.get());
  work.name = text_of(dims) + " size " + std::to_string(size) + (channels_last ? " last" : "");
  work.from = work.to = dims;
  work.channels_last = channels_last;
  work.ours = [step](float *x, float *y) {
    void *const pointers[] = {x, y};
    check(lk_lrn_kernel(step.get(), pointers, nullptr));
  };
  work.theirs = [size](dnnl_memory_desc_t src, dnnl_memory_desc_t dst) {
    dnnl_primitive_desc_t desc = nullptr;
    check(dnnl_lrn_forward_primitive_desc_create(&desc, engine, dnnl_forward_inference,
                                                 dnnl_lrn_across_channels, src, dst, size, ALPHA,
                                                 BETA, BIAS, nullptr));
    return desc;
  };
  return work;
}

std::vector<Case> lrns() {
  std::vector<Case> all;
  for (bool last : {true, false}) {
    for (const Dims &dims : std::vector<Dims>{{1, 96, 55, 55},
                                              {1, 256, 27, 27},
                                              {1, 64, 56, 56},
                                              {1, 192, 56, 56},
                                              {4, 37, 13, 9}}) {
      all.push_back(lrn_case(dims, 5, last));
    }
  }
  return all;
}

// ---- report ----

void report(const char *what, std::vector<Result> results, bool json) {
  std::sort(results.begin(), results.end(),
            [](const Result &a, const Result &b) { return a.ratio < b.ratio; });
  const double middle = results[results.size() / 2].ratio, most = results.back().ratio;
  if (json) {
    std::printf("\"%s\": {\"median\": %.4f, \"most\": %.4f, \"sizes\": [", what, middle, most);
    for (size_t i = 0; i < results.size(); i++) {
      std::printf("%s{\"size\": \"%s\", \"us\": %.3f, \"primitive_us\": %.3f", i > 0 ? ", " : "",
                  results[i].name.c_str(), results[i].ours * 1e6, results[i].theirs * 1e6);
      share::print_json(results[i].shares);
      std::printf("}");
    }
    std::printf("]}");
    return;
  }
  std::printf("%s: time of the primitive's, %zu sizes\n", what, results.size());
  std::printf("  %-24s %6.3f   target %.2f%s\n", "median", middle, TARGET_MEDIAN,
              middle > TARGET_MEDIAN ? "   MISSED" : "");
  std::printf("  %-24s %6.3f   target %.2f%s\n", "the most", most, TARGET_MOST,
              most > TARGET_MOST ? "   MISSED" : "");
  std::vector<share::Shares> shares;
  for (const Result &each : results) shares.push_back(each.shares);
  share::print_summary(shares);
  for (const Result &each : results) {
    std::printf("    %-40s %10.2f us %6.1f GB/s, %-20s %10.2f us: %.3f%s\n", each.name.c_str(),
                each.ours * 1e6, each.bytes / each.ours / 1e9, each.theirs_by.c_str(),
                each.theirs * 1e6, each.ratio, share::text_of(each.shares).c_str());
  }
}

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("rows", argc, argv, {.usual = 21, .quick = 1, .longer = 81});
  std::mt19937 random(11);
  const Threads one_thread;
  std::vector<Case> pool_cases;
  for (const PoolSize &size : pools()) pool_cases.push_back(pool_case(size));
  const struct {
    const char *name;
    std::vector<Case> cases;
  } kinds[] = {{"poolings", pool_cases},
               {"softmax", softmaxes()},
               {"means", means()},
               {"local response normalization", lrns()}};
  const char *separator = "{";
  if (!arguments.json) share::print_peak();
  for (const auto &kind : kinds) {
    std::vector<Result> results;
    for (const Case &each : kind.cases) results.push_back(measure(each, arguments.rounds, random));
    if (arguments.json) std::printf("%s", separator);
    report(kind.name, results, arguments.json);
    separator = ", ";
  }
  if (arguments.json) std::printf("}\n");
}
