// How fast do the kernels that move elements serve every size, beside oneDNN's primitives, each of
// which was made for one size, and beside memcpy of as many bytes?
//
// Layout changes, concatenations and resizings of models' sizes and random ones, seeded; one
// thread; the same operands, outputs compared. They run by turns, and the ratio is that of the best
// times. ONEDNN_MAX_CPU_ISA=AVX2 measures AVX2.
//
// moves [--json] [--quick | --long]
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/arguments.h"

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/concat.h"
#include "ops/kernel/copy.h"
#include "ops/kernel/resize.h"
#include "ops/kernel/resize_nearest.h"
#include "ops/kernel/resize_table.h"
#include "ops/plan/threadpool.h"
}

namespace {

constexpr double TARGET_MEDIAN = 1.00, TARGET_MOST = 1.30, TARGET_BANDWIDTH = 0.85;
constexpr int COUNT = 60; // of each kind

void check(dnnl_status_t status) {
  if (status == dnnl_success) return;
  std::fprintf(stderr, "moves: oneDNN's status %d\n", int(status));
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

using Buffers = std::vector<std::unique_ptr<Buffer>>;
using Dims = std::vector<dnnl_dim_t>;

dnnl_engine_t engine;
dnnl_stream_t stream;

dnnl_memory_desc_t describe(const Dims &dims, bool channels_last) {
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

void compare(const std::string &name, const Buffer &ours, const Buffer &theirs, double allowed) {
  for (size_t i = 0; i < ours.size(); i++) {
    if (std::fabs(ours.get()[i] - theirs.get()[i]) <= allowed) continue;
    std::fprintf(stderr, "moves: %s: element %zu is %g, oneDNN's %g\n", name.c_str(), i,
                 double(ours.get()[i]), double(theirs.get()[i]));
    std::exit(1);
  }
}

int64_t count_of(const Dims &dims) {
  int64_t count = 1;
  for (dnnl_dim_t dim : dims) count *= dim;
  return count;
}

std::string text_of(const Dims &dims) {
  std::string text;
  for (dnnl_dim_t dim : dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

lk_tensor_desc tensor(const Dims &dims, bool channels_last) {
  lk_tensor_desc desc = {};
  desc.dtype = LK_F32;
  desc.layout = channels_last ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
  desc.rank = uint32_t(dims.size());
  std::copy(dims.begin(), dims.end(), desc.dims);
  return desc;
}

int64_t random_number(std::mt19937 &random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

// ---- layout changes ----

Result run_reorder(const Dims &dims, bool to_last, int rounds, std::mt19937 &random) {
  Buffer from(count_of(dims)), ours(count_of(dims)), theirs(count_of(dims));
  from.fill(random);
  const lk_tensor_desc from_desc = tensor(dims, !to_last), to_desc = tensor(dims, to_last);
  lk_copy copy = lk_copy_between(&from_desc, &to_desc);
  lk_copy_simplify(&copy);
  dnnl_memory_desc_t descs[] = {describe(dims, !to_last), describe(dims, to_last)};
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_reorder_primitive_desc_create(&desc, descs[0], engine, descs[1], engine, nullptr));
  Primitive primitive(desc);
  primitive.add(DNNL_ARG_FROM, descs[0], from);
  primitive.add(DNNL_ARG_TO, descs[1], theirs);
  for (dnnl_memory_desc_t each : descs) check(dnnl_memory_desc_destroy(each));
  void *const pointers[] = {from.get(), ours.get()};
  const auto run_ours = [&] {
    if (lk_copy_kernel(&copy, pointers, nullptr) != LK_OK) std::exit(1);
  };
  const std::string name = text_of(dims) + (to_last ? " to nhwc" : " to nchw");
  run_ours();
  primitive.run();
  compare(name, ours, theirs, 0);
  return measure(name, 8 * count_of(dims), rounds, run_ours, [&] { primitive.run(); });
}

const std::vector<Dims> REORDERS = {
    {1, 3, 224, 224},   {8, 3, 224, 224},  {1, 3, 48, 320},   {1, 3, 640, 640},  {1, 1, 28, 28},
    {1, 4, 160, 160},   {1, 16, 24, 160},  {1, 24, 160, 160}, {1, 32, 112, 112}, {1, 64, 56, 56},
    {1, 96, 56, 56},    {1, 144, 28, 28},  {1, 256, 56, 56},  {1, 512, 28, 28},  {1, 1024, 14, 14},
    {1, 2048, 7, 7},    {8, 256, 56, 56},  {1, 480, 3, 80},   {1, 120, 1, 40},   {1, 64, 512},
    {2, 16, 8, 28, 28}, {4, 64, 112, 112}, {1, 2, 160, 160},  {1, 18, 40, 40},   {1, 7, 33, 35}};

// ---- concatenations over channels ----

struct ConcatSize {
  std::vector<dnnl_dim_t> channels;
  dnnl_dim_t height, width;
};

Result run_concat(const ConcatSize &size, bool is_last, int rounds, std::mt19937 &random) {
  lk_concat concat = {};
  const int64_t pixels = size.height * size.width;
  int64_t channels = 0;
  std::string name;
  Buffers sources;
  std::vector<dnnl_memory_desc_t> descs;
  concat.rows = is_last ? pixels : 1;
  for (dnnl_dim_t each : size.channels) {
    channels += each;
    name += (name.empty() ? "" : "+") + std::to_string(each);
    sources.push_back(std::make_unique<Buffer>(each * pixels));
    sources.back()->fill(random);
    descs.push_back(describe({1, each, size.height, size.width}, is_last));
    concat.blocks[concat.count++] = size_t(each * (is_last ? 1 : pixels) * 4);
  }
  lk_concat_plan(&concat, lk_isa_get());
  name += " " + std::to_string(size.height) + "x" + std::to_string(size.width) +
          (is_last ? " nhwc" : " nchw");
  Buffer ours(channels * pixels), theirs(channels * pixels);
  dnnl_memory_desc_t to = describe({1, channels, size.height, size.width}, is_last);
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_concat_primitive_desc_create(&desc, engine, to, int(descs.size()), 1, descs.data(),
                                          nullptr));
  Primitive primitive(desc);
  std::vector<void *> pointers;
  for (size_t i = 0; i < descs.size(); i++) {
    primitive.add(DNNL_ARG_MULTIPLE_SRC + int(i), descs[i], *sources[i]);
    pointers.push_back(sources[i]->get());
    check(dnnl_memory_desc_destroy(descs[i]));
  }
  primitive.add(DNNL_ARG_DST, to, theirs);
  pointers.push_back(ours.get());
  check(dnnl_memory_desc_destroy(to));
  const auto run_ours = [&] {
    if (lk_concat_kernel(&concat, pointers.data(), nullptr) != LK_OK) std::exit(1);
  };
  run_ours();
  primitive.run();
  compare(name, ours, theirs, 0);
  return measure(name, 8 * channels * pixels, rounds, run_ours, [&] { primitive.run(); });
}

// Of OCR models, DenseNet, Inception, ShuffleNet and detectors.
const std::vector<ConcatSize> CONCATS = {
    {{24, 24, 24, 24}, 160, 160}, {{64, 64, 64, 64}, 80, 80}, {{64, 32}, 56, 56},
    {{128, 32}, 28, 28},          {{256, 32}, 14, 14},        {{512, 32}, 7, 7},
    {{64, 96, 16, 32}, 28, 28},   {{192, 96, 64, 64}, 28, 28}, {{24, 24}, 28, 28},
    {{58, 58}, 28, 28},           {{116, 116}, 14, 14},       {{256, 256}, 40, 40},
    {{128, 128}, 80, 80},         {{3, 1}, 224, 224},         {{1, 1, 1}, 64, 64},
    {{512, 512, 512, 512}, 20, 20}, {{960, 960}, 1, 80},      {{48, 48}, 12, 80}};

// ---- resizings ----

struct ResizeSize {
  dnnl_dim_t channels, height, width, to_height, to_width;
};

lk_stretch stretch(int64_t in, int64_t out) {
  lk_stretch made = {};
  made.in = in;
  made.out = out;
  made.up = double(out);
  made.down = double(in);
  made.end = 1;
  return made;
}

// Our steps: the table, which is made in every run, and the output.
struct Resizing {
  lk_resize_table table = {};
  lk_resize linear = {};
  lk_resize_nearest_map nearest = {};
  std::vector<char> memory;

  Resizing(const ResizeSize &size, bool is_linear, bool is_last) {
    const int64_t outer = is_last ? 1 : size.channels, inner = is_last ? size.channels : 1;
    table.rule.mode = is_linear ? LK_RESIZE_LINEAR : LK_RESIZE_NEAREST;
    table.rule.coordinates = LK_HALF_PIXEL;
    table.count = 2;
    table.axes[0].stretch = stretch(size.height, size.to_height);
    table.axes[1].stretch = stretch(size.width, size.to_width);
    if (lk_resize_table_plan(&table, nullptr) != LK_OK) std::exit(1);
    memory.resize(size_t(table.bytes));
    const auto side = [](const lk_resize_axis &axis) {
      return lk_resize_side{axis.stretch.in, axis.stretch.out, axis.taps, axis.indices,
                            axis.weights};
    };
    linear.from_type = linear.to_type = LK_F32;
    linear.outer = outer;
    linear.inner = inner;
    linear.y = side(table.axes[0]);
    linear.x = side(table.axes[1]);
    lk_resize_plan(&linear, lk_isa_get());
    nearest.rank = 3;
    nearest.block = size_t(inner) * 4;
    const int64_t dims[] = {outer, size.to_height, size.to_width},
                  indices[] = {-1, table.axes[0].indices, table.axes[1].indices};
    int64_t step = inner * 4;
    for (int i = 2; i >= 0; i--) {
      nearest.dims[i] = dims[i];
      nearest.steps[i] = step;
      nearest.indices[i] = indices[i];
      step *= i == 2 ? size.width : size.height;
    }
    lk_resize_nearest_plan(&nearest, lk_isa_get());
  }
  void run(const Buffer &from, const Buffer &to) {
    void *const of_table[] = {memory.data()};
    void *const pointers[] = {from.get(), memory.data(), to.get()};
    if (lk_resize_table_kernel(&table, of_table, nullptr) != LK_OK) std::exit(1);
    if (table.rule.mode == LK_RESIZE_LINEAR) {
      if (lk_resize_kernel(&linear, pointers, nullptr) != LK_OK) std::exit(1);
    } else if (lk_resize_nearest_kernel(&nearest, pointers, nullptr) != LK_OK) {
      std::exit(1);
    }
  }
};

Result run_resize(const ResizeSize &size, bool is_linear, bool is_last, int rounds,
                  std::mt19937 &random) {
  const Dims from_dims = {1, size.channels, size.height, size.width},
             to_dims = {1, size.channels, size.to_height, size.to_width};
  Buffer from(count_of(from_dims)), ours(count_of(to_dims)), theirs(count_of(to_dims));
  from.fill(random);
  Resizing resizing(size, is_linear, is_last);
  dnnl_memory_desc_t descs[] = {describe(from_dims, is_last), describe(to_dims, is_last)};
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_resampling_forward_primitive_desc_create(
      &desc, engine, dnnl_forward_inference,
      is_linear ? dnnl_resampling_linear : dnnl_resampling_nearest, nullptr, descs[0], descs[1],
      nullptr));
  Primitive primitive(desc);
  primitive.add(DNNL_ARG_SRC, descs[0], from);
  primitive.add(DNNL_ARG_DST, descs[1], theirs);
  for (dnnl_memory_desc_t each : descs) check(dnnl_memory_desc_destroy(each));
  const std::string name = std::string(is_linear ? "linear " : "nearest ") +
                           text_of({size.channels, size.height, size.width}) + " to " +
                           text_of({size.to_height, size.to_width}) +
                           (is_last ? " nhwc" : " nchw");
  resizing.run(from, ours);
  primitive.run();
  compare(name, ours, theirs, is_linear ? 2e-5 : 0);
  return measure(name, 4 * (count_of(from_dims) + count_of(to_dims)), rounds,
                 [&] { resizing.run(from, ours); }, [&] { primitive.run(); });
}

// Of detectors and of segmentation: feature pyramids, and masks of the size of the image.
const std::vector<ResizeSize> RESIZES = {
    {256, 20, 20, 40, 40}, {256, 40, 40, 80, 80},   {96, 80, 80, 160, 160}, {24, 80, 80, 160, 160},
    {24, 20, 20, 160, 160}, {128, 10, 10, 20, 20},  {64, 28, 28, 56, 56},   {21, 64, 64, 512, 512},
    {1, 160, 160, 640, 640}, {3, 224, 224, 448, 448}, {512, 7, 7, 14, 14},  {16, 24, 160, 48, 320},
    {64, 13, 13, 26, 26},  {32, 15, 20, 30, 40}};

// ---- report ----

bool report(const char *what, std::vector<Result> results, bool json) {
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
                each.name.c_str(), each.ours * 1e6, each.bytes / each.ours / 1e9,
                each.theirs * 1e6, each.ratio(), each.bandwidth());
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

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("moves", argc, argv, {.usual = 15, .quick = 1, .longer = 61});
  const int rounds = arguments.rounds;
  std::mt19937 random(11);
  const int before = lk_team_begin(1);
  check(dnnl_engine_create(&engine, dnnl_cpu, 0));
  lk_dnnl_create_for(1);
  check(lk_stream_create(engine, &stream));
  std::vector<Result> reorders, concats, resizes;
  for (const Dims &dims : REORDERS) {
    reorders.push_back(run_reorder(dims, true, rounds, random));
    reorders.push_back(run_reorder(dims, false, rounds, random));
  }
  while (reorders.size() < COUNT + 10) {
    const Dims dims = {1, random_number(random, 2, 300), random_number(random, 1, 90),
                       random_number(random, 2, 90)};
    reorders.push_back(run_reorder(dims, reorders.size() % 2 == 0, rounds, random));
  }
  for (const ConcatSize &size : CONCATS) {
    concats.push_back(run_concat(size, true, rounds, random));
    concats.push_back(run_concat(size, false, rounds, random));
  }
  while (concats.size() < COUNT) {
    ConcatSize size = {{}, random_number(random, 1, 60), random_number(random, 1, 60)};
    for (int64_t i = random_number(random, 2, 5); i > 0; i--) {
      size.channels.push_back(random_number(random, 1, 160));
    }
    concats.push_back(run_concat(size, concats.size() % 4 != 0, rounds, random));
  }
  for (const ResizeSize &size : RESIZES) {
    for (int kind = 0; kind < 4; kind++) {
      resizes.push_back(run_resize(size, kind % 2 == 0, kind / 2 == 0, rounds, random));
    }
  }
  while (resizes.size() < 2 * COUNT) { // nearest by whole factors: elsewhere ties differ
    const int64_t height = random_number(random, 3, 60), width = random_number(random, 3, 60);
    const bool is_linear = resizes.size() % 2 == 0;
    const ResizeSize size = {random_number(random, 1, 200), height, width,
                             is_linear ? random_number(random, 3, 150) : 2 * height,
                             is_linear ? random_number(random, 3, 150) : 3 * width};
    resizes.push_back(run_resize(size, is_linear, resizes.size() / 2 % 2 == 0, rounds, random));
  }
  if (arguments.json) std::printf("{");
  report("layout changes", reorders, arguments.json);
  if (arguments.json) std::printf(", ");
  report("concatenations", concats, arguments.json);
  if (arguments.json) std::printf(", ");
  report("resizings", resizes, arguments.json);
  if (arguments.json) std::printf("}\n");
  check(dnnl_stream_destroy(stream));
  check(dnnl_engine_destroy(engine));
  lk_team_end(before);
}
