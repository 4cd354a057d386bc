// Pass "patterns": each spelling that exporters write, and what is nearly one.
#include <functional>

#include "tests/executor_glue/graph/builder.h"

extern "C" {
#include "executor_glue/passes/pattern.h"
}

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

struct HardSwish {
  float three = 3.0f, low = 0.0f, high = 6.0f, six = 6.0f;
  int ordering = 0;
  int opset = 11;
  bool gate_used_twice = false, gate_is_output = false;
  uint32_t dtype = LK_F32;
  std::vector<int64_t> constant_dims = {};
};

// Returns the number of HardSwish nodes; where one is made, it must be the only node.
size_t hard_swishes(const HardSwish &p) {
  GraphBuilder g;
  g.opset = p.opset;
  const int32_t x = g.input("x", {-1, 4, -1, -1}, p.dtype);
  const int32_t shifted = g.node("Add", {x, g.floats(p.constant_dims, {p.three})});
  const int32_t gate =
      p.opset >= 11
          ? g.node("Clip", {shifted, g.scalar(p.low), g.scalar(p.high)})
          : g.node("Clip", {shifted}, {Attr::Float("min", p.low), Attr::Float("max", p.high)});
  const int32_t six = g.floats(p.constant_dims, {p.six});
  const int32_t sixth = g.floats(p.constant_dims, {1.0f / p.six});
  int32_t y = LK_NO_VALUE;
  switch (p.ordering) {
  case 0:
    y = g.node("Div", {g.node("Mul", {x, gate}), six});
    break;
  case 1:
    y = g.node("Mul", {g.node("Mul", {gate, x}), sixth});
    break;
  case 2:
    y = g.node("Mul", {x, g.node("Div", {gate, six})});
    break;
  case 3:
    y = g.node("Mul", {g.node("Mul", {sixth, gate}), x});
    break;
  case 4:
    y = g.node("Mul", {g.node("Div", {x, six}), gate});
    break;
  default:
    y = g.node("Div", {six, g.node("Mul", {x, gate})});
    break; // upside down
  }
  g.output(y);
  if (p.gate_used_twice) g.output(g.node("Relu", {gate}));
  if (p.gate_is_output) g.output(gate);
  const uint64_t changes = changes_of(g, "patterns");
  EXPECT_EQ(changes, g.count("HardSwish"));
  if (changes > 0) {
    EXPECT_EQ(g->n_nodes, 1u);
    EXPECT_EQ(g.producer(y)->inputs[0], x);
    EXPECT_EQ(g.producer(y)->opset, 14);
    EXPECT_EQ(g->values[x].n_uses, 1u);
  }
  return changes;
}

TEST(PatternsHardSwish, EveryOrderingAtEveryFormOfClip) {
  for (int ordering = 0; ordering < 5; ordering++) {
    for (int opset : {9, 11, 13}) {
      HardSwish p;
      p.ordering = ordering;
      p.opset = opset;
      EXPECT_EQ(hard_swishes(p), 1u) << ordering << " at opset " << opset;
      p.constant_dims = {1};
      EXPECT_EQ(hard_swishes(p), 1u) << ordering << " at opset " << opset;
    }
  }
}

TEST(PatternsHardSwish, OtherNumbersAreNotIt) {
  HardSwish p;
  p.three = 2.5f;
  EXPECT_EQ(hard_swishes(p), 0u);
  p = {}, p.low = -1.0f;
  EXPECT_EQ(hard_swishes(p), 0u);
  p = {}, p.high = 5.0f;
  EXPECT_EQ(hard_swishes(p), 0u);
  p = {}, p.six = 6.01f;
  EXPECT_EQ(hard_swishes(p), 0u);
  p = {}, p.ordering = 5;
  EXPECT_EQ(hard_swishes(p), 0u);
}

TEST(PatternsHardSwish, SecondUseOutputTypeAndRankKeepTheNodes) {
  HardSwish p;
  p.gate_used_twice = true;
  EXPECT_EQ(hard_swishes(p), 0u);
  p = {}, p.gate_is_output = true;
  EXPECT_EQ(hard_swishes(p), 0u);
  p = {}, p.dtype = LK_F64;
  EXPECT_EQ(hard_swishes(p), 0u);
  p = {}, p.constant_dims = {1, 1, 1, 1, 1}; // raises the rank
  EXPECT_EQ(hard_swishes(p), 0u);
}

