// Resizing kernels by their tables against plain loops, for all instruction sets. What the tables
// hold is compared with the formulas of the specification in tests/ops/resize_random_test.cc.
#include <array>
#include <cmath>
#include <cstring>

#include "tests/harness/fenced.h"
#include "tests/ops/kernel/element/element_reference.h"
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "base/tensor.h"
#include "ops/kernel/sample/resize.h"
#include "ops/kernel/sample/resize_nearest.h"
#include "ops/kernel/sample/resize_table.h"
#include "ops/kernel/sample/resize_types.h"
}

namespace {

using lk::Guarded;

int64_t number(std::mt19937 &random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

lk_stretch stretch(int64_t in, int64_t out) {
  lk_stretch made = {};
  made.in = in;
  made.out = out;
  made.up = double(out);
  made.down = double(in);
  made.end = 1;
  return made;
}

struct Case {
  lk_resize_table table = {};
  int64_t outer = 1, inner = 1;
  std::vector<char> memory;

  const lk_stretch &y() const { return table.axes[0].stretch; }
  const lk_stretch &x() const { return table.axes[1].stretch; }
  size_t inputs() const { return size_t(outer * y().in * x().in * inner); }
  size_t outputs() const { return size_t(outer * y().out * x().out * inner); }
  const int32_t *indices(int axis) const {
    return reinterpret_cast<const int32_t *>(memory.data() + table.axes[axis].indices);
  }
  double weight(int axis, int64_t at) const {
    const char *weights = memory.data() + table.axes[axis].weights;
    return table.wide ? reinterpret_cast<const double *>(weights)[at]
                      : double(reinterpret_cast<const float *>(weights)[at]);
  }
};

Case random_case(lk_resize_mode mode, std::mt19937 &random, bool is_wide = false) {
  Case made;
  made.table.wide = is_wide;
  const bool is_long = number(random, 0, 9) == 0;
  made.table.rule.mode = mode;
  made.table.rule.coordinates = number(random, 0, 1) == 0 ? LK_HALF_PIXEL : LK_ALIGN_CORNERS;
  made.table.rule.cubic = -0.75F;
  made.table.rule.antialias = number(random, 0, 3) == 0;
  made.table.count = 2;
  made.table.axes[0].stretch = stretch(number(random, 1, 20), number(random, 1, 40));
  made.table.axes[1].stretch =
      stretch(number(random, 1, is_long ? 900 : 40), number(random, 1, is_long ? 1500 : 60));
  if (!is_long && number(random, 0, 3) == 0) { // to a few, of which a vector's lie far apart
    made.table.axes[1].stretch = stretch(number(random, 20, 300), number(random, 1, 20));
  }
  made.outer = number(random, 1, 3);
  made.inner = number(random, 0, 1) == 0 ? 1 : number(random, 2, 70);
  EXPECT_EQ(lk_resize_table_plan(&made.table, LK_ERR), LK_OK);
  made.memory.resize(size_t(made.table.bytes));
  void *const pointers[] = {made.memory.data()};
  EXPECT_EQ(lk_resize_table_kernel(&made.table, pointers, LK_ERR), LK_OK);
  return made;
}

template <typename Of>
double sum_of(const Case &made, const Of &of, int64_t o, int64_t y, int64_t x, int64_t c) {
  const lk_resize_axis *axes = made.table.axes;
  double sum = 0;
  for (int64_t ty = 0; ty < axes[0].taps; ty++) {
    for (int64_t tx = 0; tx < axes[1].taps; tx++) {
      const int64_t of_y = ty * made.y().out + y, of_x = tx * made.x().out + x;
      const int64_t row = o * made.y().in + made.indices(0)[of_y];
      const int64_t pixel = row * made.x().in + made.indices(1)[of_x];
      sum += made.weight(0, of_y) * made.weight(1, of_x) * of(pixel * made.inner + c);
    }
  }
  return sum;
}

// Of all outputs, once for all instruction sets.
template <typename Of> std::vector<double> sums_of(const Case &made, const Of &of) {
  std::vector<double> sums;
  for (int64_t o = 0; o < made.outer; o++) {
    for (int64_t y = 0; y < made.y().out; y++) {
      for (int64_t x = 0; x < made.x().out; x++) {
        for (int64_t c = 0; c < made.inner; c++) sums.push_back(sum_of(made, of, o, y, x, c));
      }
    }
  }
  return sums;
}

lk_resize_side side(const lk_resize_axis &axis) {
  return {axis.stretch.in, axis.stretch.out, axis.taps, axis.indices, axis.weights};
}

lk_resize params_of(const Case &made, lk_isa isa, uint32_t dtype = LK_F32) {
  lk_resize params = {};
  params.from_type = params.to_type = dtype;
  params.wide = made.table.wide;
  params.outer = made.outer;
  params.inner = made.inner;
  params.y = side(made.table.axes[0]);
  params.x = side(made.table.axes[1]);
  lk_resize_plan(&params, isa);
  return params;
}

Guarded run(const Case &made, Guarded &from, lk_isa isa, int threads) {
  const lk_resize params = params_of(made, isa);
  Guarded to(made.outputs());
  void *const pointers[] = {from.get(), const_cast<char *>(made.memory.data()), to.get()};
  const int before = lk_team_begin(threads);
  EXPECT_EQ(lk_resize_kernel(&params, pointers, LK_ERR), LK_OK);
  lk_team_end(before);
  to.check();
  return to;
}

TEST(ResizeKernel, SumsTapsAlikeOnAnyThreads) {
  std::mt19937 random(9);
  for (int i = 0; i < lk::repeats(200); i++) {
    const lk_resize_mode mode = i % 2 == 0 ? LK_RESIZE_LINEAR : LK_RESIZE_CUBIC;
    const Case made = random_case(mode, random);
    Guarded from = lk::random_floats(made.inputs(), random);
    const auto number_at = [&](int64_t at) { return double(from[size_t(at)]); };
    const std::vector<double> wanted = sums_of(made, number_at);
    for (lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE(std::to_string(i) + ", instruction set " + std::to_string(isa));
      const Guarded alone = run(made, from, isa, 1), shared = run(made, from, isa, 3);
      ASSERT_TRUE(alone.has_bits_of(shared));
      for (size_t at = 0; at < wanted.size(); at++) {
        ASSERT_NEAR(double(alone[at]), wanted[at], 1e-5) << at;
      }
    }
  }
}

// Bytes of a tensor, with some behind it that stay.
std::vector<char> run_of_type(const Case &made, const std::vector<char> &from, uint32_t dtype,
                              lk_isa isa, int threads) {
  const lk_resize params = params_of(made, isa, dtype);
  std::vector<char> to(made.outputs() * lk_dtype_size(dtype) + 64, 'x');
  void *const pointers[] = {const_cast<char *>(from.data()), const_cast<char *>(made.memory.data()),
                            to.data()};
  const int before = lk_team_begin(threads);
  EXPECT_EQ(lk_resize_kernel(&params, pointers, LK_ERR), LK_OK);
  lk_team_end(before);
  EXPECT_EQ(std::string(to.end() - 64, to.end()), std::string(64, 'x'));
  return to;
}

// How far a result may be from the true sum of numbers up to `size`. Integers are rounded, and
// those of up to 16 bits are sums in f32.
double allowed_of(uint32_t dtype, double expected, double size) {
  switch (dtype) {
  case LK_F16:
    return std::fabs(expected) * 0x1p-11 + 4e-6 * size + 0x1p-24;
  case LK_BF16:
    return std::fabs(expected) * 0x1p-8 + 4e-6 * size;
  case LK_F64:
    return 1e-13 * size;
  default:
    return 0.5 + (lk_resize_wide(dtype) == LK_F32 ? 4e-6 : 1e-13) * size;
  }
}

TEST(ResizeKernel, EveryTypeIsTheSumOfItsTaps) {
  struct Type {
    uint32_t dtype;
    double low, high; // 0, 0: none
  };
  static constexpr Type TYPES[] = {{LK_F16, 0, 0},          {LK_BF16, 0, 0},
                                   {LK_F64, 0, 0},          {LK_U8, 0, 255},
                                   {LK_I8, -128, 127},      {LK_U16, 0, 65535},
                                   {LK_I16, -32768, 32767}, {LK_I32, -0x1p31, 0x1p31 - 1},
                                   {LK_U32, 0, 0x1p32 - 1}, {LK_I64, -0x1p40, 0x1p40}};
  std::mt19937 random(11);
  for (int i = 0; i < lk::repeats(300); i++) {
    const Type &type = TYPES[i % int(std::size(TYPES))];
    const size_t bytes = lk_dtype_size(type.dtype);
    const lk_resize_mode mode = number(random, 0, 1) == 0 ? LK_RESIZE_LINEAR : LK_RESIZE_CUBIC;
    const Case made = random_case(mode, random, lk_resize_wide(type.dtype) == LK_F64);
    const bool is_whole = type.high != 0, is_small = number(random, 0, 1) == 0;
    std::vector<char> from(made.inputs() * bytes);
    double size = 0;
    for (size_t k = 0; k < made.inputs(); k++) {
      const double any = double(number(random, -30000, 30000));
      const double value =
          !is_whole ? any / 100
          : is_small
              ? std::max(type.low, std::floor(any / 300))
              : std::floor((type.low + type.high) / 2 + any / 60000 * (type.high - type.low));
      lk::Number x = {};
      if (type.dtype == LK_F64) {
        x.f64 = value;
      } else if (is_whole) {
        x.i64 = int64_t(value);
      } else {
        x.f32 = float(value);
      }
      lk::write_element(type.dtype, from.data() + k * bytes, x, bytes);
      size = std::max(size, std::fabs(value));
    }
    const uint32_t class_ = lk_element_class_of(type.dtype);
    const auto number_in = [&](const std::vector<char> &memory, size_t at) {
      return lk::to_double(class_, lk::read_element(type.dtype, memory.data() + at * bytes));
    };
    const auto number_at = [&](int64_t at) { return number_in(from, size_t(at)); };
    const std::vector<double> wanted = sums_of(made, number_at);
    for (lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE(std::to_string(i) + ", " + lk_dtype_name(type.dtype) + ", instruction set " +
                   std::to_string(isa));
      const std::vector<char> alone = run_of_type(made, from, type.dtype, isa, 1);
      ASSERT_EQ(alone, run_of_type(made, from, type.dtype, isa, 3));
      for (size_t at = 0; at < wanted.size(); at++) {
        double expected = wanted[at];
        if (is_whole && type.dtype != LK_I64) { // whose range is wider
          expected = std::min(std::max(expected, type.low), type.high);
        }
        const double found = number_in(alone, at);
        ASSERT_NEAR(found, expected, allowed_of(type.dtype, expected, size)) << at;
        ASSERT_EQ(is_whole && found != std::nearbyint(found), false);
      }
    }
  }
}

// Rows of which a line needs more pixels than are brought to f32 at a time, and taps that are
// further apart than that.
TEST(ResizeKernel, OtherTypesShrinkALot) {
  for (const auto &[in, out, inner] : std::vector<std::array<int64_t, 3>>{
           {30000, 7, 1}, {30000, 1, 1}, {9000, 100, 1}, {500, 3, 50}, {40, 7, 3000}}) {
    for (const bool antialias : {false, true}) {
      Case made;
      made.table.rule.mode = LK_RESIZE_LINEAR;
      made.table.rule.antialias = antialias;
      made.table.count = 2;
      made.table.axes[0].stretch = stretch(3, 2);
      made.table.axes[1].stretch = stretch(in, out);
      made.inner = inner;
      LK_ASSERT_OK(lk_resize_table_plan(&made.table, LK_ERR));
      made.memory.resize(size_t(made.table.bytes));
      void *const pointers[] = {made.memory.data()};
      LK_ASSERT_OK(lk_resize_table_kernel(&made.table, pointers, LK_ERR));
      std::vector<char> from(made.inputs());
      for (size_t k = 0; k < from.size(); k++) from[k] = static_cast<char>(k * 37 % 251);
      const auto number_at = [&](int64_t at) { return double(uint8_t(from[size_t(at)])); };
      for (lk_isa isa : lk::instruction_sets()) {
        const std::vector<char> to = run_of_type(made, from, LK_U8, isa, 1);
        size_t at = 0;
        for (int64_t y = 0; y < 2; y++) {
          for (int64_t x = 0; x < out; x++) {
            for (int64_t c = 0; c < inner; c++, at++) {
              ASSERT_NEAR(double(uint8_t(to[at])), sum_of(made, number_at, 0, y, x, c), 0.51)
                  << at << " of " << in << " to " << out;
            }
          }
        }
      }
    }
  }
}

// Lines whose elements lie too far apart for a window, of which only a part is brought to f32:
// pixel 0 would lie far before that part, where nothing can be read. What is left of a line fills
// any number of lanes, and those behind it have nothing to read.
TEST(ResizeKernel, IdleLanesReadNothing) {
  constexpr int64_t PIXELS = 200000;
  for (const lk_resize_mode mode : {LK_RESIZE_LINEAR, LK_RESIZE_CUBIC}) {
    for (int64_t shrink = 17; shrink <= 48; shrink++) {
      Case made;
      made.table.rule.mode = mode;
      made.table.rule.cubic = -0.75F;
      made.table.count = 2;
      made.table.axes[0].stretch = stretch(1, 1);
      made.table.axes[1].stretch = stretch(PIXELS, PIXELS / shrink);
      LK_ASSERT_OK(lk_resize_table_plan(&made.table, LK_ERR));
      made.memory.resize(size_t(made.table.bytes));
      void *const pointers[] = {made.memory.data()};
      LK_ASSERT_OK(lk_resize_table_kernel(&made.table, pointers, LK_ERR));
      std::vector<char> from(made.inputs() * 2);
      const auto number_at = [](int64_t at) { return double(at % 1009); }; // exact in f16
      for (int64_t i = 0; i < PIXELS; i++) {
        lk::Number x = {};
        x.f32 = float(number_at(i));
        lk::write_element(LK_F16, from.data() + i * 2, x, 2);
      }
      for (lk_isa isa : lk::instruction_sets()) {
        std::vector<char> to;
        lk::on_fenced_stack(size_t{4} << 20, [&] { to = run_of_type(made, from, LK_F16, isa, 1); });
        for (int64_t x = 0; x < made.x().out; x++) {
          const double found = double(lk::read_element(LK_F16, to.data() + x * 2).f32);
          ASSERT_NEAR(found, sum_of(made, number_at, 0, 0, x, 0), 1) << x << " by " << shrink;
        }
      }
    }
  }
}

// A neighbour without weight is not read: infinity times 0 would be NaN.
TEST(ResizeKernel, InfinityStaysWhereItIs) {
  for (int64_t inner : {1, 5}) {
    for (lk_resize_mode mode : {LK_RESIZE_LINEAR, LK_RESIZE_CUBIC}) {
      Case made;
      made.table.rule.mode = mode;
      made.table.rule.coordinates = LK_ALIGN_CORNERS;
      made.table.rule.cubic = -0.75F;
      made.table.count = 2;
      made.table.axes[0].stretch = made.table.axes[1].stretch = stretch(9, 17);
      made.inner = inner;
      LK_ASSERT_OK(lk_resize_table_plan(&made.table, LK_ERR));
      made.memory.resize(size_t(made.table.bytes));
      void *const pointers[] = {made.memory.data()};
      LK_ASSERT_OK(lk_resize_table_kernel(&made.table, pointers, LK_ERR));
      Guarded from(made.inputs());
      for (size_t i = 0; i < from.size(); i++) from[i] = INFINITY;
      for (int64_t c = 0; c < inner; c++) from[size_t((4 * 9 + 4) * inner + c)] = 7;
      for (lk_isa isa : lk::instruction_sets()) {
        const Guarded to = run(made, from, isa, 1);
        EXPECT_EQ(to[size_t((8 * 17 + 8) * inner)], 7.0F) << "instruction set " << isa;
      }
    }
  }
}

TEST(ResizeKernel, NearestCopiesBlocksOfEverySize) {
  std::mt19937 random(10);
  for (int i = 0; i < lk::repeats(150); i++) {
    const Case made = random_case(LK_RESIZE_NEAREST, random);
    const size_t sizes[] = {1, 2, 3, 4, 4, 4, 7, 8, 12, 16, 20, 40, 64, 100, 1500};
    lk_resize_nearest_map map = {};
    map.rank = 3;
    map.block = sizes[number(random, 0, 14)];
    const int64_t block = int64_t(map.block);
    const int64_t dims[] = {made.outer, made.y().out, made.x().out};
    const int64_t steps[] = {block * made.x().in * made.y().in, block * made.x().in, block};
    const int64_t indices[] = {-1, made.table.axes[0].indices, made.table.axes[1].indices};
    std::copy(dims, dims + 3, map.dims);
    std::copy(steps, steps + 3, map.steps);
    std::copy(indices, indices + 3, map.indices);
    std::vector<char> from(size_t(made.outer * steps[0]));
    for (char &byte : from) byte = static_cast<char>(random());
    std::vector<char> expected;
    for (int64_t o = 0; o < made.outer; o++) {
      for (int64_t y = 0; y < dims[1]; y++) {
        for (int64_t x = 0; x < dims[2]; x++) {
          const auto at = from.begin() + o * steps[0] + made.indices(0)[y] * steps[1] +
                          made.indices(1)[x] * steps[2];
          expected.insert(expected.end(), at, at + block);
        }
      }
    }
    for (lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE(std::to_string(i) + ", instruction set " + std::to_string(isa));
      lk_resize_nearest_plan(&map, isa);
      std::vector<char> to(expected.size() + 1, '.');
      void *const pointers[] = {from.data(), const_cast<char *>(made.memory.data()), to.data()};
      LK_ASSERT_OK(lk_resize_nearest_kernel(&map, pointers, LK_ERR));
      ASSERT_EQ(to.back(), '.');
      to.pop_back();
      ASSERT_EQ(to, expected);
    }
  }
}

} // namespace
