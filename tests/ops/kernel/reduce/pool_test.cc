// Poolings of random geometries against plain loops in double, on every instruction set.
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/reduce/pool.h"
}

namespace {

// Else a mean would be another than the quotient by its last bit.
TEST(Pool, MultipliesWhereThatIsExact) {
  for (const double divisor : {1, 2, 4, 64, 1 << 20}) EXPECT_TRUE(lk_pool_is_exact(divisor));
  for (const double divisor : {0, 3, 5, 6, 7, 9, 63}) EXPECT_FALSE(lk_pool_is_exact(divisor));
}

using lk::Guarded;

struct Case {
  lk_pool pool = {};

  const lk_pool_geometry &g() const { return pool.geometry; }
  int64_t places_in() const { return g().in[0] * g().in[1] * g().in[2]; }
  int64_t places_out() const { return g().out[0] * g().out[1] * g().out[2]; }
  size_t inputs() const { return size_t(g().outer * places_in() * g().inner); }
  size_t outputs() const { return size_t(g().outer * places_out() * g().inner); }
};

std::string describe(const Case &test) {
  const lk_pool_geometry &g = test.g();
  std::string text = "kind " + std::to_string(test.pool.kind) + " outer " +
                     std::to_string(g.outer) + " inner " + std::to_string(g.inner);
  const auto add = [&](const char *name, const int64_t *numbers) {
    text += std::string(" ") + name;
    for (int d = 0; d < LK_POOL_DIMS; d++) text += " " + std::to_string(numbers[d]);
  };
  add("in", g.in), add("out", g.out), add("kernel", g.kernel), add("strides", g.strides);
  add("dilations", g.dilations), add("begin", g.begin), add("declared", g.declared);
  return text;
}

struct Result {
  std::vector<double> values, sizes; // `sizes`: means of the absolute values
  std::vector<int32_t> positions;
};

// `least`: what a maximum begins with.
Result expected(const Case &test, const std::vector<double> &x, double least = -double(INFINITY)) {
  const lk_pool_geometry &g = test.g();
  Result result;
  for (int64_t i = 0; i < int64_t(test.outputs()); i++) {
    const int64_t lane = i % g.inner;
    int64_t left = i / g.inner, out[3];
    for (int d = 3; d-- > 0; left /= g.out[d]) out[d] = left % g.out[d];
    double largest = least, sum = 0, size = 0;
    int32_t at = 0;
    int64_t inside = 0, counted = 0;
    for (int64_t tap = 0; tap < g.kernel[0] * g.kernel[1] * g.kernel[2]; tap++) {
      const int64_t taps[] = {tap / g.kernel[2] / g.kernel[1], tap / g.kernel[2] % g.kernel[1],
                              tap % g.kernel[2]};
      bool is_inside = true, is_counted = true;
      int64_t from = left;
      for (int d = 0; d < 3; d++) {
        const int64_t place = out[d] * g.strides[d] - g.begin[d] + taps[d] * g.dilations[d];
        is_inside = is_inside && place >= 0 && place < g.in[d];
        is_counted = is_counted && place < g.in[d] + g.declared[d];
        from = from * g.in[d] + place;
      }
      counted += is_counted ? 1 : 0;
      if (!is_inside) continue;
      const double value = x[size_t(from * g.inner + lane)];
      inside++;
      sum += value;
      size += std::fabs(value);
      if (value > largest) at = int32_t(tap);
      largest = value > largest ? value : largest;
    }
    const double divisor = double(test.pool.kind == LK_POOL_MEAN ? inside : counted);
    result.values.push_back(test.pool.kind == LK_POOL_MAX ? largest : sum / divisor);
    result.sizes.push_back(size / divisor);
    result.positions.push_back(at);
  }
  return result;
}

void set_outputs(lk_pool_geometry *g) {
  for (int d = 0; d < LK_POOL_DIMS; d++) {
    const int64_t extent = (g->kernel[d] - 1) * g->dilations[d] + 1;
    const int64_t least = extent - g->begin[d] - g->declared[d];
    if (g->in[d] < least) g->in[d] = least;
    g->out[d] = (g->in[d] + g->begin[d] + g->declared[d] - extent) / g->strides[d] + 1;
  }
}

Case random_case(std::mt19937 &random) {
  Case test;
  const auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  lk_pool_geometry &g = test.pool.geometry;
  g.outer = number(1, 4);
  const int64_t inner[] = {1, 1, 1, number(1, 20), number(1, 300)};
  g.inner = inner[number(0, 4)];
  const bool is_dilated = number(0, 3) == 0, is_large = number(0, 5) == 0;
  for (int d = 0; d < LK_POOL_DIMS; d++) {
    const bool is_there = d > 0 || number(0, 3) == 0;
    g.in[d] = is_there ? number(1, g.inner > 20 ? 12 : 40) : 1;
    g.kernel[d] = is_there ? number(1, is_large ? 9 : 4) : 1;
    g.strides[d] = number(1, number(0, 3) == 0 ? 9 : 3);
    g.dilations[d] = is_dilated ? number(1, 3) : 1;
    g.begin[d] = is_there ? number(0, g.kernel[d]) : 0;
    g.declared[d] = is_there ? number(0, g.kernel[d]) : 0;
  }
  set_outputs(&g);
  /* as ceil_mode does it: the last window reaches beyond the padding */
  if (g.strides[2] > 1 && number(0, 2) == 0 && g.out[2] * g.strides[2] < g.in[2] + g.begin[2]) {
    g.out[2]++;
  }
  test.pool.kind = uint32_t(number(0, 2));
  return test;
}

Guarded run(const Case &test, const Guarded &x, lk_isa isa) {
  lk_pool pool = test.pool;
  pool.dtype = LK_F32;
  lk_pool_plan(&pool, isa);
  Guarded y(test.outputs());
  void *const pointers[] = {const_cast<float *>(x.get()), y.get()};
  EXPECT_EQ(lk_pool_kernel(&pool, pointers, nullptr), LK_OK);
  y.check();
  return y;
}

void check_all(const Case &test, std::mt19937 &random) {
  const Guarded x = lk::random_floats(test.inputs(), random);
  const Result wanted = expected(test, {x.get(), x.get() + x.size()});
  for (lk_isa isa : lk::instruction_sets()) {
    const Guarded y = run(test, x, isa);
    for (size_t k = 0; k < y.size(); k++) {
      const bool is_max = test.pool.kind == LK_POOL_MAX;
      const double allowed = is_max ? 0 : 1e-7 * (2 + 8 * wanted.sizes[k]);
      const double value = wanted.values[k], found = double(y[k]);
      ASSERT_TRUE(lk::is_close(value, found, {0, allowed}))
          << describe(test) << " isa " << isa << " at " << k << ": " << found << ", " << value;
    }
  }
}

TEST(Pool, TakesAnyGeometry) {
  std::mt19937 random(1);
  for (int i = 0; i < lk::repeats(600); i++) {
    check_all(random_case(random), random);
    if (HasFatalFailure()) return;
  }
}

// Windows of 3 x 3, one element apart: one to several vectors of columns, planes of one turn and of
// several, any padding.
TEST(Pool, RollsDownPlanes) {
  std::mt19937 random(5);
  const auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < lk::repeats(200); i++) {
    Case test;
    const int64_t width = number(1, i % 4 == 0 ? 300 : 80);
    test.pool.kind = uint32_t(i % 3);
    test.pool.geometry = {.outer = number(1, 3),
                          .inner = 1,
                          .in = {1, number(1, i % 5 == 0 ? 150 : 20), width},
                          .out = {},
                          .kernel = {1, 3, 3},
                          .strides = {1, 1, 1},
                          .dilations = {1, 1, 1},
                          .begin = {0, number(0, 3), number(0, 3)},
                          .declared = {0, number(0, 3), number(0, 3)}};
    set_outputs(&test.pool.geometry);
    check_all(test, random);
    if (HasFatalFailure()) return;
  }
}

