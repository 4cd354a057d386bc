// Groups of nodes for ONNX Runtime: graphs with known groups, and random ones, whose groups are
// checked against the definitions by following every path.
#include <algorithm>
#include <random>

#include "tests/executor_glue/graph/builder.h"

extern "C" {
#include "executor_glue/ort/partition.h"
}

namespace {

using Groups = std::vector<int32_t>;

// What a node of a test is.
enum Kind { kWorks, kWorksLightly, kComesAlong, kUnsupported };

// A graph of nodes whose kinds are known.
class Marked : public lk::GraphBuilder {
public:
  using GraphBuilder::GraphBuilder;

  // With one output, of type `dtype`; bit i of `shape_inputs`: its shape depends on input i's
  // value.
  int32_t add(Kind kind, const std::vector<int32_t> &inputs, uint64_t shape_inputs = 0,
              uint32_t dtype = LK_F32, const std::string &op_type = "Any") {
    const int32_t v = node(op_type, inputs);
    if (status() != LK_OK) return v;
    declare(v, {}, dtype);
    marks_.push_back({kind, shape_inputs});
    return v;
  }

  lk_ort_partition_rules rules = {};

  // Of the nodes in the order in which they were added.
  lk_status partition(Groups *groups, size_t *count) {
    if (link() != LK_OK) return status();
    const size_t n = get()->n_nodes;
    std::vector<lk_ort_support> support(n);
    for (size_t i = 0; i < n; i++) {
      const Mark &mark = marks_[static_cast<size_t>(get()->nodes[i].source)];
      support[i].reason = mark.kind != kUnsupported ? nullptr : "unsupported";
      support[i].shape_inputs = mark.shape_inputs;
      support[i].works = mark.kind == kWorks || mark.kind == kWorksLightly;
      support[i].shape_only = std::string(get()->nodes[i].op_type) == "Shape";
      support[i].is_light = mark.kind == kWorksLightly;
    }
    Groups sorted(n, -7);
    *count = 0;
    const lk_status status =
        lk_ort_partition_make(get(), support.data(), rules, sorted.data(), count, LK_ERR);
    groups->assign(n, -7);
    for (size_t i = 0; i < n; i++) {
      (*groups)[static_cast<size_t>(get()->nodes[i].source)] = sorted[i];
    }
    return status;
  }
  Groups groups() {
    Groups out;
    size_t count = 0;
    LK_EXPECT_OK(partition(&out, &count));
    return out;
  }
  Kind kind(size_t source) const { return marks_[source].kind; }
  uint64_t shape_inputs(size_t source) const { return marks_[source].shape_inputs; }

private:
  struct Mark {
    Kind kind;
    uint64_t shape_inputs;
  };
  std::vector<Mark> marks_;
};

// ---- graphs with known groups ----

TEST(Partition, TakesAChainWhole) {
  Marked g;
  int32_t v = g.input("x", {-1, 4});
  for (const Kind kind : {kComesAlong, kWorks, kComesAlong, kWorks, kComesAlong})
    v = g.add(kind, {v});
  g.output(v);
  EXPECT_EQ(g.groups(), Groups({0, 0, 0, 0, 0}));
}

TEST(Partition, OfNoNodesHasNoGroups) {
  Marked g;
  g.output(g.input("x", {4}));
  Groups groups;
  size_t count = 9;
  LK_ASSERT_OK(g.partition(&groups, &count));
  EXPECT_EQ(count, 0u);
}

TEST(Partition, IsCutByAnUnsupportedNode) {
  Marked g;
  int32_t v = g.input("x", {4});
  for (const Kind kind : {kWorks, kWorks, kUnsupported, kWorks}) v = g.add(kind, {v});
  g.output(v);
  EXPECT_EQ(g.groups(), Groups({0, 0, -1, 1}));
}

TEST(Partition, LeavesIslandsOfOneLightNode) {
  const lk_ort_partition_rules takes_lone = {true, false}, is_body = {false, true};
  auto chain = [](const std::vector<Kind> &kinds, lk_ort_partition_rules rules = {}) {
    Marked g;
    g.rules = rules;
    int32_t v = g.input("x", {4});
    for (const Kind kind : kinds) v = g.add(kind, {v});
    g.output(v);
    return g.groups();
  };
  EXPECT_EQ(chain({kWorksLightly}), Groups({0}));
  EXPECT_EQ(chain({kComesAlong, kWorksLightly}), Groups({0, 0}));
  EXPECT_EQ(chain({kUnsupported, kWorksLightly}), Groups({-1, -1}));
  EXPECT_EQ(chain({kWorksLightly, kUnsupported}), Groups({-1, -1}));
  EXPECT_EQ(chain({kUnsupported, kWorksLightly, kComesAlong, kUnsupported}),
            Groups({-1, -1, -1, -1}));
  EXPECT_EQ(chain({kUnsupported, kWorksLightly, kWorksLightly}), Groups({-1, 0, 0}));
  EXPECT_EQ(chain({kUnsupported, kWorks, kUnsupported}), Groups({-1, 0, -1}));
  EXPECT_EQ(chain({kUnsupported, kWorksLightly, kWorks}), Groups({-1, 0, 0}));
  EXPECT_EQ(chain({kUnsupported, kWorksLightly, kComesAlong, kUnsupported}, takes_lone),
            Groups({-1, 0, 0, -1}));
  EXPECT_EQ(chain({kComesAlong, kWorksLightly}, is_body), Groups({-1, -1}));
  EXPECT_EQ(chain({kWorksLightly, kWorksLightly}, is_body), Groups({0, 0}));
  EXPECT_EQ(chain({kWorks}, is_body), Groups({0}));
}

// The supported arm goes with what follows: then one value crosses, not two.
TEST(Partition, CutsADiamondWithAnUnsupportedArm) {
  Marked g;
  const int32_t top = g.add(kWorks, {g.input("x", {4})});
  const int32_t left = g.add(kUnsupported, {top}), right = g.add(kWorks, {top});
  g.output(g.add(kWorks, {left, right}));
  EXPECT_EQ(g.groups(), Groups({0, -1, 1, 1}));
}

TEST(Partition, KeepsAnArmThatIsAnOutputWithTheTop) {
  Marked g;
  const int32_t top = g.add(kWorks, {g.input("x", {4})});
  const int32_t left = g.add(kUnsupported, {top}), right = g.add(kWorks, {top});
  g.output(right);
  g.output(g.add(kWorks, {left, right}));
  EXPECT_EQ(g.groups(), Groups({0, -1, 0, 1}));
}

TEST(Partition, TakesTwoTowersAsOneGroup) {
  Marked g;
  const int32_t a = g.add(kWorks, {g.input("a", {4})}), b = g.add(kWorks, {g.input("b", {4})});
  g.output(g.add(kWorks, {a}));
  g.output(g.add(kComesAlong, {b}));
  EXPECT_EQ(g.groups(), Groups({0, 0, 0, 0}));
}

TEST(Partition, LeavesShapeArithmeticAlone) {
  Marked g;
  const int32_t shape = g.add(kComesAlong, {g.input("x", {-1, 4})}, 0, LK_I64, "Shape");
  g.output(g.add(kComesAlong, {g.add(kComesAlong, {shape}, 0, LK_I64)}, 0, LK_I64));
  EXPECT_EQ(g.groups(), Groups({-1, -1, -1}));
}

// Beside a group that works, too: the two are not connected.
TEST(Partition, LeavesShapeArithmeticThatFeedsNothingThatWorks) {
  Marked g;
  const int32_t x = g.input("x", {-1, 4});
  g.output(g.add(kComesAlong, {x}, 0, LK_I64, "Shape"));
  g.output(g.add(kWorks, {x}));
  EXPECT_EQ(g.groups(), Groups({-1, 0}));
}

TEST(Partition, TakesShapeArithmeticThatFeedsAReshape) {
  Marked g;
  const int32_t x = g.add(kWorks, {g.input("x", {-1, 4})});
  const int32_t shape = g.add(kComesAlong, {x}, 0, LK_I64, "Shape");
  const int32_t target = g.add(kComesAlong, {shape, g.ints({2})}, 0, LK_I64);
  g.output(g.add(kComesAlong, {x, target}, 2));
  EXPECT_EQ(g.groups(), Groups({0, 0, 0, 0}));
}

TEST(Partition, CutsWhereAShapeComesFromData) {
  Marked g;
  const int32_t x = g.add(kWorks, {g.input("x", {-1, 4})});
  const int32_t target = g.add(kComesAlong, {x}, 0, LK_I64);
  const int32_t reshaped = g.add(kComesAlong, {x, target}, 2);
  g.output(g.add(kWorks, {reshaped}));
  EXPECT_EQ(g.groups(), Groups({0, 0, 1, 1}));
}

TEST(Partition, ReadsShapesThatAreGraphInputsByValue) {
  Marked g;
  const int32_t x = g.add(kWorks, {g.input("x", {-1, 4})});
  const int32_t target =
      g.add(kComesAlong, {g.input("shape", {2}, LK_I64), g.ints({1})}, 0, LK_I64);
  g.output(g.add(kComesAlong, {x, target}, 2));
  EXPECT_EQ(g.groups(), Groups({0, 0, 0}));
}

TEST(Partition, ReadsShapesThatOthersMakeByValue) {
  Marked g;
  const int32_t x = g.input("x", {-1, 4});
  const int32_t target = g.add(kUnsupported, {x}, 0, LK_I64);
  g.output(g.add(kComesAlong, {g.add(kWorks, {x}), target}, 2));
  EXPECT_EQ(g.groups(), Groups({-1, 0, 0}));
}

// What is needed only behind an unsupported node sinks to its users, whole chains of it.
TEST(Partition, SinksNodesToTheirUsers) {
  Marked g;
  const int32_t x = g.input("x", {4}), y = g.input("y", {4});
  const int32_t early = g.add(kComesAlong, {y}), later = g.add(kComesAlong, {early});
  const int32_t other = g.add(kUnsupported, {g.add(kWorks, {x})});
  g.output(g.add(kWorks, {other, later}));
  EXPECT_EQ(g.groups(), Groups({1, 1, 0, -1, 1}));
}

// Without sinking the first node would be a group of its own; with it there is one group.
TEST(Partition, SinksOutOfAGroupThatWouldNotWork) {
  Marked g;
  const int32_t x = g.input("x", {4});
  const int32_t shared = g.add(kComesAlong, {x}), other = g.add(kUnsupported, {g.add(kWorks, {x})});
  g.output(g.add(kWorks, {shared, other}));
  EXPECT_EQ(g.groups(), Groups({1, 0, -1, 1}));
}

// Nodes left because nothing in their part works do not separate groups.
TEST(Partition, IsNotCutBehindShapeArithmeticThatIsLeft) {
  Marked g;
  const int32_t x = g.input("x", {-1, 4});
  const int32_t shape = g.add(kComesAlong, {x}, 0, LK_I64, "Shape");
  const int32_t target = g.add(kUnsupported, {shape}, 0, LK_I64);
  const int32_t early = g.add(kWorks, {x});
  g.output(early);
  g.output(g.add(kWorks, {early, target}, 2));
  EXPECT_EQ(g.groups(), Groups({-1, -1, 0, 0}));
}

TEST(Partition, DoesNotSinkPastAnUnsupportedUser) {
  Marked g;
  const int32_t shared = g.add(kWorks, {g.input("x", {4})});
  const int32_t first = g.add(kUnsupported, {shared});
  const int32_t second = g.add(kUnsupported, {g.add(kWorks, {first})});
  g.output(g.add(kWorks, {second, shared}));
  EXPECT_EQ(g.groups(), Groups({0, -1, 1, -1, 2}));
}

TEST(Partition, ReadsAbsentInputsAndOutputs) {
  Marked g;
  const int32_t a = g.add(kWorks, {g.input("x", {4}), LK_NO_VALUE}, 2);
  const int32_t b = g.add(kWorks, {LK_NO_VALUE, a}, 1);
  g.output(b);
  EXPECT_EQ(g.groups(), Groups({0, 0}));
}

TEST(Partition, FailsCleanlyWithoutMemory) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    Marked g(allocator.get());
    int32_t v = g.input("x", {4});
    for (const Kind kind : {kWorks, kUnsupported, kWorks}) v = g.add(kind, {v});
    g.output(v);
    Groups groups;
    size_t count = 0;
    return g.partition(&groups, &count);
  });
}

