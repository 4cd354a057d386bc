// What the embedding of words refuses. tests/rows compares its numbers with other implementations.
#include "tests/harness/op_tester.h"

namespace {

using lk::Dims;
using lk::OpTester;
using lk::Value;

template <typename T> Value zeros(const Dims &dims) {
  return lk::tensor<T>(dims, std::vector<T>(size_t(lk::count_of(dims))));
}

// Two batches of three words.
OpTester embedded(const Dims &segments, const Dims &mask, const Dims &positions) {
  OpTester test("EmbedLayerNormalization", 1);
  test.domain("com.microsoft").input(zeros<int32_t>({2, 3})).input(zeros<int32_t>(segments));
  for (int i = 0; i < 3; i++) test.input(zeros<float>({7, 4})); // of words, positions, segments
  test.input(zeros<float>({4})).input(zeros<float>({4}));
  return test.input(zeros<int32_t>(mask)).input(zeros<int32_t>(positions));
}

TEST(EmbedLayerNormalization, TakesPositionsOfAllBatchesOrOfEach) {
  for (const Dims &dims : {Dims{1, 3}, Dims{2, 3}}) {
    embedded({2, 3}, {2, 3}, dims).expect(zeros<float>({2, 3, 4})).run();
  }
}

TEST(EmbedLayerNormalization, RefusesIdsOfOtherWords) {
  for (const Dims &dims : {Dims{}, Dims{3}, Dims{3, 3}, Dims{2, 4}, Dims{2, 3, 1}}) {
    embedded(dims, {2, 3}, {2, 3}).expect_bind(LK_INVALID_ARGUMENT, "segment_ids");
    embedded({2, 3}, dims, {2, 3}).expect_bind(LK_INVALID_ARGUMENT, "the mask");
    embedded({2, 3}, {2, 3}, dims).expect_bind(LK_INVALID_ARGUMENT, "position_ids");
  }
}

TEST(EmbedLayerNormalization, RefusesSegmentsAndAMaskOfOneBatchForAll) {
  embedded({1, 3}, {2, 3}, {2, 3}).expect_bind(LK_INVALID_ARGUMENT, "segment_ids");
  embedded({2, 3}, {1, 3}, {2, 3}).expect_bind(LK_INVALID_ARGUMENT, "the mask");
}

} // namespace
