// Pass "scale_shift": structure, conditions, and numbers against plain loops.
#include "tests/executor_glue/graph/builder.h"
#include "tests/harness/close.h"

#include <cmath>
#include <random>

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

using Floats = std::vector<float>;

Floats random_floats(size_t n, uint32_t seed, float low = -1.0f, float high = 1.0f) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  Floats all(n);
  for (float &x : all) x = uniform(engine);
  return all;
}

// 1 x C x H x W, weights 3 x 3, stride 1, no padding; double throughout.
std::vector<double> conv(const Floats &x, int in_channels, int side, const Floats &w,
                         const Floats &bias, int out_channels, int group) {
  const int out = side - 2, in_group = in_channels / group, out_group = out_channels / group;
  std::vector<double> y;
  for (int o = 0; o < out_channels; o++)
    for (int h = 0; h < out; h++)
      for (int v = 0; v < out; v++) {
        double sum = bias.empty() ? 0.0 : double(bias[size_t(o)]);
        for (int i = 0; i < in_group; i++)
          for (int kh = 0; kh < 3; kh++)
            for (int kw = 0; kw < 3; kw++) {
              const int c = o / out_group * in_group + i;
              sum += double(x[size_t((c * side + h + kh) * side + v + kw)]) *
                     double(w[size_t(((o * in_group + i) * 3 + kh) * 3 + kw)]);
            }
        y.push_back(sum);
      }
  return y;
}

// Kernel 2 x 2, stride 2; weights [C_in, C_out / group, 2, 2].
std::vector<double> conv_transpose(const Floats &x, int in_channels, int side, const Floats &w,
                                   const Floats &bias, int out_channels, int group) {
  const int out = 2 * side, in_group = in_channels / group, out_group = out_channels / group;
  std::vector<double> y(size_t(out_channels * out * out));
  for (int o = 0; o < out_channels; o++)
    for (int i = 0; i < out * out; i++)
      y[size_t(o * out * out + i)] = bias.empty() ? 0.0 : double(bias[size_t(o)]);
  for (int c = 0; c < in_channels; c++)
    for (int j = 0; j < out_group; j++)
      for (int h = 0; h < side; h++)
        for (int v = 0; v < side; v++)
          for (int kh = 0; kh < 2; kh++)
            for (int kw = 0; kw < 2; kw++) {
              const int o = c / in_group * out_group + j;
              y[size_t((o * out + 2 * h + kh) * out + 2 * v + kw)] +=
                  double(x[size_t((c * side + h) * side + v)]) *
                  double(w[size_t(((c * out_group + j) * 2 + kh) * 2 + kw)]);
            }
  return y;
}

struct Norm {
  Floats scale, bias, mean, variance;
  explicit Norm(size_t n)
      : scale(random_floats(n, 11)), bias(random_floats(n, 12)), mean(random_floats(n, 13)),
        variance(random_floats(n, 14, 0.1f, 2.0f)) {}
  std::vector<int32_t> inputs(GraphBuilder &g, int32_t x) const {
    const std::vector<int64_t> dims = {int64_t(scale.size())};
    return {x, g.floats(dims, scale), g.floats(dims, bias), g.floats(dims, mean),
            g.floats(dims, variance)};
  }
  double at(double x, size_t c) const {
    return (x - double(mean[c])) / std::sqrt(double(variance[c]) + double(1e-5f)) *
               double(scale[c]) +
           double(bias[c]);
  }
};

