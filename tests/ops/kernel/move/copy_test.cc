// Strided copies, by random strides against plain loops, and fills.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/move/copy.h"
#include "ops/kernel/move/fill.h"
#include "ops/kernel/strides.h"
}

namespace {

using Bytes = std::vector<char>;

// A source whose dimensions lie in any order, some of them backwards, repeated or of every second
// element, and a dense destination whose dimensions lie in another order.
struct Case {
  lk_copy copy = {};
  Bytes from, to;
};

Case random_case(std::mt19937 &random) {
  Case made;
  lk_copy &copy = made.copy;
  const size_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 40, 64, 100};
  copy.block = sizes[random() % 12];
  copy.rank = random() % (LK_MAX_RANK + 1);
  const uint32_t most = copy.rank > 4 ? 4 : 20;
  std::vector<uint32_t> from_order(copy.rank), to_order(copy.rank);
  std::iota(from_order.begin(), from_order.end(), 0u);
  to_order = from_order;
  std::shuffle(from_order.begin(), from_order.end(), random);
  if (random() % 2 == 0) {
    std::shuffle(to_order.begin(), to_order.end(), random);
  } else {
    to_order = from_order;
  }
  for (uint32_t i = 0; i < copy.rank; i++)
    copy.dims[i] = random() % 3 == 0 ? 1 : 1 + random() % most;
  int64_t from_bytes = static_cast<int64_t>(copy.block), to_bytes = from_bytes;
  for (uint32_t i : from_order) {
    if (random() % 4 == 0) from_bytes *= 2;
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

lk_isa best() {
  return lk_isa_get();
}

TEST(Copy, MovesEveryElementOnce) {
  std::mt19937 random(1);
  for (int i = 0; i < lk::repeats(600); i++) {
    Case made = random_case(random);
    const Bytes expected = expected_of(made), blank = made.to;
    for (int isa = LK_ISA_BASE; isa <= best(); isa++) {
      SCOPED_TRACE(std::to_string(i) + ", instruction set " + std::to_string(isa));
      lk_copy simple = made.copy;
      lk_copy_simplify_for(&simple, lk_isa(isa));
      made.to = blank;
      void *const pointers[] = {made.from.data(), made.to.data()};
      LK_ASSERT_OK(lk_copy_kernel(&simple, pointers, LK_ERR));
      ASSERT_EQ(made.to, expected);
    }
  }
}

// A matrix with gaps between its rows, which must stay as they are.
void check_transpose(int64_t size, int64_t rows, int64_t cols, std::mt19937 &random) {
  Case made;
  lk_copy &copy = made.copy;
  const int64_t from_gap = int64_t(random() % 3) * size, to_gap = int64_t(random() % 3) * size;
  copy.block = size_t(size);
  copy.rank = 2;
  copy.dims[0] = rows;
  copy.dims[1] = cols;
  copy.from[0] = copy.to[1] = size;
  copy.from[1] = rows * size + from_gap;
  copy.to[0] = cols * size + to_gap;
  /* no byte behind the last element */
  made.from.resize(size_t(copy.from[1] * (cols - 1) + rows * size));
  made.to.assign(size_t(copy.to[0] * (rows - 1) + cols * size), '.');
  for (char &byte : made.from) byte = static_cast<char>(random());
  const Bytes expected = expected_of(made), blank = made.to;
  for (int isa = LK_ISA_BASE; isa <= best(); isa++) {
    SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(cols) + " of " + std::to_string(size) +
                 " bytes, instruction set " + std::to_string(isa));
    lk_copy simple = copy;
    lk_copy_simplify_for(&simple, lk_isa(isa));
    made.to = blank;
    void *const pointers[] = {made.from.data(), made.to.data()};
    LK_ASSERT_OK(lk_copy_kernel(&simple, pointers, LK_ERR));
    ASSERT_TRUE(made.to == expected);
  }
}

// Rows whose elements lie `step` elements apart, or are one that is repeated, without a byte behind
// the last one.
TEST(Copy, GathersAndRepeatsAlongRowsOfEveryLength) {
  std::mt19937 random(3);
  for (const int64_t size : {1, 2, 4, 8}) {
    for (const int64_t step : {0, 1, 2, 3}) {
      for (int64_t cols = 1; cols < 70; cols++) {
        Case made;
        made.copy.block = size_t(size);
        made.copy.rank = 2;
        made.copy.dims[0] = 3;
        made.copy.dims[1] = cols;
        made.copy.from[1] = step * size;
        made.copy.from[0] = (step * cols + 2) * size;
        made.copy.to[1] = size;
        made.copy.to[0] = (cols + 1) * size;
        made.from.resize(size_t(2 * made.copy.from[0] + (step * (cols - 1) + 1) * size));
        made.to.assign(size_t(2 * made.copy.to[0] + cols * size), '.');
        for (char &byte : made.from) byte = static_cast<char>(random());
        const Bytes expected = expected_of(made), blank = made.to;
        for (int isa = LK_ISA_BASE; isa <= best(); isa++) {
          lk_copy simple = made.copy;
          lk_copy_simplify_for(&simple, lk_isa(isa));
          if (step == 0 && cols > 1) {
            const int log_size = int(std::log2(size));
            ASSERT_EQ(simple.plane, lk_copy_planes_get(lk_isa(isa))->repeat[log_size]);
          }
          made.to = blank;
          void *const pointers[] = {made.from.data(), made.to.data()};
          LK_ASSERT_OK(lk_copy_kernel(&simple, pointers, LK_ERR));
          ASSERT_TRUE(made.to == expected) << size << " bytes, step " << step << ", " << cols;
        }
      }
    }
  }
}

TEST(Copy, TransposesEverySize) {
  std::mt19937 random(2);
  const int64_t sides[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 130, 300};
  for (const int64_t size : {1, 2, 4, 8}) {
    for (const int64_t rows : sides) {
      for (const int64_t cols : sides) {
        ASSERT_NO_FATAL_FAILURE(check_transpose(size, rows, cols, random));
      }
    }
  }
}

TEST(Copy, TransposesWhatNoCacheHolds) {
  std::mt19937 random(3);
  for (const int64_t size : {1, 4, 8}) {
    for (const int64_t few : {3, 61, 70}) {
      const int64_t many = (9 << 20) / size / few;
      ASSERT_NO_FATAL_FAILURE(check_transpose(size, few, many, random));
      ASSERT_NO_FATAL_FAILURE(check_transpose(size, many, few, random));
    }
  }
}

// Memory is asked for columns to come where AVX-512 transposes few rows of many columns that no
// cache holds.
TEST(Copy, AsksMemoryAheadAlongLongLinesAlone) {
  const auto ahead = [](int64_t rows, int64_t cols, lk_isa isa) {
    lk_copy copy = {};
    copy.block = 4;
    copy.rank = 2;
    copy.dims[0] = rows;
    copy.dims[1] = cols;
    copy.from[0] = copy.to[1] = 4;
    copy.from[1] = 4 * rows;
    copy.to[0] = 4 * cols;
    lk_copy_simplify_for(&copy, isa);
    return copy.ahead;
  };
  const int64_t few = 61, many = (9 << 20) / 4 / few;
  EXPECT_GT(ahead(few, many, LK_ISA_AVX512), 0);
  EXPECT_EQ(ahead(many, few, LK_ISA_AVX512), 0);
  EXPECT_EQ(ahead(few, many, LK_ISA_AVX2), 0);
  EXPECT_EQ(ahead(few, 1000, LK_ISA_AVX512), 0);
  EXPECT_EQ(ahead(few, 1000, LK_ISA_AVX2), 0);
}

// What is shared goes to threads in pieces that only they write.
TEST(Copy, IsSharedByThreads) {
  lk_tensor_desc from = {};
  from.dtype = LK_F32;
  from.rank = 4;
  const int64_t dims[] = {2, 37, 41, 43};
  std::copy(std::begin(dims), std::end(dims), from.dims);
  lk_tensor_desc to = from;
  from.layout = LK_LAYOUT_PLAIN;
  to.layout = LK_LAYOUT_CHANNELS_LAST;
  for (int way = 0; way < 3; way++) {
    if (way == 2) to = from; /* one block */
    Case made;
    made.copy = way == 1 ? lk_copy_between(&to, &from) : lk_copy_between(&from, &to);
    const size_t bytes = size_t(2 * 37 * 41 * 43) * 4;
    made.from.resize(bytes);
    made.to.resize(bytes);
    std::mt19937 random(3);
    for (char &byte : made.from) byte = static_cast<char>(random());
    const Bytes expected = expected_of(made);
    lk_copy_simplify(&made.copy);
    EXPECT_TRUE(made.copy.shared);
    void *const pointers[] = {made.from.data(), made.to.data()};
    const int before = lk_team_begin(3);
    LK_ASSERT_OK(lk_copy_kernel(&made.copy, pointers, LK_ERR));
    lk_team_end(before);
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
  lk_copy_simplify(&copy);
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

// Of elements and of others; up to what a few turns fill, and around where they are filled in
// another way.
TEST(Fill, RepeatsItsBytes) {
  for (const size_t size : {1, 2, 3, 4, 7, 8, 12, 16, 65, 1000, 4096}) {
    lk_fill fill = {};
    fill.size = size;
    for (size_t i = 0; i < size; i++) fill.value[i] = static_cast<uint8_t>('a' + i * 7 % 101);
    for (const size_t bytes : {0, 1, 2, 8, 30, 64, 100, 1024, 1025, 2050, 16384, 16400, 70000}) {
      const size_t count = bytes / size;
      fill.count = static_cast<int64_t>(count);
      Bytes to(count * size + 1, '.');
      void *const pointers[] = {to.data()};
      LK_EXPECT_OK(lk_fill_kernel(&fill, pointers, LK_ERR));
      for (size_t i = 0; i + 1 < to.size(); i++) {
        ASSERT_EQ(to[i], char(fill.value[i % size])) << i << " of " << size;
      }
      EXPECT_EQ(to.back(), '.');
    }
  }
}

} // namespace