TEST(PatternsHardSwish, AnotherValueTimesTheGateIsNotIt) {
  GraphBuilder g;
  const int32_t x = g.input("x", {4}), z = g.input("z", {4});
  const int32_t gate = g.node("Clip", {g.node("Add", {x, g.scalar(3)}), g.scalar(0), g.scalar(6)});
  g.output(g.node("Div", {g.node("Mul", {z, gate}), g.scalar(6)}));
  EXPECT_EQ(changes_of(g, "patterns"), 0u);
}

TEST(PatternsHardSwish, HardSigmoidForm) {
  auto count = [](float alpha, float beta, float factor) {
    GraphBuilder g;
    const int32_t x = g.input("x", {4});
    int32_t gate =
        g.node("HardSigmoid", {x}, {Attr::Float("alpha", alpha), Attr::Float("beta", beta)});
    if (factor != 1.0f) gate = g.node("Mul", {gate, g.scalar(factor)});
    g.output(g.node("Mul", {gate, x}));
    return changes_of(g, "patterns");
  };
  EXPECT_EQ(count(1.0f / 6.0f, 0.5f, 1.0f), 1u);
  EXPECT_EQ(count(0.2f, 0.5f, 1.0f), 0u);
  EXPECT_EQ(count(1.0f / 6.0f, 0.4f, 1.0f), 0u);
  EXPECT_EQ(count(1.0f / 6.0f, 0.5f, 2.0f), 0u);
}

TEST(PatternsHardSwish, RunTimeBoundsKeepTheNodes) {
  GraphBuilder g;
  const int32_t x = g.input("x", {4}), high = g.input("high", {});
  const int32_t gate = g.node("Clip", {g.node("Add", {x, g.scalar(3)}), g.scalar(0), high});
  g.output(g.node("Div", {g.node("Mul", {x, gate}), g.scalar(6)}));
  EXPECT_EQ(changes_of(g, "patterns"), 0u);
}

TEST(PatternsHardSwish, TableWithoutTheOperatorChangesNothing) {
  lk_api api = *lk::test_api();
  api.op_find = [](const char *op_type, const char *domain, int32_t opset) {
    return std::string(op_type) == "HardSwish" ? nullptr : lk::test_op_find(op_type, domain, opset);
  };
  GraphBuilder g;
  uint64_t changes = 0;
  const int32_t x = g.input("x", {4});
  g.output(g.node("Mul", {x, g.node("HardSigmoid", {x}, {Attr::Float("alpha", 1.0f / 6.0f)})}));
  LK_ASSERT_OK(g.link());
  LK_ASSERT_OK(lk::run_pass(g, "patterns", &changes, &api));
  EXPECT_EQ(changes, 0u);
}

TEST(PatternsHardSwish, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    uint64_t changes = 0;
    const int32_t x = g.input("x", {4});
    const int32_t gate =
        g.node("Clip", {g.node("Add", {x, g.scalar(3)}), g.scalar(0), g.scalar(6)});
    g.output(g.node("Div", {g.node("Mul", {x, gate}), g.scalar(6)}));
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "patterns", &changes);
  });
}

// ---- Swish ----

// x * Sigmoid(scale(x)), with `scale` an operator and its constant ("": none).
struct Swish {
  uint64_t changes;
  float alpha;
};
Swish swish(const std::string &scale, float number, float factor = 1.0f, bool twice = false,
            uint32_t dtype = LK_F32) {
  GraphBuilder g;
  const int32_t x = g.input("x", {2, 4}, dtype);
  const int32_t inner = scale.empty() ? x : g.node(scale, {x, g.floats({1}, {number})});
  int32_t gate = g.node("Sigmoid", {inner});
  if (factor != 1.0f) gate = g.node("Mul", {gate, g.scalar(factor)});
  const int32_t y = g.node("Mul", {x, gate});
  g.output(y);
  if (twice) g.output(g.node("Relu", {gate}));
  const uint64_t changes = changes_of(g, "patterns");
  if (changes == 0) return {0, 0.0f};
  EXPECT_EQ(g->n_nodes, 1u);
  EXPECT_STREQ(g.producer(y)->domain, "latchkey");
  EXPECT_STREQ(g.producer(y)->op_type, "Swish");
  return {changes, lk_node_attr_float(g.producer(y), "alpha", 1.0f)};
}

