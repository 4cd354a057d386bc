// Products of bytes by the loops of every instruction set, against plain loops, in guarded memory.
#include <algorithm>
#include <cmath>

#include "tests/harness/fenced.h"
#include "tests/ops/kernel/integer/integer_case.h"

extern "C" {
#include "ops/kernel/integer/product_integer.h"
#include "ops/kernel/sequence/recurrent_integer.h"
}

namespace {

using lk::Fenced;
using lk::Memory;
using lk::integer_case::all_loops;
using lk::integer_case::any_scale;
using lk::integer_case::as_byte;
using lk::integer_case::Bytes;
using lk::integer_case::copy;
using lk::integer_case::number;
using lk::integer_case::Random;

void pack(const lk_product_integer &product, const Memory &b, const Fenced &packed) {
  void *pointers[] = {b.data(), packed.data()};
  LK_EXPECT_OK(lk_product_integer_pack_kernel(&product, pointers, LK_ERR));
}

std::vector<int32_t> run(const lk_product_integer &product, const Bytes &a, const Bytes &b,
                         const Bytes &a_zero, const Bytes &b_zero, size_t count) {
  const Memory left = copy(a), right = copy(b), left_zero = copy(a_zero), right_zero = copy(b_zero);
  const Fenced packed(lk_product_integer_packed_size(&product) * sizeof(int32_t));
  const Fenced scratch(lk_product_integer_scratch_size(&product) * sizeof(int32_t));
  const Memory to(count * 4);
  pack(product, right, packed);
  void *pointers[] = {left.data(),    packed.data(),    to.data(),
                      scratch.data(), left_zero.data(), right_zero.data()};
  LK_EXPECT_OK(lk_product_integer_kernel(&product, pointers, LK_ERR));
  const int32_t *data = static_cast<const int32_t *>(to.data());
  return std::vector<int32_t>(data, data + count);
}

constexpr uint32_t HAS = 1U << LK_INTEGER_A | 1U << LK_INTEGER_B | 1U << LK_INTEGER_C |
                         1U << LK_INTEGER_SCRATCH | 1U << LK_INTEGER_A_ZERO |
                         1U << LK_INTEGER_B_ZERO;

// Also those that are for such a right operand.
std::vector<const lk_integer_loops *> loops_of(const Bytes &b, bool is_signed) {
  std::vector<const lk_integer_loops *> found = all_loops();
  if (lk_isa_get() < LK_ISA_AVX2) return found;
  if (lk_integer_are_small(b.data(), int64_t(b.size()), is_signed)) {
    found.push_back(lk_integer_loops_small(LK_ISA_AVX2));
  }
  return found;
}

// As far from the middle as small ones are, and often just so far.
Bytes small_bytes(Random &random, int64_t count, bool is_signed) {
  Bytes made(static_cast<size_t>(count));
  const bool extreme = random.between(0, 1) != 0;
  for (uint8_t &byte : made) {
    const int64_t of_signed = extreme ? random.between(0, 1) * 128 - 64 : random.between(-64, 64);
    byte = uint8_t(of_signed + (is_signed ? 0 : 128));
  }
  return made;
}

TEST(IntegerLoops, SmallBytesHaveTheirOwn) {
  EXPECT_EQ(lk_integer_loops_small(LK_ISA_BASE), nullptr);
  EXPECT_EQ(lk_integer_loops_small(LK_ISA_AVX2), &lk_integer_avx2_small);
  EXPECT_EQ(lk_integer_loops_small(LK_ISA_AVX512), nullptr);
  Bytes bytes(10000, 3);
  const auto has_own = [&](uint8_t byte, bool is_signed) {
    bytes[9000] = byte;
    return lk_integer_are_small(bytes.data(), 10000, is_signed);
  };
  EXPECT_TRUE(has_own(64, true));
  EXPECT_TRUE(has_own(192, true)); // -64
  EXPECT_FALSE(has_own(65, true));
  EXPECT_FALSE(has_own(191, true));
  EXPECT_FALSE(has_own(64, false)); // the others are 3, less 128
  bytes.assign(10000, 128);
  EXPECT_TRUE(has_own(64, false));
  EXPECT_TRUE(has_own(192, false));
  EXPECT_FALSE(has_own(63, false));
  EXPECT_FALSE(has_own(193, false));
}

// What plain loops make of it. Sums wrap around.
std::vector<int32_t> expected(const lk_product_integer &product, const Bytes &a, const Bytes &b,
                              const Bytes &a_zero, const Bytes &b_zero) {
  std::vector<int32_t> sums;
  for (int64_t r = 0; r < product.rows; r++) {
    for (int64_t n = 0; n < product.columns; n++) {
      const int32_t row_zero = number(a_zero[size_t(r)], product.a_is_signed);
      const int32_t column_zero = number(b_zero[size_t(n)], product.b_is_signed);
      const uint8_t *left = a.data() + r * product.a_row;
      const uint8_t *right = b.data() + n * product.b_column;
      uint32_t sum = 0;
      for (int64_t i = 0; i < product.k; i++) {
        sum += uint32_t((number(left[i * product.a_k], product.a_is_signed) - row_zero) *
                        (number(right[i * product.b_step], product.b_is_signed) - column_zero));
      }
      sums.push_back(int32_t(sum));
    }
  }
  return sums;
}

// Zero points of each row and column; both operands in any order of memory.
void check_product(Random &random, int64_t rows, int64_t columns, int64_t k) {
  const bool a_turned = random.between(0, 3) == 0, b_turned = random.between(0, 3) == 0;
  const Bytes a = random.bytes(rows * k);
  const Bytes a_zero = random.bytes(rows), b_zero = random.bytes(columns);
  lk_product_integer product = {};
  product.has = HAS;
  product.a_is_signed = random.between(0, 1) != 0;
  product.b_is_signed = random.between(0, 1) != 0;
  const Bytes b = random.between(0, 1) != 0 ? small_bytes(random, k * columns, product.b_is_signed)
                                            : random.bytes(k * columns);
  product.c_dtype = LK_I32;
  product.rows = rows, product.columns = columns, product.k = k;
  product.a_row = a_turned ? 1 : k, product.a_k = a_turned ? rows : 1;
  product.b_inner = k, product.b_matrices = 1;
  product.b_step = b_turned ? 1 : columns, product.b_column = b_turned ? k : 1;
  product.a_zero_step = product.b_zero_step = 1;
  product.c_row = columns;
  const std::vector<int32_t> wanted = expected(product, a, b, a_zero, b_zero);
  for (const lk_integer_loops *loops : loops_of(b, product.b_is_signed)) {
    SCOPED_TRACE(std::to_string(loops->lanes) + " lanes, groups of " +
                 std::to_string(loops->group) + ", k " + std::to_string(k));
    product.loops = loops;
    lk_product_integer_plan(&product);
    const auto found = run(product, a, b, a_zero, b_zero, wanted.size());
    for (size_t i = 0; i < wanted.size(); i++) {
      ASSERT_EQ(found[i], wanted[i])
          << "row " << i / size_t(columns) << ", column " << i % size_t(columns);
    }
  }
}

TEST(ProductInteger, IsExact) {
  for (int seed = 0; seed < lk::repeats(300); seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const int64_t rows = random.between(1, 60), columns = random.between(1, 140);
    check_product(random, rows, columns, random.between(0, seed % 10 == 0 ? 3000 : 70));
    if (HasFatalFailure()) return;
  }
}

// Long sums are made of parts.
TEST(ProductInteger, IsExactInParts) {
  for (int seed = 0; seed < 12; seed++) {
    Random random(seed);
    const int64_t rows = random.between(1, 20), columns = random.between(1, 70);
    check_product(random, rows, columns, random.between(65530, seed % 4 == 0 ? 300000 : 65540));
    if (HasFatalFailure()) return;
  }
}

// Windows that reach into the padding, of a channels-last image.
TEST(ProductInteger, ConvolvesWithPaddingOfTheZeroPoint) {
  for (int seed = 0; seed < lk::repeats(100); seed++) {
    Random random(seed);
    const int64_t size = random.between(1, 9), channels = random.between(1, 20);
    const int64_t outputs = random.between(1, 70), kernel = random.between(1, 5);
    const int64_t stride = random.between(1, 2), pad = random.between(0, 3);
    const int64_t down = random.between(1, 2), across = random.between(1, 4) / 4 + 1; // dilations
    const int64_t reach = (kernel - 1) * std::max(down, across) + 1, taps = kernel * kernel;
    if (size + 2 * pad < reach) continue;
    const int64_t out = (size + 2 * pad - reach) / stride + 1;
    const Bytes x = random.bytes(size * size * channels),
                w = random.bytes(outputs * channels * taps);
    const Bytes x_zero = random.bytes(1), w_zero = random.bytes(1);
    lk_product_integer product = {};
    product.has = HAS;
    product.a_is_signed = random.between(0, 1) != 0;
    product.b_is_signed = random.between(0, 1) != 0;
    product.c_dtype = LK_I32;
    product.rows = out * out, product.columns = outputs, product.k = taps * channels;
    product.a_row = channels;
    product.b_inner = channels, product.b_step = taps, product.b_outer = 1;
    product.b_column = product.k, product.b_matrices = 1;
    product.c_row = outputs;
    product.is_conv = true;
    product.conv = {1,
                    1,
                    channels,
                    outputs,
                    {1, size, size},
                    {1, out, out},
                    {1, kernel, kernel},
                    {1, int32_t(stride), int32_t(stride)},
                    {1, int32_t(down), int32_t(across)},
                    {0, int32_t(pad), int32_t(pad)}};
    for (const lk_integer_loops *loops : all_loops()) {
      product.loops = loops;
      lk_product_integer_plan(&product);
      const auto found = run(product, x, w, x_zero, w_zero, size_t(out * out * outputs));
      for (int64_t at = 0; at < out * out * outputs; at++) {
        const int64_t o = at % outputs, column = at / outputs % out, line = at / outputs / out;
        int32_t sum = 0;
        for (int64_t tap = 0; tap < taps; tap++) {
          const int64_t h = line * stride - pad + tap / kernel * down;
          const int64_t v = column * stride - pad + tap % kernel * across;
          if (h < 0 || h >= size || v < 0 || v >= size) continue;
          for (int64_t c = 0; c < channels; c++) {
            sum += (number(x[size_t((h * size + v) * channels + c)], product.a_is_signed) -
                    number(x_zero[0], product.a_is_signed)) *
                   (number(w[size_t((o * channels + c) * taps + tap)], product.b_is_signed) -
                    number(w_zero[0], product.b_is_signed));
          }
        }
        ASSERT_EQ(found[size_t(at)], sum) << "seed " << seed << ", output " << at;
      }
    }
  }
}

// Rows at any address, rounded to even and saturated, as the exact sums are.
TEST(ProductInteger, ScalesToBytes) {
  for (int seed = 0; seed < lk::repeats(200); seed++) {
    Random random(seed);
    const int64_t rows = random.between(1, 60), columns = random.between(1, 140);
    const int64_t k = random.between(0, 8) * 4 + random.between(0, 3) / 3, shift = seed % 3;
    const Bytes a = random.bytes(rows * k + shift), b = random.bytes(k * columns);
    const Bytes a_zero = random.bytes(1), c_zero = random.bytes(1);
    std::vector<float> scale(static_cast<size_t>(columns));
    const bool by_row = random.between(0, 3) == 0; // the bias, else by column
    std::vector<int32_t> bias(static_cast<size_t>(by_row ? rows : columns));
    for (float &each : scale) {
      each = float(random.between(1, 64)) / 8192;
      if (seed % 4 == 0) each = any_scale(random, each);
    }
    for (int32_t &each : bias) each = int32_t(random.between(-20000, 20000));
    lk_product_integer product = {};
    product.has = (HAS & ~(1U << LK_INTEGER_B_ZERO)) | 1U << LK_INTEGER_SCALE |
                  1U << LK_INTEGER_BIAS | 1U << LK_INTEGER_C_ZERO;
    product.a_is_signed = random.between(0, 3) == 0;
    product.b_is_signed = random.between(0, 3) != 0;
    const bool c_is_signed = random.between(0, 1) != 0;
    product.c_dtype = c_is_signed ? LK_I8 : LK_U8;
    product.rows = rows, product.columns = columns, product.k = k;
    product.a_row = k, product.a_k = 1;
    product.b_inner = k, product.b_matrices = 1, product.b_step = columns, product.b_column = 1;
    product.scale_step = 1;
    (by_row ? product.bias_row : product.bias_column) = 1;
    product.c_row = columns + shift;
    for (const lk_integer_loops *loops : all_loops()) {
      SCOPED_TRACE(std::to_string(loops->lanes) + " lanes, groups of " +
                   std::to_string(loops->group) + ", seed " + std::to_string(seed));
      product.loops = loops;
      lk_product_integer_plan(&product);
      const Memory left = copy(a), right = copy(b), left_zero = copy(a_zero), zero = copy(c_zero);
      const Fenced packed(lk_product_integer_packed_size(&product) * sizeof(int32_t));
      const Fenced scratch(lk_product_integer_scratch_size(&product) * sizeof(int32_t));
      const Fenced to(size_t(rows * (columns + shift) - shift));
      pack(product, right, packed);
      void *pointers[] = {static_cast<char *>(left.data()) + shift,
                          packed.data(),
                          to.data(),
                          scratch.data(),
                          left_zero.data(),
                          scale.data(),
                          bias.data(),
                          zero.data()};
      LK_EXPECT_OK(lk_product_integer_kernel(&product, pointers, LK_ERR));
      const auto *found = static_cast<const uint8_t *>(to.data());
      for (int64_t r = 0; r < rows; r++) {
        for (int64_t n = 0; n < columns; n++) {
          int32_t sum = bias[size_t(by_row ? r : n)];
          for (int64_t i = 0; i < k; i++) {
            sum += (number(a[size_t(shift + r * k + i)], product.a_is_signed) -
                    number(a_zero[0], product.a_is_signed)) *
                   number(b[size_t(i * columns + n)], product.b_is_signed);
          }
          ASSERT_EQ(
              number(found[r * product.c_row + n], c_is_signed),
              as_byte(float(sum) * scale[size_t(n)], number(c_zero[0], c_is_signed), c_is_signed))
              << "row " << r << ", column " << n << ", scale " << scale[size_t(n)];
        }
        for (int64_t n = columns; r + 1 < rows && n < product.c_row; n++) {
          ASSERT_EQ(found[r * product.c_row + n], 0xcd) << "behind row " << r;
        }
      }
    }
  }
}

// State by R, in the scratch memory that it asks for.
TEST(RecurrentInteger, AddsToTheGates) {
  for (int seed = 0; seed < lk::repeats(60); seed++) {
    Random random(seed);
    const int64_t rows = random.between(1, 70), hidden = random.between(1, 90),
                  columns = 4 * hidden;
    const Bytes r = random.bytes(hidden * columns);
    std::vector<float> h(size_t(rows * hidden));
    for (float &value : h) value = float(random.between(-127, 128));
    h[0] = -127, h.back() = rows * hidden > 1 ? 128 : -127;
    const float scale = 0.25F;
    const uint8_t zero = 77;
    for (const lk_integer_loops *loops : all_loops()) {
      SCOPED_TRACE(std::to_string(loops->lanes) + " lanes, seed " + std::to_string(seed));
      lk_recurrent_integer layer = {};
      layer.product.loops = loops;
      layer.product.rows = rows, layer.product.columns = columns, layer.product.k = hidden;
      layer.product.b_inner = hidden, layer.product.b_step = columns, layer.product.b_column = 1;
      layer.product.b_matrices = 1;
      lk_product_integer_plan(&layer.product);
      const Fenced packed(lk_product_integer_packed_size(&layer.product) * sizeof(int32_t));
      const Fenced scratch(lk_recurrent_integer_scratch_size(&layer) * sizeof(int32_t));
      pack(layer.product, copy(r), packed);
      lk_recurrent_bytes step =
          lk_recurrent_bytes_make(&layer, 0, packed.data(), &scale, &zero, scratch.data());
      lk_recurrent_bytes_begin(&step, -127, 128); // the scale is 1
      std::vector<float> gates(size_t(rows * columns), 3);
      lk_recurrent_bytes_multiply(&step, h.data(), hidden, rows, gates.data(), columns);
      for (int64_t i = 0; i < rows * columns; i++) {
        int32_t sum = 0;
        for (int64_t k = 0; k < hidden; k++) {
          sum += int32_t(h[size_t(i / columns * hidden + k)]) *
                 (int32_t(r[size_t(k * columns + i % columns)]) - zero);
        }
        ASSERT_EQ(gates[size_t(i)], 3 + float(sum) * scale) << "gate " << i;
      }
    }
  }
}

} // namespace
