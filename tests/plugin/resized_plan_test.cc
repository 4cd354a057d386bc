// Own plans of an op that has been bound to other sizes before: each is what a plan that is built
// from the beginning is, to the bit of its results.
#include <thread>

#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Dims;
using lk::Op;
using lk::Plan;
using lk::Value;

struct Case {
  const char *text;
  Dims w;
  int64_t groups = 1, stride = 1, dilation = 1, pad = 0;
  bool bias = true, same = false; // padding by auto_pad
  std::vector<lk_post_op_kind> post_ops = {};
  // The dimensions that the last post-op's operand has of the output; it is 1 along others.
  std::string operand = ""; // of "NCHW"
  lk_layout layout = LK_LAYOUT_CHANNELS_LAST, wish = LK_LAYOUT_CHANNELS_LAST;
};

const Case CASES[] = {
    {"pointwise", {24, 8, 1, 1}},
    {"of a window", {24, 8, 3, 3}, 1, 1, 1, 1},
    {"of three channels", {16, 3, 3, 3}, 1, 2, 1, 1},
    {"of many channels, dilated", {16, 40, 3, 3}, 1, 2, 2, 2},
    {"with the padding of sizes", {16, 8, 3, 3}, 1, 2, 1, 0, true, true},
    {"of groups", {32, 16, 3, 3}, 2, 1, 1, 1},
    {"depthwise", {40, 1, 5, 5}, 40, 1, 1, 2, false, false, {LK_POST_RELU}},
    {"depthwise, chained", {16, 1, 3, 3}, 16, 2, 1, 1, true, false, {LK_POST_MUL}, "NC"},
    {"depthwise, plain, plus a tensor",
     {16, 1, 3, 3},
     16,
     1,
     1,
     1,
     true,
     false,
     {LK_POST_ADD},
     "NCHW",
     LK_LAYOUT_PLAIN,
     LK_LAYOUT_PLAIN},
    {"depthwise, plain, times planes",
     {16, 1, 5, 5},
     16,
     2,
     1,
     2,
     false,
     false,
     {LK_POST_RELU, LK_POST_MUL},
     "HW",
     LK_LAYOUT_PLAIN,
     LK_LAYOUT_PLAIN},
    {"plus a tensor", {8, 8, 1, 1}, 1, 1, 1, 0, true, false, {LK_POST_ADD}, "NCHW"},
    {"times channels", {8, 8, 3, 3}, 1, 1, 1, 1, true, false, {LK_POST_MUL}, "C"},
    {"plus pixels", {8, 8, 3, 3}, 1, 1, 1, 1, true, false, {LK_POST_SIGMOID, LK_POST_ADD}, "NHW"},
    {"plus a line", {8, 8, 3, 3}, 1, 1, 1, 1, true, false, {LK_POST_ADD}, "W"},
    {"plain", {24, 8, 3, 3}, 1, 1, 1, 1, true, false, {}, "", LK_LAYOUT_PLAIN, LK_LAYOUT_PLAIN},
    {"of planes", {16, 3, 7, 7}, 1, 2, 1, 3, true, false, {LK_POST_RELU}, "", LK_LAYOUT_PLAIN},
};

const Case &case_of(const std::string &text) {
  for (const Case &c : CASES) {
    if (c.text == text) return c;
  }
  ADD_FAILURE() << "no case " << text;
  return CASES[0];
}

// Batch, height and width. Some are 1, one has no pixels, some are smaller than a window.
const std::vector<Dims> SIZES = {{1, 9, 9},  {1, 12, 31}, {1, 40, 17}, {3, 9, 9}, {1, 1, 1},
                                 {1, 1, 9},  {2, 9, 1},   {1, 0, 9},   {1, 9, 8}, {1, 3, 2},
                                 {1, 5, 50}, {2, 64, 64}, {1, 1, 30},  {1, 9, 9}};