TEST(PatternsSwish, PlainAndScaled) {
  EXPECT_EQ(swish("", 0).changes, 1u);
  EXPECT_EQ(swish("", 0).alpha, 1.0f);
  EXPECT_EQ(swish("Mul", 1.0f).alpha, 1.0f);
  EXPECT_EQ(swish("Mul", 1.702f).alpha, 1.702f);
  EXPECT_EQ(swish("Div", 2.0f).alpha, 0.5f);
}

TEST(PatternsSwish, WhatIsNotIt) {
  EXPECT_EQ(swish("Add", 1.0f).changes, 0u);
  EXPECT_EQ(swish("", 0, 2.0f).changes, 0u);       // a factor besides
  EXPECT_EQ(swish("", 0, 1.0f, true).changes, 0u); // the gate is used elsewhere
  for (const uint32_t dtype : {LK_F64, LK_F16, LK_BF16}) {
    EXPECT_EQ(swish("", 0, 1.0f, false, dtype).changes, 0u) << dtype;
  }
}

// Two steps by numbers are one by their product, unless f32 does not have it: 0 times it is no
// number then.
TEST(PatternsSwish, FactorsWhoseProductIsBeyondTheRangeAreNotIt) {
  const auto count = [](float first, float second) {
    GraphBuilder g;
    const int32_t x = g.input("x", {4});
    const int32_t once = g.node("Mul", {x, g.scalar(first)});
    const int32_t scaled = g.node("Mul", {once, g.scalar(second)});
    g.output(g.node("Mul", {x, g.node("Sigmoid", {scaled})}));
    return changes_of(g, "patterns");
  };
  EXPECT_EQ(count(2, 3), 1u);
  EXPECT_EQ(count(1e30f, 1e-30f), 1u);
  EXPECT_EQ(count(1e30f, 1e30f), 0u);
  EXPECT_EQ(count(1e-30f, 1e-30f), 0u);
}

TEST(PatternsSwish, SqueezeAndExciteIsNotIt) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1, 4, 8, 8});
  const int32_t pooled = g.node("GlobalAveragePool", {x});
  g.output(g.node("Mul", {x, g.node("Sigmoid", {pooled})}));
  EXPECT_EQ(changes_of(g, "patterns"), 0u);
}

TEST(PatternsSwish, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    uint64_t changes = 0;
    const int32_t x = g.input("x", {4});
    g.output(g.node("Mul", {x, g.node("Sigmoid", {x})}));
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "patterns", &changes);
  });
}

// ---- Gelu and Mish ----

TEST(PatternsGelu, EveryOrderOfTheFactors) {
  for (int ordering = 0; ordering < 4; ordering++) {
    GraphBuilder g;
    const int32_t x = g.input("x", {-1, 4});
    const int32_t scaled = ordering % 2 == 0 ? g.node("Div", {x, g.scalar(1.41421354f)})
                                             : g.node("Mul", {g.scalar(0.707106769f), x});
    const int32_t gate = g.node("Add", {g.node("Erf", {scaled}), g.scalar(1)});
    const int32_t half = g.scalar(0.5f);
    int32_t y = LK_NO_VALUE;
    switch (ordering) {
    case 0:
      y = g.node("Mul", {g.node("Mul", {x, gate}), half});
      break;
    case 1:
      y = g.node("Mul", {x, g.node("Mul", {half, gate})});
      break;
    case 2:
      y = g.node("Mul", {g.node("Mul", {half, x}), gate});
      break;
    default:
      y = g.node("Div", {g.node("Mul", {gate, x}), g.scalar(2)});
      break;
    }
    g.output(y);
    EXPECT_EQ(changes_of(g, "patterns"), 1u) << ordering;
    EXPECT_STREQ(g.producer(y)->op_type, "Gelu");
    EXPECT_EQ(g.producer(y)->n_attrs, 0u);
    EXPECT_EQ(g->n_nodes, 1u);
  }
}