template <typename T>
void check_type(const Case &of, uint8_t dtype, bool positions, std::mt19937 &random) {
  Case test = of;
  test.pool.dtype = dtype;
  test.pool.positions = positions;
  std::vector<T> x(test.inputs()), y(test.outputs());
  std::vector<int32_t> at(test.outputs(), -7);
  const int first = dtype == LK_U8 ? 124 : dtype == LK_I8 ? -4 : 0; // where signs of bytes change
  for (T &value : x) value = T(first + int(random() % 9));          // many are equal
  const double least = dtype == LK_U8 ? 0 : dtype == LK_I8 ? -128 : -double(INFINITY);
  const Result wanted = expected(test, {x.begin(), x.end()}, least);
  for (lk_isa isa : lk::instruction_sets()) {
    lk_pool pool = test.pool;
    lk_pool_plan(&pool, isa);
    void *const pointers[] = {x.data(), y.data(), at.data()};
    EXPECT_EQ(lk_pool_kernel(&pool, pointers, nullptr), LK_OK);
    for (size_t k = 0; k < y.size(); k++) {
      const double value = wanted.values[k];
      if (!std::isnan(value) && double(y[k]) != value) {
        ASSERT_NEAR(double(y[k]), value, dtype == LK_F32 ? 4e-6 : 1e-14)
            << describe(test) << " type " << int(dtype) << " isa " << isa;
      }
      if (!positions) continue;
      ASSERT_EQ(at[k], wanted.positions[k]) << describe(test) << " isa " << isa;
    }
  }
}