// ---- random graphs ----

class Random {
public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(engine_() % n); }
  bool percent(uint32_t p) { return below(100) < p; }

private:
  std::mt19937 engine_;
};

void fill(Marked &g, uint32_t seed) {
  Random random(seed);
  const uint32_t dtypes[] = {LK_F32, LK_F32, LK_F32, LK_I64};
  const uint32_t unsupported = random.below(50), shapes = random.below(40);
  std::vector<int32_t> values = {g.input("x", {-1, 4}), g.input("y", {-1, 4}),
                                 g.input("shape", {2}, LK_I64), g.ints({1, 2}), LK_NO_VALUE};
  const uint32_t n_nodes = 5 + random.below(56);
  for (uint32_t n = 0; n < n_nodes; n++) {
    std::vector<int32_t> inputs(1 + random.below(3));
    for (int32_t &input : inputs) {
      // Mostly of the newest: long chains rather than a flat heap.
      const auto size = static_cast<uint32_t>(values.size());
      const uint32_t back =
          random.percent(70) ? random.below(std::min(size, 6u)) : random.below(size);
      input = values[size - 1 - back];
    }
    uint64_t shape_inputs = 0;
    for (size_t i = 0; i < inputs.size(); i++) {
      if (inputs[i] != LK_NO_VALUE && random.percent(shapes)) shape_inputs |= uint64_t{1} << i;
    }
    const Kind kind = random.percent(unsupported) ? kUnsupported
                      : random.percent(60)        ? kWorks
                                                  : kComesAlong;
    const bool is_shape = random.percent(8);
    const uint32_t dtype = is_shape ? uint32_t{LK_I64} : dtypes[random.below(4)];
    values.push_back(g.add(kind, inputs, shape_inputs, dtype, is_shape ? "Shape" : "Any"));
    if (random.percent(10)) g.output(values.back());
  }
  g.output(values.back());
}

