// Keys and values as bytes or halves of bytes: rows longer than what is taken at a time, there and
// back.
#include <cmath>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/kernel/integer/integer_loops.h"
#include "ops/kernel/sequence/kv_bytes.h"
}

namespace {

class KvBytes : public ::testing::TestWithParam<bool> {
protected:
  KvBytes() {
    step.loops = lk_integer_loops_get(lk_isa_get());
    step.batch = 1;
    step.heads = 2;
    step.rows = step.buffer_rows = 3;
    step.size = 600;
    step.is_half = GetParam();
    step.from[0] = step.heads * step.rows * step.size;
    step.from[1] = step.rows * step.size;
    step.from[2] = step.size;
  }
  size_t elements() const { return size_t(step.heads * step.rows * step.size); }
  size_t row_bytes() const { return size_t(step.is_half ? step.size / 2 : step.size); }

  lk_kv_bytes step{};
};
INSTANTIATE_TEST_SUITE_P(Bits, KvBytes, ::testing::Bool(),
                         [](const auto &info) { return info.param ? "of4" : "of8"; });

TEST_P(KvBytes, OfLongRowsAreTheNumbersThatTheyStandFor) {
  const int least = GetParam() ? -8 : -128, most = GetParam() ? 7 : 127;
  for (const bool has_scales : {false, true}) {
    step.has_scales = has_scales;
    std::vector<float> scales(has_scales ? size_t(step.heads * step.size) : 1);
    for (size_t i = 0; i < scales.size(); i++) scales[i] = 0.25F * float(1 + i % 4);
    std::vector<float> numbers(elements()), found(elements());
    for (size_t i = 0; i < numbers.size(); i++) {
      const size_t head = i / size_t(step.rows * step.size), at = i % size_t(step.size);
      const float scale = has_scales ? scales[head * size_t(step.size) + at] : scales[0];
      numbers[i] = scale * float(least + int(i * 7 % size_t(most - least + 1)));
    }
    // [row][head][...] becomes [head][row][...]
    std::vector<uint8_t> bytes(row_bytes() * 6), by_head(bytes.size());
    void *const to_bytes[] = {numbers.data(), bytes.data(), scales.data()};
    LK_ASSERT_OK(lk_kv_quantize_kernel(&step, to_bytes, LK_ERR));
    for (size_t row = 0; row < 3; row++) {
      for (size_t head = 0; head < 2; head++) {
        std::copy_n(&bytes[(row * 2 + head) * row_bytes()], row_bytes(),
                    &by_head[(head * 3 + row) * row_bytes()]);
      }
    }
    void *const to_numbers[] = {by_head.data(), found.data(), scales.data()};
    LK_ASSERT_OK(lk_kv_dequantize_kernel(&step, to_numbers, LK_ERR));
    EXPECT_EQ(found, numbers);
  }
}

} // namespace
