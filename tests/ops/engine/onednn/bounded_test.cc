// What a run of one of oneDNN's primitives computes between two looks at what may stop it: shares
// of the primitive, between which the pool looks. A run that was stopped is cancelled, and the next
// one is right.
//
// Nodes of one huge share each, and random ones of every row that oneDNN has primitives for.
#include "tests/ops/bounded.h"
#include "tests/ops/engine/host.h"
#include "tests/ops/infer/huge_shares.h"
#include "tests/ops/infer/made.h"

namespace {

using namespace lk::bounded;
using lk::api;
using lk::infer::all_but_first;
using lk::infer::Bits;
using lk::infer::Builder;
using lk::infer::Made;
using lk::infer::Operands;

// A node whose inputs are constants but for the first one, bound by the engine, with memory for its
// outputs.
class Bound {
public:
  Bound(const Node &node, int threads)
      : context_(lk::open_with("onednn", threads)), executor_(lk::executor_in(context_)),
        node_(node), operands_(node),
        made_(executor_, node_, operands_, is_packed(node) ? all_but_first(node) : 0) {
    if (made_.make(nullptr) != LK_OK) return;
    const lk_plan_info info = host_plan_info(made_.plan);
    if (info.n_values == 0 || made_.is_of_data()) return;
    for (const lk_tensor &tensor : operands_.tensors) from_.push_back(tensor.data);
    for (uint32_t i = 0; i < node.n_outputs; i++) {
      lk_tensor_desc desc = {};
      if (api()->plan_output(made_.plan, i, &desc, nullptr) != LK_OK) return;
      outputs_.emplace_back(bytes_of(desc));
      cost_ += double(bytes_of(desc));
    }
    for (std::vector<uint8_t> &output : outputs_) to_.push_back(output.data());
    EXPECT_EQ(api()->frame_create(executor_, frame_.out(), nullptr), LK_OK);
    EXPECT_EQ(api()->frame_attach(frame_, made_.plan, &slot_, nullptr), LK_OK);
    is_taken_ = true;
  }
  bool is_taken() const { return is_taken_; }
  std::string why_left() const {
    lk_engine_left_info info = {};
    info.struct_size = sizeof info;
    LK_EXPECT_OK(api()->engine_left(context_, 0, &info, LK_ERR));
    return info.reason;
  }
  double cost() const { return cost_; }
  const Bits &outputs() const { return outputs_; }

