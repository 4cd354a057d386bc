// Nodes of f16 and bf16 by the engine of oneDNN: computed as they are where the processor has
// instructions for that, rounded once, as `native` rounds what it has computed in f32.
#include <deque>

#include "tests/ops/engine/onednn/halves.h"
#include "tests/ops/engine/onednn/random_nodes.h"

namespace {

using lk::api;
using lk::Case;
using lk::cast;
using lk::Host;
using lk::RandomNodes;
using lk::Value;

// The same node, of numbers that are rounded.
Case halved(Host *host, Case of, uint32_t dtype) {
  for (Value &input : of.inputs) input = cast(host, input, dtype);
  const size_t first = of.inputs.size() - of.node.constants.size();
  for (size_t i = 0; i < of.node.constants.size(); i++) {
    of.node.constants[i] = of.inputs[first + i];
  }
  // bf16 has come with opset 13, which has the axes of ReduceSum as an input.
  if (of.node.op == "ReduceSum") of.node.op = "ReduceMean";
  if (of.node.opset < 13 && of.node.domain.empty()) of.node.opset = 13;
  return of;
}

bool is_element(const Case &of) {
  const std::string op = of.node.op;
  return op == "Tanh" || op == "Sigmoid" || op == "Add" || op == "Mul";
}

// A unit in the last place, relative to the number.
double unit_of(uint32_t dtype) {
  return dtype == LK_F16 ? 1.0 / 1024 : 1.0 / 128;
}

class Halves : public ::testing::TestWithParam<uint32_t> {
protected:
  // Both round what they have computed in f32, in another order: to neighbours at most.
  void expect_same(const Case &each) {
    Value expected, computed;
    native.run(each, &expected);
    onednn.run(each, &computed);
    if (HasFatalFailure()) return;
    ASSERT_EQ(computed.desc.dtype, each.inputs[0].desc.dtype);
    ASSERT_TRUE(lk::all_close(cast(&native, expected, LK_F32), cast(&native, computed, LK_F32),
                              {unit_of(GetParam()), 1e-5}));
  }
  lk_plan_info info_of(Host *host, const Case &each) {
    lk::TestNode node = each.node;
    lk::Op op;
    node.n_inputs = uint32_t(each.inputs.size());
    LK_EXPECT_OK(node.create(host->executor, &op, LK_ERR));
    std::vector<lk_tensor> tensors;
    for (const Value &input : each.inputs) tensors.push_back({input.desc, nullptr});
    plans_.emplace_back();
    LK_EXPECT_OK(lk::bind(op, host_bind(tensors.data(), node.n_inputs), &plans_.back(), LK_ERR));
    return host_plan_info(plans_.back());
  }
  static bool is_computed() { return lk::computes(GetParam()); }
  Case product(const lk::Dims &a, const lk::Dims &b) {
    Case made;
    made.node.op = "MatMul";
    made.inputs = {cast(&native, lk::random(a, 1), GetParam()),
                   cast(&native, lk::random(b, 2), GetParam())};
    return made;
  }
  Host native{"native"}, onednn{"onednn"};

private:
  std::deque<lk::Plan> plans_;
};

TEST_P(Halves, AreWhatNativeComputes) {
  RandomNodes random(4);
  for (int i = 0; i < 400; i++) {
    const Case real = random.any();
    if (is_element(real) && !real.node.post_ops.empty()) continue; // of f32 alone
    const Case each = halved(&native, real, GetParam());
    SCOPED_TRACE("case " + std::to_string(i) + ", " + each.node.op);
    onednn.shift = size_t(random.from(0, 31));
    expect_same(each);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Halves, AreOneStepWhereTheProcessorComputesThem) {
  const lk_plan_info info = info_of(&onednn, product({33, 64}, {64, 48}));
  const std::string implementation = info.implementation;
  if (is_computed()) {
    EXPECT_EQ(info.n_steps, 1u) << implementation;
    EXPECT_THAT(implementation, ::testing::HasSubstr("avx"));
  } else {
    EXPECT_GT(info.n_steps, 2u) << implementation;
  }
}

// oneDNN 3.14.1 writes beyond the output of the one of width 19, which is left.
TEST_P(Halves, OfConvolutionsReadAnyPartOfTheirInput) {
  for (const int64_t width : {17, 18, 19, 20, 21}) {
    Case each;
    each.node.op = "Conv";
    each.node.opset = 22;
    each.node.ints = {{"pads", {5, 0}}, {"strides", {6}}};
    each.inputs = {cast(&native, lk::random({1, 16, width}, 1), GetParam()),
                   cast(&native, lk::random({32, 16, 7}, 2), GetParam())};
    each.node.constants = {each.inputs[1]};
    each.layout = each.wish = LK_LAYOUT_CHANNELS_LAST;
    SCOPED_TRACE("width " + std::to_string(width));
    expect_same(each);
    if (HasFatalFailure()) return;
  }
}

// Of bf16, oneDNN 3.14.1 computes some of those with several outputs wrongly, which are left.
TEST_P(Halves, OfVolumesHaveOutputsForEachChannel) {
  for (const int64_t groups : {1, 16}) {
    for (const int64_t outputs : {1, 4}) {
      Case each;
      each.node.op = "Conv";
      each.node.opset = 22;
      each.node.ints = {{"group", {groups}},
                        {"strides", {3, 2, 2}},
                        {"dilations", {1, 2, 1}},
                        {"pads", {1, 0, 0, 0, 2, 1}}};
      each.inputs = {cast(&native, lk::random({2, groups, 1, 1, 3}, 1), GetParam()),
                     cast(&native, lk::random({groups * outputs, 1, 2, 2, 2}, 2), GetParam())};
      each.node.constants = {each.inputs[1]};
      SCOPED_TRACE(std::to_string(groups) + " groups, " + std::to_string(outputs) + " outputs");
      expect_same(each);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Halves, TakeOperandsOfPostOps) {
  Case square = product({24, 24}, {24, 24});
  square.inputs.push_back(square.inputs[0]);
  square.node.post_ops = {{LK_POST_ADD, 2, 0, 0}, {LK_POST_RELU, -1, 0, 0}};
  expect_same(square);
  if (is_computed()) {
    EXPECT_EQ(info_of(&onednn, square).n_steps, 1u);
  }
}

// A sum with a number for each row is no post-op of oneDNN's: then all of it is as in f32.
TEST_P(Halves, WhatAnEngineLeavesIsRoundedOnce) {
  Case each = product({17, 40}, {40, 30});
  each.node.post_ops = {{LK_POST_LINEAR, -1, 3, 0.1f}, {LK_POST_ADD, 2, 0, 0}};
  each.inputs.push_back(cast(&native, lk::random({17, 1}, 3), GetParam()));
  expect_same(each);
}

TEST_P(Halves, AreFoundByKeysOfTheirOwn) {
  const Case half = product({16, 32}, {32, 16});
  Case real = half;
  for (Value &input : real.inputs) input = cast(&native, input, LK_F32);
  Value out;
  onednn.run(half, &out);
  const uint64_t builds = onednn.stats().kind[LK_KIND_VALUE].builds;
  onednn.run(real, &out);
  const uint64_t both = onednn.stats().kind[LK_KIND_VALUE].builds;
  if (is_computed()) {
    EXPECT_EQ(both, builds + 1);
  }
  for (int i = 0; i < 2; i++) onednn.run(i == 0 ? half : real, &out);
  EXPECT_EQ(onednn.stats().kind[LK_KIND_VALUE].builds, both);
}

INSTANTIATE_TEST_SUITE_P(, Halves, ::testing::Values(uint32_t(LK_F16), uint32_t(LK_BF16)),
                         [](const auto &of) { return lk::name_of_half(of.param); });

} // namespace
