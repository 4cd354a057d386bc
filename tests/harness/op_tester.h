// Tests one operator through the public table of functions:
//
//   lk::OpTester("Concat", 13).attr("axis", 1).input(a).input(b).expect(c).run();
//   lk::OpTester("Slice", 13).input(x).input(starts).input(ends).expect_bind(LK_INVALID_ARGUMENT,
//                                                                            "starts");
//
// run() creates, binds, runs and compares, and goes through the cache's paths with exact counters:
// cold (one miss, one build), again (one hit, no build), unchanged (no look-up), from a second
// executor (one miss by name), and with the cache off.
#pragma once

#include <deque>

#include "tests/harness/close.h"
#include "tests/harness/fenced.h"
#include "tests/harness/op_value.h"
#include "tests/harness/owners.h"

namespace lk {

class OpTester {
public:
  explicit OpTester(std::string op_type, int32_t opset = 17)
      : op_type_(std::move(op_type)), opset_(opset) {}

  // ---- the node ----

  OpTester &attr(const char *name, int64_t value) { return attr_ints(name, {value}); }
  OpTester &attr_ints(const char *name, const std::vector<int64_t> &values) {
    return add(name, LK_ATTR_INTS, values.data(), values.size(), sizeof(int64_t));
  }
  OpTester &attr_float(const char *name, float value) { return attr_floats(name, {value}); }
  OpTester &attr_floats(const char *name, const std::vector<float> &values) {
    return add(name, LK_ATTR_FLOATS, values.data(), values.size(), sizeof(float));
  }
  OpTester &attr_text(const char *name, const std::string &text) {
    return add(name, LK_ATTR_STRING, text.data(), text.size(), 1);
  }
  OpTester &attr_tensor(const char *name, const Value &value) {
    tensors_.push_back(value);
    const lk_tensor tensor{value.desc, tensors_.back().bytes.data()};
    return add(name, LK_ATTR_TENSOR, &tensor, 1, sizeof tensor);
  }

  OpTester &domain(std::string name) {
    domain_ = std::move(name);
    return *this;
  }
  // At run time; its value is told when binding if the operator asks for it.
  OpTester &input(const Value &value, lk_layout layout = LK_LAYOUT_PLAIN) {
    inputs_.push_back({value, layout, false, false});
    return *this;
  }
  OpTester &channels_last(const Value &value) { return input(value, LK_LAYOUT_CHANNELS_LAST); }
  OpTester &constant(const Value &value) {
    inputs_.push_back({value, LK_LAYOUT_PLAIN, true, false});
    return *this;
  }
  OpTester &absent() {
    inputs_.push_back({Value(), LK_LAYOUT_PLAIN, false, true});
    return *this;
  }
  OpTester &post_op(lk_post_op_kind kind, float alpha = 0, float beta = 0, int32_t input = -1) {
    post_ops_.push_back({static_cast<uint32_t>(kind), input, alpha, beta});
    return *this;
  }
  OpTester &in_place(int32_t input) {
    in_place_ = input;
    return *this;
  }
  OpTester &wish(lk_layout layout) { // of output 0
    wish_ = layout;
    return *this;
  }

  // ---- what is expected ----

  OpTester &expect(const Value &value) { // of the next output
    expected_.push_back(value);
    return *this;
  }
  OpTester &within(const Within &within) { // of f32 and f64
    within_ = within;
    return *this;
  }
  OpTester &expect_layout(lk_layout layout) { // of output 0
    expected_layout_ = layout;
    return *this;
  }
  OpTester &expect_alias(int32_t input) {
    expected_alias_ = input;
    return *this;
  }
  OpTester &expect_blocks(uint32_t count) {
    expected_blocks_ = count;
    return *this;
  }
  OpTester &expect_reorders(uint32_t count) {
    expected_reorders_ = count;
    return *this;
  }

  void run() {
    SCOPED_TRACE(op_type_ + ", opset " + std::to_string(opset_));
    ASSERT_FALSE(expected_.empty()) << "nothing is expected";
    run_cached();
    run_uncached();
  }

  // What the steps of its plan count.
  struct Work {
    double flops = 0, bytes = 0;
    uint32_t steps = 0;
  };
  Work work_of_steps() {
    const Context context = open(LK_CACHE_OFF);
    Executor executor;
    Op op;
    Plan plan;
    LK_EXPECT_OK(api()->executor_create(context, nullptr, executor.out(), LK_ERR));
    LK_EXPECT_OK(create(executor, op));
    LK_EXPECT_OK(bind(op, plan));
    Work work;
    for (uint32_t i = 0; plan.get() != nullptr && i < host_plan_info(plan).n_steps; i++) {
      lk_step_info step = {};
      step.struct_size = sizeof step;
      LK_EXPECT_OK(api()->plan_step(plan, i, &step, LK_ERR));
      work.flops += step.flops;
      work.bytes += step.bytes;
      work.steps++;
    }
    return work;
  }

