// Nodes whose shapes are known only when they run: what a bind without the values says, and
// op_run_alloc with them. Expected outputs are plain loops.
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::desc_of;
using lk::Dims;
using lk::Executor;
using lk::Frame;
using lk::Op;
using lk::Plan;
using lk::TestNode;
using lk::Value;
using ::testing::HasSubstr;

// Gives memory with a guard behind it, and notes what it was asked.
struct Host {
  std::vector<lk_output_request> asked;
  std::vector<lk::Memory> memory;
  uint32_t refuse = UINT32_MAX; // this output
  void *only = nullptr;         // given instead of memory of its own

  static void *give(void *arg, const lk_output_request *request) {
    auto *self = static_cast<Host *>(arg);
    self->asked.push_back(*request);
    EXPECT_EQ(request->struct_size, sizeof *request);
    EXPECT_EQ(request->alignment, 64u);
    if (request->index == self->refuse || request->bytes == 0) return nullptr;
    if (self->only != nullptr) return self->only;
    self->memory.emplace_back(request->bytes);
    return self->memory.back().data();
  }
};

// The inputs of a call, with memory of their own.
class Inputs {
public:
  explicit Inputs(const std::vector<Value> &values, int32_t over = -1) {
    for (const Value &value : values) {
      memory_.push_back(value.in(LK_LAYOUT_PLAIN));
      void *const data = value.bytes.empty() ? nullptr : memory_.back().data();
      tensors_.push_back({value.desc, data});
    }
    desc_ = host_bind(tensors_.data(), static_cast<uint32_t>(tensors_.size()));
    desc_.in_place_input = over;
  }
  Inputs(const Inputs &) = delete;
  Inputs &forget(size_t index) { // its value
    tensors_[index].data = nullptr;
    return *this;
  }
  lk_tensor &operator[](size_t index) { return tensors_[index]; }
  lk_bind_desc *get() { return &desc_; }

private:
  std::vector<lk::Memory> memory_;
  std::vector<lk_tensor> tensors_;
  lk_bind_desc desc_{};
};

lk_status bind(lk_op *op, Inputs &inputs, Plan *plan) {
  return lk::bind(op, *inputs.get(), plan, LK_ERR);
}

// A node, what it is given, and the numbers that come out.
struct Case {
  TestNode node;
  std::vector<Value> inputs;
  std::vector<size_t> unknown; // inputs whose values a first bind lacks
  Value expected;
  uint32_t rank; // that is certain without them
};

TestNode make(const char *op, int32_t opset, uint32_t n_inputs) {
  TestNode n;
  n.op = op;
  n.opset = opset;
  n.n_inputs = n_inputs;
  return n;
}

// x[n, c, 2h, 2w] by repeating each pixel
Value doubled(const Value &x) {
  const Dims in = x.dims();
  const Dims out = {in[0], in[1], 2 * in[2], 2 * in[3]};
  const std::vector<float> from = x.as<float>();
  std::vector<float> to;
  for (int64_t plane = 0; plane < in[0] * in[1]; plane++) {
    for (int64_t h = 0; h < out[2]; h++) {
      for (int64_t w = 0; w < out[3]; w++) {
        to.push_back(from[static_cast<size_t>((plane * in[2] + h / 2) * in[3] + w / 2)]);
      }
    }
  }
  return lk::floats(out, to);
}

// x[:, first : last]
Value columns(const Value &x, int64_t first, int64_t last) {
  const std::vector<float> from = x.as<float>();
  std::vector<float> to;
  for (int64_t row = 0; row < x.dims()[0]; row++) {
    for (int64_t column = first; column < last; column++) {
      to.push_back(from[static_cast<size_t>(row * x.dims()[1] + column)]);
    }
  }
  return lk::floats({x.dims()[0], last - first}, to);
}

Value reshaped(const Value &x, const Dims &dims) {
  return lk::floats(dims, x.as<float>());
}

