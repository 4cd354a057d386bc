// How fast do the kernels that resize serve every size, beside oneDNN's resampling, which is made
// for one size?
//
// Nearest and linear, in both layouts, of models' sizes and random ones, seeded; one thread; the
// same operands, outputs compared. They run by turns, and the ratio is that of the best times. Ours
// has its tables to fill in each time. LATCHKEY_MAX_ISA=avx2 measures AVX2.
//
// resize [--json] [--quick | --long]
#include "benchmarks/arguments.h"
#include "benchmarks/bandwidth.h"

extern "C" {
#include "ops/kernel/sample/resize.h"
#include "ops/kernel/sample/resize_nearest.h"
#include "ops/kernel/sample/resize_table.h"
}

using namespace beside;

namespace {

constexpr size_t COUNT = 120;

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
    check(lk_resize_table_plan(&table, nullptr));
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
    check(lk_resize_table_kernel(&table, of_table, nullptr));
    check(table.rule.mode == LK_RESIZE_LINEAR
              ? lk_resize_kernel(&linear, pointers, nullptr)
              : lk_resize_nearest_kernel(&nearest, pointers, nullptr));
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
  check(dnnl_resampling_forward_primitive_desc_create(&desc, engine, dnnl_forward_inference,
                                                      is_linear ? dnnl_resampling_linear
                                                                : dnnl_resampling_nearest,
                                                      nullptr, descs[0], descs[1], nullptr));
  Primitive primitive(desc);
  primitive.add(DNNL_ARG_SRC, descs[0], from);
  primitive.add(DNNL_ARG_DST, descs[1], theirs);
  for (dnnl_memory_desc_t each : descs) check(dnnl_memory_desc_destroy(each));
  const std::string name = std::string(is_linear ? "linear " : "nearest ") +
                           text_of({size.channels, size.height, size.width}) + " to " +
                           text_of({size.to_height, size.to_width}) + (is_last ? " nhwc" : " nchw");
  resizing.run(from, ours);
  primitive.run();
  compare(name, ours, theirs, is_linear ? 2e-5 : 0);
  return measure(
      name, 4 * count_of(from_dims), 4 * count_of(to_dims), rounds,
      [&] { resizing.run(from, ours); }, [&] { primitive.run(); });
}

// Of detectors and of segmentation: feature pyramids, and masks of the size of the image.
const std::vector<ResizeSize> RESIZES = {
    {256, 20, 20, 40, 40},     {256, 40, 40, 80, 80},  {96, 80, 80, 160, 160},
    {24, 80, 80, 160, 160},    {24, 20, 20, 160, 160}, {128, 10, 10, 20, 20},
    {64, 28, 28, 56, 56},      {21, 64, 64, 512, 512}, {1, 160, 160, 640, 640},
    {3, 224, 224, 448, 448},   {512, 7, 7, 14, 14},    {16, 24, 160, 48, 320},
    {64, 13, 13, 26, 26},      {32, 15, 20, 30, 40},   {64, 160, 160, 320, 320},
    {21, 128, 128, 1024, 1024}};

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("resize", argc, argv, {.usual = 15, .quick = 1, .longer = 61});
  const int rounds = arguments.rounds;
  const Threads one;
  std::mt19937 random(11);
  std::vector<Result> resizes;
  for (const ResizeSize &size : RESIZES) {
    for (int kind = 0; kind < 4; kind++) {
      resizes.push_back(run_resize(size, kind % 2 == 0, kind / 2 == 0, rounds, random));
    }
  }
  while (resizes.size() < COUNT) { // nearest by whole factors: elsewhere ties differ
    const int64_t height = random_number(random, 3, 60), width = random_number(random, 3, 60);
    const bool is_linear = resizes.size() % 2 == 0;
    const ResizeSize size = {random_number(random, 1, 200), height, width,
                             is_linear ? random_number(random, 3, 150) : 2 * height,
                             is_linear ? random_number(random, 3, 150) : 3 * width};
    resizes.push_back(run_resize(size, is_linear, resizes.size() / 2 % 2 == 0, rounds, random));
  }
  if (!arguments.json) share::print_peak();
  if (arguments.json) std::printf("{");
  report("resizings", resizes, arguments.json);
  if (arguments.json) std::printf("}\n");
}