  void expect_create(lk_status status, const std::string &part) { expect_failure(0, status, part); }
  void expect_bind(lk_status status, const std::string &part) { expect_failure(1, status, part); }
  void expect_run(lk_status status, const std::string &part) { expect_failure(2, status, part); }

private:
  struct Input {
    Value value;
    lk_layout layout;
    bool constant, absent;
  };
  struct Attr {
    std::string name;
    lk_attr_type type;
    uint32_t count;
    std::vector<uint64_t> data; // aligned for every type
  };

  OpTester &add(const char *name, lk_attr_type type, const void *data, size_t count, size_t size) {
    Attr attr{name, type, static_cast<uint32_t>(count), {}};
    attr.data.resize((count * size + 7) / 8 + 1);
    if (count > 0) std::memcpy(attr.data.data(), data, count * size);
    attrs_.push_back(std::move(attr));
    return *this;
  }

  uint32_t outputs() const {
    return expected_.empty() ? 1 : static_cast<uint32_t>(expected_.size());
  }

  lk_status create(lk_executor *executor, Op &op) {
    constants_.clear();
    n_created_++;
    std::vector<lk_node_input> inputs;
    for (Input &input : inputs_) {
      lk_node_input node{};
      if (input.absent) node.flags = LK_INPUT_ABSENT;
      if (input.constant) {
        constants_.push_back({input.value.desc, input.value.bytes.data()});
        node.constant = &constants_.back();
        if (n_created_ % 2 != 0 && !input.value.bytes.empty()) { // as at the end of a mapped file
          borrowed_.push_back(std::make_shared<Fenced>(input.value.bytes.size()));
          constants_.back().data = std::memcpy(borrowed_.back()->data(), input.value.bytes.data(),
                                               input.value.bytes.size());
        } else {
          node.flags = LK_INPUT_COPY;
        }
      }
      inputs.push_back(node);
    }
    std::vector<lk_attr> attrs;
    for (const Attr &attr : attrs_) {
      attrs.push_back(
          {attr.name.c_str(), static_cast<uint32_t>(attr.type), attr.count, attr.data.data()});
    }
    lk_node_desc node =
        host_node(op_type_.c_str(), inputs.data(), static_cast<uint32_t>(inputs.size()));
    node.output_name = "out";
    node.opset = opset_;
    node.domain = domain_.c_str();
    node.n_outputs = outputs();
    node.n_attrs = static_cast<uint32_t>(attrs.size());
    node.attrs = attrs.data();
    node.n_post_ops = static_cast<uint32_t>(post_ops_.size());
    node.post_ops = post_ops_.data();
    return api()->op_create(executor, &node, op.out(), LK_ERR);
  }

  lk_status bind(lk_op *op, Plan &plan) {
    const lk_op_info info = host_op_info(op);
    std::vector<lk_tensor> inputs;
    std::vector<Memory> values; // aligned
    told_values_ = false;
    for (size_t i = 0; i < inputs_.size(); i++) {
      lk_tensor tensor{};
      if (!inputs_[i].absent) {
        tensor.desc = inputs_[i].value.desc;
        tensor.desc.layout = inputs_[i].layout;
        if (i < 64 && (info.shape_inputs >> i & 1) != 0) {
          values.push_back(inputs_[i].value.in(LK_LAYOUT_PLAIN));
          tensor.data = values.back().data();
          if (!inputs_[i].constant) told_values_ = true;
        }
      }
      inputs.push_back(tensor);
    }
    std::vector<lk_layout> wishes(outputs(), LK_LAYOUT_ANY);
    wishes[0] = wish_;
    lk_bind_desc desc = host_bind(inputs.data(), static_cast<uint32_t>(inputs.size()));
    desc.wishes = wishes.data();
    desc.n_outputs = outputs();
    desc.in_place_input = in_place_;
    return lk::bind(op, desc, &plan, LK_ERR);
  }