// One for each operator that has a shape input.
std::vector<Case> cases() {
  const Value x = lk::random({2, 6}, 1), image = lk::random({1, 2, 3, 4}, 2);
  const Value roi = lk::floats({8}, {0, 0, 0, 0, 1, 1, 1, 1});
  const Value one_row = lk::random({1, 6}, 3);
  std::vector<Case> all;
  all.push_back(
      {make("Reshape", 13, 2), {x, lk::ints({3, -1, 2})}, {1}, reshaped(x, {3, 2, 2}), 3});
  all.push_back({.node = make("Slice", 13, 5),
                 .inputs = {x, lk::ints({1}), lk::ints({4}), lk::ints({1}), lk::ints({1})},
                 .unknown = {1, 2, 3, 4},
                 .expected = columns(x, 1, 4),
                 .rank = 2});
  all.push_back({.node = make("Slice", 13, 4), // the rest is told
                 .inputs = {x, lk::ints({0, 1}), lk::ints({2, 4}), lk::ints({0, 1})},
                 .unknown = {2},
                 .expected = columns(x, 1, 4),
                 .rank = 2});
  all.push_back({.node = make("Resize", 13, 4),
                 .inputs = {image, roi, lk::floats({0}, {}), lk::ints({1, 2, 6, 8})},
                 .unknown = {1, 3},
                 .expected = doubled(image),
                 .rank = 4});
  all.push_back(
      {make("Resize", 13, 3), {image, roi, lk::floats({4}, {1, 1, 2, 2})}, {2}, doubled(image), 4});
  for (Case *resize : {&all[3], &all[4]}) {
    resize->node.texts = {{"coordinate_transformation_mode", "asymmetric"},
                          {"nearest_mode", "floor"}};
  }
  all.push_back({.node = make("ConstantOfShape", 13, 1),
                 .inputs = {lk::ints({2, 3})},
                 .unknown = {0},
                 .expected = lk::floats({2, 3}, std::vector<float>(6, 0)),
                 .rank = 2});
  all.push_back({.node = make("Squeeze", 13, 2),
                 .inputs = {one_row, lk::ints({0})},
                 .unknown = {1},
                 .expected = reshaped(one_row, {6}),
                 .rank = 1});
  all.push_back(
      {make("Unsqueeze", 13, 2), {x, lk::ints({0, 3})}, {1}, reshaped(x, {1, 2, 6, 1}), 4});
  all.push_back(
      {.node = make("Dropout", 13, 3),
       .inputs = {x, lk::tensor<float>({}, {0.5F}), lk::tensor<uint8_t>({}, {0}, LK_BOOL)},
       .unknown = {2},
       .expected = x,
       .rank = 2});
  std::vector<float> means;
  const std::vector<float> numbers = x.as<float>();
  for (size_t row = 0; row < 2; row++) {
    double sum = 0;
    for (size_t i = 0; i < 6; i++) sum += static_cast<double>(numbers[row * 6 + i]);
    means.push_back(static_cast<float>(sum / 6));
  }
  all.push_back({.node = make("ReduceMean", 18, 2),
                 .inputs = {x, lk::ints({1})},
                 .unknown = {1},
                 .expected = lk::floats({2}, means),
                 .rank = 1});
  all.back().node.ints = {{"keepdims", {0}}};
  return all;
}

class RunAlloc : public ::testing::TestWithParam<uint32_t> {
protected:
  struct Model {
    Executor executor;
    Op op;
    Frame frame;
  };
  Model open(const TestNode &node) {
    Model model;
    model.executor = lk::executor_in(context);
    LK_EXPECT_OK(node.create(model.executor, &model.op, LK_ERR));
    LK_EXPECT_OK(api()->frame_create(model.executor, model.frame.out(), LK_ERR));
    return model;
  }
  // The output; what it was called with is in `host`.
  static lk_status run(const Model &model, Inputs &inputs, Host *host, lk_tensor *out) {
    return api()->op_run_alloc(model.frame, model.op, inputs.get(), Host::give, host, out, LK_ERR);
  }
  static void check(const Model &model, const std::vector<Value> &values, const Value &expected) {
    Inputs inputs(values);
    Host host;
    lk_tensor out{};
    LK_ASSERT_OK(run(model, inputs, &host, &out));
    ASSERT_EQ(host.asked.size(), 1u);
    EXPECT_EQ(host.asked[0].index, 0u);
    EXPECT_EQ(host.asked[0].bytes, expected.bytes.size());
    EXPECT_EQ(lk::text_of(host.asked[0].desc), lk::text_of(expected.desc));
    if (expected.bytes.empty()) {
      EXPECT_EQ(out.data, nullptr);
      EXPECT_EQ(lk::text_of(out.desc), lk::text_of(expected.desc));
    } else {
      EXPECT_TRUE(lk::all_close(expected, Value::from(out.desc, out.data)));
    }
  }
  lk_kind_stats names() const { return lk::stats(context).kind[LK_KIND_NAME]; }

