// Depthwise convolutions of bytes by the loops of every instruction set, against plain loops, in
// guarded memory.
#include "tests/ops/kernel/integer/integer_case.h"

extern "C" {
#include "ops/kernel/integer/depthwise_integer.h"
}

namespace {

using lk::Memory;
using lk::integer_case::all_loops;
using lk::integer_case::any_scale;
using lk::integer_case::as_byte;
using lk::integer_case::Bytes;
using lk::integer_case::copy;
using lk::integer_case::number;
using lk::integer_case::Random;

struct Case {
  lk_depthwise_integer step = {};
  Bytes x, w, x_zero, w_zero;
};

Case draw(Random &random) {
  Case made;
  const int64_t channels = random.between(16, 70);
  lk_conv_shape &conv = made.step.conv;
  conv = {random.between(1, 2), channels, 1, 1, {}, {}, {}, {}, {}, {}};
  int64_t places = conv.batch * channels, taps = channels;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const bool is_there = d > 0;
    conv.in[d] = is_there ? random.between(1, 9) : 1;
    conv.kernel[d] = is_there ? random.between(1, 3) : 1;
    conv.stride[d] = random.between(1, 2);
    conv.dilation[d] = random.between(1, 2);
    conv.pad[d] = is_there ? random.between(0, 3) : 0;
    const int64_t reach = (conv.kernel[d] - 1) * conv.dilation[d] + 1;
    const int64_t room = conv.in[d] + 2 * conv.pad[d] - reach;
    conv.out[d] = room < 0 ? 1 : room / conv.stride[d] + 1;
    places *= conv.in[d];
    taps *= conv.kernel[d];
  }
  made.step.a_is_signed = random.between(0, 1) != 0;
  made.step.b_is_signed = random.between(0, 1) != 0;
  made.step.b_zero_step = random.between(0, 1);
  made.x = random.bytes(places);
  made.w = random.bytes(taps);
  made.x_zero = random.bytes(1);
  made.w_zero = random.bytes(made.step.b_zero_step != 0 ? channels : 1);
  return made;
}

int32_t sum_at(const Case &of, int64_t n, int64_t y, int64_t x, int64_t c) {
  const lk_conv_shape &conv = of.step.conv;
  int32_t sum = 0;
  for (int64_t i = 0; i < conv.kernel[1]; i++) {
    for (int64_t j = 0; j < conv.kernel[2]; j++) {
      const int64_t row = y * conv.stride[1] - conv.pad[1] + i * conv.dilation[1];
      const int64_t column = x * conv.stride[2] - conv.pad[2] + j * conv.dilation[2];
      if (row < 0 || row >= conv.in[1] || column < 0 || column >= conv.in[2]) continue;
      const int64_t at = ((n * conv.in[1] + row) * conv.in[2] + column) * conv.groups + c;
      const int64_t tap = (c * conv.kernel[1] + i) * conv.kernel[2] + j;
      sum += (number(of.x[size_t(at)], of.step.a_is_signed) -
              number(of.x_zero[0], of.step.a_is_signed)) *
             (number(of.w[size_t(tap)], of.step.b_is_signed) -
              number(of.w_zero[size_t(c * of.step.b_zero_step)], of.step.b_is_signed));
    }
  }
  return sum;
}

// As `type`, with a bias and a scale of each channel.
Memory run(lk_depthwise_integer step, const Case &of, uint8_t type, const Memory &scale,
           const Memory &bias) {
  const Bytes c_zero = {3};
  const int64_t outputs = step.conv.batch * step.conv.out[1] * step.conv.out[2] * step.conv.groups;
  const Memory x = copy(of.x), w = copy(of.w), zero = copy(of.x_zero), w_zero = copy(of.w_zero);
  const Memory packed(of.w.size());
  Memory to(size_t(outputs) * lk::dtype_bytes(type)), y_zero = copy(c_zero);
  void *weights[] = {w.data(), packed.data()};
  LK_EXPECT_OK(lk_depthwise_integer_pack_kernel(&step.conv, weights, LK_ERR));
  step.c_dtype = type;
  step.has = 1U << LK_INTEGER_A | 1U << LK_INTEGER_B | 1U << LK_INTEGER_C |
             1U << LK_INTEGER_SCRATCH | 1U << LK_INTEGER_A_ZERO | 1U << LK_INTEGER_B_ZERO |
             1U << LK_INTEGER_SCALE | 1U << LK_INTEGER_BIAS | 1U << LK_INTEGER_C_ZERO;
  step.scale_step = step.bias_step = 1;
  const Memory scratch(size_t(lk_depthwise_integer_scratch_size(&step)) * 4);
  void *pointers[] = {x.data(),      packed.data(), to.data(),   scratch.data(), zero.data(),
                      w_zero.data(), scale.data(),  bias.data(), y_zero.data()};
  LK_EXPECT_OK(lk_depthwise_integer_kernel(&step, pointers, LK_ERR));
  return to;
}

TEST(DepthwiseInteger, IsExact) {
  for (unsigned seed = 0; seed < 200; seed++) {
    Random random(seed);
    const Case of = draw(random);
    const lk_conv_shape &conv = of.step.conv;
    const Memory scale(size_t(conv.groups) * 4), bias(size_t(conv.groups) * 4);
    for (int64_t c = 0; c < conv.groups; c++) {
      const float usual = 1.0F / float(1 << random.between(4, 12));
      static_cast<float *>(scale.data())[c] = seed % 4 == 0 ? any_scale(random, usual) : usual;
      static_cast<int32_t *>(bias.data())[c] = int32_t(random.between(-9999, 9999));
    }
    for (const lk_integer_loops *loops : all_loops()) {
      SCOPED_TRACE(std::to_string(loops->lanes) + " lanes, seed " + std::to_string(seed));
      lk_depthwise_integer step = of.step;
      step.loops = loops;
      ASSERT_TRUE(lk_depthwise_integer_takes(&conv, loops));
      const Memory sums = run(step, of, LK_I32, scale, bias);
      const Memory bytes = run(step, of, LK_I8, scale, bias);
      const int32_t *sum = static_cast<const int32_t *>(sums.data());
      const int8_t *byte = static_cast<const int8_t *>(bytes.data());
      for (int64_t n = 0; n < conv.batch; n++) {
        for (int64_t y = 0; y < conv.out[1]; y++) {
          for (int64_t x = 0; x < conv.out[2]; x++) {
            for (int64_t c = 0; c < conv.groups; c++) {
              const int32_t right =
                  sum_at(of, n, y, x, c) + static_cast<const int32_t *>(bias.data())[c];
              ASSERT_EQ(*sum++, right) << n << " " << y << " " << x << " " << c;
              const float real = float(right) * static_cast<const float *>(scale.data())[c];
              ASSERT_EQ(*byte++, as_byte(real, 3, true)) << n << " " << y << " " << x << " " << c;
            }
          }
        }
      }
    }
  }
}

} // namespace
