// Resizing kernels by their tables against plain loops, for all instruction sets. What the tables
// hold is compared with the formulas of the specification in tests/ops/resize_random_test.cc.
#include <cmath>
#include <cstring>

#include "tests/ops/kernel/product.h"

extern "C" {
#include "base/tensor.h"
#include "ops/kernel/resize.h"
#include "ops/kernel/resize_nearest.h"
#include "ops/kernel/resize_table.h"
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
  const float *weights(int axis) const {
    return reinterpret_cast<const float *>(memory.data() + table.axes[axis].weights);
  }
};

Case random_case(lk_resize_mode mode, std::mt19937 &random) {
  Case made;
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

double sum_of(const Case &made, const float *from, int64_t o, int64_t y, int64_t x, int64_t c) {
  const lk_resize_axis *axes = made.table.axes;
  double sum = 0;
  for (int64_t ty = 0; ty < axes[0].taps; ty++) {
    for (int64_t tx = 0; tx < axes[1].taps; tx++) {
      const int64_t of_y = ty * made.y().out + y, of_x = tx * made.x().out + x;
      const int64_t row = o * made.y().in + made.indices(0)[of_y];
      const int64_t pixel = row * made.x().in + made.indices(1)[of_x];
      sum += double(made.weights(0)[of_y]) * double(made.weights(1)[of_x]) *
             double(from[pixel * made.inner + c]);
    }
  }
  return sum;
}

lk_resize_side side(const lk_resize_axis &axis) {
  return {axis.stretch.in, axis.stretch.out, axis.taps, axis.indices, axis.weights};
}

lk_resize params_of(const Case &made, lk_isa isa) {
  lk_resize params = {};
  params.from_type = params.to_type = LK_F32;
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
    for (lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE(std::to_string(i) + ", instruction set " + std::to_string(isa));
      const Guarded alone = run(made, from, isa, 1), shared = run(made, from, isa, 3);
      ASSERT_TRUE(alone.has_bits_of(shared));
      size_t at = 0;
      for (int64_t o = 0; o < made.outer; o++) {
        for (int64_t y = 0; y < made.y().out; y++) {
          for (int64_t x = 0; x < made.x().out; x++) {
            for (int64_t c = 0; c < made.inner; c++, at++) {
              ASSERT_NEAR(double(alone[at]), sum_of(made, from.get(), o, y, x, c), 1e-5) << at;
            }
          }
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