TEST(Pool, TakesAllTypesAndFindsPositions) {
  std::mt19937 random(2);
  for (int i = 0; i < lk::repeats(100); i++) {
    Case test = random_case(random);
    check_type<double>(test, LK_F64, false, random);
    test.pool.kind = LK_POOL_MAX;
    for (bool positions : {false, true}) {
      check_type<uint8_t>(test, LK_U8, positions, random);
      check_type<int8_t>(test, LK_I8, positions, random);
      check_type<double>(test, LK_F64, positions, random);
      check_type<float>(test, LK_F32, positions, random);
    }
    if (HasFatalFailure()) return;
  }
}

// Windows of so many elements that they are computed in parts, whole lines and planes where these
// are short. Elements are small whole numbers, whose sums are exact.
TEST(Pool, TakesWindowsInParts) {
  const struct {
    int64_t inner, in[3], kernel[3], dilations[3];
  } ways[] = {
      {1, {1, 1, 150000}, {1, 1, 140000}, {1, 1, 1}}, {1, {1, 1, 150000}, {1, 1, 70000}, {1, 1, 2}},
      {1, {1, 260, 260}, {1, 259, 258}, {1, 1, 1}},   {1, {1, 70000, 3}, {1, 69998, 2}, {1, 1, 1}},
      {1, {45, 41, 50}, {44, 40, 49}, {1, 1, 1}},     {70, {1, 260, 257}, {1, 260, 257}, {1, 1, 1}},
      {3, {1, 1, 150000}, {1, 1, 75000}, {1, 1, 1}}};
  std::mt19937 random(5);
  for (const auto &way : ways) {
    for (uint32_t kind : {LK_POOL_MAX, LK_POOL_MEAN}) {
      Case test;
      test.pool.kind = kind;
      lk_pool_geometry &g = test.pool.geometry;
      g = {};
      g.outer = 1;
      g.inner = way.inner;
      g.begin[1] = 1;
      for (int d = 0; d < 3; d++) g.strides[d] = d == 2 ? 5000 : 9;
      std::copy_n(way.in, 3, g.in);
      std::copy_n(way.kernel, 3, g.kernel);
      std::copy_n(way.dilations, 3, g.dilations);
      set_outputs(&g);
      check_type<float>(test, LK_F32, false, random);
      check_type<double>(test, LK_F64, false, random);
      if (kind != LK_POOL_MAX) continue;
      check_type<uint8_t>(test, LK_U8, false, random);
      check_type<int8_t>(test, LK_I8, true, random);
      check_type<float>(test, LK_F32, true, random);
    }
    if (HasFatalFailure()) return;
  }
}

// Blocks of staged windows, and lines longer than a block.
TEST(Pool, TakesLongLines) {
  std::mt19937 random(3);
  for (int64_t stride : {1, 2, 3, 4, 5, 8, 15, 16}) {
    for (uint32_t kind : {LK_POOL_MAX, LK_POOL_MEAN, LK_POOL_MEAN_WITH_PADDING}) {
      Case test;
      test.pool.kind = kind;
      test.pool.geometry = {.outer = 2,
                            .inner = 1,
                            .in = {1, 5, 9000},
                            .out = {},
                            .kernel = {1, 3, 4},
                            .strides = {1, 2, stride},
                            .dilations = {1, 1, 1},
                            .begin = {0, 1, 2},
                            .declared = {0, 1, 2}};
      set_outputs(&test.pool.geometry);
      const Guarded x = lk::random_floats(test.inputs(), random);
      const Result wanted = expected(test, {x.get(), x.get() + x.size()});
      for (lk_isa isa : lk::instruction_sets()) {
        const Guarded y = run(test, x, isa);
        for (size_t k = 0; k < y.size(); k++) ASSERT_NEAR(double(y[k]), wanted.values[k], 1e-6);
      }
    }
  }
}