// The node that makes `value`, by the order of adding, or -1.
int32_t maker(Marked &g, int32_t value) {
  const lk_node *node = value == LK_NO_VALUE ? nullptr : g.producer(value);
  return node == nullptr ? -1 : node->source;
}

struct Graph {
  std::vector<const lk_node *> nodes;     // by the order of adding
  std::vector<std::vector<bool>> reaches; // from, to: by one edge or more

  explicit Graph(Marked &g) : nodes(g->n_nodes), reaches(g->n_nodes) {
    for (size_t i = 0; i < g->n_nodes; i++) {
      nodes[static_cast<size_t>(g->nodes[i].source)] = &g->nodes[i];
    }
    for (auto &row : reaches) row.resize(g->n_nodes);
    for (size_t to = 0; to < nodes.size(); to++) { // makers come before users here
      for (uint32_t i = 0; i < nodes[to]->n_inputs; i++) {
        const int32_t from = maker(g, nodes[to]->inputs[i]);
        if (from < 0) continue;
        for (size_t f = 0; f < to; f++) {
          if (f == static_cast<size_t>(from) || reaches[f][static_cast<size_t>(from)]) {
            reaches[f][to] = true;
          }
        }
      }
    }
  }
};

// Whether `value`, as group `group` finds it, comes from shapes, constants and integers that are
// made elsewhere, not from data.
bool is_known(Marked &g, const Graph &graph, const Groups &groups, int32_t group, int32_t value) {
  if (value == LK_NO_VALUE) return true;
  const lk_value &v = g->values[value];
  const int32_t made_by = maker(g, value);
  const auto n = static_cast<size_t>(made_by);
  if (v.constant_kind != LK_CONSTANT_NONE) return true;
  if (lk_value_dtype(&v) == LK_I64 && (made_by < 0 || groups[n] != group)) return true;
  if (made_by < 0 || groups[n] < 0) return false;
  if (std::string(graph.nodes[n]->op_type) == "Shape") return true;
  for (uint32_t i = 0; i < graph.nodes[n]->n_inputs; i++) {
    if (!is_known(g, graph, groups, groups[n], graph.nodes[n]->inputs[i])) return false;
  }
  return true;
}

