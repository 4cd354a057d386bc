// The best elements of lines against a stable sort, of every type.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/harness/lk_test.h"
#include "tests/ops/kernel/element/element_reference.h"

extern "C" {
#include "base/tensor.h"
#include "ops/kernel/reduce/top_k.h"
}

namespace {

constexpr uint32_t TYPES[] = {LK_F32, LK_F64, LK_F16, LK_BF16, LK_I8,  LK_U8,
                              LK_I16, LK_U16, LK_I32, LK_U32,  LK_I64, LK_U64};

// NaN is larger than any number, and both zeros are equal.
bool is_less(uint32_t dtype, const lk::Number &a, const lk::Number &b) {
  switch (lk_element_class_of(dtype)) {
  case LK_ELEMENT_F32:
    return std::isnan(b.f32) ? !std::isnan(a.f32) : a.f32 < b.f32;
  case LK_ELEMENT_F64:
    return std::isnan(b.f64) ? !std::isnan(a.f64) : a.f64 < b.f64;
  case LK_ELEMENT_I32:
    return a.i32 < b.i32;
  case LK_ELEMENT_I64:
    return a.i64 < b.i64;
  default:
    return a.u64 < b.u64;
  }
}

// Any bits, or few values, of which many are equal; so there are infinities, NaN and both zeros.
std::vector<char> draw(std::mt19937 &random, uint32_t dtype, size_t bytes, bool is_few) {
  std::vector<char> x(bytes);
  const size_t size = lk_dtype_size(dtype);
  for (char &byte : x) byte = char(random());
  for (size_t i = 0; is_few && i < bytes; i += size) {
    std::fill_n(x.begin() + long(i), size, char(0));
    x[i + size - 1] = char(random() % 2 == 0 ? 0x80 : 0); // a sign
    if (random() % 3 == 0) x[i + size - 2 + (size == 1)] = char(random() % 4);
    if (size > 1 && random() % 9 == 0) x[i + size - 1] = char(0x7f), x[i + size - 2] = char(-1);
  }
  return x;
}

void check(std::mt19937 &random, uint32_t dtype, int64_t count, int64_t k, int64_t inner,
           bool smallest, bool is_few) {
  lk_top_k step = {2, count, inner, k, dtype, smallest, {}, nullptr, nullptr};
  lk_top_k_plan(&step);
  const size_t size = lk_dtype_size(dtype);
  std::vector<char> x = draw(random, dtype, size_t(2 * count * inner) * size, is_few);
  std::vector<uint64_t> values(size_t(2 * k * inner)); // 8 bytes each, aligned
  std::vector<int64_t> indices(values.size());
  void *const pointers[] = {x.data(), values.data(), indices.data()};
  LK_ASSERT_OK(lk_top_k_kernel(&step, pointers, LK_ERR));
  for (int64_t line = 0; line < 2 * inner; line++) {
    const int64_t outer = line / inner, at = line % inner;
    const auto place = [&](int64_t i) { return size_t((outer * count + i) * inner + at) * size; };
    const auto read = [&](int64_t i) { return lk::read_element(dtype, x.data() + place(i)); };
    std::vector<int64_t> order(size_t(count), 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return smallest ? is_less(dtype, read(a), read(b)) : is_less(dtype, read(b), read(a));
    });
    for (int64_t i = 0; i < k; i++) {
      const auto found = size_t((outer * k + i) * inner + at);
      ASSERT_EQ(indices[found], order[size_t(i)]) << i;
      const char *value = reinterpret_cast<const char *>(values.data()) + found * size;
      ASSERT_EQ(std::memcmp(value, x.data() + place(order[size_t(i)]), size), 0) << i;
    }
  }
}

TEST(TopK, IsAStableSort) {
  std::mt19937 random(1);
  // beyond 1024, heaps and lines are no longer on the stack as a whole
  const std::pair<int64_t, int64_t> sizes[] = {
      {1, 1},       {7, 1},     {7, 3},       {31, 1},     {33, 33}, {100, 1},
      {8, 8},       {16, 3},    {25, 24},     {32, 32},    {200, 3}, {1000, 5},
      {1024, 1024}, {1500, 40}, {1500, 1100}, {1100, 1100}};
  for (const uint32_t dtype : TYPES) {
    for (const auto &[count, k] : sizes) {
      for (int round = 0; round < 8; round++) {
        const int64_t inner = round % 2 == 0 ? 1 : 3;
        SCOPED_TRACE(lk_dtype_name(dtype) + std::string(" ") + std::to_string(k) + " of " +
                     std::to_string(count) + " round " + std::to_string(round));
        check(random, dtype, count, k, inner, round % 4 >= 2, round >= 4);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

} // namespace
