// What differs between a bind of a node and the nearest one before: by input and dimension, with
// what it has cost.
#include <thread>

#include "tests/harness/allocator.h"
#include "tests/harness/lk_test.h"
#include "tests/harness/op_value.h"

extern "C" {
#include "executor_glue/run/node_keys.h"
}

namespace {

using lk::desc_of;
using lk::Dims;

class NodeKeys : public ::testing::Test {
protected:
  void SetUp() override { LK_ASSERT_OK(lk_node_keys_create(allocator_.get(), 3, &keys_, LK_ERR)); }
  void TearDown() override {
    lk_node_keys_destroy(keys_);
    EXPECT_EQ(allocator_.live_blocks(), 0u);
  }

  void note(size_t node, const std::vector<Dims> &inputs, uint64_t ns) {
    note_of(keys_, node, inputs, ns);
  }
  static void note_of(lk_node_keys *keys, size_t node, const std::vector<Dims> &inputs,
                      uint64_t ns) {
    std::vector<lk_tensor_desc> descs;
    std::vector<const lk_tensor_desc *> pointers;
    for (const Dims &dims : inputs) descs.push_back(desc_of(LK_F32, dims));
    for (const lk_tensor_desc &desc : descs) pointers.push_back(&desc);
    LK_EXPECT_OK(
        lk_node_keys_note(keys, node, pointers.data(), uint32_t(pointers.size()), ns, LK_ERR));
  }
  // "in[0].dims[1] 3 -> 4 (2, 30 ns)" for each.
  std::vector<std::string> changes(size_t node) {
    lk_node_stats stats = {};
    lk_node_keys_get(keys_, node, &stats);
    std::vector<std::string> found;
    for (uint32_t i = 0; i < stats.n_changes; i++) {
      const lk_node_change &it = stats.changes[i];
      const std::string field = it.dim < 0 ? "rank" : "dims[" + std::to_string(it.dim) + "]";
      found.push_back("in[" + std::to_string(it.input) + "]." + field + " " +
                      std::to_string(it.from) + " -> " + std::to_string(it.to) + " (" +
                      std::to_string(it.binds) + ", " + std::to_string(it.bind_ns) + " ns)");
    }
    return found;
  }

  lk::FailingAllocator allocator_; // which counts
  lk_node_keys *keys_ = nullptr;
};

using Texts = std::vector<std::string>;

TEST_F(NodeKeys, TheFirstBindDiffersFromNothing) {
  note(0, {{1, 3, 96}}, 10);
  EXPECT_EQ(changes(0), Texts{});
}

TEST_F(NodeKeys, ADimensionThatDrifts) {
  note(1, {{1, 3, 96}}, 100);
  note(1, {{1, 3, 64}}, 20);
  note(1, {{1, 3, 80}}, 10);
  EXPECT_EQ(changes(1), Texts{"in[0].dims[2] 64 -> 80 (2, 30 ns)"});
  EXPECT_EQ(changes(0), Texts{});
}

TEST_F(NodeKeys, TheNearestOfThoseBeforeIsCompared) {
  note(0, {{1, 8}, {8, 4}}, 1);
  note(0, {{2, 9}, {9, 4}}, 30);
  note(0, {{1, 9}, {9, 4}}, 5); // one field from the second, two from the first
  EXPECT_EQ(changes(0), (Texts{"in[0].dims[0] 2 -> 1 (2, 15 ns)", "in[0].dims[1] 8 -> 9 (1, 10 ns)",
                               "in[1].dims[0] 8 -> 9 (1, 10 ns)"}));
}

TEST_F(NodeKeys, WhatIsBoundAgainHasNotChanged) {
  note(0, {{4}}, 1);
  note(0, {{5}}, 2);
  note(0, {{4}}, 70); // it was evicted, say
  EXPECT_EQ(changes(0), Texts{"in[0].dims[0] 4 -> 5 (1, 2 ns)"});
}

TEST_F(NodeKeys, FourSizesAreRemembered) {
  for (int64_t size : {1, 2, 3, 4, 5}) note(0, {{size}}, 1);
  note(0, {{2}}, 1); // is still known
  EXPECT_EQ(changes(0), Texts{"in[0].dims[0] 4 -> 5 (4, 4 ns)"});
  note(0, {{1}}, 1); // is not
  EXPECT_EQ(changes(0), Texts{"in[0].dims[0] 5 -> 1 (5, 5 ns)"});
}

TEST_F(NodeKeys, ARankIsAFieldOfItsOwn) {
  note(0, {{2, 3}}, 1);
  note(0, {{2, 3, 4}}, 6);
  EXPECT_EQ(changes(0), Texts{"in[0].rank 2 -> 3 (1, 6 ns)"});
}

TEST_F(NodeKeys, AnInputThatIsConstantHasNoFields) {
  const lk_tensor_desc a = desc_of(LK_F32, {2}), b = desc_of(LK_F32, {3});
  const lk_tensor_desc *first[] = {nullptr, &a}, *second[] = {nullptr, &b};
  LK_EXPECT_OK(lk_node_keys_note(keys_, 0, first, 2, 1, LK_ERR));
  LK_EXPECT_OK(lk_node_keys_note(keys_, 0, second, 2, 8, LK_ERR));
  EXPECT_EQ(changes(0), Texts{"in[1].dims[0] 2 -> 3 (1, 8 ns)"});
}

TEST_F(NodeKeys, ANodeWithoutInputsNeverChanges) {
  note(0, {}, 1);
  note(0, {}, 1);
  EXPECT_EQ(changes(0), Texts{});
}

TEST_F(NodeKeys, TheFieldsThatCostMostAreKept) {
  Dims dims = {1, 1, 1, 1, 1, 1};
  note(0, {dims}, 1);
  for (size_t i = 0; i < dims.size(); i++) {
    dims[i] = 2;
    note(0, {dims}, 10 * (i + 1));
  }
  EXPECT_EQ(changes(0),
            (Texts{"in[0].dims[5] 1 -> 2 (1, 60 ns)", "in[0].dims[4] 1 -> 2 (1, 50 ns)",
                   "in[0].dims[3] 1 -> 2 (1, 40 ns)", "in[0].dims[2] 1 -> 2 (1, 30 ns)"}));
}

TEST(NodeKeysMemory, EachFailedAllocationIsTold) {
  lk::fail_every_allocation([](const lk::FailingAllocator &allocator) {
    lk_node_keys *keys = nullptr;
    lk_status status = lk_node_keys_create(allocator.get(), 1, &keys, LK_ERR);
    for (int64_t size = 0; size < 6 && status == LK_OK; size++) {
      const lk_tensor_desc a = desc_of(LK_F32, {size});
      const lk_tensor_desc *inputs[] = {&a};
      status = lk_node_keys_note(keys, 0, inputs, 1, 1, LK_ERR);
    }
    lk_node_keys_destroy(keys);
    return status;
  });
}

TEST_F(NodeKeys, ThreadsMayNoteAndReadAtTheSameTime) {
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; t++) {
    threads.emplace_back([this, t] {
      for (int64_t i = 0; i < 200; i++) {
        note(2, {{t, i}}, 1);
        EXPECT_LE(changes(2).size(), 4u);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

} // namespace