  const bool cached = GetParam() != LK_CACHE_OFF;
  lk::Context context = lk::open(GetParam());
};

TEST_P(RunAlloc, IsAskedForByABindWithoutValues) {
  for (const Case &each : cases()) {
    SCOPED_TRACE(each.node.op);
    const Model model = open(each.node);
    Inputs inputs(each.inputs);
    for (size_t index : each.unknown) inputs.forget(index);
    Plan plan;
    LK_ASSERT_OK(bind(model.op, inputs, &plan));
    const lk_plan_info info = host_plan_info(plan);
    EXPECT_EQ(info.known_when_run, 1u);
    EXPECT_EQ(info.n_steps, 0u);
    EXPECT_EQ(info.alias_input, -1);
    EXPECT_STREQ(info.implementation, "");
    lk_tensor_desc desc{};
    LK_ASSERT_OK(api()->plan_output(plan, 0, &desc, LK_ERR));
    EXPECT_EQ(desc.dtype, each.expected.desc.dtype);
    EXPECT_EQ(desc.layout, LK_LAYOUT_ANY);
    ASSERT_EQ(desc.rank, each.rank);
    for (uint32_t i = 0; i < LK_MAX_RANK; i++) {
      EXPECT_EQ(desc.dims[i], i < each.rank ? LK_DIM_UNKNOWN : 0);
    }
    uint64_t bytes = 0;
    EXPECT_NE(api()->tensor_bytes(&desc, &bytes, LK_ERR), LK_OK);
    uint32_t slot = 7;
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->frame_attach(model.frame, plan, &slot, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("op_run_alloc"));
    check(model, each.inputs, each.expected);
    Inputs known(each.inputs); // the op and its deferred plan know values as before
    LK_ASSERT_OK(bind(model.op, known, &plan));
    EXPECT_EQ(host_plan_info(plan).known_when_run, 0u);
  }
}

// Where the number of values does not say it: axes that are given twice count once.
TEST_P(RunAlloc, SaysWhatItIsNotSureOf) {
  TestNode n = make("ReduceMean", 18, 2);
  n.ints = {{"keepdims", {0}}};
  const Model mean = open(n), reshape = open(make("Reshape", 13, 2));
  Inputs axes({lk::random({2, 3, 4}, 1), lk::ints({0, 1})});
  Plan plan;
  lk_tensor_desc desc{};
  LK_ASSERT_OK(bind(mean.op, axes.forget(1), &plan));
  LK_ASSERT_OK(api()->plan_output(plan, 0, &desc, LK_ERR));
  EXPECT_EQ(desc.dtype, uint32_t{LK_F32});
  EXPECT_EQ(desc.rank, LK_RANK_UNKNOWN);
  // A shape of a type that no value makes right: told at once, and when it runs.
  const Value x = lk::random({2, 3}, 1);
  Inputs shape({x, lk::floats({2}, {3, 2})});
  LK_EXPECT_STATUS(LK_UNSUPPORTED, bind(reshape.op, shape.forget(1), &plan));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("type f32"));
  Inputs again({x, lk::floats({2}, {3, 2})});
  Host host;
  lk_tensor out{};
  LK_EXPECT_STATUS(LK_UNSUPPORTED, run(reshape, again, &host, &out));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("type f32"));
}