TEST(PatternsGelu, ByTanh) {
  for (int spelling = 0; spelling < 3; spelling++) {
    GraphBuilder g;
    const int32_t x = g.input("x", {-1, 4});
    const int32_t c = g.scalar(0.044715f);
    int32_t inner = LK_NO_VALUE;
    if (spelling == 0) {
      inner = g.node("Add", {x, g.node("Mul", {c, g.node("Pow", {x, g.scalar(3)})})});
    } else if (spelling == 1) {
      const int32_t cube = g.node("Mul", {g.node("Mul", {x, x}), x});
      inner = g.node("Add", {g.node("Mul", {cube, c}), x});
    } else {
      const int32_t square = g.node("Mul", {x, g.node("Mul", {x, c})});
      inner = g.node("Mul", {x, g.node("Add", {g.scalar(1), square})});
    }
    const int32_t tanh = g.node("Tanh", {g.node("Mul", {inner, g.scalar(0.797884583f)})});
    const int32_t gate = g.node("Add", {tanh, g.scalar(1)});
    const int32_t y = g.node("Mul", {g.node("Mul", {x, g.scalar(0.5f)}), gate});
    g.output(y);
    EXPECT_EQ(changes_of(g, "patterns"), 1u) << spelling;
    EXPECT_STREQ(g.producer(y)->op_type, "GeluTanh") << spelling;
  }
}

TEST(PatternsGelu, AnExponentThatRaisesTheRankIsNotIt) {
  const auto count = [](const std::vector<int64_t> &x_dims, const std::vector<int64_t> &dims) {
    GraphBuilder g;
    const int32_t x = g.input("x", x_dims);
    const int32_t cube = g.node("Pow", {x, g.floats(dims, {3})});
    const int32_t inner = g.node("Add", {x, g.node("Mul", {g.scalar(0.044715f), cube})});
    const int32_t tanh = g.node("Tanh", {g.node("Mul", {inner, g.scalar(0.797884583f)})});
    const int32_t gate = g.node("Add", {tanh, g.scalar(1)});
    g.output(g.node("Mul", {g.node("Mul", {x, g.scalar(0.5f)}), gate}));
    return changes_of(g, "patterns");
  };
  EXPECT_EQ(count({-1, 4}, {}), 1u);
  EXPECT_EQ(count({-1, 4}, {1}), 1u);
  EXPECT_EQ(count({-1, 4}, {1, 1}), 1u);
  EXPECT_EQ(count({-1, 4}, {1, 1, 1}), 0u);
  EXPECT_EQ(count({}, {1}), 0u);
}

TEST(PatternsGelu, AsOneNode) {
  for (const char *approximate : {"", "none", "tanh"}) {
    GraphBuilder g;
    g.opset = 20;
    const int32_t x = g.input("x", {4});
    std::vector<Attr> attrs;
    if (*approximate != '\0') attrs.push_back(Attr::Text("approximate", approximate));
    const int32_t y = g.node("Gelu", {x}, attrs);
    g.output(y);
    EXPECT_EQ(changes_of(g, "patterns"), 1u) << approximate;
    const bool by_tanh = std::string(approximate) == "tanh";
    EXPECT_STREQ(g.producer(y)->op_type, by_tanh ? "GeluTanh" : "Gelu");
    EXPECT_STREQ(g.producer(y)->domain, "latchkey");
  }
}

TEST(PatternsGelu, OtherNumbersAreNotIt) {
  auto count = [](float root, float one, float half) {
    GraphBuilder g;
    const int32_t x = g.input("x", {4});
    const int32_t erf = g.node("Erf", {g.node("Div", {x, g.scalar(root)})});
    const int32_t gate = g.node("Add", {erf, g.scalar(one)});
    g.output(g.node("Mul", {g.node("Mul", {x, gate}), g.scalar(half)}));
    return changes_of(g, "patterns");
  };
  EXPECT_EQ(count(1.41421354f, 1, 0.5f), 1u);
  EXPECT_EQ(count(1.41f, 1, 0.5f), 0u);
  EXPECT_EQ(count(1.41421354f, 2, 0.5f), 0u);
  EXPECT_EQ(count(1.41421354f, 1, 0.25f), 0u);
}

TEST(PatternsMish, OfOneValue) {
  GraphBuilder g;
  const int32_t x = g.input("x", {4}), z = g.input("z", {4});
  const int32_t y = g.node("Mul", {g.node("Tanh", {g.node("Softplus", {x})}), x});
  g.output(y);
  g.output(g.node("Mul", {g.node("Tanh", {g.node("Softplus", {x})}), z}));
  EXPECT_EQ(changes_of(g, "patterns"), 1u);
  EXPECT_STREQ(g.producer(y)->op_type, "Mish");
}

// ---- norms ----

struct Norm {
  std::vector<int64_t> dims = {-1, 8, 4};
  int opset = 17;
  int64_t axis = -1, keepdims = 1;
  bool by_mul = false;        // squares by Mul, not Pow
  bool by_reciprocal = false; // times 1 / sqrt, in place of a division
  bool two_differences = false;
  bool with_mean = true; // LayerNormalization, else RMSNormalization
  std::vector<int64_t> scale = {4};
  bool variance_used = false;
  float exponent = 2;
};