  // Runs a plan; `out` gets the outputs as plain values.
  lk_status execute(lk_executor *executor, lk_plan *plan, std::vector<Value> *out) {
    lk_status status = LK_OK;
    std::vector<Memory> memory;
    std::vector<Fenced> fenced;
    std::vector<void *> inputs, results;
    const bool is_fenced = n_runs_++ % 2 != 0; // else aligned: both are to work
    memory.reserve(inputs_.size() + outputs());
    for (const Input &input : inputs_) {
      memory.push_back(input.value.in(input.layout));
      const bool none = input.absent || input.constant || input.value.bytes.empty();
      inputs.push_back(none ? nullptr : memory.back().data());
      if (none || !is_fenced) continue;
      fenced.emplace_back(memory.back().bytes());
      inputs.back() =
          std::memcpy(fenced.back().data(), memory.back().data(), memory.back().bytes());
    }
    std::vector<lk_tensor_desc> descs(outputs());
    for (uint32_t i = 0; i < outputs(); i++) {
      uint64_t bytes = 0;
      status = api()->plan_output(plan, i, &descs[i], LK_ERR);
      if (status == LK_OK) status = api()->tensor_bytes(&descs[i], &bytes, LK_ERR);
      if (status != LK_OK) return status;
      if (i == 0 && in_place_ >= 0) {
        results.push_back(inputs[static_cast<size_t>(in_place_)]);
        continue;
      }
      if (is_fenced) {
        fenced.emplace_back(bytes);
      } else {
        memory.emplace_back(bytes);
      }
      void *data = is_fenced ? fenced.back().data() : memory.back().data();
      results.push_back(bytes == 0 ? nullptr : data);
    }
    status = host_run(executor, plan, inputs.data(), results.data(), LK_ERR);
    for (uint32_t i = 0; i < outputs() && status == LK_OK; i++) {
      out->push_back(Value::from(descs[i], results[i]));
    }
    check_inputs_kept(inputs);
    if (status == LK_OK) check_blocks(plan, inputs, results, descs);
    return status;
  }

  // What a plan says to move is what it has moved, and there is nothing else in the outputs.
  static void check_blocks(lk_plan *plan, const std::vector<void *> &inputs,
                           const std::vector<void *> &results,
                           const std::vector<lk_tensor_desc> &descs) {
    const uint32_t count = host_plan_info(plan).n_blocks;
    uint64_t moved = 0, all = 0;
    for (uint32_t i = 0; i < count; i++) {
      lk_block block = {};
      block.struct_size = sizeof block;
      LK_ASSERT_OK(api()->plan_block(plan, i, &block, LK_ERR));
      const auto *from = static_cast<const char *>(inputs.at(block.input));
      const auto *to = static_cast<const char *>(results.at(block.output));
      EXPECT_EQ(std::memcmp(to + block.output_offset, from + block.input_offset, block.bytes), 0)
          << "block " << i;
      moved += block.bytes;
    }
    for (const lk_tensor_desc &desc : descs) {
      uint64_t bytes = 0;
      LK_ASSERT_OK(api()->tensor_bytes(&desc, &bytes, LK_ERR));
      all += bytes;
    }
    if (count > 0) {
      EXPECT_EQ(moved, all);
    }
    lk_block none = {};
    none.struct_size = sizeof none;
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->plan_block(plan, count, &none, LK_ERR));
  }

  void check_inputs_kept(const std::vector<void *> &inputs) const {
    for (size_t i = 0; i < inputs.size(); i++) {
      if (inputs[i] == nullptr || static_cast<int32_t>(i) == in_place_) continue;
      const Memory before = inputs_[i].value.in(inputs_[i].layout);
      EXPECT_EQ(std::memcmp(before.data(), inputs[i], before.bytes()), 0)
          << "input " << i << " was altered";
    }
  }

  void check(lk_executor *executor, lk_plan *plan) {
    std::vector<Value> actual;
    LK_ASSERT_OK(execute(executor, plan, &actual));
    for (size_t i = 0; i < expected_.size(); i++) {
      EXPECT_TRUE(all_close(expected_[i], actual[i], within_)) << "output " << i;
    }
  }

  static lk_stats stats(lk_context *context) { return host_stats(context, nullptr); }

  void check_info(lk_plan *plan) {
    const lk_plan_info info = host_plan_info(plan);
    if (expected_alias_ != UNCHECKED) {
      EXPECT_EQ(info.alias_input, expected_alias_);
    }
    if (expected_blocks_ != UNCHECKED) {
      EXPECT_EQ(int64_t(info.n_blocks), expected_blocks_);
    }
    if (expected_reorders_ != UNCHECKED) {
      EXPECT_EQ(int64_t(info.n_reorders), expected_reorders_);
    }
    if (expected_layout_ != LK_LAYOUT_ANY) {
      lk_tensor_desc desc{};
      LK_ASSERT_OK(api()->plan_output(plan, 0, &desc, LK_ERR));
      EXPECT_EQ(desc.layout, expected_layout_);
    }
  }