TEST_P(RunAlloc, FindsThePlanOfTheValues) {
  struct {
    TestNode node;
    std::vector<Value> first, second;
    Value first_y, second_y;
  } all[4];
  const Value x = lk::random({2, 6}, 1), image = lk::random({1, 2, 3, 4}, 2);
  const Value none = lk::floats({0}, {});
  all[0] = {.node = make("Reshape", 13, 2),
            .first = {x, lk::ints({3, 4})},
            .second = {x, lk::ints({4, 3})},
            .first_y = reshaped(x, {3, 4}),
            .second_y = reshaped(x, {4, 3})};
  all[1] = {.node = make("Slice", 13, 4),
            .first = {x, lk::ints({1}), lk::ints({4}), lk::ints({1})},
            .second = {x, lk::ints({2}), lk::ints({4}), lk::ints({1})},
            .first_y = columns(x, 1, 4),
            .second_y = columns(x, 2, 4)};
  const Value same = image;
  all[2] = {.node = make("Resize", 13, 4),
            .first = {image, none, none, lk::ints({1, 2, 6, 8})},
            .second = {image, none, none, lk::ints({1, 2, 3, 4})},
            .first_y = doubled(image),
            .second_y = same};
  all[3] = {.node = make("ConstantOfShape", 13, 1),
            .first = {lk::ints({2, 3})},
            .second = {lk::ints({3, 2})},
            .first_y = lk::floats({2, 3}, std::vector<float>(6, 0)),
            .second_y = lk::floats({3, 2}, std::vector<float>(6, 0))};
  for (const auto &each : all) {
    SCOPED_TRACE(each.node.op);
    const Model model = open(each.node), other = open(each.node);
    lk_kind_stats before = names();
    check(model, each.first, each.first_y);
    EXPECT_EQ(names().misses, before.misses + 1);
    EXPECT_EQ(names().builds, before.builds + 1);
    check(model, each.second, each.second_y);
    EXPECT_EQ(names().misses, before.misses + 2);
    EXPECT_EQ(names().hits, before.hits);
    check(model, each.first, each.first_y);
    EXPECT_EQ(names().hits, before.hits + (cached ? 1 : 0));
    EXPECT_EQ(names().builds, before.builds + (cached ? 2 : 3));
    // Another executor: its own plan.
    before = names();
    check(other, each.first, each.first_y);
    EXPECT_EQ(names().misses, before.misses + 1);
    EXPECT_EQ(names().hits, before.hits);
    // It is the plan that a bind with these values finds.
    Inputs inputs(each.first);
    Plan plan;
    before = names();
    LK_ASSERT_OK(bind(model.op, inputs, &plan));
    EXPECT_EQ(names().hits, before.hits + (cached ? 1 : 0));
  }
}

// No value, an empty value and a value are three keys; an empty value is known with and without a
// pointer.
TEST_P(RunAlloc, KeepsKeysOfMissingValuesApart) {
  const Model model = open(make("Reshape", 13, 2));
  const Value x = lk::random({1}, 1);
  char nothing = 0;
  Inputs missing({x, lk::ints({1})}), empty({x, lk::ints({})}), pointed({x, lk::ints({})}),
      value({x, lk::ints({1})}), zero({x, lk::ints({0})});
  missing.forget(1);
  pointed[1].data = &nothing;
  const struct {
    Inputs &inputs;
    uint32_t known_when_run, rank;
    uint64_t builds; // so far
  } all[] = {{.inputs = missing, .known_when_run = 1, .rank = 1, .builds = 1},
             {.inputs = empty, .known_when_run = 0, .rank = 0, .builds = 2},
             {.inputs = value, .known_when_run = 0, .rank = 1, .builds = 3},
             {.inputs = zero, .known_when_run = 0, .rank = 1, .builds = 4},
             {.inputs = missing, .known_when_run = 1, .rank = 1, .builds = 4},
             {.inputs = pointed, .known_when_run = 0, .rank = 0, .builds = 4}};
  for (const auto &each : all) {
    Plan plan;
    lk_tensor_desc desc{};
    LK_ASSERT_OK(bind(model.op, each.inputs, &plan));
    EXPECT_EQ(host_plan_info(plan).known_when_run, each.known_when_run);
    LK_ASSERT_OK(api()->plan_output(plan, 0, &desc, LK_ERR));
    EXPECT_EQ(desc.rank, each.rank);
    if (cached) {
      EXPECT_EQ(names().builds, each.builds);
    }
  }
  if (cached) {
    EXPECT_EQ(names().hits, 2u);
  }
  check(model, {x, lk::ints({})}, reshaped(x, {}));
}

TEST_P(RunAlloc, GivesOutputsWithoutElements) {
  const Value x = lk::random({2, 6}, 1), none = lk::floats({0, 6}, {});
  check(open(make("Slice", 13, 4)), {x, lk::ints({3}), lk::ints({3}), lk::ints({1})},
        lk::floats({2, 0}, {}));
  check(open(make("ConstantOfShape", 13, 1)), {lk::ints({2, 0, 3})}, lk::floats({2, 0, 3}, {}));
  check(open(make("Reshape", 13, 2)), {none, lk::ints({0, 3, 2})}, lk::floats({0, 3, 2}, {}));
}

