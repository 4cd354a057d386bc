// Kernels whose outputs are as large as the elements say: examples of the ONNX specification, and
// random ones against plain loops.
#include <map>
#include <random>
#include <set>

#include "tests/harness/lk_test.h"
#include "tests/harness/op_value.h"

extern "C" {
#include "ops/kernel/reduce/order.h"
#include "ops/kernel/reduce/selection.h"
#include "ops/kernel/reduce/unique.h"
}

namespace {

using lk::Memory;
using Ints = std::vector<int64_t>;

// Guarded memory for as many numbers as there can be.
template <typename T> struct Room {
  explicit Room(size_t count) : memory(count * sizeof(T)) {}
  std::vector<T> first(size_t count) const {
    const T *data = static_cast<const T *>(memory.data());
    return std::vector<T>(data, data + count);
  }
  Memory memory;
};

template <typename T> Memory copy(const std::vector<T> &values) {
  Memory memory(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(memory.data(), values.data(), memory.bytes());
  return memory;
}

// ---- NonZero ----

template <typename T>
Ints non_zero(uint32_t dtype, const Ints &dims, const std::vector<T> &values, Ints *out_dims) {
  lk_non_zero params = {dtype, uint32_t(dims.size()), {}};
  std::copy(dims.begin(), dims.end(), params.dims);
  const Memory data = copy(values);
  const Room<int64_t> to(values.size() * dims.size()), shape(2);
  void *pointers[] = {data.data(), to.memory.data(), shape.memory.data()};
  LK_EXPECT_OK(lk_non_zero_kernel(&params, pointers, LK_ERR));
  *out_dims = shape.first(2);
  return to.first(size_t((*out_dims)[0] * (*out_dims)[1]));
}

TEST(NonZero, SaysWhere) {
  Ints dims;
  EXPECT_EQ(non_zero<uint8_t>(LK_BOOL, {2, 2}, {1, 0, 1, 1}, &dims), (Ints{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(dims, (Ints{2, 3}));
  const float nan = std::nanf("");
  EXPECT_EQ(non_zero<float>(LK_F32, {5}, {0, -0.0F, nan, 1e-45F, -1}, &dims), (Ints{2, 3, 4}));
  EXPECT_EQ(non_zero<uint16_t>(LK_F16, {3}, {0x8000, 0x0001, 0}, &dims), (Ints{1}));
  EXPECT_EQ(non_zero<int64_t>(LK_I64, {2}, {0, INT64_MIN}, &dims), (Ints{1}));
  EXPECT_EQ(non_zero<int8_t>(LK_I8, {3}, {0, 0, 0}, &dims), Ints());
  EXPECT_EQ(dims, (Ints{1, 0}));
  EXPECT_EQ(non_zero<float>(LK_F32, {0, 3}, {}, &dims), Ints());
  EXPECT_EQ(dims, (Ints{2, 0}));
}

// ---- Compress ----

TEST(Compress, LeavesWhatIsTrue) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const auto run = [&](uint32_t rank, uint32_t axis, Ints dims, size_t block,
                       const std::vector<uint8_t> &condition, Ints *out) {
    lk_compress params = {rank, axis, block * sizeof(float), int64_t(condition.size()), {}};
    std::copy(dims.begin(), dims.end(), params.dims);
    const Memory data = copy(x), chosen = copy(condition);
    const Room<float> to(x.size());
    const Room<int64_t> shape(rank);
    void *pointers[] = {data.data(), chosen.data(), to.memory.data(), shape.memory.data()};
    LK_EXPECT_OK(lk_compress_kernel(&params, pointers, LK_ERR));
    *out = shape.first(rank);
    int64_t count = 1;
    for (const int64_t dim : *out) count *= dim;
    return to.first(size_t(count));
  };
  Ints dims;
  EXPECT_EQ(run(2, 0, {3, 2}, 2, {0, 1, 1}, &dims), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(dims, (Ints{2, 2}));
  EXPECT_EQ(run(2, 1, {3, 2}, 1, {0, 1}, &dims), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(dims, (Ints{3, 1}));
  EXPECT_EQ(run(1, 0, {6}, 1, {0, 1, 0, 0, 1}, &dims), (std::vector<float>{2, 5}));
  EXPECT_EQ(dims, (Ints{2}));
  EXPECT_EQ(run(2, 1, {3, 2}, 1, {1, 0, 1, 1}, &dims), (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(run(2, 0, {3, 2}, 2, {}, &dims), std::vector<float>());
  EXPECT_EQ(dims, (Ints{0, 2}));
}

// ---- Unique ----

struct Unique {
  std::vector<float> slices;
  Ints first, inverse, counts, dims;
};

Unique unique(const Ints &dims, uint32_t axis, bool sorted, const std::vector<float> &values) {
  lk_unique params = {LK_F32, uint32_t(dims.size()), axis, 1, sorted, {}};
  std::copy(dims.begin(), dims.end(), params.dims);
  const auto n = size_t(dims[axis]);
  const Memory data = copy(values);
  const Room<float> to(values.size());
  const Room<int64_t> first(n), inverse(n), counts(n), scratch(n), shape(dims.size());
  void *pointers[] = {data.data(),           to.memory.data(),     first.memory.data(),
                      inverse.memory.data(), counts.memory.data(), scratch.memory.data(),
                      shape.memory.data()};
  LK_EXPECT_OK(lk_unique_kernel(&params, pointers, LK_ERR));
  const Ints out = shape.first(dims.size());
  const auto groups = size_t(out[axis]);
  return {to.first(n > 0 ? values.size() / n * groups : 0), first.first(groups), inverse.first(n),
          counts.first(groups), out};
}

TEST(Unique, IsAsTheSpecificationSays) {
  const Unique plain = unique({6}, 0, false, {2, 1, 1, 3, 4, 3});
  EXPECT_EQ(plain.slices, (std::vector<float>{2, 1, 3, 4}));
  EXPECT_EQ(plain.first, (Ints{0, 1, 3, 4}));
  EXPECT_EQ(plain.inverse, (Ints{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(plain.counts, (Ints{1, 2, 2, 1}));
  const Unique rows = unique({3, 3}, 0, true, {1, 0, 0, 1, 0, 0, 2, 3, 4});
  EXPECT_EQ(rows.slices, (std::vector<float>{1, 0, 0, 2, 3, 4}));
  EXPECT_EQ(rows.first, (Ints{0, 2}));
  EXPECT_EQ(rows.inverse, (Ints{0, 0, 1}));
  EXPECT_EQ(rows.counts, (Ints{2, 1}));
  EXPECT_EQ(rows.dims, (Ints{2, 3}));
  const Unique inner = unique({2, 4, 2}, 1, true, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1});
  EXPECT_EQ(inner.slices, (std::vector<float>{0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}));
  EXPECT_EQ(inner.first, (Ints{1, 0, 2}));
  EXPECT_EQ(inner.inverse, (Ints{1, 0, 2, 0}));
  EXPECT_EQ(inner.counts, (Ints{2, 1, 1}));
  const float nan = std::nanf("");
  EXPECT_EQ(unique({5}, 0, true, {nan, 0, -0.0F, nan, -1}).counts, (Ints{1, 2, 2}));
  EXPECT_EQ(unique({0}, 0, true, {}).dims, (Ints{0}));
}

TEST(Unique, OfRandomNumbersIsASet) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; round++) {
    std::vector<float> x(random() % 40);
    for (float &value : x) value = float(random() % 9);
    const Unique found = unique({int64_t(x.size())}, 0, true, x);
    const std::set<float> expected(x.begin(), x.end());
    EXPECT_EQ(found.slices, std::vector<float>(expected.begin(), expected.end()));
    const Unique in_order = unique({int64_t(x.size())}, 0, false, x);
    EXPECT_TRUE(std::is_sorted(in_order.first.begin(), in_order.first.end()));
    for (size_t i = 0; i < x.size(); i++) {
      EXPECT_EQ(found.slices[size_t(found.inverse[i])], x[i]);
      EXPECT_EQ(in_order.slices[size_t(in_order.inverse[i])], x[i]);
      EXPECT_LE(in_order.first[size_t(in_order.inverse[i])], int64_t(i));
    }
    for (size_t g = 0; g < found.slices.size(); g++) {
      EXPECT_EQ(found.counts[g], std::count(x.begin(), x.end(), found.slices[g]));
      EXPECT_EQ(std::find(x.begin(), x.end(), found.slices[g]) - x.begin(), found.first[g]);
    }
  }
}

// Slices of many elements, of few values and of many, against a map of them.
TEST(Unique, OfManySlicesIsAMap) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; round++) {
    const int64_t outer = 1 + int64_t(random() % 3), inner = int64_t(1) + int64_t(random() % 3);
    const int64_t n = 1 + int64_t(random() % 700);
    const uint32_t values = round % 3 == 0 ? 2 : round % 3 == 1 ? 40 : 1000000;
    std::vector<float> x(size_t(outer * n * inner));
    for (float &value : x) value = float(random() % values) / 3 - 5;
    std::map<std::vector<float>, Ints> slices;
    for (int64_t i = 0; i < n; i++) {
      std::vector<float> slice;
      for (int64_t o = 0; o < outer; o++) {
        const auto at = x.begin() + (o * n + i) * inner;
        slice.insert(slice.end(), at, at + inner);
      }
      slices[slice].push_back(i);
    }
    Ints first, counts, inverse(size_t(n), 0), in_order;
    for (const auto &[slice, places] : slices) {
      for (const int64_t place : places) inverse[size_t(place)] = int64_t(first.size());
      first.push_back(places[0]);
      counts.push_back(int64_t(places.size()));
    }
    in_order = first;
    std::sort(in_order.begin(), in_order.end());
    const Ints dims = {outer, n, inner};
    const Unique found = unique(dims, 1, true, x), by_place = unique(dims, 1, false, x);
    ASSERT_EQ(found.first, first) << round;
    ASSERT_EQ(found.counts, counts) << round;
    ASSERT_EQ(found.inverse, inverse) << round;
    ASSERT_EQ(by_place.first, in_order) << round;
    for (int64_t i = 0; i < n; i++) {
      const int64_t group = by_place.inverse[size_t(i)];
      ASSERT_EQ(by_place.first[size_t(group)], first[size_t(inverse[size_t(i)])]) << round;
    }
  }
}

// ---- NonMaxSuppression ----

struct NonMax {
  int64_t batches = 1, classes = 1;
  bool centered = false;
  std::vector<float> boxes, scores;
  int64_t most = 3;
  float overlap = 0.5F, least = 0;

  Ints run(bool has_most = true) const {
    const int64_t n = int64_t(boxes.size()) / 4 / batches;
    const lk_non_max params = {batches, classes, n, centered, has_most, true, true};
    const Memory at = copy(boxes), score = copy(scores);
    const auto room = static_cast<size_t>(batches * classes * std::min(most, n)) * 3;
    const auto scratch_size = static_cast<size_t>(n * LK_NON_MAX_SCRATCH);
    const Room<int64_t> to(room), scratch(scratch_size), dims(2);
    int64_t most_copy = most;
    float numbers[] = {overlap, least};
    void *pointers[] = {
        at.data(),        score.data(),          &most_copy,        &numbers[0], &numbers[1],
        to.memory.data(), scratch.memory.data(), dims.memory.data()};
    LK_EXPECT_OK(lk_non_max_kernel(&params, pointers, LK_ERR));
    EXPECT_EQ(dims.first(2)[1], 3);
    return to.first(size_t(dims.first(2)[0]) * 3);
  }
};

TEST(NonMaxSuppression, IsAsTheSpecificationSays) {
  NonMax node;
  node.boxes = {0, 0,  1, 1,  0, 0.1F,  1, 1.1F,  0, -0.1F, 1, 0.9F,
                0, 10, 1, 11, 0, 10.1F, 1, 11.1F, 0, 100,   1, 101};
  node.scores = {0.9F, 0.75F, 0.6F, 0.95F, 0.5F, 0.3F};
  EXPECT_EQ(node.run(), (Ints{0, 0, 3, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(node.run(false), Ints());
  node.least = 0.4F;
  EXPECT_EQ(node.run(), (Ints{0, 0, 3, 0, 0, 0}));
  node.most = 1;
  EXPECT_EQ(node.run(), (Ints{0, 0, 3}));
  NonMax flipped = node;
  for (size_t i = 0; i < flipped.boxes.size(); i += 4) {
    std::swap(flipped.boxes[i], flipped.boxes[i + 2]);
  }
  EXPECT_EQ(flipped.run(), node.run());
  NonMax two = node;
  two.classes = two.batches = 2;
  two.boxes.insert(two.boxes.end(), node.boxes.begin(), node.boxes.end());
  for (int i = 0; i < 3; i++) {
    two.scores.insert(two.scores.end(), node.scores.begin(), node.scores.end());
  }
  two.most = 2;
  EXPECT_EQ(two.run(),
            (Ints{0, 0, 3, 0, 0, 0, 0, 1, 3, 0, 1, 0, 1, 0, 3, 1, 0, 0, 1, 1, 3, 1, 1, 0}));
}

TEST(NonMaxSuppression, TakesCentersAndEqualScoresInOrder) {
  NonMax node;
  node.centered = true;
  node.boxes = {0.5F, 0.5F, 1, 1, 0.5F, 0.6F, 1, 1, 5, 5, 1, 1, 9, 9, 0, 0};
  node.scores = {0.5F, 0.5F, 0.5F, 0.5F};
  EXPECT_EQ(node.run(), (Ints{0, 0, 0, 0, 0, 2, 0, 0, 3}));
}

// ---- the order itself ----

TEST(Order, KeysAreOrderedAsNumbers) {
  const std::vector<float> ascending = {-HUGE_VALF, -3, -1e-45F,   0,
                                        1e-45F,     2,  HUGE_VALF, std::nanf("")};
  for (size_t i = 1; i < ascending.size(); i++) {
    EXPECT_LT(lk_order_key(LK_F32, ascending.data(), int64_t(i) - 1),
              lk_order_key(LK_F32, ascending.data(), int64_t(i)));
  }
  const float zeros[] = {0, -0.0F};
  EXPECT_EQ(lk_order_key(LK_F32, zeros, 0), lk_order_key(LK_F32, zeros, 1));
  const int8_t small[] = {-128, -1, 0, 127};
  const uint64_t large[] = {0, 1, INT64_MAX, UINT64_MAX};
  for (int64_t i = 1; i < 4; i++) {
    EXPECT_LT(lk_order_key(LK_I8, small, i - 1), lk_order_key(LK_I8, small, i));
    EXPECT_LT(lk_order_key(LK_U64, large, i - 1), lk_order_key(LK_U64, large, i));
  }
}

} // namespace
