// Strided copies, by random strides against plain loops, and fills.
#include <cstddef>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/kernel/copy.h"
#include "ops/kernel/strides.h"
}

namespace {

using Bytes = std::vector<char>;

// A dense source whose dimensions lie in any order, some of them backwards or repeated, and a dense
// destination whose dimensions lie in another order.
struct Case {
  lk_copy copy = {};
  Bytes from, to;
};

Case random_case(std::mt19937 &random) {
  Case made;
  lk_copy &copy = made.copy;
  const size_t sizes[] = {1, 2, 3, 4, 8, 16};
  copy.block = sizes[random() % 6];
  copy.rank = random() % 6;
  std::vector<uint32_t> from_order(copy.rank), to_order(copy.rank);
  std::iota(from_order.begin(), from_order.end(), 0u);
  to_order = from_order;
  std::shuffle(from_order.begin(), from_order.end(), random);
  if (random() % 2 == 0) {
    std::shuffle(to_order.begin(), to_order.end(), random);
  } else {
    to_order = from_order;
  }
  for (uint32_t i = 0; i < copy.rank; i++) copy.dims[i] = random() % 3 == 0 ? 1 : 1 + random() % 20;
  int64_t from_bytes = static_cast<int64_t>(copy.block), to_bytes = from_bytes;
  for (uint32_t i : from_order) {
    copy.from[i] = from_bytes;
    from_bytes *= copy.dims[i];
    if (random() % 4 == 0) { // backwards
      copy.from_offset += copy.from[i] * (copy.dims[i] - 1);
      copy.from[i] = -copy.from[i];
    } else if (random() % 4 == 0) { // repeated
      copy.from[i] = 0;
    }
  }
  for (uint32_t i : to_order) {
    copy.to[i] = to_bytes;
    to_bytes *= copy.dims[i];
  }
  copy.to_offset = 8;
  made.from.resize(static_cast<size_t>(from_bytes));
  made.to.assign(static_cast<size_t>(to_bytes + copy.to_offset), '\0');
  for (char &byte : made.from) byte = static_cast<char>(random());
  return made;
}

Bytes expected_of(const Case &made) {
  const lk_copy &copy = made.copy;
  Bytes to = made.to;
  int64_t count = 1;
  for (uint32_t i = 0; i < copy.rank; i++) count *= copy.dims[i];
  for (int64_t n = 0; n < count; n++) {
    int64_t rest = n, from = copy.from_offset, at = copy.to_offset;
    for (uint32_t i = 0; i < copy.rank; i++) {
      from += rest % copy.dims[i] * copy.from[i];
      at += rest % copy.dims[i] * copy.to[i];
      rest /= copy.dims[i];
    }
    std::memcpy(to.data() + at, made.from.data() + from, copy.block);
  }
  return to;
}

TEST(Copy, MovesEveryElementOnce) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; i++) {
    SCOPED_TRACE(i);
    Case made = random_case(random);
    const Bytes expected = expected_of(made);
    lk_copy simple = made.copy;
    lk_copy_simplify(&simple);
    void *const pointers[] = {made.from.data(), made.to.data()};
    LK_ASSERT_OK(lk_copy_kernel(&simple, pointers, LK_ERR));
    ASSERT_EQ(made.to, expected);
  }
}

TEST(Copy, OfDenseTensorsIsOneBlock) {
  lk_tensor_desc desc = {};
  desc.dtype = LK_I16;
  desc.rank = 4;
  desc.layout = LK_LAYOUT_CHANNELS_LAST;
  const int64_t dims[] = {2, 3, 1, 5};
  std::copy(std::begin(dims), std::end(dims), desc.dims);
  lk_copy copy = lk_copy_between(&desc, &desc);
  EXPECT_EQ(copy.from[1], 2);
  EXPECT_EQ(copy.from[3], 2 * 3);
  lk_copy_simplify(&copy);
  EXPECT_EQ(copy.rank, 0u);
  EXPECT_EQ(copy.block, 2u * 3 * 5 * sizeof(int16_t));
}

TEST(Copy, OfOneBlockNeedsNoDimensions) {
  const size_t head = offsetof(lk_copy, dims);
  Bytes params(head), from = {1, 2, 3}, to(3);
  lk_copy copy = {};
  copy.block = from.size();
  std::memcpy(params.data(), &copy, head);
  void *const pointers[] = {from.data(), to.data()};
  LK_EXPECT_OK(lk_copy_kernel(params.data(), pointers, LK_ERR));
  EXPECT_EQ(to, from);
}

TEST(MergeDims, KeepsWhatOnlyOneTensorWalksAsOne) {
  int64_t dims[] = {2, 1, 3, 4}, a[] = {12, 7, 4, 1}, b[] = {4, 7, 0, 1};
  ASSERT_EQ(lk_merge_dims(4, dims, a, b), 3u);
  EXPECT_EQ(std::vector<int64_t>(dims, dims + 3), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(std::vector<int64_t>(b, b + 3), (std::vector<int64_t>{4, 0, 1}));
}

TEST(Fill, RepeatsItsBytes) {
  for (const int64_t count : {0, 1, 2, 3, 100}) {
    lk_fill fill = {};
    fill.count = count;
    fill.size = 3;
    std::memcpy(fill.value, "abc", 3);
    Bytes to(static_cast<size_t>(count) * 3 + 1, '.');
    void *const pointers[] = {to.data()};
    LK_EXPECT_OK(lk_fill_kernel(&fill, pointers, LK_ERR));
    for (size_t i = 0; i + 1 < to.size(); i++) ASSERT_EQ(to[i], "abc"[i % 3]) << i;
    EXPECT_EQ(to.back(), '.');
  }
}

} // namespace