int32_t mean_of(GraphBuilder &g, const Norm &n, int32_t x) {
  if (n.opset >= 18) {
    return g.node("ReduceMean", {x, g.ints({n.axis})}, {Attr::Ints("keepdims", {n.keepdims})});
  }
  return g.node("ReduceMean", {x},
                {Attr::Ints("axes", {n.axis}), Attr::Ints("keepdims", {n.keepdims})});
}

// How many norms were found; where one is, it is the only node, and reads x.
size_t norms(const Norm &n) {
  GraphBuilder g;
  g.opset = n.opset;
  const int32_t x = g.input("x", n.dims);
  auto difference = [&] { return g.node("Sub", {x, mean_of(g, n, x)}); };
  const int32_t d = n.with_mean ? difference() : x;
  const int32_t squared = n.with_mean && n.two_differences ? difference() : d;
  const int32_t square =
      n.by_mul ? g.node("Mul", {squared, squared}) : g.node("Pow", {squared, g.scalar(n.exponent)});
  const int32_t variance = mean_of(g, n, square);
  const int32_t root = g.node("Sqrt", {g.node("Add", {variance, g.scalar(1e-5f)})});
  const int32_t normal = n.by_reciprocal ? g.node("Mul", {d, g.node("Div", {g.scalar(1), root})})
                                         : g.node("Div", {d, root});
  int32_t y = g.node("Mul", {g.filled(n.scale, 2), normal});
  if (n.with_mean) y = g.node("Add", {y, g.filled({4}, 1)});
  g.output(y);
  if (n.variance_used) g.output(g.node("Relu", {variance}));
  const uint64_t changes = changes_of(g, "patterns");
  if (changes == 0) return 0;
  EXPECT_EQ(g->n_nodes, 1u);
  const lk_node *made = g.producer(y);
  EXPECT_STREQ(made->op_type, n.with_mean ? "LayerNormalization" : "RMSNormalization");
  EXPECT_EQ(made->inputs[0], x);
  EXPECT_EQ(g.numbers(made->inputs[1])[0], 2.0f);
  EXPECT_EQ(lk_node_attr_float(made, "epsilon", 0), 1e-5f);
  EXPECT_EQ(lk_node_attr_int(made, "axis", 0), -1);
  return changes;
}

TEST(PatternsNorm, EverySpelling) {
  for (int bits = 0; bits < 16; bits++) {
    for (int opset : {11, 18}) {
      Norm n;
      n.opset = opset;
      n.by_mul = (bits & 1) != 0;
      n.by_reciprocal = (bits & 2) != 0;
      n.two_differences = (bits & 5) == 4; // by Pow, as exporters write it
      n.with_mean = (bits & 8) != 0;
      EXPECT_EQ(norms(n), 1u) << bits << " at opset " << opset;
      n.axis = 2;
      EXPECT_EQ(norms(n), 1u) << bits << " at opset " << opset;
    }
  }
}

TEST(PatternsNorm, WhatIsNotIt) {
  for (const bool with_mean : {true, false}) {
    const auto changed = [&](const std::function<void(Norm &)> &change) {
      Norm n;
      n.with_mean = with_mean;
      change(n);
      return norms(n);
    };
    EXPECT_EQ(changed([](Norm &n) { n.axis = 1; }), 0u);
    EXPECT_EQ(changed([](Norm &n) { n.variance_used = true; }), 0u);
    EXPECT_EQ(changed([](Norm &n) { n.exponent = 2.0000002f; }), 0u);
    EXPECT_EQ(changed([](Norm &n) { n.dims = {-1, 8, -1}; }), 0u);   // it may be 1: made larger
    EXPECT_EQ(changed([](Norm &n) { n.scale = {1, 1, 1, 4}; }), 0u); // a higher rank
    EXPECT_EQ(changed([](Norm &n) { n.dims = {4, 4}, n.keepdims = 0; }), 0u);
  }
}