// The host may hand out the input itself where the request says so, or where the op was bound over
// it.
TEST_P(RunAlloc, MayLeaveTheBytesWhereTheyAre) {
  const Value x = lk::random({2, 6}, 1);
  const Model reshape = open(make("Reshape", 13, 2)), relu = open(make("Relu", 13, 1));
  Inputs inputs({x, lk::ints({3, 4})});
  Host host;
  lk_tensor out{};
  host.only = inputs[0].data;
  LK_ASSERT_OK(run(reshape, inputs, &host, &out));
  EXPECT_EQ(host.asked[0].alias_input, 0);
  EXPECT_EQ(out.data, inputs[0].data);
  EXPECT_TRUE(lk::all_close(reshaped(x, {3, 4}), Value::from(out.desc, out.data), lk::EXACTLY));
  Inputs over({x}, 0);
  host.only = over[0].data;
  LK_ASSERT_OK(run(relu, over, &host, &out));
  EXPECT_EQ(out.data, over[0].data);
  std::vector<float> positive = x.as<float>();
  for (float &value : positive) value = std::max(value, 0.0F);
  EXPECT_TRUE(
      lk::all_close(lk::floats({2, 6}, positive), Value::from(out.desc, out.data), lk::EXACTLY));
}

// Dropout's output and mask; the mode comes late.
TEST_P(RunAlloc, AsksForEachOutput) {
  TestNode n = make("Dropout", 13, 3);
  n.n_outputs = 2;
  const Value x = lk::random({2, 6}, 1),
              mask = lk::tensor<uint8_t>({2, 6}, std::vector<uint8_t>(12, 1), LK_BOOL);
  const Model model = open(n);
  Inputs inputs({x, lk::tensor<float>({}, {0.5F}), lk::tensor<uint8_t>({}, {0}, LK_BOOL)});
  inputs.get()->n_outputs = 2;
  Host host;
  lk_tensor out[2] = {};
  host.refuse = 1;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, run(model, inputs, &host, out));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("output 1, 2x6:bool, 12 bytes"));
  EXPECT_EQ(host.asked.size(), 2u);
  EXPECT_EQ(out[0].data, nullptr);
  host = Host();
  LK_ASSERT_OK(run(model, inputs, &host, out));
  ASSERT_EQ(host.asked.size(), 2u);
  EXPECT_EQ(host.asked[1].index, 1u);
  EXPECT_EQ(host.asked[1].alias_input, -1);
  EXPECT_TRUE(lk::all_close(x, Value::from(out[0].desc, out[0].data), lk::EXACTLY));
  EXPECT_TRUE(lk::all_close(mask, Value::from(out[1].desc, out[1].data), lk::EXACTLY));
  lk_tensor_desc desc{};
  Plan plan;
  LK_ASSERT_OK(bind(model.op, inputs.forget(2), &plan));
  LK_ASSERT_OK(api()->plan_output(plan, 1, &desc, LK_ERR));
  EXPECT_EQ(desc.dtype, uint32_t{LK_BOOL});
  EXPECT_EQ(desc.rank, 2u);
}

// What is attached in the frame stays attached.
TEST_P(RunAlloc, LeavesTheSlotsOfItsFrame) {
  const Value image = lk::random({1, 2, 3, 4}, 1), none = lk::floats({0}, {});
  const Model model = open(make("Resize", 13, 4));
  Inputs inputs({image, none, none, lk::ints({1, 2, 6, 8})});
  Plan plan;
  LK_ASSERT_OK(bind(model.op, inputs, &plan));
  uint32_t slot = 9;
  LK_ASSERT_OK(api()->frame_attach(model.frame, plan, &slot, LK_ERR));
  const uint64_t bytes = api()->frame_bytes(model.frame);
  check(model, {image, none, none, lk::ints({1, 2, 6, 4})}, [&] {
    const std::vector<float> wide = doubled(image).as<float>();
    std::vector<float> rows; // every other column of it
    for (size_t i = 0; i < wide.size(); i += 2) rows.push_back(wide[i]);
    return lk::floats({1, 2, 6, 4}, rows);
  }());
  EXPECT_EQ(slot, 0u);
  lk::Memory to(doubled(image).bytes.size());
  void *const in[] = {inputs[0].data, nullptr, nullptr, inputs[3].data}, *const out[] = {to.data()};
  LK_ASSERT_OK(api()->op_run(model.frame, slot, in, out, LK_ERR));
  EXPECT_TRUE(lk::all_close(doubled(image), Value::from(desc_of(LK_F32, {1, 2, 6, 8}), to.data())));
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->op_run(model.frame, 1, in, out, LK_ERR));
  EXPECT_LE(api()->frame_bytes(model.frame), bytes + 4096); // room for a slot, no handles
}

