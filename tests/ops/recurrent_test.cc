// What random nodes (tests/rows) do not show of recurrent layers: refusals, and sizes of plans.
#include "tests/ops/engine/host.h"
#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::Dims;
using lk::OpTester;
using lk::random;
using lk::tensor;

// Of 4 inputs and 3 hidden units, for 2 sequences of 5 steps.
OpTester lstm(const Dims &x = {5, 2, 4}, const Dims &w = {1, 12, 4}, const Dims &r = {1, 12, 3}) {
  OpTester tester("LSTM", 14);
  tester.input(random(x, 1)).input(random(w, 2)).input(random(r, 3));
  return tester;
}

TEST(Recurrent, RefusesAttributes) {
  lstm().attr("layout", 2).expect_create(LK_OUT_OF_RANGE, "'layout' is 2");
  lstm().attr("hidden_size", -1).expect_create(LK_OUT_OF_RANGE, "'hidden_size' is -1");
  lstm().attr("hidden_size", INT64_MAX).expect_create(LK_OUT_OF_RANGE, "'hidden_size' is 9");
  lstm().attr_float("clip", 0).expect_create(LK_OUT_OF_RANGE, "'clip' is 0");
  lstm().attr_float("clip", NAN).expect_create(LK_OUT_OF_RANGE, "'clip' is nan");
  lstm().attr_text("direction", "backward").expect_create(LK_UNSUPPORTED, "'backward'");
  lstm()
      .attr_floats("activation_alpha", {1, 1, 1, 1, 1, 1, 1})
      .expect_create(LK_OUT_OF_RANGE, "'activation_alpha' has 7 values");
}

TEST(Recurrent, RefusesShapes) {
  lstm({5, 2}).expect_bind(LK_INVALID_ARGUMENT, "failed to read X");
  lstm({5, 2, 3}).expect_bind(LK_INVALID_ARGUMENT, "failed to read W");
  lstm({5, 2, 4}, {2, 12, 4}).expect_bind(LK_INVALID_ARGUMENT, "failed to read W");
  lstm({5, 2, 4}, {1, 9, 4}).expect_bind(LK_INVALID_ARGUMENT, "failed to read W");
  lstm({5, 2, 4}, {1, 12, 4}, {12, 3}).expect_bind(LK_INVALID_ARGUMENT, "failed to read R");
  lstm().attr("hidden_size", 4).expect_bind(LK_INVALID_ARGUMENT, "failed to read W");
  lstm().attr_text("direction", "bidirectional").expect_bind(LK_INVALID_ARGUMENT, "read W");
  lstm().input(random({1, 12}, 4)).expect_bind(LK_INVALID_ARGUMENT, "failed to read B");
  lstm()
      .absent()
      .input(tensor<int32_t>({1}, {1}))
      .expect_bind(LK_INVALID_ARGUMENT, "sequence_lens");
  lstm()
      .absent()
      .absent()
      .input(random({2, 1, 3}, 4))
      .expect_bind(LK_INVALID_ARGUMENT, "initial_h");
}

TEST(Recurrent, RefusesLengthsBeyondTheInput) {
  const auto with = [](int32_t a, int32_t b) {
    return lstm().absent().input(tensor<int32_t>({2}, {a, b}));
  };
  with(5, 6).expect_run(LK_OUT_OF_RANGE,
                        "value 1 is 6, it must be 0 to the length of the input, 5");
  with(-1, 5).expect_run(LK_OUT_OF_RANGE, "value 0 is -1");
  with(INT32_MIN, INT32_MAX).expect_run(LK_OUT_OF_RANGE, "value 0 is -2147483648");
}

// Their programs are the same, and are there once.
TEST(Recurrent, CountsTheProductsOfItsSteps) {
  EXPECT_GE(lstm().work_of_steps().flops, 2.0 * (5 * 2) * (4 * 3) * (4 + 3));
}

TEST(Recurrent, PlansOfTwoDirectionsAreAsSmallAsOfOne) {
  const lk::Context context = lk::open(LK_CACHE_OFF);
  const lk::Executor executor = lk::executor_in(context);
  const auto bytes = [&](const char *direction, int64_t directions) {
    lk::TestNode node;
    node.op = "LSTM";
    node.n_inputs = 3;
    node.texts = {{"direction", direction}};
    lk::Op op;
    lk::Plan plan;
    LK_EXPECT_OK(node.create(executor, &op, LK_ERR));
    LK_EXPECT_OK(lk::bind(op,
                          {lk::desc_of(LK_F32, {5, 2, 4}), lk::desc_of(LK_F32, {directions, 12, 4}),
                           lk::desc_of(LK_F32, {directions, 12, 3})},
                          &plan, LK_ERR));
    return host_plan_info(plan).bytes;
  };
  EXPECT_EQ(bytes("bidirectional", 2), bytes("forward", 1));
}

// Of one sequence, Y: each direction as a layer of its own computes it.
std::vector<float> quantized_lstm(const std::string &direction, int first, int count) {
  constexpr int64_t hidden = 3, width = 4, length = 5, columns = 4 * hidden;
  const auto bytes = [&](int64_t rows, uint32_t seed) {
    std::vector<int8_t> all(size_t(2 * rows * columns));
    for (int8_t &each : all) each = int8_t(seed = seed * 1103515245 + 12345);
    const auto from = all.begin() + first * rows * columns;
    return tensor<int8_t>({count, rows, columns},
                          std::vector<int8_t>(from, from + count * rows * columns));
  };
  const auto of_each = [&](auto low, auto high) {
    std::vector<decltype(low)> all(size_t(2 * columns));
    for (size_t i = 0; i < all.size(); i++) all[i] = i % 3 == 0 ? low : high;
    const auto from = all.begin() + first * columns;
    return tensor<decltype(low)>({count, columns},
                                 std::vector<decltype(low)>(from, from + count * columns));
  };
  lk::TestNode node;
  node.op = "DynamicQuantizeLSTM";
  node.domain = "com.microsoft";
  node.opset = 1;
  node.ints = {{"hidden_size", {hidden}}};
  node.texts = {{"direction", direction}};
  node.absent = {3, 4, 5, 6, 7};
  const lk::Value none;
  std::vector<lk::Value> inputs = {random({length, 1, width}, 1),
                                   bytes(width, 2),
                                   bytes(hidden, 3),
                                   none,
                                   none,
                                   none,
                                   none,
                                   none,
                                   of_each(0.01F, 0.02F),
                                   of_each(int8_t{0}, int8_t{3}),
                                   of_each(0.02F, 0.01F),
                                   of_each(int8_t{5}, int8_t{-2})};
  node.constants.assign(inputs.begin() + 1, inputs.end());
  lk::Value y;
  lk::Case layer;
  layer.node = node, layer.inputs = inputs;
  lk::Host("native").run(layer, &y);
  return y.as<float>();
}

TEST(QuantizedLstm, OfBothDirectionsIsOneOfEach) {
  const std::vector<float> both = quantized_lstm("bidirectional", 0, 2);
  const std::vector<float> forward = quantized_lstm("forward", 0, 1);
  const std::vector<float> reverse = quantized_lstm("reverse", 1, 1);
  ASSERT_EQ(both.size(), 30u);
  ASSERT_EQ(forward.size(), 15u);
  ASSERT_EQ(reverse.size(), 15u);
  for (size_t i = 0; i < 15; i++) {
    EXPECT_EQ(both[i / 3 * 6 + i % 3], forward[i]) << i;
    EXPECT_EQ(both[i / 3 * 6 + 3 + i % 3], reverse[i]) << i;
  }
}

} // namespace