// Div by a scalar and Mul by [1], BatchNormalization, Mul by [1, C, 1, 1], Sub of [C, 1, 1] where
// there is no bias, all behind one convolution: `run` computes a convolution from weights and bias.
template <typename Run>
void check_numbers(const char *op_type, std::vector<int64_t> weight_dims, int out_channels,
                   int group, bool with_bias, Run run) {
  size_t elements = 1;
  for (int64_t d : weight_dims) elements *= size_t(d);
  const size_t n = size_t(out_channels);
  const int64_t c = out_channels;
  const Floats w = random_floats(elements, 1), bias = random_floats(with_bias ? n : 0, 2);
  const Floats factor = random_floats(n, 3), minus = random_floats(n, 4);
  const Norm norm(n);

  GraphBuilder g;
  std::vector<int32_t> inputs = {g.input("x", {1, -1, -1, -1}), g.floats(weight_dims, w)};
  if (with_bias) inputs.push_back(g.floats({c}, bias));
  int32_t v = g.node(op_type, inputs, {Attr::Ints("group", {group})});
  v = g.node("Div", {v, g.scalar(4.0f)});
  v = g.node("Mul", {v, g.floats({1}, {0.3f})});
  v = g.node("BatchNormalization", norm.inputs(g, v));
  v = g.node("Mul", {g.floats({1, c, 1, 1}, factor), v});
  if (!with_bias) v = g.node("Sub", {v, g.floats({c, 1, 1}, minus)});
  g.output(v);
  EXPECT_EQ(changes_of(g, "scale_shift"), with_bias ? 4u : 5u);
  ASSERT_EQ(g->n_nodes, 1u);
  const lk_node *node = g.producer(v);
  ASSERT_NE(node, nullptr);
  EXPECT_STREQ(node->op_type, op_type);
  EXPECT_STREQ(node->fused, "batch_norm,scale_shift");
  ASSERT_EQ(node->n_inputs, 3u);

  std::vector<double> expected = run(w, bias);
  const size_t plane = expected.size() / n;
  for (size_t i = 0; i < expected.size(); i++) {
    const size_t ch = i / plane;
    const double y = norm.at(expected[i] / 4.0 * double(0.3f), ch) * double(factor[ch]);
    expected[i] = with_bias ? y : y - double(minus[ch]);
  }
  EXPECT_TRUE(lk::all_close(expected, run(g.numbers(node->inputs[1]), g.numbers(node->inputs[2]))));
}

TEST(PassAffine, ConvNumbersMatchPlainLoops) {
  for (const int group : {1, 2}) {
    for (const bool with_bias : {false, true}) {
      const Floats x = random_floats(4 * 25, 9);
      check_numbers(
          "Conv", {6, 4 / group, 3, 3}, 6, group, with_bias,
          [&](const Floats &w, const Floats &bias) { return conv(x, 4, 5, w, bias, 6, group); });
    }
  }
}

TEST(PassAffine, ConvTransposeNumbersMatchPlainLoops) {
  for (const int group : {1, 2}) {
    for (const bool with_bias : {false, true}) {
      const Floats x = random_floats(4 * 9, 9);
      check_numbers("ConvTranspose", {4, 6 / group, 2, 2}, 6, group, with_bias,
                    [&](const Floats &w, const Floats &bias) {
                      return conv_transpose(x, 4, 3, w, bias, 6, group);
                    });
    }
  }
}

// What would be more than one rounding of a weight stays a step.
TEST(PassAffine, StepsThatMustBeRoundedStay) {
  auto folded = [](std::vector<std::pair<const char *, float>> steps, bool with_bias = false) {
    GraphBuilder g;
    std::vector<int32_t> inputs = {g.input("x", {1, 2, -1, -1}), g.filled({3, 2, 1, 1}, 1.0f)};
    if (with_bias) inputs.push_back(g.filled({3}, 1.0f));
    int32_t y = g.node("Conv", inputs);
    for (const auto &[type, k] : steps) y = g.node(type, {y, g.filled({1, 3, 1, 1}, k)});
    g.output(y);
    return changes_of(g, "scale_shift");
  };
  EXPECT_EQ(folded({{"Mul", 3}, {"Add", 2}}), 2u);
  EXPECT_EQ(folded({{"Add", 2}, {"Mul", 3}}), 2u);
  EXPECT_EQ(folded({{"Add", 100}, {"Sub", 100}}), 1u) << "the second one cancels";
  EXPECT_EQ(folded({{"Sub", 1}}, true), 0u) << "and that of the bias";
  EXPECT_EQ(folded({{"Add", 12582912}, {"Sub", 12582912}}), 0u) << "and rounds whole numbers";
  EXPECT_EQ(folded({{"Add", 2048}}), 1u) << "1024 times two weights of 1";
  EXPECT_EQ(folded({{"Add", 2049}}), 0u);
  EXPECT_EQ(folded({{"Mul", 2}, {"Sub", 2049}}), 2u);
  EXPECT_EQ(folded({{"Div", 3}}), 0u);
  EXPECT_EQ(folded({{"Div", 0x1p-20f}}), 1u);
  EXPECT_EQ(folded({{"Div", 0x1p-127f}}), 0u);
  EXPECT_EQ(folded({{"Mul", 1e30f}, {"Mul", 1e-30f}}), 0u) << "the nodes overflow";
  EXPECT_EQ(folded({{"Mul", 1e-30f}}), 0u) << "and weights would become denormal";
  EXPECT_EQ(folded({{"Mul", 0}}), 1u);
}