// An op of a case. Inputs: x, weights, bias where there is one, the operand of the last post-op.
class Node {
public:
  Node(lk_executor *executor, const Case &c)
      : c_(c), w_(lk::random(c.w, 2)), b_(lk::random({c.w[0]}, 3)) {
    const lk_tensor tensors[] = {{w_.desc, w_.bytes.data()}, {b_.desc, b_.bytes.data()}};
    std::vector<lk_node_input> inputs(1);
    inputs.push_back({&tensors[0], 0, 0});
    if (c.bias) inputs.push_back({&tensors[1], 0, 0});
    n_own_ = inputs.size();
    std::vector<lk_post_op> post_ops;
    for (const lk_post_op_kind kind : c.post_ops) {
      lk_post_op post_op = {};
      post_op.kind = static_cast<uint32_t>(kind);
      post_op.input = LK_POST_OP_IS_BINARY(kind) ? static_cast<int32_t>(n_own_) : -1;
      post_ops.push_back(post_op);
    }
    if (!c.operand.empty()) inputs.emplace_back();
    n_inputs_ = static_cast<uint32_t>(inputs.size());
    const int64_t strides[] = {c.stride, c.stride}, dilations[] = {c.dilation, c.dilation},
                  pads[] = {c.pad, c.pad, c.pad, c.pad};
    lk_attr attrs[] = {{"group", LK_ATTR_INTS, 1, &c.groups},
                       {"strides", LK_ATTR_INTS, 2, strides},
                       {"dilations", LK_ATTR_INTS, 2, dilations},
                       {"pads", LK_ATTR_INTS, 4, pads}};
    if (c.same) attrs[3] = {"auto_pad", LK_ATTR_STRING, 10, "SAME_UPPER"};
    lk_node_desc desc = host_node("Conv", inputs.data(), n_inputs_);
    desc.attrs = attrs;
    desc.n_attrs = 4;
    desc.post_ops = post_ops.data();
    desc.n_post_ops = static_cast<uint32_t>(post_ops.size());
    status_ = api()->op_create(executor, &desc, op_.out(), LK_ERR);
  }

  lk_status status() const { return status_; }
  lk_op *op() const { return op_; }

  lk_status bind(const Dims &size, uint32_t flags, Plan *plan, lk_error *error) const {
    return bind(size, size, flags, plan, error);
  }
  // With an operand as it would be at another size.
  lk_status bind(const Dims &size, const Dims &operand_size, uint32_t flags, Plan *plan,
                 lk_error *error) const {
    std::vector<lk_tensor> inputs(n_inputs_);
    inputs[0].desc = lk::desc_of(LK_F32, x_dims(size), c_.layout);
    if (n_inputs_ > n_own_) inputs[n_own_].desc = lk::desc_of(LK_F32, operand_dims(operand_size));
    lk_bind_desc desc = host_bind(inputs.data(), n_inputs_);
    desc.wishes = &c_.wish;
    desc.flags = flags;
    return lk::bind(op_, desc, plan, error);
  }

  // The bytes of the output.
  std::vector<uint8_t> run(lk_executor *executor, lk_plan *plan, const Dims &size) const {
    lk_tensor_desc out;
    uint64_t bytes = 0;
    LK_EXPECT_OK(api()->plan_output(plan, 0, &out, LK_ERR));
    LK_EXPECT_OK(api()->tensor_bytes(&out, &bytes, LK_ERR));
    const lk::Memory x = lk::random(x_dims(size), 5).in(c_.layout),
                     operand = lk::random(operand_dims(size), 6).in(LK_LAYOUT_PLAIN), to(bytes);
    std::vector<void *> inputs(n_inputs_);
    inputs[0] = x.data();
    if (n_inputs_ > n_own_) inputs[n_own_] = operand.data();
    LK_EXPECT_OK(lk::run(executor, plan, inputs, to.data(), LK_ERR));
    const auto *begin = static_cast<const uint8_t *>(to.data());
    return {begin, begin + bytes};
  }

private:
  Dims x_dims(const Dims &size) const { return {size[0], c_.w[1] * c_.groups, size[1], size[2]}; }
  Dims operand_dims(const Dims &size) const {
    Dims dims = {size[0], c_.w[0], 0, 0};
    for (size_t i = 2; i < 4; i++) {
      const int64_t room = size[i - 1] + 2 * c_.pad - c_.dilation * (c_.w[i] - 1) - 1;
      dims[i] = room < 0 ? 0 : room / c_.stride + 1;
    }
    for (size_t i = 0; i < 4; i++) {
      if (c_.operand.find("NCHW"[i]) == std::string::npos) dims[i] = 1;
    }
    return dims;
  }