TEST_P(RunAlloc, RefusesWrongUse) {
  const Value x = lk::random({2, 6}, 1);
  const TestNode node = make("Reshape", 13, 2);
  const Model model = open(node), other = open(node);
  Inputs inputs({x, lk::ints({3, 4})}), bad({x, lk::ints({5, 4})}), unknown({x, lk::ints({3, 4})}),
      absent({x, lk::ints({3, 4})}), few({x}), huge({x, lk::ints({3, 4})});
  Host host;
  lk_tensor out{desc_of(LK_I8, {9}), &host};
  const auto fails = [&](Inputs &with, const char *part) {
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run(model, with, &host, &out));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(part));
  };
  fails(unknown.forget(1), "failed to run Reshape 'y': input 1 has no data");
  fails(absent.forget(0), "input 0 has no data");
  fails(bad, "the number of elements must stay");
  fails(few, "1 inputs");
  huge[1].desc.dims[0] = -2;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, run(model, huge, &host, &out));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 1"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->op_run_alloc(other.frame, model.op, inputs.get(),
                                                            Host::give, &host, &out, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("another executor"));
  lk::Frame brought;
  LK_ASSERT_OK(api()->frame_create(model.executor, brought.out(), LK_ERR));
  api()->frame_bring_scratch(brought);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->op_run_alloc(brought, model.op, inputs.get(),
                                                            Host::give, &host, &out, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("scratch memory"));
  EXPECT_TRUE(host.asked.empty());
  host.refuse = 0;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, run(model, inputs, &host, &out));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("no memory for output 0, 3x4:f32, 48 bytes"));
  EXPECT_EQ(out.data, &host) << "written by a call that failed";
  EXPECT_EQ(out.desc.dims[0], 9);
  check(model, {x, lk::ints({3, 4})}, reshaped(x, {3, 4}));
}

// A constant in front has no data in a call, and needs none.
TEST_P(RunAlloc, LooksForDataBehindAConstant) {
  const Value x = lk::random({2, 6}, 1);
  const lk_tensor constant = {x.desc, const_cast<uint8_t *>(x.bytes.data())};
  const lk_node_input of[] = {{&constant, LK_INPUT_COPY, 0}, {}};
  const lk_node_desc desc = host_node("Reshape", of, 2);
  Model model;
  model.executor = lk::executor_in(context);
  LK_ASSERT_OK(api()->op_create(model.executor, &desc, model.op.out(), LK_ERR));
  LK_ASSERT_OK(api()->frame_create(model.executor, model.frame.out(), LK_ERR));
  Inputs inputs({x, lk::ints({3, 4})});
  inputs.forget(0);
  Host host;
  lk_tensor out{};
  LK_ASSERT_OK(run(model, inputs, &host, &out));
  EXPECT_TRUE(lk::all_close(reshaped(x, {3, 4}), Value::from(out.desc, out.data)));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run(model, inputs.forget(1), &host, &out));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to run Reshape 'y': input 1 has no data"));
}

// A bind that lacks values is checked as far as it goes.
TEST_P(RunAlloc, RefusesWrongDeferredBinds) {
  const Value x = lk::random({2, 6}, 1);
  const Model model = open(make("Reshape", 13, 2));
  Plan plan;
  Inputs inputs({x, lk::ints({3, 4})});
  inputs.forget(1);
  inputs[0].desc.dims[1] = -1;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, bind(model.op, inputs, &plan));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 0"));
  inputs[0].desc = x.desc;
  inputs[1].desc.dims[0] = INT64_MAX;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, bind(model.op, inputs, &plan));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 1"));
  inputs[1].desc.dims[0] = 1000; // no operator reads so many: told when it runs
  LK_ASSERT_OK(bind(model.op, inputs, &plan));
  inputs.get()->in_place_input = 0;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, bind(model.op, inputs, &plan));
  EXPECT_EQ(plan.get(), nullptr);
}

