// Bytes for real numbers and back, by the loops of every instruction set, in guarded memory.
#include <cfloat>
#include <cmath>
#include <cstring>

#include "tests/ops/kernel/integer/integer_case.h"

extern "C" {
#include "ops/kernel/integer/quantize.h"
}

namespace {

using lk::Memory;
using lk::integer_case::all_loops;
using lk::integer_case::Bytes;
using lk::integer_case::copy;
using lk::integer_case::number;
using lk::integer_case::Random;

Memory reals(Random &random, int64_t count) {
  Memory made(size_t(count) * 4);
  for (int64_t i = 0; i < count; i++) {
    static_cast<float *>(made.data())[i] = float(random.between(-3000, 3000)) / 64;
  }
  return made;
}

int quantized(float x, const lk_byte_type &type) {
  const float least = float((type.is_signed ? -128 : 0) - type.zero);
  const float clipped = std::fmin(std::fmax(x / type.scale, least), least + 255);
  return int(std::nearbyint(clipped)) + type.zero;
}

TEST(Quantize, FindsTheRangeOfAnyCount) {
  for (const lk_integer_loops *loops : all_loops()) {
    for (int64_t count = 0; count < 150; count++) {
      Random random{unsigned(count)};
      const Memory x = reals(random, count);
      float *data = static_cast<float *>(x.data());
      if (count > 3) data[count / 3] = NAN;
      float least = 0, most = 0, right[2] = {0, 0};
      loops->range(data, count, &least, &most);
      for (int64_t i = 0; i < count; i++) {
        right[0] = std::fmin(right[0], data[i]);
        right[1] = std::fmax(right[1], data[i]);
      }
      EXPECT_EQ(least, right[0]) << loops->lanes << " lanes, " << count;
      EXPECT_EQ(most, right[1]) << loops->lanes << " lanes, " << count;
    }
  }
}

TEST(Quantize, RoundsToEvenAndSaturates) {
  for (const lk_integer_loops *loops : all_loops()) {
    for (int64_t count = 1; count < 90; count++) {
      SCOPED_TRACE(std::to_string(loops->lanes) + " lanes, " + std::to_string(count));
      Random random{unsigned(count)};
      const lk_byte_type type = {0.25F, int32_t(random.between(0, 100)), count % 2 == 0};
      const Memory x = reals(random, count), y(static_cast<size_t>(count)), back(size_t(count) * 4);
      float *data = static_cast<float *>(x.data());
      data[0] = NAN;
      uint8_t *bytes = static_cast<uint8_t *>(y.data());
      loops->quantize(data, bytes, count, &type);
      loops->dequantize(bytes, static_cast<float *>(back.data()), count, &type);
      EXPECT_EQ(number(bytes[0], type.is_signed), type.is_signed ? -128 : 0);
      for (int64_t i = 1; i < count; i++) {
        const int whole = number(bytes[i], type.is_signed);
        ASSERT_EQ(whole, quantized(data[i], type)) << i;
        ASSERT_EQ(static_cast<float *>(back.data())[i], float(whole - type.zero) * type.scale);
      }
    }
  }
}

// Quotients that lie close to where rounding changes, for scales of every kind.
TEST(Quantize, RoundsTheQuotientAndNoProductByAnInverse) {
  Random random{7};
  for (int draw = 0; draw < lk::repeats(400); draw++) {
    const uint32_t exponent =
        draw % 8 == 0 ? uint32_t(random.between(0, 254)) : uint32_t(random.between(110, 140));
    const uint32_t fraction = draw % 5 == 0 ? 0x7fffff - uint32_t(random.between(0, 3))
                                            : uint32_t(random.between(0, 0x7fffff));
    const uint32_t bits = exponent << 23 | fraction;
    lk_byte_type type = {0, int32_t(random.between(-20, 20)), true};
    std::memcpy(&type.scale, &bits, sizeof bits);
    Memory x(2048 * 4), y(2048);
    float *data = static_cast<float *>(x.data());
    for (int i = 0; i < 2048; i++) {
      const float near = (float(random.between(-140, 140)) + 0.5F) * type.scale;
      data[i] = i % 3 == 0   ? near
                : i % 3 == 1 ? std::nextafter(near, INFINITY)
                             : std::nextafter(near, -INFINITY);
    }
    const float extremes[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, FLT_MIN, -0.0F, 1e-45F};
    std::memcpy(data, extremes, sizeof extremes);
    for (const lk_integer_loops *loops : all_loops()) {
      uint8_t *bytes = static_cast<uint8_t *>(y.data());
      loops->quantize(data, bytes, 2048, &type);
      for (int i = 1; i < 2048; i++) {
        ASSERT_EQ(number(bytes[i], true), quantized(data[i], type))
            << loops->lanes << " lanes, " << data[i] << " by " << type.scale;
      }
    }
  }
}

TEST(Quantize, CombinesBytes) {
  for (const lk_integer_loops *loops : all_loops()) {
    for (int64_t count = 1; count < 90; count++) {
      SCOPED_TRACE(std::to_string(loops->lanes) + " lanes, " + std::to_string(count));
      Random random{unsigned(count)};
      const Memory a = copy(random.bytes(count)), b = copy(random.bytes(count));
      const Memory y(static_cast<size_t>(count));
      const bool is_signed = count % 2 == 0, multiplies = count % 3 == 0;
      const lk_byte_type types[] = {
          {0.5F, 3, is_signed}, {0.25F, 100, is_signed}, {multiplies ? 64.0F : 2.0F, 7, is_signed}};
      const uint8_t *left = static_cast<uint8_t *>(a.data());
      const uint8_t *right = static_cast<uint8_t *>(b.data());
      uint8_t *bytes = static_cast<uint8_t *>(y.data());
      loops->combine(left, right, bytes, count, types, multiplies);
      for (int64_t i = 0; i < count; i++) {
        const float first = float(number(left[i], is_signed) - 3) * 0.5F;
        const float second = float(number(right[i], is_signed) - 100) * 0.25F;
        const float both = multiplies ? first * second : first + second;
        ASSERT_EQ(number(bytes[i], is_signed), quantized(both, types[2])) << i;
      }
    }
  }
}

// Rows of every length, for more elements than a turn has, which begins anywhere in a row.
TEST(Quantize, CombinesRowsThatRepeat) {
  Random random(5);
  for (const int64_t row : {1, 2, 15, 64, 511, 512, 700}) {
    const int64_t blocks = random.between(1, 3);
    const int64_t repeat = LK_QUANTIZE_TURN * 5 / 4 / (row * blocks) + random.between(2, 9);
    const int64_t count = blocks * repeat * row;
    const Memory a = copy(random.bytes(count)), b = copy(random.bytes(blocks * row));
    const Memory y(static_cast<size_t>(count));
    const float scales[] = {0.5F, 0.25F, 2.0F};
    const uint8_t zero = 7;
    for (const bool multiplies : {false, true}) {
      lk_bytes step = {};
      step.loops = all_loops().back();
      step.kind = multiplies ? LK_BYTES_MUL : LK_BYTES_ADD;
      step.count = count;
      step.has_zero[2] = true;
      step.repeat = repeat;
      step.row = row;
      void *pointers[] = {a.data(),
                          b.data(),
                          y.data(),
                          const_cast<float *>(&scales[0]),
                          const_cast<float *>(&scales[1]),
                          const_cast<float *>(&scales[2]),
                          const_cast<uint8_t *>(&zero)};
      LK_EXPECT_OK(lk_bytes_kernel(&step, pointers, LK_ERR));
      const uint8_t *left = static_cast<uint8_t *>(a.data());
      const uint8_t *right = static_cast<uint8_t *>(b.data());
      for (int64_t i = 0; i < count; i++) {
        const float first = float(left[i]) * 0.5F;
        const float second = float(right[i / (repeat * row) * row + i % row]) * 0.25F;
        ASSERT_EQ(static_cast<uint8_t *>(y.data())[i],
                  quantized(multiplies ? first * second : first + second, {2.0F, 7, false}))
            << "rows of " << row << ", element " << i;
      }
    }
  }
}

// By channels: rows of every length, more elements than a turn has, which begins anywhere in one.
TEST(Quantize, ConvertsByChannels) {
  Random random(6);
  for (const int64_t inner : {1, 7, 32, 1000, LK_QUANTIZE_TURN + 3}) {
    const int64_t channels = random.between(1, 5);
    const int64_t outer = LK_QUANTIZE_TURN * 3 / 2 / (inner * channels) + 1;
    const int64_t count = outer * channels * inner;
    const Memory x = reals(random, count), y(static_cast<size_t>(count)), back(size_t(count) * 4);
    const Memory scales(size_t(channels) * 4), zeros = copy(random.bytes(channels));
    for (int64_t i = 0; i < channels; i++) {
      static_cast<float *>(scales.data())[i] = 0.25F * float(i + 1);
    }
    lk_bytes step = {};
    step.loops = all_loops().back();
    step.kind = LK_BYTES_QUANTIZE;
    step.count = count;
    step.is_signed[0] = step.has_zero[0] = true;
    step.channels = channels;
    step.inner = inner;
    void *pointers[] = {x.data(), y.data(), scales.data(), zeros.data()};
    void *pointers_back[] = {y.data(), back.data(), scales.data(), zeros.data()};
    LK_EXPECT_OK(lk_bytes_kernel(&step, pointers, LK_ERR));
    step.kind = LK_BYTES_DEQUANTIZE;
    LK_EXPECT_OK(lk_bytes_kernel(&step, pointers_back, LK_ERR));
    for (int64_t i = 0; i < count; i++) {
      const int64_t channel = i / inner % channels;
      const lk_byte_type type = {static_cast<float *>(scales.data())[channel],
                                 static_cast<int8_t *>(zeros.data())[channel], true};
      const int whole = static_cast<int8_t *>(y.data())[i];
      ASSERT_EQ(whole, quantized(static_cast<float *>(x.data())[i], type)) << inner << ", " << i;
      ASSERT_EQ(static_cast<float *>(back.data())[i], float(whole - type.zero) * type.scale);
    }
  }
}

TEST(Quantize, LooksUpBytes) {
  Random random(8);
  const Memory table = copy(random.bytes(256));
  for (const lk_integer_loops *loops : all_loops()) {
    for (int64_t count = 0; count < 300; count++) {
      const Memory x = copy(random.bytes(count)), y(static_cast<size_t>(count));
      uint8_t *from = static_cast<uint8_t *>(x.data()), *to = static_cast<uint8_t *>(y.data());
      loops->look_up(static_cast<uint8_t *>(table.data()), from, to, count);
      for (int64_t i = 0; i < count; i++) {
        ASSERT_EQ(to[i], static_cast<uint8_t *>(table.data())[from[i]]) << i << " of " << count;
      }
      loops->look_up(static_cast<uint8_t *>(table.data()), from, from, count); // in place
      ASSERT_EQ(count == 0 ? 0 : std::memcmp(from, to, size_t(count)), 0) << count;
    }
  }
}

// From, to, and of each its scale and zero point.
std::vector<void *> between(const Memory &from, const Memory &to, const float scales[2],
                            const uint8_t zeros[2]) {
  return {from.data(),
          to.data(),
          const_cast<float *>(&scales[0]),
          const_cast<uint8_t *>(&zeros[0]),
          const_cast<float *>(&scales[1]),
          const_cast<uint8_t *>(&zeros[1])};
}

// The same of a byte whether a table is made or not, and in the place of what is read.
TEST(Quantize, FunctionsOfBytes) {
  Random random(9);
  for (const bool is_signed : {false, true}) {
    for (const int64_t count : {1, 255, 256, 257, LK_QUANTIZE_TURN * 2 + 5}) {
      const Memory x = copy(random.bytes(count)), y(static_cast<size_t>(count));
      const float scales[] = {0.0625F, 1.0F / 256};
      const uint8_t zeros[] = {3, uint8_t(is_signed ? -128 : 0)};
      lk_byte_table step = {};
      step.loops = all_loops().back();
      step.function = lk_element_loops_base.ops[LK_ELEMENT_SIGMOID][LK_ELEMENT_F32].all;
      step.count = count;
      step.is_signed[0] = step.is_signed[1] = is_signed;
      step.has_zero[0] = step.has_zero[1] = true;
      LK_EXPECT_OK(lk_byte_table_kernel(&step, between(x, y, scales, zeros).data(), LK_ERR));
      const uint8_t *from = static_cast<uint8_t *>(x.data()),
                    *to = static_cast<uint8_t *>(y.data());
      for (int64_t i = 0; i < count; i++) {
        const double real = (number(from[i], is_signed) - 3) * 0.0625;
        const double right = 256 / (1 + std::exp(-real)) + (is_signed ? -128 : 0);
        const double most = is_signed ? 127 : 255;
        ASSERT_NEAR(number(to[i], is_signed), std::fmin(right, most), 0.51) << i;
      }
    }
  }
}

// Channels side by side and apart, in all numbers.
TEST(Quantize, MeansOfBytes) {
  Random random(10);
  for (const lk_integer_loops *loops : all_loops()) {
    for (int round = 0; round < lk::repeats(60); round++) {
      const int64_t outer = random.between(1, 70), count = random.between(1, 90);
      const int64_t channels = round % 3 == 0 ? 1 : random.between(2, 150);
      const bool is_signed = round % 2 == 0;
      const Memory x = copy(random.bytes(outer * count * channels));
      const Memory y(size_t(outer * channels));
      const float scales[] = {0.5F, 0.25F};
      const uint8_t zeros[] = {9, 7};
      lk_byte_means step = {loops, outer, count, channels, {is_signed, is_signed}, {true, true}};
      LK_EXPECT_OK(lk_byte_means_kernel(&step, between(x, y, scales, zeros).data(), LK_ERR));
      for (int64_t i = 0; i < outer * channels; i++) {
        int64_t sum = 0;
        for (int64_t n = 0; n < count; n++) {
          const int64_t at = (i / channels * count + n) * channels + i % channels;
          sum += number(static_cast<uint8_t *>(x.data())[at], is_signed) - 9;
        }
        const float mean = float(double(sum) / double(count)) * 0.5F;
        ASSERT_EQ(number(static_cast<uint8_t *>(y.data())[i], is_signed),
                  quantized(mean, {0.25F, 7, is_signed}))
            << outer << " x " << count << " x " << channels << ", " << i;
      }
    }
  }
}

// Of sequences, only as much as the longest one has counts.
TEST(Quantize, LeavesWhatLiesBehindSequences) {
  Random random(1);
  const Memory x = reals(random, 24), y(24), scale(4), zero(1), lengths = copy(Bytes(8));
  static_cast<int32_t *>(lengths.data())[0] = 2;
  static_cast<int32_t *>(lengths.data())[1] = 1;
  float *data = static_cast<float *>(x.data());
  for (int i = 0; i < 24; i++) data[i] = i < 12 ? float(i) : 1000;
  lk_quantize step = {all_loops().back(), 24, 0, 2, 6};
  lk_quantize_plan(&step);
  const Memory scratch(size_t(lk_quantize_scratch_size(&step)) * 4);
  void *pointers[] = {x.data(),    y.data(),       scale.data(),
                      zero.data(), scratch.data(), lengths.data()};
  LK_EXPECT_OK(lk_quantize_kernel(&step, pointers, LK_ERR));
  EXPECT_EQ(*static_cast<float *>(scale.data()), 11.0F / 255);
  EXPECT_EQ(*static_cast<uint8_t *>(zero.data()), 0);
}

} // namespace