  Case c_;
  Value w_, b_; // lent
  uint32_t n_inputs_ = 0;
  size_t n_own_ = 0;
  lk_status status_;
  Op op_;
};

// An operator without weights. An input is a string of the dimensions that it has: letters are
// those of the size, with CHANNELS channels, '1' is 1.
struct LightCase {
  const char *text, *op_type;
  std::vector<std::string> inputs;
  std::vector<lk_attr> attrs = {};
  lk_layout layout = LK_LAYOUT_CHANNELS_LAST; // of inputs of rank 4
  int32_t in_place = -1;
};

constexpr int64_t CHANNELS = 20;
const int64_t TWOS[] = {2, 2}, ONES[] = {1, 1, 1, 1}, THREES[] = {3, 3}, PIXELS[] = {2, 3},
              LAST[] = {3}, ZERO = 0;

const LightCase LIGHT_CASES[] = {
    {"one tensor", "HardSigmoid", {"NCHW"}},
    {"in place", "Relu", {"NCHW"}, {}, LK_LAYOUT_CHANNELS_LAST, 0},
    {"two tensors", "Add", {"NCHW", "NCHW"}},
    {"two plain tensors, in place", "Sub", {"NCHW", "NCHW"}, {}, LK_LAYOUT_PLAIN, 1},
    {"times channels", "Mul", {"NCHW", "NC11"}},
    {"times channels, plain", "Mul", {"NCHW", "NC11"}, {}, LK_LAYOUT_PLAIN},
    {"times pixels", "Mul", {"N1HW", "NCHW"}},
    {"a line and a column", "Add", {"W", "NCH1"}, {}, LK_LAYOUT_PLAIN},
    {"a line", "Div", {"NHW", "W"}},
    {"one number", "Mul", {"HW", "1"}},
    {"of numbers that come at run time", "Clip", {"NCHW", "", "1"}},
    {"powers", "Pow", {"CHW", "H1"}},
    {"means of channels", "GlobalAveragePool", {"NCHW"}},
    {"means of channels, plain", "GlobalAveragePool", {"NCHW"}, {}, LK_LAYOUT_PLAIN},
    {"the largest of channels", "GlobalMaxPool", {"NCHW"}},
    {"the largest of channels, plain", "GlobalMaxPool", {"NCHW"}, {}, LK_LAYOUT_PLAIN},
    {"means of pixels",
     "ReduceMean",
     {"NCHW"},
     {{"axes", LK_ATTR_INTS, 2, PIXELS}, {"keepdims", LK_ATTR_INTS, 1, &ZERO}}},
    {"the largest of lines", "ReduceMax", {"NCHW"}, {{"axes", LK_ATTR_INTS, 1, LAST}}},
    {"of all", "ReduceL2", {"NCHW"}},
    {"sums of nothing less",
     "ReduceSum",
     {"NHW"},
     {{"noop_with_empty_axes", LK_ATTR_INTS, 1, ONES}}},
    {"the largest of windows",
     "MaxPool",
     {"NCHW"},
     {{"kernel_shape", LK_ATTR_INTS, 2, THREES},
      {"strides", LK_ATTR_INTS, 2, TWOS},
      {"pads", LK_ATTR_INTS, 4, ONES}}},
    {"means of windows, plain",
     "AveragePool",
     {"NCHW"},
     {{"kernel_shape", LK_ATTR_INTS, 2, THREES}, {"pads", LK_ATTR_INTS, 4, ONES}},
     LK_LAYOUT_PLAIN},
};