// Whether that holds for every group that `value` is read in, as if all groups were one.
bool is_known_everywhere(Marked &g, const Graph &graph, Groups groups, int32_t value) {
  for (int32_t &group : groups) group = std::min(group, 0);
  return is_known(g, graph, groups, 0, value);
}

void expect_convex(const Graph &graph, const Groups &groups) {
  for (size_t a = 0; a < groups.size(); a++) {
    for (size_t b = 0; b < groups.size() && groups[a] >= 0; b++) {
      if (!graph.reaches[a][b] || groups[b] == groups[a]) continue;
      for (size_t c = 0; c < groups.size(); c++) {
        ASSERT_FALSE(graph.reaches[b][c] && groups[c] == groups[a])
            << "a path goes from node " << a << " through " << b << " to " << c;
      }
    }
  }
}

// Whether groups, each made one node, and the nodes that are in none have an order to run in:
// removes what nothing leads to, until nothing is left.
bool have_an_order(Marked &g, const Graph &graph, const Groups &groups, size_t count) {
  const size_t n = count + groups.size();
  auto place = [&](size_t node) {
    return groups[node] >= 0 ? static_cast<size_t>(groups[node]) : count + node;
  };
  std::vector<std::vector<bool>> edge(n, std::vector<bool>(n));
  std::vector<bool> there(n);
  for (size_t to = 0; to < groups.size(); to++) {
    there[place(to)] = true;
    for (uint32_t i = 0; i < graph.nodes[to]->n_inputs; i++) {
      const int32_t from = maker(g, graph.nodes[to]->inputs[i]);
      if (from >= 0 && place(static_cast<size_t>(from)) != place(to)) {
        edge[place(static_cast<size_t>(from))][place(to)] = true;
      }
    }
  }
  for (bool removed = true; removed;) {
    removed = false;
    for (size_t i = 0; i < n; i++) {
      bool is_source = there[i];
      for (size_t from = 0; from < n && is_source; from++)
        is_source = !there[from] || !edge[from][i];
      if (!is_source) continue;
      there[i] = false;
      removed = true;
    }
  }
  return std::count(there.begin(), there.end(), true) == 0;
}