// The bias would be a product that is gone when LayerNormalization is there.
TEST(PatternsNorm, WhatIsScaledAndDoubledHasNoBias) {
  GraphBuilder g;
  Norm n;
  g.opset = n.opset = 18;
  const int32_t x = g.input("x", n.dims);
  const int32_t d = g.node("Sub", {x, mean_of(g, n, x)});
  const int32_t variance = mean_of(g, n, g.node("Pow", {d, g.scalar(2)}));
  const int32_t root = g.node("Sqrt", {g.node("Add", {variance, g.scalar(1e-5f)})});
  const int32_t scaled = g.node("Mul", {g.filled({4}, 2), g.node("Div", {d, root})});
  const int32_t y = g.node("Add", {scaled, scaled});
  g.output(y);
  changes_of(g, "patterns");
  const lk_node *last = g.producer(y);
  ASSERT_STREQ(last->op_type, "Add");
  EXPECT_STREQ(g.producer(last->inputs[0])->op_type, "RMSNormalization"); // of d
}

struct Groups {
  std::vector<int64_t> dims = {-1, 8, -1, -1};
  std::vector<int64_t> to = {0, 4, -1};
  std::vector<int64_t> scale = {8, 1, 1}, bias = {8, 1, 1};
  float one = 1, zero = 0;
  bool back = true; // to the input's shape
};

// PyTorch's spelling since opset 6; whether GroupNormalization is all that is left of it.
bool finds_groups(const Groups &n) {
  GraphBuilder g;
  const int32_t x = g.input("x", n.dims);
  const int32_t flat = g.node("Reshape", {x, g.ints(n.to)});
  const int32_t ones = g.filled({4}, n.one), zeros = g.filled({4}, n.zero);
  const int32_t normal =
      g.node("InstanceNormalization", {flat, ones, zeros}, {Attr::Float("epsilon", 0.25f)});
  const int32_t shape = n.back ? g.node("Shape", {x}) : g.ints({-1, 8, 1, 1});
  const int32_t scaled = g.node("Mul", {g.node("Reshape", {normal, shape}), g.filled(n.scale, 2)});
  const int32_t y = g.node("Add", {scaled, g.filled(n.bias, 3)});
  g.output(y);
  const uint64_t changes = changes_of(g, "patterns");
  if (changes == 0) return false;
  const lk_node *made = g.producer(y);
  EXPECT_STREQ(made->op_type, "GroupNormalization");
  EXPECT_STREQ(made->domain, "latchkey");
  EXPECT_EQ(made->inputs[0], x);
  EXPECT_EQ(g.numbers(made->inputs[1])[0], 2.0f);
  EXPECT_EQ(g.numbers(made->inputs[2])[0], 3.0f);
  EXPECT_EQ(lk_node_attr_float(made, "epsilon", 0), 0.25f);
  EXPECT_EQ(lk_node_attr_int(made, "num_groups", 0), 4);
  return true;
}

TEST(PatternsGroups, IsOneOperator) {
  EXPECT_TRUE(finds_groups({}));
  Groups n;
  n.dims = {2, 8, -1}, n.scale = n.bias = {8, 1};
  EXPECT_TRUE(finds_groups(n));
}

TEST(PatternsGroups, WhatIsNotIt) {
  const auto changed = [](const std::function<void(Groups &)> &change) {
    Groups n;
    change(n);
    return finds_groups(n);
  };
  EXPECT_FALSE(changed([](Groups &n) { n.one = 2; }));
  EXPECT_FALSE(changed([](Groups &n) { n.zero = 1; }));
  EXPECT_FALSE(changed([](Groups &n) { n.to = {2, 4, -1}; }));       // another batch
  EXPECT_FALSE(changed([](Groups &n) { n.dims = {-1, -1, 2, 4}; })); // channels are not known
  EXPECT_FALSE(changed([](Groups &n) { n.scale = {8, 1, 1, 1}; }));
  EXPECT_FALSE(changed([](Groups &n) {
    n.scale = {4};
    n.dims = {-1, 8, -1, 4};
  }));                                                             // of columns
  EXPECT_FALSE(changed([](Groups &n) { n.bias = {1, 8, 1, 1}; })); // of rank 4
  EXPECT_FALSE(changed([](Groups &n) { n.back = false; }));
}

// ---- the texts ----

lk_status parse(const char *tree, const char *result) {
  lk_pattern pattern;
  return lk_pattern_parse(tree, result, &pattern, LK_ERR);
}

// ---- attention ----

enum class Scaled { Scores, Both, Queries, Not };
enum class Masked { Not, Added, Kept, Hidden };
enum class Keys { Turned, OfRows, Flat };