class LightNode {
public:
  LightNode(lk_executor *executor, const LightCase &c) : c_(c) {
    const std::vector<lk_node_input> inputs = inputs_of(c);
    lk_node_desc desc = host_node(c.op_type, inputs.data(), static_cast<uint32_t>(inputs.size()));
    desc.attrs = c.attrs.data();
    desc.n_attrs = static_cast<uint32_t>(c.attrs.size());
    status_ = api()->op_create(executor, &desc, op_.out(), LK_ERR);
  }

  lk_status status() const { return status_; }

  lk_status bind(const Dims &size, uint32_t flags, Plan *plan, lk_error *error) const {
    std::vector<lk_tensor> inputs(c_.inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) inputs[i].desc = desc(i, size);
    lk_bind_desc desc = host_bind(inputs.data(), static_cast<uint32_t>(inputs.size()));
    desc.in_place_input = c_.in_place;
    desc.flags = flags;
    return lk::bind(op_, desc, plan, error);
  }

  std::vector<uint8_t> run(lk_executor *executor, lk_plan *plan, const Dims &size) const {
    lk_tensor_desc out;
    uint64_t bytes = 0;
    LK_EXPECT_OK(api()->plan_output(plan, 0, &out, LK_ERR));
    LK_EXPECT_OK(api()->tensor_bytes(&out, &bytes, LK_ERR));
    std::vector<lk::Memory> memory;
    std::vector<void *> inputs;
    for (size_t i = 0; i < c_.inputs.size(); i++) {
      memory.push_back(
          lk::random(dims(i, size), static_cast<uint32_t>(i) + 5).in(desc(i, size).layout));
      inputs.push_back(c_.inputs[i].empty() ? nullptr : memory.back().data());
    }
    const lk::Memory fresh(bytes);
    void *to = c_.in_place >= 0 ? inputs[static_cast<size_t>(c_.in_place)] : fresh.data();
    LK_EXPECT_OK(lk::run(executor, plan, inputs, to, LK_ERR));
    const auto *begin = static_cast<const uint8_t *>(to);
    return {begin, begin + bytes};
  }

private:
  static std::vector<lk_node_input> inputs_of(const LightCase &c) {
    std::vector<lk_node_input> inputs(c.inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
      if (c.inputs[i].empty()) inputs[i].flags = LK_INPUT_ABSENT;
    }
    return inputs;
  }

  Dims dims(size_t index, const Dims &size) const {
    Dims dims;
    for (const char letter : c_.inputs[index]) {
      dims.push_back(letter == '1'   ? 1
                     : letter == 'C' ? CHANNELS
                     : letter == 'N' ? size[0]
                     : letter == 'H' ? size[1]
                                     : size[2]);
    }
    return dims;
  }

  lk_tensor_desc desc(size_t index, const Dims &size) const {
    const Dims of = dims(index, size);
    return lk::desc_of(LK_F32, of, of.size() == 4 ? c_.layout : LK_LAYOUT_PLAIN);
  }

  LightCase c_;
  lk_status status_;
  Op op_;
};

void expect_same_plan(lk_plan *own, lk_plan *built) {
  lk_tensor_desc a, b;
  LK_ASSERT_OK(api()->plan_output(own, 0, &a, LK_ERR));
  LK_ASSERT_OK(api()->plan_output(built, 0, &b, LK_ERR));
  EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0);
  const lk_plan_info of_own = host_plan_info(own), of_built = host_plan_info(built);
  EXPECT_EQ(of_own.scratch_bytes, of_built.scratch_bytes);
  EXPECT_EQ(of_own.alias_input, of_built.alias_input);
  EXPECT_EQ(of_own.n_reorders, of_built.n_reorders);
  EXPECT_EQ(of_own.flops, of_built.flops);
  ASSERT_EQ(of_own.n_steps, of_built.n_steps);
  for (uint32_t i = 0; i < of_own.n_steps; i++) {
    lk_step_info x = {}, y = {};
    x.struct_size = y.struct_size = sizeof x;
    LK_ASSERT_OK(api()->plan_step(own, i, &x, LK_ERR));
    const std::string kind = x.kind, tiles = x.tiles;
    LK_ASSERT_OK(api()->plan_step(built, i, &y, LK_ERR));
    EXPECT_EQ(kind, y.kind);
    EXPECT_EQ(tiles, y.tiles);
    EXPECT_EQ(x.flops, y.flops);
    EXPECT_EQ(x.bytes, y.bytes);
  }
}