// Which a post-op rounds as the node says, but where BatchNormalization is behind it.
TEST(PassAffine, OneNumberForAllChannelsStays) {
  auto folded = [](std::vector<std::string> steps) {
    GraphBuilder g;
    int32_t y = g.node("Conv", {g.input("x", {1, 2, -1, -1}), g.filled({3, 2, 1, 1}, 1.0f)});
    for (const std::string &step : steps) {
      if (step == "norm") y = g.node("BatchNormalization", Norm(3).inputs(g, y));
      if (step == "one") y = g.node("Mul", {y, g.scalar(2.0f)});
      if (step == "each") y = g.node("Mul", {y, g.filled({3, 1, 1}, 2.0f)});
      if (step == "last") y = g.node("Relu", {y});
    }
    g.output(y);
    const uint64_t changes = changes_of(g, "scale_shift");
    EXPECT_EQ(g->n_nodes, 1 + steps.size() - changes);
    return changes;
  };
  EXPECT_EQ(folded({"one"}), 0u);
  EXPECT_EQ(folded({"one", "norm"}), 2u);
  EXPECT_EQ(folded({"norm", "one"}), 1u);
  EXPECT_EQ(folded({"norm", "one", "each"}), 1u);
  EXPECT_EQ(folded({"norm", "each", "one", "each", "norm", "each", "one", "last"}), 6u);
  EXPECT_EQ(folded({"each", "one", "last", "norm"}), 1u);
}

TEST(PassAffine, BatchNormThatStaysTakesWhatFollows) {
  GraphBuilder g;
  const Norm norm(3);
  const int32_t x = g.input("x", {-1, 3, -1, -1});
  int32_t v = g.node("BatchNormalization", norm.inputs(g, x));
  v = g.node("Mul", {v, g.floats({3, 1, 1}, {2, 3, 4})});
  v = g.node("Add", {v, g.floats({3, 1, 1}, {5, 6, 7})});
  g.output(v);
  EXPECT_EQ(changes_of(g, "scale_shift"), 2u);
  const lk_node *node = g.producer(v);
  ASSERT_EQ(g->n_nodes, 1u);
  const Floats scale = g.numbers(node->inputs[1]), bias = g.numbers(node->inputs[2]);
  for (size_t c = 0; c < 3; c++) {
    EXPECT_FLOAT_EQ(scale[c], norm.scale[c] * float(c + 2));
    EXPECT_FLOAT_EQ(bias[c], norm.bias[c] * float(c + 2) + float(c + 5));
  }
  EXPECT_EQ(g.numbers(node->inputs[3]), norm.mean);
  EXPECT_EQ(g.numbers(node->inputs[4]), norm.variance);
}

TEST(PassAffine, PureAddLeavesTheWeightsAlone) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1, 2, 4, 4}), w = g.filled({2, 2, 1, 1}, 1.0f);
  const int32_t y = g.node("Add", {g.node("Conv", {x, w}), g.floats({1, 2, 1, 1}, {1, 2})});
  g.output(y);
  EXPECT_EQ(changes_of(g, "scale_shift"), 1u);
  EXPECT_EQ(g.producer(y)->inputs[1], w);
  EXPECT_EQ(g.numbers(g.producer(y)->inputs[2]), (Floats{1, 2}));
}

