// Pass "quantized": operators between DequantizeLinear and QuantizeLinear, and what keeps them.
#include "tests/executor_glue/graph/builder.h"

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

int32_t zero_of(GraphBuilder &g, uint8_t zero) {
  return g.constant<uint8_t>({}, {zero}, LK_U8);
}

int32_t dequantized(GraphBuilder &g, int32_t x, float scale, uint8_t zero) {
  return g.node("DequantizeLinear", {x, g.scalar(scale), zero_of(g, zero)});
}

int32_t quantized(GraphBuilder &g, int32_t x, float scale, uint8_t zero) {
  return g.node("QuantizeLinear", {x, g.scalar(scale), zero_of(g, zero)});
}

// A weight of i8 with a scale for each index of `axis`, or one.
int32_t weight(GraphBuilder &g, const std::vector<int64_t> &dims, const std::vector<float> &scales,
               int64_t axis) {
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(d);
  const auto count = static_cast<int64_t>(scales.size());
  const std::vector<int64_t> of_scales =
      count == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{count};
  const int32_t w = g.constant<int8_t>(dims, std::vector<int8_t>(n, 3), LK_I8);
  const int32_t zeros = g.constant<int8_t>(of_scales, std::vector<int8_t>(scales.size(), 0), LK_I8);
  return g.node("DequantizeLinear", {w, g.floats(of_scales, scales), zeros},
                {Attr::Ints("axis", {axis})});
}

int32_t bias(GraphBuilder &g, const std::vector<float> &scales) {
  const auto count = static_cast<int64_t>(scales.size());
  const int32_t b = g.constant<int32_t>({count}, std::vector<int32_t>(scales.size(), 5), LK_I32);
  return g.node("DequantizeLinear", {b, g.floats({count}, scales)}, {Attr::Ints("axis", {0})});
}

// ---- Conv ----

struct Conv {
  std::vector<float> w_scales = {0.5f, 0.25f}, bias_scales = {0.05f, 0.025f};
  int64_t axis = 0;
  bool has_bias = true, used_twice = false, x_used_twice = false;
  const char *between = nullptr;
  uint8_t zero = 0;
};

// What makes the output.
std::string conv(const Conv &p) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 4, -1, -1}, LK_U8);
  const int32_t real = dequantized(g, x, 0.1f, 7);
  std::vector<int32_t> inputs = {real, weight(g, {2, 4, 3, 3}, p.w_scales, p.axis)};
  if (p.has_bias) inputs.push_back(bias(g, p.bias_scales));
  const int32_t y = g.node("Conv", inputs, {Attr::Ints("pads", {1, 1, 1, 1})});
  int32_t last = y;
  if (p.between != nullptr && std::string(p.between) == "Clip") {
    last = g.node("Clip", {y, g.scalar(0), g.scalar(6)});
  } else if (p.between != nullptr) {
    last = g.node(p.between, {y});
  }
  const int32_t z = quantized(g, last, p.between != nullptr ? 6.0f / 255.0f : 0.2f, p.zero);
  g.output(z);
  if (p.used_twice) g.output(g.node("Exp", {y}));
  if (p.x_used_twice) g.output(g.node("Exp", {real}));
  const uint64_t changes = changes_of(g, "quantized");
  const lk_node *made = g.producer(z);
  if (std::string(made->op_type) != "QLinearConv") return made->op_type;
  EXPECT_EQ(changes, p.between != nullptr ? 2u : 1u);
  EXPECT_EQ(made->n_inputs, p.has_bias ? 9u : 8u);
  EXPECT_EQ(made->inputs[0], x);
  EXPECT_EQ(made->n_attrs, 1u);
  EXPECT_STREQ(made->attrs[0].name, "pads");
  EXPECT_EQ(g.count("DequantizeLinear"), p.x_used_twice ? 1u : 0u);
  EXPECT_EQ(g.count("QuantizeLinear") + g.count("Conv"), 0u);
  return made->op_type;
}

TEST(QuantizedConv, WithAndWithoutBias) {
  Conv p;
  EXPECT_EQ(conv(p), "QLinearConv");
  p.has_bias = false;
  EXPECT_EQ(conv(p), "QLinearConv");
  p = {}, p.w_scales = {0.5f}, p.bias_scales = {0.05f, 0.05f};
  EXPECT_EQ(conv(p), "QLinearConv");
}

TEST(QuantizedConv, OtherReadersOfItsInputKeepTheirs) {
  Conv p;
  p.x_used_twice = true;
  EXPECT_EQ(conv(p), "QLinearConv");
}