// The first node whose shape follows from a value that its own group makes and that is not `known`.
template <typename Known>
int find_unknown_shape(Marked &g, const Graph &graph, const Groups &groups, Known known) {
  for (size_t n = 0; n < groups.size(); n++) {
    for (uint32_t i = 0; i < graph.nodes[n]->n_inputs && groups[n] >= 0; i++) {
      const int32_t value = graph.nodes[n]->inputs[i];
      const int32_t made_by = maker(g, value);
      if ((g.shape_inputs(n) >> i & 1) == 0 || made_by < 0) continue;
      if (groups[static_cast<size_t>(made_by)] == groups[n] && !known(value))
        return static_cast<int>(n);
    }
  }
  return -1;
}

// Two of the groups that could as well be one: the groups still have an order then, and none reads
// a shape from data that any group makes.
bool could_be_one(Marked &g, const Graph &graph, Groups groups, size_t count, int32_t a,
                  int32_t b) {
  std::replace(groups.begin(), groups.end(), b, a);
  return have_an_order(g, graph, groups, count) &&
         find_unknown_shape(g, graph, groups, [&](int32_t value) {
           return is_known_everywhere(g, graph, groups, value);
         }) < 0;
}

TEST(PartitionOfRandomGraphs, KeepsWhatItPromises) {
  size_t n_groups = 0, n_claimed = 0, n_cut = 0;
  for (uint32_t seed = 1; seed <= 3000 && !HasFailure(); seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Marked g;
    fill(g, seed);
    Groups groups;
    size_t count = 0;
    LK_ASSERT_OK(g.partition(&groups, &count));
    const Graph graph(g);
    std::vector<bool> works(count);
    for (size_t n = 0; n < groups.size(); n++) {
      ASSERT_GE(groups[n], -1);
      ASSERT_LT(groups[n], static_cast<int32_t>(count));
      if (groups[n] < 0) {
        EXPECT_NE(g.kind(n), kWorks) << "node " << n << " works and is left";
        continue;
      }
      n_claimed++;
      EXPECT_NE(g.kind(n), kUnsupported) << "node " << n;
      if (g.kind(n) == kWorks) works[static_cast<size_t>(groups[n])] = true;
    }
    for (size_t i = 0; i < count; i++)
      EXPECT_TRUE(works[i]) << "nothing in group " << i << " works";
    expect_convex(graph, groups);
    EXPECT_TRUE(have_an_order(g, graph, groups, count)) << "groups and nodes in a circle";
    EXPECT_EQ(find_unknown_shape(g, graph, groups,
                                 [&](int32_t value) {
                                   const auto n = static_cast<size_t>(maker(g, value));
                                   return is_known(g, graph, groups, groups[n], value);
                                 }),
              -1)
        << "a node has its shape from data that its own group computes";
    for (int32_t b = 1; b < static_cast<int32_t>(count); b++) {
      for (int32_t a = 0; a < b; a++) {
        EXPECT_FALSE(could_be_one(g, graph, groups, count, a, b)) << a << " and " << b;
      }
    }
    n_groups += count;
    n_cut += count > 1;
  }
  // Otherwise the graphs are not what they are meant to be.
  EXPECT_GT(n_groups, 6000u);
  EXPECT_GT(n_claimed, 50000u);
  EXPECT_GT(n_cut, 1500u);
}

} // namespace