TEST(PassAffine, SharedWeightsAreCopiedForTheOneThatFolds) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1, 2, 4, 4}), w = g.filled({2, 2, 1, 1}, 1.0f);
  const int32_t a = g.node("Mul", {g.node("Conv", {x, w}), g.filled({2, 1, 1}, 5.0f)});
  const int32_t b = g.node("Conv", {x, w});
  g.output(a);
  g.output(b);
  EXPECT_EQ(changes_of(g, "scale_shift"), 1u);
  EXPECT_EQ(g.numbers(g.producer(a)->inputs[1]), Floats(4, 5.0f));
  EXPECT_EQ(g.numbers(g.producer(b)->inputs[1]), Floats(4, 1.0f));
}

TEST(PassAffine, OldConstantsAreFreed) {
  lk::FailingAllocator allocator;
  GraphBuilder g(allocator.get());
  const int32_t x = g.input("x", {1, 64, 4, 4});
  const int32_t y = g.node(
      "Mul", {g.node("Conv", {x, g.filled({64, 64, 3, 3}, 1.0f)}), g.filled({64, 1, 1}, 2.0f)});
  g.output(y);
  LK_ASSERT_OK(g.link());
  const size_t before = allocator.live_bytes();
  EXPECT_EQ(changes_of(g, "scale_shift"), 1u);
  EXPECT_LE(allocator.live_bytes(), before + 64 * 1024); // room of the arena, no second weights
  EXPECT_LE(allocator.peak_bytes(), before + 64 * 1024);
}

// A Conv of 2 channels, and what the test puts behind it; returns how much was folded.
template <typename Behind> uint64_t folded(Behind behind, int opset = 13) {
  GraphBuilder g;
  g.opset = opset;
  const int32_t x = g.input("x", {1, 2, 4, 4});
  const int32_t y = g.node("Conv", {x, g.filled({2, 2, 1, 1}, 1.0f)});
  g.output(behind(g, y));
  return changes_of(g, "scale_shift");
}
std::vector<int32_t> norm_of(GraphBuilder &g, int32_t y, float variance = 1.0f, int64_t n = 2) {
  return {y, g.filled({n}, 1.5f), g.filled({n}, 1), g.filled({n}, 1), g.filled({n}, variance)};
}

TEST(PassAffine, SecondUseKeepsTheNode) {
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) {
              g.output(g.node("Relu", {y}));
              return g.node("BatchNormalization", norm_of(g, y));
            }),
            0u);
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) { return g.node("Mul", {y, y}); }), 0u);
}

TEST(PassAffine, GraphOutputInBetweenKeepsTheNode) {
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) {
              g.output(y);
              return g.node("BatchNormalization", norm_of(g, y));
            }),
            0u);
}

TEST(PassAffine, RunTimeParametersKeepTheNode) {
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) {
              auto inputs = norm_of(g, y);
              inputs[2] = g.input("bias", {2});
              return g.node("BatchNormalization", inputs);
            }),
            0u);
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) {
              return g.node("Add", {y, g.input("bias", {2, 1, 1})});
            }),
            0u);
}

TEST(PassAffine, ConstantThatIsAlsoAnInputKeepsTheNode) {
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) {
              const int32_t c = g.filled({2, 1, 1}, 1.0f);
              EXPECT_EQ(lk_graph_add_input(g.get(), c, nullptr), LK_OK);
              return g.node("Add", {y, c});
            }),
            0u);
}

TEST(PassAffine, RunTimeWeightsOrBiasKeepTheNode) {
  for (const bool weights : {true, false}) {
    GraphBuilder g;
    const int32_t x = g.input("x", {1, 2, 4, 4});
    const int32_t w = weights ? g.input("w", {2, 2, 1, 1}) : g.filled({2, 2, 1, 1}, 1.0f);
    const int32_t b = weights ? g.filled({2}, 1.0f) : g.input("b", {2});
    g.output(g.node("Mul", {g.node("Conv", {x, w, b}), g.filled({2, 1, 1}, 2.0f)}));
    EXPECT_EQ(changes_of(g, "scale_shift"), 0u);
  }
}