TEST(QuantizedConv, SaturationIsWhatReluAndClipDo) {
  Conv p;
  for (const char *between : {"Relu", "Clip"}) {
    p.between = between;
    p.zero = 0;
    EXPECT_EQ(conv(p), "QLinearConv") << between;
    p.zero = 1; // bytes reach below what is left of the numbers
    EXPECT_EQ(conv(p), "QuantizeLinear") << between;
  }
}

TEST(QuantizedConv, WhatIsNotIt) {
  Conv p;
  p.used_twice = true;
  EXPECT_EQ(conv(p), "QuantizeLinear");
  p = {}, p.axis = 1; // of input channels
  EXPECT_EQ(conv(p), "QuantizeLinear");
  p = {}, p.bias_scales = {0.05f, 0.05f}; // not the scale of the sums
  EXPECT_EQ(conv(p), "QuantizeLinear");
  p = {}, p.between = "Sigmoid";
  EXPECT_EQ(conv(p), "QuantizeLinear");
}

// ---- MatMul and Gemm ----

struct Product {
  int64_t axis = 1;
  bool is_gemm = false, transposed = false, is_quantized = true;
  float alpha = 1.0f;
};

std::string product(const Product &p) {
  GraphBuilder g;
  const int32_t a = dequantized(g, g.input("a", {-1, 3}, LK_U8), 0.1f, 7);
  const std::vector<int64_t> dims =
      p.transposed ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{3, 2};
  const std::vector<float> scales = dims[static_cast<size_t>(p.axis)] == 2
                                        ? std::vector<float>{0.5f, 0.25f}
                                        : std::vector<float>{0.5f, 0.25f, 0.125f};
  const int32_t b = weight(g, dims, scales, p.axis);
  int32_t y = LK_NO_VALUE;
  if (p.is_gemm) {
    y = g.node("Gemm", {a, b, bias(g, {0.05f, 0.025f})},
               {Attr::Float("alpha", p.alpha), Attr::Ints("transB", {p.transposed})});
  } else {
    y = g.node("MatMul", {a, b});
  }
  if (p.is_quantized) y = quantized(g, y, 0.2f, 9);
  g.output(y);
  changes_of(g, "quantized");
  return g.producer(y)->op_type;
}

TEST(QuantizedProduct, WithAndWithoutAScaleOfItsOwn) {
  Product p;
  EXPECT_EQ(product(p), "QLinearMatMul");
  p.is_quantized = false;
  EXPECT_EQ(product(p), "MatMulIntegerToFloat");
  p = {}, p.is_gemm = true;
  EXPECT_EQ(product(p), "QGemm");
  p.is_quantized = false;
  EXPECT_EQ(product(p), "QGemm");
  p.transposed = true, p.axis = 0;
  EXPECT_EQ(product(p), "QGemm");
}

TEST(QuantizedProduct, WhatIsNotIt) {
  Product p;
  p.axis = 0; // a scale for each summand
  EXPECT_EQ(product(p), "QuantizeLinear");
  p = {}, p.is_gemm = true, p.alpha = 2;
  EXPECT_EQ(product(p), "QuantizeLinear");
  p = {}, p.is_gemm = true, p.transposed = true;
  EXPECT_EQ(product(p), "QuantizeLinear");
}

// ---- the others ----

TEST(QuantizedElements, OperatorsOnBytes) {
  for (const std::string op : {"Add", "Mul", "Sigmoid", "LeakyRelu", "GlobalAveragePool"}) {
    GraphBuilder g;
    const int32_t x = g.input("x", {-1, 4, -1, -1}, LK_U8), z = g.input("z", {4, 1, 1}, LK_U8);
    std::vector<int32_t> inputs = {dequantized(g, x, 0.1f, 7)};
    if (op == "Add" || op == "Mul") inputs.push_back(dequantized(g, z, 0.3f, 8));
    const int32_t y = quantized(g, g.node(op, inputs), 0.2f, 9);
    g.output(y);
    EXPECT_EQ(changes_of(g, "quantized"), 1u) << op;
    EXPECT_EQ(g.producer(y)->op_type, "QLinear" + op);
    EXPECT_EQ(g->n_nodes, 1u) << op;
  }
}

TEST(QuantizedElements, SoftmaxAlongOneDimension) {
  for (const int opset : {11, 13}) {
    GraphBuilder g;
    g.opset = opset;
    const int32_t x = g.input("x", {-1, 4, 5}, LK_U8);
    const int32_t real = dequantized(g, x, 0.1f, 7);
    const int32_t y = quantized(g, g.node("Softmax", {real}, {Attr::Ints("axis", {1})}), 0.2f, 9);
    g.output(y);
    const bool is_one = opset >= 13;
    EXPECT_EQ(changes_of(g, "quantized"), is_one ? 1u : 0u) << opset;
    const lk_node *made = g.producer(y);
    ASSERT_STREQ(made->op_type, is_one ? "QLinearSoftmax" : "QuantizeLinear");
    if (!is_one) continue;
    EXPECT_EQ(lk_node_attr_int(made, "axis", 0), 1);
    EXPECT_EQ(lk_node_attr_int(made, "opset", 0), 13);
  }
}

