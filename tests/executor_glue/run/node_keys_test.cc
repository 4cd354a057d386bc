// What differs between a build and the nearest one before, for each node: by input and dimension,
// with what it has cost.
#include <memory>
#include <optional>
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
using Shape = std::optional<Dims>; // none: the value is not there

enum Node { OF_A, OF_BOTH, OF_NOTHING, N_NODES };

/// Values a, b and a constant c; nodes OF_A(a), OF_BOTH(c, a, absent, b) and OF_NOTHING().
class Graph {
public:
  explicit Graph(const lk_allocator *allocator) {
    LK_EXPECT_OK(lk_graph_create(allocator, &graph_, LK_ERR));
    const int32_t c = add_value("c"), a = add_value("a"), b = add_value("b");
    lk_value_lend_constant(graph_, c, &constant_);
    add_node({a});
    add_node({c, a, LK_NO_VALUE, b});
    add_node({});
  }
  ~Graph() { lk_graph_destroy(graph_); }
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
  const lk_graph *get() const { return graph_; }

private:
  int32_t add_value(const std::string &name) {
    int32_t value = LK_NO_VALUE;
    LK_EXPECT_OK(lk_graph_add_value(graph_, name.data(), name.size(), &value, LK_ERR));
    return value;
  }
  void add_node(const std::vector<int32_t> &inputs) {
    int32_t node = 0;
    LK_EXPECT_OK(lk_graph_add_node(graph_, uint32_t(inputs.size()), 0, 0, &node, LK_ERR));
    std::copy(inputs.begin(), inputs.end(), graph_->nodes[node].inputs);
  }

  lk_graph *graph_ = nullptr;
  float number_ = 0;
  lk_tensor constant_ = {desc_of(LK_F32, {}), &number_};
};

lk_status note_of(lk_node_keys *keys, const Shape &a, const Shape &b,
                  const std::vector<uint64_t> &bind_ns, lk_error *error) {
  const lk_tensor_desc constant = desc_of(LK_F32, {}), of_a = desc_of(LK_F32, a.value_or(Dims())),
                       of_b = desc_of(LK_F32, b.value_or(Dims()));
  const lk_tensor_desc *shapes[] = {&constant, a ? &of_a : nullptr, b ? &of_b : nullptr};
  return lk_node_keys_note(keys, shapes, bind_ns.data(), error);
}

class NodeKeys : public ::testing::Test {
protected:
  void SetUp() override {
    graph_ = std::make_unique<Graph>(allocator_.get());
    LK_ASSERT_OK(lk_node_keys_create(allocator_.get(), graph_->get(), &keys_, LK_ERR));
  }
  void TearDown() override {
    lk_node_keys_destroy(keys_);
    graph_.reset();
    EXPECT_EQ(allocator_.live_blocks(), 0u);
  }