  void run_cached() {
    const Context context = open(LK_CACHE_SHARED);
    Executor first, second;
    LK_ASSERT_OK(api()->executor_create(context, "first", first.out(), LK_ERR));
    LK_ASSERT_OK(api()->executor_create(context, "second", second.out(), LK_ERR));
    {
      Op op;
      Plan plan, again;
      LK_ASSERT_OK(create(first, op));
      const lk_stats before = stats(context);
      LK_ASSERT_OK(bind(op, plan));
      const lk_stats cold = stats(context);
      EXPECT_EQ(cold.kind[LK_KIND_NAME].misses - before.kind[LK_KIND_NAME].misses, 1u);
      EXPECT_EQ(cold.kind[LK_KIND_NAME].builds - before.kind[LK_KIND_NAME].builds, 1u);
      check_info(plan);
      check(first, plan);
      // Nothing has changed: the plan in hand is handed back, without a look-up unless there are
      // values to compare.
      lk_plan *in_hand = plan;
      LK_ASSERT_OK(bind(op, plan));
      EXPECT_EQ(plan.get(), in_hand);
      EXPECT_EQ(stats(context).kind[LK_KIND_NAME].hits - cold.kind[LK_KIND_NAME].hits,
                told_values_ ? 1u : 0u);
      LK_ASSERT_OK(bind(op, again));
      const lk_stats warm = stats(context);
      EXPECT_EQ(warm.kind[LK_KIND_NAME].hits - cold.kind[LK_KIND_NAME].hits,
                told_values_ ? 2u : 1u);
      EXPECT_EQ(warm.kind[LK_KIND_NAME].misses, cold.kind[LK_KIND_NAME].misses);
      check(first, again);
    }
    {
      SCOPED_TRACE("from a second executor");
      Op op;
      Plan plan;
      LK_ASSERT_OK(create(second, op));
      const lk_stats before = stats(context);
      LK_ASSERT_OK(bind(op, plan));
      const lk_stats after = stats(context);
      EXPECT_EQ(after.kind[LK_KIND_NAME].misses - before.kind[LK_KIND_NAME].misses, 1u);
      check(second, plan);
    }
  }

  void run_uncached() {
    SCOPED_TRACE("with the cache off");
    const Context context = open(LK_CACHE_OFF);
    Executor executor;
    LK_ASSERT_OK(api()->executor_create(context, nullptr, executor.out(), LK_ERR));
    Op op;
    Plan plan;
    LK_ASSERT_OK(create(executor, op));
    LK_ASSERT_OK(bind(op, plan));
    check(executor, plan);
  }

  // Fails at step 0 (create), 1 (bind) or 2 (run), and at none before.
  void expect_failure(int step, lk_status status, const std::string &part) {
    SCOPED_TRACE(op_type_ + ", opset " + std::to_string(opset_));
    const Context context = open(LK_CACHE_SHARED);
    Executor executor;
    LK_ASSERT_OK(api()->executor_create(context, nullptr, executor.out(), LK_ERR));
    Op op;
    Plan plan;
    std::vector<Value> ignored;
    LK_ASSERT_STATUS(step == 0 ? status : LK_OK, create(executor, op));
    if (step > 0) {
      LK_ASSERT_STATUS(step == 1 ? status : LK_OK, bind(op, plan));
    }
    if (step > 1) {
      LK_ASSERT_STATUS(status, execute(executor, plan, &ignored));
    }
    EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr(part));
    if (step == 0) {
      EXPECT_EQ(op.get(), nullptr);
    }
    if (step == 1) {
      EXPECT_EQ(plan.get(), nullptr);
    }
  }

  static constexpr int64_t UNCHECKED = -2;

  std::string op_type_;
  int32_t opset_;
  std::string domain_;
  std::deque<Value> tensors_; // of attributes: must not move
  std::deque<lk_tensor> constants_;
  // Constants that operators borrow, which may outlive the making of the next one.
  std::vector<std::shared_ptr<Fenced>> borrowed_;
  std::vector<Attr> attrs_;
  std::vector<Input> inputs_;
  std::vector<lk_post_op> post_ops_;
  std::vector<Value> expected_;
  int32_t in_place_ = -1;
  lk_layout wish_ = LK_LAYOUT_ANY, expected_layout_ = LK_LAYOUT_ANY;
  int64_t expected_alias_ = UNCHECKED, expected_blocks_ = UNCHECKED;
  int64_t expected_reorders_ = UNCHECKED;
  Within within_;
  uint32_t n_created_ = 0, n_runs_ = 0;
  bool told_values_ = false; // of run-time inputs, by the last bind
};

} // namespace lk