TEST(QuantizedElements, WhereOfQuantizedTensors) {
  GraphBuilder g;
  const int32_t c = g.input("c", {-1, 4}, LK_BOOL), x = g.input("x", {-1, 4}, LK_U8);
  const int32_t y = quantized(
      g, g.node("Where", {c, dequantized(g, x, 0.1f, 7), dequantized(g, x, 0.3f, 8)}), 0.2f, 9);
  g.output(y);
  EXPECT_EQ(changes_of(g, "quantized"), 1u);
  const lk_node *made = g.producer(y);
  ASSERT_STREQ(made->op_type, "QLinearWhere");
  EXPECT_EQ(made->inputs[0], c);
  EXPECT_EQ(made->inputs[4], x);
  EXPECT_EQ(g->n_nodes, 1u);
}

TEST(QuantizedConcat, OfTwoToFour) {
  for (uint32_t n = 1; n <= 5; n++) {
    GraphBuilder g;
    std::vector<int32_t> parts, real;
    for (uint32_t i = 0; i < n; i++) {
      parts.push_back(g.input("x" + std::to_string(i), {-1, 4}, LK_U8));
      real.push_back(dequantized(g, parts[i], 0.1f * float(i + 1), 7));
    }
    const int32_t y = quantized(g, g.node("Concat", real, {Attr::Ints("axis", {1})}), 0.2f, 9);
    g.output(y);
    const bool is_one = n >= 2 && n <= 4;
    EXPECT_EQ(changes_of(g, "quantized"), is_one ? 1u : 0u) << n;
    const lk_node *made = g.producer(y);
    ASSERT_STREQ(made->op_type, is_one ? "QLinearConcat" : "QuantizeLinear") << n;
    if (!is_one) continue;
    ASSERT_EQ(made->n_inputs, 2 + 3 * n);
    for (uint32_t i = 0; i < n; i++) EXPECT_EQ(made->inputs[2 + 3 * i], parts[i]) << n << " " << i;
    EXPECT_EQ(lk_node_attr_int(made, "axis", 0), 1);
  }
}

// A Reshape from `scale` to 0.1.
std::string reshaped(float scale, uint8_t zero) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 4}, LK_U8), shape = g.ints({2, -1});
  const int32_t y =
      quantized(g, g.node("Reshape", {dequantized(g, x, scale, zero), shape}), 0.1f, 7);
  g.output(y);
  changes_of(g, "quantized");
  const lk_node *made = g.producer(y);
  if (made->inputs[0] == x) {
    EXPECT_EQ(made->n_inputs, 2u);
    EXPECT_EQ(made->inputs[1], shape);
    EXPECT_EQ(made->opset, 13);
  }
  return made->op_type;
}

TEST(QuantizedMoves, BytesOfTheSameScaleAndZeroPoint) {
  EXPECT_EQ(reshaped(0.1f, 7), "Reshape");
  EXPECT_EQ(reshaped(0.2f, 7), "QuantizeLinear");
  EXPECT_EQ(reshaped(0.1f, 8), "QuantizeLinear");
}

TEST(QuantizedMoves, MaxPoolKeepsItsWindow) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 4, -1, -1}, LK_U8);
  const int32_t real = dequantized(g, x, 0.1f, 7);
  const int32_t y =
      quantized(g, g.node("MaxPool", {real}, {Attr::Ints("kernel_shape", {3, 3})}), 0.1f, 7);
  g.output(y);
  EXPECT_EQ(changes_of(g, "quantized"), 1u);
  EXPECT_STREQ(g.producer(y)->op_type, "MaxPool");
  EXPECT_EQ(g.producer(y)->attrs[0].count, 2u);
}

// A zero point for the type of the output must be there; the others may be absent.
TEST(QuantizedMatMul, AbsentZeroPoints) {
  GraphBuilder g;
  const int32_t a = g.node("DequantizeLinear", {g.input("a", {-1, 3}, LK_U8), g.scalar(0.1f)});
  const int32_t y = g.node("MatMul", {a, weight(g, {3, 2}, {0.5f}, 1)});
  g.output(y);
  EXPECT_EQ(changes_of(g, "quantized"), 1u);
  const lk_node *made = g.producer(y);
  ASSERT_STREQ(made->op_type, "MatMulIntegerToFloat");
  EXPECT_EQ(made->inputs[4], LK_NO_VALUE);
}

} // namespace