// Binds nodes of a case to all sizes. Plans of the first size that a node has are where the others
// come from.
template <class NodeOf, class CaseOf> void expect_plans_as_built(const CaseOf &c) {
  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  SCOPED_TRACE(c.text);
  for (size_t first = 0; first < SIZES.size(); first += 3) {
    const NodeOf node(executor, c);
    LK_ASSERT_OK(node.status());
    for (size_t i = 0; i < SIZES.size() + 2; i++) {
      const Dims &size = SIZES[i < 2 ? first : i - 2];
      SCOPED_TRACE(::testing::PrintToString(size));
      Plan own, built;
      lk_error own_error, built_error;
      const lk_status status = node.bind(size, LK_BIND_OWN, &own, &own_error);
      ASSERT_EQ(status, node.bind(size, 0, &built, &built_error));
      if (status != LK_OK) {
        EXPECT_STREQ(own_error.message, built_error.message);
        continue;
      }
      expect_same_plan(own, built);
      EXPECT_EQ(node.run(executor, own, size), node.run(executor, built, size));
    }
  }
}

TEST(ResizedPlan, OfConvolutionsIsThePlanThatWouldBeBuilt) {
  for (const Case &c : CASES) expect_plans_as_built<Node>(c);
}

TEST(ResizedPlan, OfLightOperatorsIsThePlanThatWouldBeBuilt) {
  for (const LightCase &c : LIGHT_CASES) expect_plans_as_built<LightNode>(c);
}

// Whatever there is of an op so far: nothing, a plan, a pattern, one whose constants have gone.
TEST(ResizedPlan, OfOpsThatWereExpected) {
  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<lk_op *> ops = {nullptr};
  for (const Case &c : CASES) {
    nodes.push_back(std::make_unique<Node>(executor, c));
    LK_ASSERT_OK(nodes.back()->status());
    ops.push_back(nodes.back()->op());
    if (ops.size() % 4 == 0) ops.push_back(nullptr);
  }
  for (const Dims &size : {SIZES[0], SIZES[1], SIZES[2]}) {
    for (size_t i = 0; i <= ops.size(); i++) {
      api()->ops_expect(ops.data() + i, static_cast<uint32_t>(ops.size() - i));
    }
    for (const auto &node : nodes) {
      Plan own, built;
      LK_ASSERT_OK(node->bind(size, LK_BIND_OWN, &own, LK_ERR));
      LK_ASSERT_OK(node->bind(size, 0, &built, LK_ERR));
      EXPECT_EQ(node->run(executor, own, size), node->run(executor, built, size));
    }
    LK_ASSERT_OK(api()->cache_set_weights_capacity(context, 0, LK_ERR));
  }
}

// The operand of a post-op is no input that the operator itself looks at.
TEST(ResizedPlan, OfAnOperandThatDoesNotFitIsRefused) {
  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  const Case &plus = case_of("plus pixels");
  const Node node(executor, plus);
  for (const Dims &size : {SIZES[0], SIZES[1], SIZES[2]}) { // from the second on by a pattern
    Plan plan;
    LK_ASSERT_OK(node.bind(size, LK_BIND_OWN, &plan, LK_ERR));
  }
  for (const uint32_t flags : {0U, uint32_t(LK_BIND_OWN)}) {
    Plan plan;
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, node.bind(SIZES[2], SIZES[1], flags, &plan, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("broadcast"));
  }
}