// The same bits for each image by itself, and however the work is shared.
TEST(Pool, DependsOnNothingElseNorOnThreads) {
  std::mt19937 random(4);
  const struct { int64_t inner, stride; } ways[] = {{1, 2}, {70, 2}, {1, 1}};
  for (const auto &way : ways) {
    for (uint32_t kind : {LK_POOL_MAX, LK_POOL_MEAN}) {
      Case test;
      test.pool.kind = kind;
      test.pool.geometry = {.outer = 7,
                            .inner = way.inner,
                            .in = {1, 100, 50},
                            .out = {},
                            .kernel = {1, 3, 3},
                            .strides = {1, 1, way.stride},
                            .dilations = {1, 1, 1},
                            .begin = {0, 1, 1},
                            .declared = {0, 1, 1}};
      set_outputs(&test.pool.geometry);
      const Guarded x = lk::random_floats(test.inputs(), random);
      for (lk_isa isa : lk::instruction_sets()) {
        const Guarded y = run(test, x, isa);
        lk::with_threads(3, [&] { EXPECT_TRUE(run(test, x, isa).has_bits_of(y)); });
        Case one = test;
        one.pool.geometry.outer = 1;
        for (size_t i = 0; i < 7; i++) {
          Guarded part(one.inputs());
          std::memcpy(part.get(), x.get() + i * part.size(), part.size() * sizeof(float));
          const Guarded image = run(one, part, isa);
          EXPECT_EQ(
              std::memcmp(image.get(), y.get() + i * image.size(), image.size() * sizeof(float)),
              0);
        }
      }
    }
  }
}

TEST(Pool, HasIeeesSpecialNumbers) {
  for (int64_t inner : {1, 3, 20}) {
    Case test;
    test.pool.geometry = {.outer = 1,
                          .inner = inner,
                          .in = {1, 1, 8},
                          .out = {},
                          .kernel = {1, 1, 2},
                          .strides = {1, 1, 2},
                          .dilations = {1, 1, 1},
                          .begin = {0, 0, 0},
                          .declared = {0, 0, 0}};
    set_outputs(&test.pool.geometry);
    Guarded x(test.inputs());
    const float values[] = {NAN, 1, INFINITY, 2, -INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t i = 0; i < x.size(); i++) x[i] = values[i / size_t(inner)];
    const auto at = [&](size_t place) { return place * size_t(inner); };
    for (lk_isa isa : lk::instruction_sets()) {
      test.pool.kind = LK_POOL_MAX;
      const Guarded y = run(test, x, isa);
      EXPECT_EQ(y[at(0)], 1) << "NaN is never the largest";
      EXPECT_EQ(y[at(1)], INFINITY);
      EXPECT_EQ(y[at(2)], -INFINITY);
      test.pool.kind = LK_POOL_MEAN;
      const Guarded mean = run(test, x, isa);
      EXPECT_TRUE(std::isnan(mean[at(0)]) && std::isnan(mean[at(3)]));
      EXPECT_EQ(mean[at(1)], INFINITY);
      EXPECT_EQ(mean[at(2)], -INFINITY);
    }
  }
}

// Of windows of 3 x 3 in a single line, between lines of padding.
TEST(Pool, HasThemInEachPlaceOfAWindow) {
  Case test;
  test.pool.geometry = {.outer = 1,
                        .inner = 1,
                        .in = {1, 1, 9},
                        .out = {},
                        .kernel = {1, 3, 3},
                        .strides = {1, 1, 1},
                        .dilations = {1, 1, 1},
                        .begin = {0, 1, 1},
                        .declared = {0, 1, 1}};
  set_outputs(&test.pool.geometry);
  Guarded x(test.inputs());
  const float values[] = {NAN, 1, NAN, 2, -INFINITY, INFINITY, 3, 4, NAN};
  std::copy(std::begin(values), std::end(values), x.get());
  for (lk_isa isa : lk::instruction_sets()) {
    test.pool.kind = LK_POOL_MAX;
    const Guarded y = run(test, x, isa);
    const float largest[] = {1, 1, 2, 2, INFINITY, INFINITY, INFINITY, 4, 4};
    for (size_t k = 0; k < y.size(); k++) EXPECT_EQ(y[k], largest[k]) << isa << " at " << k;
    test.pool.kind = LK_POOL_MEAN;
    const Guarded mean = run(test, x, isa);
    for (size_t k : {0, 1, 2, 3, 4, 5, 7, 8}) EXPECT_TRUE(std::isnan(mean[k])) << isa << k;
    EXPECT_EQ(mean[6], INFINITY);
  }
}

} // namespace