TEST(PassAffine, TrainingModesKeepTheNode) {
  auto norm = [](int opset, std::vector<Attr> attrs) {
    return folded([&](GraphBuilder &g,
                      int32_t y) { return g.node("BatchNormalization", norm_of(g, y), attrs); },
                  opset);
  };
  EXPECT_EQ(norm(14, {}), 1u);
  EXPECT_EQ(norm(14, {Attr::Ints("training_mode", {1})}), 0u);
  EXPECT_EQ(norm(7, {Attr::Ints("spatial", {1})}), 1u);
  EXPECT_EQ(norm(7, {Attr::Ints("spatial", {0})}), 0u);
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) { // running mean is wanted
              const int32_t v = g.node("BatchNormalization", norm_of(g, y), {}, 2);
              g.output(v + 1);
              return v;
            }),
            0u);
}

TEST(PassAffine, BadVarianceAndOverflowKeepTheNode) {
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) {
              return g.node("BatchNormalization", norm_of(g, y, -1.0f));
            }),
            0u);
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) {
              const int32_t large = g.filled({2, 1, 1}, 1e30f);
              return g.node("Mul", {g.node("Mul", {y, large}), large});
            }),
            0u);
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) {
              return g.node("Div", {y, g.filled({2, 1, 1}, 0.0f)});
            }),
            0u);
}

TEST(PassAffine, ShapesThatAreNotPerChannelKeepTheNode) {
  auto add = [](std::vector<int64_t> dims) {
    return folded([&](GraphBuilder &g, int32_t y) {
      return g.node("Add", {y, g.filled(dims, 1.0f)});
    });
  };
  EXPECT_EQ(add({1, 2, 1, 1}), 1u);
  EXPECT_EQ(add({2, 1, 1}), 1u);
  EXPECT_EQ(add({1, 1, 1, 1}), 0u); // for all, see above
  EXPECT_EQ(add({}), 0u);
  EXPECT_EQ(add({2}), 0u);             // along the width
  EXPECT_EQ(add({2, 1}), 0u);          // along the height
  EXPECT_EQ(add({2, 1, 1, 1}), 0u);    // along the batch
  EXPECT_EQ(add({1, 1, 2, 1, 1}), 0u); // raises the rank
  EXPECT_EQ(add({3, 1, 1}), 0u);       // another number of channels
}

TEST(PassAffine, OneChannelIsNotEnlarged) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1, 2, 4, 4});
  const int32_t y = g.node("Conv", {x, g.filled({1, 2, 1, 1}, 1.0f)});
  g.output(g.node("Add", {y, g.filled({1, 5, 1, 1}, 1.0f)}));
  EXPECT_EQ(changes_of(g, "scale_shift"), 0u);
}

TEST(PassAffine, DivisionByTheConvolutionKeepsTheNode) {
  EXPECT_EQ(folded([](GraphBuilder &g, int32_t y) {
              return g.node("Div", {g.filled({2, 1, 1}, 1.0f), y});
            }),
            0u);
}

TEST(PassAffine, BatchNormOfUnknownRankIsLeftAlone) {
  GraphBuilder g;
  const int32_t x = g.node("Mystery", {g.input("x", {1})});
  const int32_t v = g.node("BatchNormalization", norm_of(g, x));
  g.output(g.node("Add", {v, g.filled({2, 1, 1}, 1.0f)}));
  EXPECT_EQ(changes_of(g, "scale_shift"), 0u);
}

TEST(PassAffine, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    uint64_t changes = 0;
    const int32_t x = g.input("x", {1, 2, 4, 4});
    const int32_t w = g.filled({2, 2, 1, 1}, 1.0f);
    const int32_t y = g.node("Conv", {x, w}), z = g.node("Conv", {x, w});
    const int32_t two = g.filled({2, 1, 1}, 2.0f);
    g.output(g.node("Mul", {g.node("BatchNormalization", norm_of(g, y)), two}));
    g.output(g.node("Sub", {z, two}));
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "scale_shift", &changes);
  });
}

} // namespace