struct Attention {
  Scaled scaled = Scaled::Scores;
  Masked masked = Masked::Added;
  Keys keys = Keys::Turned;
  bool nan_is_zero = false, divides = false, weights_are_output = false;
  float low = -3.4e38f;
  int opset = 14;
  int64_t axis = -1;
  std::vector<int64_t> perm = {0, 1, 3, 2}, mask = {-1, 1, 1, -1}, flat = {-1, 5, 16};
  uint32_t dtype = LK_F32;
};

int32_t weights(GraphBuilder &g, const Attention &p, int32_t q, int32_t turned) {
  const int32_t root = g.scalar(0.5f), s = g.scalar(p.divides ? 4.0f : 0.25f);
  if (p.scaled == Scaled::Both) {
    q = g.node("Mul", {root, q}), turned = g.node("Mul", {turned, root});
  } else if (p.scaled == Scaled::Queries) {
    q = g.node(p.divides ? "Div" : "Mul", {q, s});
  }
  int32_t scores = g.node("MatMul", {q, turned});
  if (p.scaled == Scaled::Scores) scores = g.node(p.divides ? "Div" : "Mul", {scores, s});
  const int32_t low = g.scalar(p.low);
  const bool is_bool = p.masked == Masked::Kept || p.masked == Masked::Hidden;
  const int32_t mask = p.masked == Masked::Not
                           ? LK_NO_VALUE
                           : g.input("mask", p.mask, is_bool ? uint32_t{LK_BOOL} : p.dtype);
  if (p.masked == Masked::Added) scores = g.node("Add", {scores, mask});
  if (p.masked == Masked::Kept) scores = g.node("Where", {mask, scores, low});
  if (p.masked == Masked::Hidden) scores = g.node("Where", {mask, low, scores});
  const int32_t made = g.node("Softmax", {scores}, {Attr::Ints("axis", {p.axis})});
  if (!p.nan_is_zero) return made;
  return g.node("Where", {g.node("IsNaN", {made}), g.scalar(0), made});
}

// Whether one operator is made of it, which is the only one then, and says the same.
bool is_attention(const Attention &p) {
  GraphBuilder g;
  g.opset = p.opset;
  const bool is_flat = p.keys == Keys::Flat;
  const std::vector<int64_t> rows =
      is_flat ? std::vector<int64_t>{2, 8, 5, 16} : std::vector<int64_t>{-1, 8, -1, 16};
  const int32_t q = g.input("q", {-1, 8, -1, 16}, p.dtype), v = g.input("v", rows, p.dtype);
  const int32_t k =
      g.input("k", p.keys == Keys::OfRows ? std::vector<int64_t>{-1, -1, 8, 16} : rows, p.dtype);
  int32_t turned;
  if (is_flat) {
    turned = g.node("Transpose", {g.node("Reshape", {k, g.ints(p.flat)})},
                    {Attr::Ints("perm", {0, 2, 1})});
    turned = g.node("Reshape", {turned, g.ints({2, 8, 16, 5})});
  } else {
    turned = g.node(
        "Transpose", {k},
        {Attr::Ints("perm", p.keys == Keys::OfRows ? std::vector<int64_t>{0, 2, 3, 1} : p.perm)});
  }
  const int32_t made = weights(g, p, q, turned);
  const int32_t y = g.node("MatMul", {made, v});
  g.output(y);
  if (p.weights_are_output) g.output(made);
  const uint64_t changes = changes_of(g, "patterns");
  if (changes == 0) return false;
  const lk_node *node = g.producer(y);
  EXPECT_EQ(g->n_nodes, 1u);
  EXPECT_STREQ(node->op_type, "Attention");
  EXPECT_STREQ(node->domain, "latchkey");
  EXPECT_EQ(node->n_inputs, p.masked == Masked::Not ? 3u : 4u);
  EXPECT_EQ(std::vector<int32_t>(node->inputs, node->inputs + 3), (std::vector<int32_t>{q, k, v}));
  EXPECT_EQ(lk_node_attr_float(node, "scale", 1), p.scaled == Scaled::Not ? 1.0f : 0.25f);
  EXPECT_EQ(lk_node_attr_int(node, "k_rows", 0), p.keys == Keys::OfRows ? 1 : 0);
  EXPECT_EQ(lk_node_attr_int(node, "hides", 0), p.masked == Masked::Hidden ? 1 : 0);
  EXPECT_EQ(lk_node_attr_int(node, "zeros", 0), p.nan_is_zero ? 1 : 0);
  const bool is_filled = p.masked == Masked::Kept || p.masked == Masked::Hidden;
  EXPECT_EQ(lk_node_attr_float(node, "filter", 0), is_filled ? p.low : 0.0f);
  return true;
}