  // Stopped by what the test watches.
  lk_status run(lk_error *error) {
    for (std::vector<uint8_t> &output : outputs_) std::fill(output.begin(), output.end(), 0xff);
    EXPECT_EQ(api()->frame_watch(frame_, &watch_, nullptr), LK_OK); // it was reached before
    looks.begin();
    const lk_status status = api()->op_run(frame_, slot_, from_.data(), to_.data(), error);
    looks.end();
    return status;
  }

private:
  // Those of sums of two tensors come with a run.
  static bool is_packed(const Node &node) {
    return node.op != "Add" && node.op != "Mul" && node.op != "Concat";
  }
  static lk_watch watch() {
    lk_watch made = {};
    made.struct_size = sizeof made;
    made.cancel = &looks.cancel;
    return made;
  }
  lk::Context context_;
  lk::Executor executor_;
  const Node node_;
  const Operands operands_;
  Made made_;
  lk::Frame frame_;
  const lk_watch watch_ = watch();
  uint32_t slot_ = 0;
  std::vector<void *> from_, to_;
  Bits outputs_;
  double cost_ = double(lk::infer::input_bytes(node_)); // bytes of inputs and outputs
  bool is_taken_ = false;
};

class OnednnBounded : public BoundedBase {
protected:
  void check_node(const Node &node, Bound *bound) {
    check(describe(node), [&] {
      lk_error error = {};
      const lk_status status = bound->run(&error);
      EXPECT_TRUE(status == LK_OK || status == LK_CANCELLED) << error.message;
      EXPECT_TRUE(status == LK_CANCELLED || looks.cancel == 0) << "it was stopped";
      return true;
    });
  }
};

// ---- nodes of one huge share ----

class OnednnBoundedShare : public OnednnBounded, public ::testing::WithParamInterface<Node> {
protected:
  // With fewer instructions oneDNN has reference implementations of some, which are left.
  static bool is_taken(const Bound &bound) {
    EXPECT_TRUE(bound.is_taken() || lk_isa_get() < LK_ISA_AVX512) << describe(GetParam());
    return bound.is_taken() && lk::kHasPrimitives;
  }
};

std::vector<Node> huge_nodes() {
  std::vector<Node> nodes = {
      Builder("MatMul").tensor({1500, 1000}).tensor({1000, 1000}).node,
      Builder("MatMul").tensor({64, 200, 300}).tensor({64, 300, 300}).node,
      Builder("MatMul").tensor({1, 4000}).tensor({4000, 8000}).node,
      Builder("MatMul").tensor({64, 60000}).tensor({60000, 64}).node,
      Builder("Conv").tensor({1, 64, 150, 150}).tensor({128, 64, 3, 3}).node,
      Builder("Conv").tensor({1, 256, 100, 100}).tensor({256, 256, 3, 3}).node,
      Builder("Conv").tensor({1, 1, 5000, 2000}).tensor({1, 1, 7, 7}).node,
      Builder("Conv").tensor({1, 64, 400, 400}).tensor({64, 1, 7, 7}).ints("group", {64}).node,
      Builder("Conv").tensor({1, 2048, 7, 7}).tensor({2048, 2048, 3, 3}).node,
      Builder("ConvTranspose").tensor({1, 128, 100, 100}).tensor({128, 128, 5, 5}).node,
      Builder("Softmax").tensor({20, 1000000}).node,
      Builder("Softmax").tensor({200, 1000, 100}).ints("axis", {1}).node,
      Builder("Softmax").tensor({30000, 640}).ints("axis", {0}).node,
      Builder("LogSoftmax").tensor({1, 200, 30000, 2}).ints("axis", {2}).node,
      Builder("LogSoftmax").tensor({20000, 1000}).node,
      Builder("LayerNormalization").tensor({20, 1000000}).tensor({1000000}).node,
      Builder("LayerNormalization").tensor({20000, 1000}).tensor({1000}).tensor({1000}).node,
      Builder("InstanceNormalization").tensor({1, 20, 1000, 1000}).tensor({20}).tensor({20}).node,
      Builder("BatchNormalization", 15)
          .tensor({100000, 160})
          .tensor({160})
          .tensor({160})
          .tensor({160})
          .tensor({160})
          .node,
      Builder("PRelu").tensor({20, 1000, 1000}).tensor({20, 1, 1}).node,
      Builder("LRN").tensor({1, 128, 400, 400}).ints("size", {5}).node,
      Builder("AveragePool").tensor({1, 8, 1500, 1500}).ints("kernel_shape", {15, 15}).node,
      Builder("GlobalAveragePool").tensor({8, 16, 400, 400}).node,
      Builder("ReduceMean", 11).tensor({5000, 4000}).ints("axes", {1}).node,
      Builder("ReduceSum", 11).tensor({200000, 100}).ints("axes", {1}).node,
      Builder("Tanh").tensor({20000000}).node,
      Builder("Add").tensor({16000000}).tensor({16000000}).node,
      Builder("Add").tensor({4000, 4000}).tensor({4000}).node,
      Builder("Transpose").tensor({5000, 4000}).node,
      Builder("Concat").tensor({4000, 2000}).tensor({4000, 2000}).ints("axis", {1}).node,
      lk::infer::resize({1, 16, 500, 500}, {1, 16, 1000, 1000}, "linear").node,
      Builder("LSTM", 14).tensor({300, 4, 256}).tensor({1, 1024, 256}).tensor({1, 1024, 256}).node,
      Builder("RNN", 14).tensor({4000, 1, 400}).tensor({1, 400, 400}).tensor({1, 400, 400}).node,
  };
  if (lk_isa_has_vnni()) {
    nodes.push_back(
        Builder("MatMulInteger", 10).tensor({1500, 1500}, LK_U8).tensor({1500, 1500}, LK_I8).node);
  }
  return nodes;
}

TEST_P(OnednnBoundedShare, LooksAgainAndAgain) {
  Bound bound(GetParam(), 1);
  if (!is_taken(bound)) return;
  check_node(GetParam(), &bound);
  looks.last = 0;
  LK_ASSERT_OK(bound.run(LK_ERR));
  EXPECT_GE(looks.count, bound.cost() / 16e6) << "each share moves so many bytes at most";
}

// Whatever is undone when it is stopped, in the midst of its shares.
TEST_P(OnednnBoundedShare, IsCancelledAndTheNextRunIsRight) {
  Bound bound(GetParam(), 2);
  if (!is_taken(bound)) return;
  looks.last = 0;
  LK_ASSERT_OK(bound.run(LK_ERR));
  const int count = looks.count;
  const Bits whole = bound.outputs();
  EXPECT_GT(count, 2);
  for (const int eighths : {0, 4}) {
    looks.last = std::max(count * eighths / 8, 1);
    LK_EXPECT_STATUS(LK_CANCELLED, bound.run(LK_ERR));
    EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("while it computed"));
    looks.last = 0;
    LK_ASSERT_OK(bound.run(LK_ERR));
    EXPECT_TRUE(bound.outputs() == whole);
  }
}

