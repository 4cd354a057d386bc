// Weights of equal bytes are one content, whatever their shape and their operator. Each way in
// which they are packed is one copy of its own: nobody gets numbers in another's order.
#include "tests/ops/engine/host.h"

namespace {

using lk::Case;
using lk::Dims;
using lk::Host;
using lk::Value;

constexpr int64_t kNumbers = 144;

Value weights(const Dims &dims) {
  EXPECT_EQ(lk::count_of(dims), kNumbers);
  return lk::tensor<float>(dims, lk::random({kNumbers}, 7).as<float>());
}

Case windowed(const char *op, const Dims &w, int64_t groups) {
  Case made;
  const bool is_transposed = std::string(op) == "ConvTranspose";
  made.node.op = op;
  made.node.ints = {{"group", {groups}}};
  made.inputs = {lk::random({1, is_transposed ? w[0] : w[1] * groups, 7, 8}, 1), weights(w)};
  made.node.constants = {made.inputs[1]};
  return made;
}

Case product(const Dims &w) {
  Case made;
  Dims a = {5, w[w.size() - 2]};
  if (w.size() > 2) a.insert(a.begin(), w[0]);
  made.node.op = "MatMul";
  made.inputs = {lk::random(a, 1), weights(w)};
  made.node.constants = {made.inputs[1]};
  return made;
}

Case gemm(const Dims &w, int64_t turns) {
  Case made;
  made.node.op = "Gemm";
  made.node.ints = {{"transB", {turns}}};
  made.inputs = {lk::random({5, turns != 0 ? w[1] : w[0]}, 1), weights(w)};
  made.node.constants = {made.inputs[1]};
  return made;
}

std::vector<Case> cases() {
  std::vector<Case> made;
  for (const Dims &w : {Dims{4, 4, 3, 3}, Dims{9, 4, 2, 2}, Dims{4, 9, 2, 2}, Dims{2, 8, 3, 3},
                        Dims{4, 2, 3, 6}, Dims{4, 2, 6, 3}, Dims{16, 9, 1, 1}, Dims{9, 16, 1, 1}}) {
    for (const char *op : {"Conv", "ConvTranspose"}) {
      for (const int64_t groups : {1, 2}) {
        if (w[0] % groups == 0) made.push_back(windowed(op, w, groups));
      }
    }
  }
  for (const Dims &w :
       {Dims{16, 1, 3, 3}, Dims{36, 1, 2, 2}, Dims{48, 1, 1, 3}, Dims{48, 1, 3, 1}}) {
    made.push_back(windowed("Conv", w, w[0])); // each channel by itself
    made.push_back(windowed("ConvTranspose", w, w[0]));
  }
  for (const Dims &w : {Dims{12, 12}, Dims{16, 9}, Dims{9, 16}, Dims{4, 36}, Dims{4, 6, 6},
                        Dims{4, 4, 9}, Dims{6, 4, 6}}) {
    made.push_back(product(w));
    if (w.size() > 2) continue;
    made.push_back(gemm(w, 0));
    made.push_back(gemm(w, 1));
  }
  return made;
}

class EqualBytes : public ::testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Engines, EqualBytes, ::testing::Values("native", "onednn"),
                         [](const auto &info) { return info.param; });

TEST_P(EqualBytes, ArePackedForEachShapeAndOperator) {
  Host together(GetParam());
  std::vector<lk::Op> nodes; // as long as they are there, so are the weights and all copies of them
  for (const Case &each : cases()) {
    lk::TestNode node = each.node;
    node.n_inputs = uint32_t(each.inputs.size());
    nodes.emplace_back();
    LK_ASSERT_OK(node.create(together.executor, &nodes.back(), LK_ERR));
  }
  for (int pass = 0; pass < 2; pass++) {
    for (const Case &each : cases()) {
      std::string text = each.node.op;
      for (const Value &input : each.inputs) text += " " + lk::text_of(input.dims());
      SCOPED_TRACE(text);
      Host alone(GetParam());
      Value expected, found;
      alone.run(each, &expected);
      together.run(each, &found);
      if (HasFatalFailure()) return;
      EXPECT_EQ(expected.bytes, found.bytes);
    }
  }
}

} // namespace