TEST(PatternsAttention, EverySpelling) {
  for (Scaled scaled : {Scaled::Scores, Scaled::Both, Scaled::Queries, Scaled::Not}) {
    for (Masked masked : {Masked::Not, Masked::Added, Masked::Kept, Masked::Hidden}) {
      for (Keys keys : {Keys::Turned, Keys::OfRows, Keys::Flat}) {
        Attention p;
        p.scaled = scaled, p.masked = masked, p.keys = keys;
        const std::string which =
            std::to_string(int(scaled)) + std::to_string(int(masked)) + std::to_string(int(keys));
        EXPECT_TRUE(is_attention(p)) << which;
        p.divides = true, p.axis = 3, p.opset = 11;
        EXPECT_TRUE(is_attention(p)) << which;
        p = Attention{}, p.scaled = scaled, p.keys = keys, p.nan_is_zero = true;
        EXPECT_TRUE(is_attention(p)) << which;
        p.mask = {1, 8, -1, -1};
        EXPECT_TRUE(is_attention(p)) << which;
      }
    }
  }
}

TEST(PatternsAttention, WhatIsSomethingElse) {
  Attention p;
  p.axis = 1;
  EXPECT_FALSE(is_attention(p));
  p = {}, p.perm = {0, 3, 2, 1}; // which swaps others
  EXPECT_FALSE(is_attention(p));
  p = {}, p.perm = {1, 0, 3, 2};
  EXPECT_FALSE(is_attention(p));
  p = {}, p.keys = Keys::Flat, p.flat = {-1, 10, 8}; // other matrices
  EXPECT_FALSE(is_attention(p));
  p = {}, p.mask = {1, 1, 1, 1, -1}; // raises the rank
  EXPECT_FALSE(is_attention(p));
  p = {}, p.weights_are_output = true;
  EXPECT_FALSE(is_attention(p));
  p = {}, p.dtype = LK_F16;
  EXPECT_FALSE(is_attention(p));
  for (Masked masked : {Masked::Kept, Masked::Hidden}) {
    p = {}, p.masked = masked, p.low = -10000.0f; // a row without keys would be another
    EXPECT_FALSE(is_attention(p));
  }
}

TEST(Pattern, TextsThatAreNone) {
  LK_EXPECT_OK(parse("Mul(x, Sigmoid(x))", "Swish@24(x)"));
  for (const char *tree :
       {"", "x", "3", "Mul(x", "Mul(x,)", "Mul(x, y) z", "Mul[(x)",
        "Mul(a, b, c, d, e, f, g, h, i, j)", "Sub(a, b, c)", "Div(a)", "Mul(x, #)",
        "(Mul(x, y) | Add(x, y))", "Concat(Concat(a, b, c, d, e), Concat(f, g, h, i, j), k, l, m)",
        "&x", "&Mul(x, y", "x?", "Mul(#a?, x)"}) {
    LK_EXPECT_STATUS(LK_MALFORMED, parse(tree, "Relu@6(x)")) << tree;
  }
  for (const char *result : {"",
                             "Relu",
                             "Relu@",
                             "Relu@6",
                             "Relu@6()",
                             "Relu@6(y)",
                             "Elu@6[alpha=#b](x)",
                             "Elu@6[alpha=1(x)",
                             "Elu@6[a=1, b=2, c=3, d=4, e=5](x)",
                             "Elu@6[alpha=#a*](x)",
                             "Elu@6[alpha=#a*2](x)",
                             "Elu@6[alpha=#a*#b](x)",
                             "Relu@6(x) ",
                             "Relu@6(x)y",
                             "AnOperatorWithANameThatIsTooLongForOne@6(x)",
                             "Gelu@20[approximate='tanh](x)",
                             "Relu@y(x)",
                             "Relu@6[y](x)",
                             "Relu@6(x, ...)",
                             "Relu@x(...",
                             "Relu@x(x, ..)",
                             "Elu@6[alpha=|y|](x)",
                             "Elu@6[alpha=|x](x)"}) {
    const lk_status wanted = std::string(result) == "Relu@6(x) " ? LK_OK : LK_MALFORMED;
    LK_EXPECT_STATUS(wanted, parse("Mul(x, #a)", result)) << result;
  }
}

} // namespace