  void note(const Shape &a, const Shape &b, const std::vector<uint64_t> &bind_ns) {
    ASSERT_EQ(bind_ns.size(), size_t(N_NODES));
    LK_EXPECT_OK(note_of(keys_, a, b, bind_ns, LK_ERR));
  }
  /// Of the node OF_A alone.
  void note(const Dims &a, uint64_t ns) { note(a, std::nullopt, {ns, 0, 0}); }
  /// "in[0].dims[1] 3 -> 4 (2, 30 ns)" for each.
  std::vector<std::string> changes(Node node) {
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
  std::unique_ptr<Graph> graph_;
  lk_node_keys *keys_ = nullptr;
};

using Texts = std::vector<std::string>;

TEST_F(NodeKeys, TheFirstBuildDiffersFromNothing) {
  note({1, 3, 96}, 10);
  EXPECT_EQ(changes(OF_A), Texts{});
}

TEST_F(NodeKeys, ADimensionThatDrifts) {
  note({1, 3, 96}, 100);
  note({1, 3, 64}, 20);
  note({1, 3, 80}, 10);
  EXPECT_EQ(changes(OF_A), Texts{"in[0].dims[2] 64 -> 80 (2, 30 ns)"});
}

TEST_F(NodeKeys, EachNodeHasTheChangesOfItsInputs) {
  note(Dims{1, 8}, Dims{4}, {1, 1, 1});
  note(Dims{1, 9}, Dims{5}, {7, 30, 2});
  EXPECT_EQ(changes(OF_A), Texts{"in[0].dims[1] 8 -> 9 (1, 7 ns)"});
  EXPECT_EQ(changes(OF_BOTH),
            (Texts{"in[1].dims[1] 8 -> 9 (1, 15 ns)", "in[3].dims[0] 4 -> 5 (1, 15 ns)"}));
  EXPECT_EQ(changes(OF_NOTHING), Texts{});
}

TEST_F(NodeKeys, ANodeThatWasNotBoundHasNoChanges) {
  note(Dims{1}, Dims{4}, {1, 1, 1});
  note(Dims{2}, Dims{4}, {3, 0, 0});
  EXPECT_EQ(changes(OF_A), Texts{"in[0].dims[0] 1 -> 2 (1, 3 ns)"});
  EXPECT_EQ(changes(OF_BOTH), Texts{});
}

TEST_F(NodeKeys, AValueThatWasNotThereHasNotChanged) {
  note(Dims{1}, std::nullopt, {1, 0, 0});
  note(Dims{1}, Dims{4}, {1, 8, 0}); // another output was wanted
  EXPECT_EQ(changes(OF_BOTH), Texts{});
  note(Dims{1}, std::nullopt, {1, 0, 0});
  note(Dims{1}, Dims{5}, {1, 9, 0}); // compared with the one that is one field away
  EXPECT_EQ(changes(OF_BOTH), Texts{"in[3].dims[0] 4 -> 5 (1, 9 ns)"});
}

TEST_F(NodeKeys, TheNearestOfTheBuildsBeforeIsCompared) {
  note(Dims{1, 8}, Dims{8, 4}, {1, 1, 0});
  note(Dims{2, 9}, Dims{9, 4}, {1, 30, 0});
  note(Dims{1, 9}, Dims{9, 4}, {1, 5, 0}); // one field from the second, two from the first
  EXPECT_EQ(changes(OF_BOTH),
            (Texts{"in[1].dims[0] 2 -> 1 (2, 15 ns)", "in[1].dims[1] 8 -> 9 (1, 10 ns)",
                   "in[3].dims[0] 8 -> 9 (1, 10 ns)"}));
}

TEST_F(NodeKeys, WhatIsBuiltAgainHasNotChanged) {
  note({4}, 1);
  note({5}, 2);
  note({4}, 70); // it was evicted, say
  EXPECT_EQ(changes(OF_A), Texts{"in[0].dims[0] 4 -> 5 (1, 2 ns)"});
}

TEST_F(NodeKeys, FourSizesAreRemembered) {
  for (int64_t size : {1, 2, 3, 4, 5}) note({size}, 1);
  note({2}, 1); // is still known
  EXPECT_EQ(changes(OF_A), Texts{"in[0].dims[0] 4 -> 5 (4, 4 ns)"});
  note({1}, 1); // is not
  EXPECT_EQ(changes(OF_A), Texts{"in[0].dims[0] 5 -> 1 (5, 5 ns)"});
}

TEST_F(NodeKeys, ARankIsAFieldOfItsOwn) {
  note({2, 3}, 1);
  note({2, 3, 4}, 6);
  note({}, 5);
  EXPECT_EQ(changes(OF_A), Texts{"in[0].rank 2 -> 0 (2, 11 ns)"});
}

TEST_F(NodeKeys, TheFieldsThatCostMostAreKept) {
  Dims dims = {1, 1, 1, 1, 1, 1};
  note(dims, 1);
  for (size_t i = 0; i < dims.size(); i++) {
    dims[i] = 2;
    note(dims, 10 * (i + 1));
  }
  EXPECT_EQ(changes(OF_A),
            (Texts{"in[0].dims[5] 1 -> 2 (1, 60 ns)", "in[0].dims[4] 1 -> 2 (1, 50 ns)",
                   "in[0].dims[3] 1 -> 2 (1, 40 ns)", "in[0].dims[2] 1 -> 2 (1, 30 ns)"}));
}

TEST(NodeKeysMemory, EachFailedAllocationIsTold) {
  const lk::FailingAllocator of_graph;
  const Graph graph(of_graph.get());
  lk::fail_every_allocation([&graph](const lk::FailingAllocator &allocator) {
    lk_node_keys *keys = nullptr;
    lk_status status = lk_node_keys_create(allocator.get(), graph.get(), &keys, LK_ERR);
    for (int64_t size = 0; size < 6 && status == LK_OK; size++) {
      status = note_of(keys, Dims{size}, std::nullopt, {1, 0, 0}, LK_ERR);
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
        note({t, i}, 1);
        EXPECT_LE(changes(OF_A).size(), 4u);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

} // namespace