// Limits hold whether the plan is built or resized: nothing is larger than 2^47 bytes.
TEST(ResizedPlan, OfTensorsThatAreTooLargeIsRefused) {
  constexpr int64_t kSide = int64_t{1} << 24;
  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  for (const LightCase &c : LIGHT_CASES) {
    SCOPED_TRACE(c.text);
    const LightNode node(executor, c);
    LK_ASSERT_OK(node.status());
    for (const Dims &size : {Dims{2, 9, 9}, Dims{2, 12, 31}, Dims{2, 40, 17}}) {
      Plan plan;
      LK_ASSERT_OK(node.bind(size, LK_BIND_OWN, &plan, LK_ERR));
    }
    for (const Dims &size : {Dims{2, kSide, kSide}, Dims{1 << 21, 1 << 12, 1 << 12},
                             Dims{2, int64_t{1} << 45, 9}, Dims{2, int64_t{1} << 46, 2}}) {
      SCOPED_TRACE(::testing::PrintToString(size));
      Plan own, built;
      lk_error own_error = {}, built_error = {};
      const lk_status status = node.bind(size, LK_BIND_OWN, &own, &own_error);
      EXPECT_EQ(status, node.bind(size, 0, &built, &built_error));
      if (status == LK_OK) continue; // an operator of which no tensor is as large
      EXPECT_STREQ(own_error.message, built_error.message);
    }
  }
}

TEST(ResizedPlan, IsBuiltWhereItsWeightsAreGone) {
  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  const Node node(executor, CASES[1]);
  LK_ASSERT_OK(api()->cache_set_weights_capacity(context, 0, LK_ERR));
  std::vector<uint8_t> expected;
  for (int i = 0; i < 4; i++) {
    Plan plan;
    LK_ASSERT_OK(node.bind(SIZES[1], LK_BIND_OWN, &plan, LK_ERR));
    const std::vector<uint8_t> bytes = node.run(executor, plan, SIZES[1]);
    if (i == 0) expected = bytes;
    EXPECT_EQ(bytes, expected);
    plan.reset();
    EXPECT_EQ(lk::stats(context).weights_bytes, 0u) << "a node alone keeps no packed weights";
  }
  EXPECT_EQ(lk::stats(context).weights_packed, 4u) << "once for each plan";
}

TEST(ResizedPlan, OfManyThreads) {
  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  const Node node(executor, case_of("plus a tensor"));
  std::vector<std::vector<uint8_t>> expected;
  for (const Dims &size : {SIZES[0], SIZES[1], SIZES[2]}) {
    Plan built;
    LK_ASSERT_OK(node.bind(size, 0, &built, LK_ERR));
    expected.push_back(node.run(executor, built, size));
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < t + 30; i++) {
        Plan plan;
        LK_EXPECT_OK(node.bind(SIZES[i % 3], LK_BIND_OWN, &plan, LK_ERR));
        EXPECT_EQ(node.run(executor, plan, SIZES[i % 3]), expected[i % 3]);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

TEST(ResizedPlanFaults, LeaveNothingBehind) {
  lk::fail_every_allocation([&](const lk::FailingAllocator &allocator) {
    lk_context *context = nullptr;
    lk_status status = host_context_create(LK_CACHE_SHARED, 1, allocator.get(), &context, LK_ERR);
    if (status != LK_OK) return status;
    {
      lk::Executor executor;
      status = api()->executor_create(context, "own", executor.out(), LK_ERR);
      if (status == LK_OK) {
        const Node node(executor, case_of("times channels"));
        status = node.status();
        for (size_t i = 0; status == LK_OK && i < 4; i++) {
          Plan plan;
          status = node.bind(SIZES[i], LK_BIND_OWN, &plan, LK_ERR);
        }
      }
    }
    api()->context_destroy(context);
    return status;
  });
}

} // namespace
