// Works that a host describes, and contexts of several engines that bind and run nodes of them.
#pragma once

#include "tests/harness/environment.h"
#include "tests/ops/engine/host.h"
#include "tests/ops/made_operator.h"
#include "tests/ops/numbers.h"
#include "tests/ops/reference.h"

extern "C" {
#include "ops/kernel/number.h"
}

namespace lk {

constexpr size_t kMostHostInputs = 4;

// A node of the operator: what it is to compute, of what, and how it is bound.
struct HostWork {
  lk_operator_work says = {};
  Dims out;
  std::vector<Value> inputs;
  std::vector<lk_layout> layouts;
  uint32_t n_constants = 0; // the last inputs
  lk_layout wish = LK_LAYOUT_ANY;
  uint32_t flags = 0; // lk_bind_flags
};

inline std::string text_of(const HostWork &of) {
  const lk_work &work = of.says.work;
  std::string text = "work " + std::to_string(work.kind) + " of type " +
                     std::to_string(of.inputs[0].desc.dtype) + ", axes " +
                     std::to_string(work.axes) + ":";
  for (const Value &input : of.inputs) text += " " + text_of(input.dims());
  text += " -> " + text_of(of.out);
  for (uint32_t i = 0; i < work.n_post_ops && i < LK_WORK_POST_OPS; i++) {
    const lk_work_post_op &each = work.post_ops[i];
    text += " " + std::to_string(each.kind) + "(" + std::to_string(each.operand) + ", " +
            std::to_string(each.alpha) + ", " + std::to_string(each.beta) + ")";
  }
  return text;
}

inline std::vector<double> numbers_of(const Value &of) {
  if (of.desc.dtype == LK_F64) return of.as<double>();
  if (of.desc.dtype == LK_F32) {
    const std::vector<float> numbers = of.as<float>();
    return std::vector<double>(numbers.begin(), numbers.end());
  }
  std::vector<double> numbers;
  for (const uint16_t bits : of.as<uint16_t>()) {
    numbers.push_back(of.desc.dtype == LK_F16 ? lk_f16_to_f64(bits) : lk_bf16_to_f64(bits));
  }
  return numbers;
}

struct Outcome {
  lk_status status = LK_OK;
  std::string message;
  Value out;
  double flops = 0; // of the plan
};

// A context of one engine, which has the operator.
struct HostSide {
  std::string engine;
  Context context;
  Executor executor;

  // `node` has all but its inputs.
  void run(TestNode node, const HostWork &given, Outcome *to) const {
    Op op;
    Plan plan;
    node.n_inputs = uint32_t(given.inputs.size());
    node.constants.assign(given.inputs.end() - given.n_constants, given.inputs.end());
    LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
    to->status = bind(given, op, &plan);
    to->message = LK_MESSAGE;
    if (to->status != LK_OK) return;
    to->flops = host_plan_info(plan).flops;
    std::vector<Memory> memory;
    std::vector<void *> pointers;
    for (size_t i = 0; i < given.inputs.size(); i++) {
      memory.push_back(given.inputs[i].in(given.layouts[i]));
    }
    for (const Memory &each : memory) pointers.push_back(each.data());
    lk_tensor_desc desc = {};
    uint64_t bytes = 0;
    LK_ASSERT_OK(api()->plan_output(plan, 0, &desc, LK_ERR));
    LK_ASSERT_OK(api()->tensor_bytes(&desc, &bytes, LK_ERR));
    const Memory y(bytes);
    LK_ASSERT_OK(lk::run(executor, plan, pointers, y.data(), LK_ERR));
    to->out = Value::from(desc, y.data());
  }

private:
  static lk_status bind(const HostWork &given, lk_op *op, Plan *plan) {
    std::vector<lk_tensor> tensors;
    for (size_t i = 0; i < given.inputs.size(); i++) {
      tensors.push_back({given.inputs[i].desc, nullptr});
      tensors.back().desc.layout = given.layouts[i];
    }
    lk_bind_desc desc = host_bind(tensors.data(), uint32_t(tensors.size()));
    desc.wishes = &given.wish;
    desc.flags = given.flags;
    return lk::bind(op, desc, plan, LK_ERR);
  }
};

// `now` is what the operator says, in a context of each engine. The first one is native.
class HostWorksTest : public ::testing::Test {
protected:
  void SetUp() override {
    made.infer = [this](const lk_operator_node *, lk_operator_shapes *out, lk_error *) {
      out->outputs[0].rank = uint32_t(now.out.size());
      std::copy(now.out.begin(), now.out.end(), out->outputs[0].dims);
      return LK_OK;
    };
    made.work = [this](const lk_operator_node *, const lk_operator_shapes *, lk_operator_work *out,
                       lk_error *) {
      out->work = now.says.work;
      std::copy(std::begin(now.says.inputs), std::end(now.says.inputs), out->inputs);
      return LK_OK;
    };
    for (const char *engine : {"native", "onednn", "auto"}) add(engine);
  }
  // The module of onednn need not be there.
  void add(const char *engine) {
    HostSide side{engine, {}, {}};
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.engine = engine;
    options.threads = 2;
    const lk_status status = api()->context_create(&options, side.context.out(), LK_ERR);
    if (side.engine == "onednn" && status == LK_NOT_FOUND) return;
    LK_ASSERT_OK(status);
    lk_operator table = made.table();
    table.max_inputs = kMostHostInputs + 1; // a batch norm has one more than others
    LK_ASSERT_OK(api()->op_register(side.context, &table, LK_ERR));
    side.executor = executor_in(side.context);
    sides.push_back(std::move(side));
  }
  void run(const HostSide &side, const std::string &name, Outcome *to) const {
    TestNode node;
    node.op = "Scaled";
    node.domain = "com.example";
    node.opset = 1;
    node.name = name;
    side.run(node, now, to);
  }
  // Cases by their numbers, as the environment says.
  template <typename Check> int check_all(int cases, const Check &check) {
    const int first = int(number_of_variable("LK_TEST_HOST_WORKS_FIRST", 0));
    const int count = int(number_of_variable("LK_TEST_HOST_WORKS", lk::repeats(cases)));
    for (int seed = first; seed < first + count && !HasFailure(); seed++) check(seed);
    return HasFailure() ? 0 : count;
  }
  // Of so many works, oneDNN computes some.
  void expect_offers(int count) const {
    for (const HostSide &side : sides) {
      if (side.engine != "onednn" || !kHasPrimitives) continue;
      EXPECT_GT(stats(side.context).engine_works, uint64_t(count) / 10);
    }
  }

  MadeOperator made; // beyond the contexts
  HostWork now;
  std::vector<HostSide> sides;
};

} // namespace lk