// What oneDNN would do in one piece.
TEST(OnednnBoundedLimits, WhatTakesLongInOnePieceIsLeft) {
  for (const Node &node :
       {Builder("AveragePool").tensor({1, 1, 1000000}).ints("kernel_shape", {500}).node,
        Builder("AveragePool").tensor({1, 1, 8, 300, 300}).ints("kernel_shape", {3, 9, 9}).node,
        Builder("GlobalAveragePool").tensor({1, 16, 3000, 3000}).node,
        Builder("Softmax").tensor({300000, 160}).ints("axis", {0}).node,
        Builder("LogSoftmax").tensor({900000, 64}).ints("axis", {0}).node,
        Builder("MatMul").tensor({2, 8000000}).tensor({8000000, 2}).node}) {
    const Bound bound(node, 1);
    EXPECT_FALSE(bound.is_taken()) << describe(node);
    EXPECT_THAT(bound.why_left(), ::testing::HasSubstr(lk::kHasPrimitives ? "may wait for" : ""))
        << describe(node);
  }
  const Node small = Builder("GlobalAveragePool").tensor({1, 2048, 7, 7}).node;
  EXPECT_TRUE(Bound(small, 1).is_taken() || !lk::kHasPrimitives);
}

// A vector has lanes for more of them, so each takes longer.
TEST(OnednnBoundedLimits, FewChannelsAreCutFiner) {
  for (const Node &node :
       {Builder("Conv").tensor({1, 1, 1000, 1000}).tensor({1, 1, 31, 31}).node,
        Builder("ConvTranspose").tensor({1, 16, 100, 1000}).tensor({16, 1, 15, 15}).node,
        Builder("AveragePool").tensor({1, 1, 1500, 1500}).ints("kernel_shape", {15, 15}).node}) {
    Bound bound(node, 1);
    EXPECT_TRUE(bound.is_taken() || lk_isa_get() < LK_ISA_AVX512) << describe(node);
    if (!bound.is_taken()) continue;
    looks.last = 0;
    LK_ASSERT_OK(bound.run(LK_ERR));
    EXPECT_GE(looks.count, 15) << describe(node);
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, OnednnBoundedShare, ::testing::ValuesIn(huge_nodes()),
                         [](const auto &info) {
                           return info.param.op + std::to_string(info.index);
                         });

// ---- random nodes ----

class OnednnBoundedRow : public OnednnBounded, public ::testing::WithParamInterface<lk_op_row> {};

// Rows that oneDNN has primitives for.
std::vector<lk_op_row> rows() {
  static const char *const ops[] = {"Add",
                                    "AveragePool",
                                    "BatchNormalization",
                                    "Concat",
                                    "Conv",
                                    "ConvInteger",
                                    "ConvTranspose",
                                    "Gemm",
                                    "GlobalAveragePool",
                                    "GroupNormalization",
                                    "GRU",
                                    "InstanceNormalization",
                                    "LayerNormalization",
                                    "LogSoftmax",
                                    "LRN",
                                    "LSTM",
                                    "MatMul",
                                    "MatMulInteger",
                                    "Mul",
                                    "PRelu",
                                    "QLinearConv",
                                    "QLinearMatMul",
                                    "ReduceMean",
                                    "ReduceSum",
                                    "Resize",
                                    "RNN",
                                    "Sigmoid",
                                    "Softmax",
                                    "Sqrt",
                                    "Tanh",
                                    "Transpose"};
  std::vector<lk_op_row> found;
  for (const lk_op_row &row : lk::op_rows()) {
    const bool is_onnx = row.domain[0] == '\0';
    for (const char *op : ops) {
      if (is_onnx && std::strcmp(row.op_type, op) == 0) found.push_back(row);
    }
  }
  return found;
}

TEST_P(OnednnBoundedRow, LooksAgainAndAgain) {
  const auto rule = lk::infer::rules().find(GetParam().op_type);
  ASSERT_NE(rule, lk::infer::rules().end());
  const lk::Context context = lk::open_with("native");
  const lk::Executor executor = lk::executor_in(context);
  int n = 0;
  const int most = is_tried(1) ? 3 : 1; // `make nightly` has more
  for (unsigned seed = 0; seed < 40 && n < most; seed++) {
    for (const int64_t huge : {12000000, 2000000, 300000, 60000, 12000, 3000, 1200, 500}) {
      const Node node = huge_node(GetParam(), rule->second, seed, huge);
      const Subject subject(executor, node);
      if (!subject.is_right()) continue;
      if (subject.cost() < 2e7) break;
      Bound bound(node, 1);
      if (!bound.is_taken()) break;
      check_node(node, &bound);
      n++;
      break;
    }
  }
  if (std::getenv("LK_TEST_BOUNDED_SHOW") != nullptr) {
    std::printf("  %s: %d taken, %d long\n", GetParam().op_type, n, n_long);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, OnednnBoundedRow, ::testing::ValuesIn(rows()),
                         [](const auto &info) { return row_name(info.param); });

} // namespace