// Structs of older and newer headers.
TEST_P(RunAlloc, TakesABindOfAnotherSize) {
  const Value x = lk::random({2, 6}, 1);
  const Model model = open(make("Reshape", 13, 2));
  Inputs inputs({x, lk::ints({3, 4})});
  struct {
    lk_bind_desc desc;
    uint64_t later;
  } longer = {*inputs.get(), 0};
  longer.desc.struct_size = sizeof longer;
  for (uint64_t later : {uint64_t{0}, uint64_t{1}}) {
    longer.later = later;
    const lk_status expected = later == 0 ? LK_OK : LK_VERSION;
    Host host;
    lk_tensor out{};
    lk_plan *plan = nullptr;
    LK_EXPECT_STATUS(expected, api()->op_bind(model.op, &longer.desc, &plan, LK_ERR));
    EXPECT_EQ(plan != nullptr, later == 0);
    api()->plan_release(plan);
    LK_EXPECT_STATUS(expected, api()->op_run_alloc(model.frame, model.op, &longer.desc, Host::give,
                                                   &host, &out, LK_ERR));
  }
  inputs.get()->struct_size = offsetof(lk_bind_desc, in_place_input); // none then: -1
  inputs.get()->in_place_input = 99;
  Host host;
  lk_tensor out{};
  LK_ASSERT_OK(run(model, inputs, &host, &out));
  inputs.get()->struct_size = 0;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run(model, inputs, &host, &out));
}

INSTANTIATE_TEST_SUITE_P(Modes, RunAlloc,
                         ::testing::Values(LK_CACHE_OFF, LK_CACHE_THREAD, LK_CACHE_SHARED));

// Every allocation fails once: of the deferred bind, of the run, and of the host.
TEST(RunAllocFaults, EndCleanlyWhereverTheyStrike) {
  const Value image = lk::random({1, 2, 3, 4}, 2), none = lk::floats({0}, {});
  const std::vector<Value> values = {image, none, none, lk::ints({1, 2, 6, 8})};
  int told = 0;
  for (size_t n = 1;; n++) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    ASSERT_LT(n, 10000u) << "does not come to an end";
    lk::FailingAllocator allocator;
    lk::Context context;
    LK_ASSERT_OK(host_context_create(LK_CACHE_DEFAULT, 1, allocator.get(), context.out(), LK_ERR));
    Executor executor = lk::executor_in(context);
    Op op;
    LK_ASSERT_OK(make("Resize", 13, 4).create(executor, &op, LK_ERR));
    Frame frame;
    LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
    Plan plan;
    Inputs deferred(values), inputs(values);
    deferred.forget(3);
    Host host;
    lk_tensor out{};
    allocator.fail_at(n);
    lk_status status = bind(op, deferred, &plan);
    if (status == LK_OK) {
      status = api()->op_run_alloc(frame, op, inputs.get(), Host::give, &host, &out, LK_ERR);
    }
    const bool failed = allocator.failed();
    allocator.fail_never();
    if (status != LK_OK) {
      lk::test_error().passed = false;
      EXPECT_TRUE(failed) << LK_MESSAGE;
      EXPECT_EQ(status, LK_OUT_OF_MEMORY) << LK_MESSAGE;
      EXPECT_TRUE(host.asked.empty()) << "the host was asked before all was there";
      EXPECT_EQ(out.data, nullptr);
      told++;
    }
    // The same objects do the same work afterwards.
    Host again;
    LK_ASSERT_OK(api()->op_run_alloc(frame, op, inputs.get(), Host::give, &again, &out, LK_ERR));
    EXPECT_TRUE(lk::all_close(doubled(image), Value::from(out.desc, out.data)));
    plan.reset();
    frame.reset();
    op.reset();
    executor.reset();
    context.reset();
    ASSERT_EQ(allocator.live_blocks(), 0u);
    if (!failed) break;
  }
  EXPECT_GT(told, 5);
}

} // namespace
