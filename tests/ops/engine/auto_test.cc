// Engine `auto`: who is asked when, what decides, and that plans by one choice are not found by
// another.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/ops/engine/plain_engine.h"
#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Op;
using lk::Plan;
using lk::Value;
using ::testing::HasSubstr;

class Auto : public ::testing::Test {
protected:
  Auto() { start(); }
  ~Auto() override {
    end();
    EXPECT_EQ(engine.builds, engine.destroyed);
    EXPECT_EQ(engine.opened, engine.closed);
  }
  void start(const char *tuning = nullptr, const char *state = "1") {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.tuning = tuning;
    LK_ASSERT_OK(api()->context_create(&options, context.out(), LK_ERR));
    const lk_engine table = engine.table("plain", state);
    LK_ASSERT_OK(api()->engine_register(context, &table, LK_ENGINE_AUTO, LK_ERR));
    executor = lk::executor_in(context);
    lk::TestNode node;
    node.op = "MatMul";
    node.n_inputs = 2;
    node.constants = {w};
    LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
  }
  void end() {
    op = Op();
    executor = lk::Executor();
    context = lk::Context();
  }
  lk_status bind_into(lk_plan **inout, uint32_t flags, int64_t rows = 5) {
    const lk_tensor tensors[] = {{lk::desc_of(LK_F32, {rows, 7}), nullptr}, {w.desc, nullptr}};
    lk_bind_desc desc = host_bind(tensors, 2);
    desc.flags = flags;
    return api()->op_bind(op, &desc, inout, LK_ERR);
  }
  // Who computes the node: "matmul" is native.
  std::string bind(uint32_t flags, int64_t rows = 5) {
    lk_plan *plan = nullptr;
    LK_EXPECT_OK(bind_into(&plan, flags, rows));
    if (plan == nullptr) return "";
    const std::string name = host_plan_info(plan).implementation;
    const Value x = lk::random({rows, 7}, 1), y = lk::ref::matmul(x, w);
    lk::Memory from = x.in(LK_LAYOUT_PLAIN), to(y.bytes.size());
    LK_EXPECT_OK(lk::run(executor, plan, {from.data(), nullptr}, to.data(), LK_ERR));
    EXPECT_TRUE(lk::all_close(y, Value::from(y.desc, to.data())));
    api()->plan_release(plan);
    return name;
  }
  void note(double native_ns, double engine_ns) {
    lk_plan *plan = nullptr;
    LK_ASSERT_OK(bind_into(&plan, LK_BIND_ENGINE));
    LK_ASSERT_OK(api()->plan_note_times(plan, native_ns, engine_ns, LK_ERR));
    api()->plan_release(plan);
  }
  static std::string temporary() {
    return (std::filesystem::temp_directory_path() / ("latchkey_auto_" + std::to_string(getpid())))
        .string();
  }
  lk_engine_choice_info choice(uint32_t index = 0) {
    lk_engine_choice_info info = {};
    info.struct_size = sizeof info;
    LK_EXPECT_OK(api()->engine_choice(context, index, &info, LK_ERR));
    return info;
  }

  const Value w = lk::random({7, 3}, 2);
  lk::PlainEngine engine;
  lk::Context context;
  lk::Executor executor;
  Op op;
};

TEST_F(Auto, AnEngineOfTheHostsIsNoDefault) {
  lk_option_info info = {};
  info.struct_size = sizeof info;
  for (uint32_t i = 0; info.name == nullptr || std::string(info.name) != "engine"; i++) {
    LK_ASSERT_OK(api()->option_info(context, i, &info, LK_ERR));
  }
  EXPECT_STREQ(info.text, "auto");
  EXPECT_EQ(info.source, uint32_t(LK_FROM_CALL));
}

TEST_F(Auto, ASizeThatIsNewIsNatives) {
  engine.run_ratio = 0.1;
  EXPECT_EQ(bind(0), "matmul");
  EXPECT_EQ(engine.offers, 0);
  EXPECT_STREQ(api()->engine_chosen(context), "auto");
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->engine_choice(context, 0, &info, LK_ERR));
}

TEST_F(Auto, AnEngineComputesWhatItTakesLessTimeForWhereSizesRecur) {
  engine.run_ratio = 0.5;
  engine.build_ns = 10;
  EXPECT_EQ(bind(LK_BIND_RECURS), "plain loops");
  const lk_engine_choice_info info = choice();
  EXPECT_STREQ(info.node, "y");
  EXPECT_STREQ(info.work, "product");
  EXPECT_STREQ(info.engine, "plain");
  EXPECT_STREQ(info.reason, "");
  EXPECT_EQ(info.is_engine, 1u);
  EXPECT_EQ(info.is_measured, 0u);
  EXPECT_GT(info.native_ns, 0);
  EXPECT_DOUBLE_EQ(info.engine_ns, info.native_ns / 2);
  EXPECT_EQ(info.build_ns, 10);
  EXPECT_EQ(bind(0), "matmul") << "which is another plan";
  EXPECT_EQ(lk::stats(context).choices_estimated, 1u);
  EXPECT_EQ(lk::stats(context).choices_measured, 0u);
}

TEST_F(Auto, AnOfferIsToldWithItsEstimates) {
  engine.run_ratio = 0.5;
  engine.build_ns = 10;
  engine.bytes = 1234;
  EXPECT_EQ(bind(LK_BIND_RECURS), "plain loops");
  const lk_engine_choice_info taken = choice();
  EXPECT_EQ(taken.rule, uint32_t(LK_CHOICE_ESTIMATES));
  EXPECT_EQ(taken.estimated_native_ns, taken.native_ns);
  EXPECT_EQ(taken.estimated_engine_ns, taken.engine_ns);
  EXPECT_EQ(taken.reorder_ns, 0);
  EXPECT_EQ(taken.tensor_bytes, uint64_t(5 * 7 + 7 * 3 + 5 * 3) * sizeof(float));
  EXPECT_EQ(taken.built_bytes, 1234u);
  EXPECT_EQ(taken.index, 0u);
  EXPECT_EQ(taken.n_post_ops, 0u);
  engine.run_ratio = 1;
  EXPECT_EQ(bind(LK_BIND_RECURS, 6), "matmul");
  EXPECT_EQ(choice().rule, uint32_t(LK_CHOICE_ESTIMATES)) << "which decided for native";
  EXPECT_EQ(choice().built_bytes, 0u);
  EXPECT_GT(choice().tensor_bytes, taken.tensor_bytes);
}

TEST_F(Auto, HowManyPostOpsAreTakenIsTold) {
  lk::TestNode node;
  node.op = "MatMul";
  node.n_inputs = 2;
  node.constants = {w};
  node.post_ops = {{LK_POST_RELU, -1, 0, 0}, {LK_POST_TANH, -1, 0, 0}, {LK_POST_RELU, -1, 0, 0}};
  LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
  engine.run_ratio = 0.5;
  lk_plan *plan = nullptr;
  LK_ASSERT_OK(bind_into(&plan, LK_BIND_RECURS));
  api()->plan_release(plan);
  EXPECT_EQ(choice().n_post_ops, 3u);
  EXPECT_EQ(choice().taken_post_ops, 1u);
}

TEST_F(Auto, APlanHasWhatItIsExpectedToTake) {
  engine.run_ratio = 0.5;
  lk_plan *plan = nullptr;
  const auto expect = [&](uint32_t flags, double ns, bool is_measured) {
    LK_ASSERT_OK(bind_into(&plan, flags));
    EXPECT_EQ(host_plan_info(plan).expected_ns, ns);
    EXPECT_EQ(host_plan_info(plan).is_expected_measured, is_measured ? 1u : 0u);
  };
  LK_ASSERT_OK(bind_into(&plan, LK_BIND_RECURS));
  expect(LK_BIND_RECURS, choice().engine_ns, false);
  expect(LK_BIND_RECURS | LK_BIND_OWN, choice().engine_ns, false);
  expect(0, 0, false);
  expect(LK_BIND_ENGINE, 0, false); // it is there to be measured
  note(100, 50);
  LK_ASSERT_OK(api()->cache_clear(context, executor, LK_ERR));
  api()->plan_release(plan);
  plan = nullptr;
  expect(LK_BIND_RECURS, 50, true);
  note(100, 350); // in the mean 200
  LK_ASSERT_OK(api()->cache_clear(context, executor, LK_ERR));
  api()->plan_release(plan);
  plan = nullptr;
  expect(LK_BIND_RECURS, 100, true);
  api()->plan_release(plan);
}

TEST_F(Auto, WhatIsBoundToBeMeasuredIsNoChoice) {
  engine.run_ratio = 0.5;
  EXPECT_EQ(bind(LK_BIND_ENGINE), "plain loops");
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->engine_choice(context, 0, &info, LK_ERR));
}

TEST_F(Auto, NativeComputesTheRest) {
  engine.run_ratio = 1;
  EXPECT_EQ(bind(LK_BIND_RECURS), "matmul");
  EXPECT_EQ(engine.builds, 0);
  const lk_engine_choice_info info = choice();
  EXPECT_EQ(info.is_engine, 0u);
  EXPECT_THAT(info.reason, HasSubstr("it is estimated to take more"));
  lk_engine_left_info left = {};
  left.struct_size = sizeof left;
  LK_ASSERT_OK(api()->engine_left(context, 0, &left, LK_ERR));
  EXPECT_STREQ(left.reason, info.reason);
}

TEST_F(Auto, WhatIsMeasuredDecides) {
  engine.run_ratio = 2;
  EXPECT_EQ(bind(LK_BIND_RECURS), "matmul");
  note(100, 50);
  LK_ASSERT_OK(api()->cache_clear(context, executor, LK_ERR));
  EXPECT_EQ(bind(LK_BIND_RECURS), "plain loops");
  EXPECT_EQ(choice().is_measured, 1u);
  EXPECT_EQ(choice().is_of_class, 0u);
  EXPECT_EQ(choice().rule, uint32_t(LK_CHOICE_MEASURED));
  EXPECT_EQ(choice().native_ns, 100);
  EXPECT_EQ(choice().engine_ns, 50);
  EXPECT_EQ(choice().estimated_engine_ns, 2 * choice().estimated_native_ns);
  note(200, 300); // in the mean 150 and 175
  LK_ASSERT_OK(api()->cache_clear(context, executor, LK_ERR));
  EXPECT_EQ(bind(LK_BIND_RECURS), "matmul");
  EXPECT_EQ(choice().native_ns, 150);
  EXPECT_EQ(choice().engine_ns, 175);
  EXPECT_THAT(choice().reason, HasSubstr("it takes more than 0.97"));
  EXPECT_EQ(bind(LK_BIND_RECURS, 9), "matmul") << "another work, of which nothing is known";
  EXPECT_EQ(choice().is_measured, 0u);
  EXPECT_EQ(lk::stats(context).choices_measured, 2u);
  EXPECT_EQ(lk::stats(context).choices_estimated, 2u);
  EXPECT_EQ(lk::stats(context).tuning_works, 1u);
}

// Sizes that were not measured are those of a class, of which 5 rows are one: 5 to 8.
TEST_F(Auto, WhatIsMeasuredOfItsSizeClassDecides) {
  engine.run_ratio = 2;
  note(100, 50);
  note(100, 70); // together 0.6 of native's time
  for (const int64_t rows : {6, 7, 8}) {
    EXPECT_EQ(bind(LK_BIND_RECURS, rows), "plain loops") << rows;
    EXPECT_EQ(choice().is_measured, 0u);
    EXPECT_EQ(choice().is_of_class, 1u);
    EXPECT_EQ(choice().rule, uint32_t(LK_CHOICE_OF_CLASS));
    EXPECT_EQ(choice().native_ns, choice().estimated_native_ns);
    EXPECT_DOUBLE_EQ(choice().engine_ns, 0.6 * choice().native_ns);
    EXPECT_EQ(choice().estimated_engine_ns, 2 * choice().estimated_native_ns);
  }
  for (const int64_t rows : {1, 4, 9}) {
    EXPECT_EQ(bind(LK_BIND_RECURS, rows), "matmul") << rows;
    EXPECT_EQ(choice().is_of_class, 0u);
    EXPECT_EQ(choice().rule, uint32_t(LK_CHOICE_ESTIMATES));
  }
  EXPECT_EQ(lk::stats(context).choices_of_class, 3u);
  EXPECT_EQ(lk::stats(context).choices_estimated, 3u);
  EXPECT_EQ(lk::stats(context).choices_measured, 0u);
  note(100, 400); // together 1.73
  engine.run_ratio = 0.5;
  LK_ASSERT_OK(api()->cache_clear(context, executor, LK_ERR));
  EXPECT_EQ(bind(LK_BIND_RECURS, 6), "matmul");
  EXPECT_THAT(choice().reason, HasSubstr("its size class takes more than 0.9"));
  EXPECT_EQ(bind(LK_BIND_RECURS, 9), "plain loops") << "the estimate, where nothing else is known";
}

// Weights of another size are another node's.
TEST_F(Auto, AClassIsOfOneSizeOfWeights) {
  engine.run_ratio = 2;
  note(100, 50);
  const Value other = lk::random({7, 4}, 2);
  lk::TestNode node;
  node.op = "MatMul";
  node.n_inputs = 2;
  node.constants = {other};
  LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
  const lk_tensor tensors[] = {{lk::desc_of(LK_F32, {6, 7}), nullptr}, {other.desc, nullptr}};
  lk_bind_desc desc = host_bind(tensors, 2);
  desc.flags = LK_BIND_RECURS;
  Plan plan;
  LK_ASSERT_OK(api()->op_bind(op, &desc, plan.out(), LK_ERR));
  EXPECT_EQ(choice().rule, uint32_t(LK_CHOICE_ESTIMATES));
}

// What a size class is expected to take is an estimate as ever.
TEST_F(Auto, APlanByItsSizeClassIsExpectedByAnEstimate) {
  lk_plan *plan = nullptr;
  note(100, 50);
  LK_ASSERT_OK(bind_into(&plan, LK_BIND_RECURS, 6));
  EXPECT_EQ(host_plan_info(plan).expected_ns, choice().engine_ns);
  EXPECT_EQ(host_plan_info(plan).is_expected_measured, 0u);
  api()->plan_release(plan);
}

// ---- a node of which a work is a part: powers, their sums, which the engine takes, and roots ----

class AutoPart : public Auto {
protected:
  AutoPart() {
    engine.pools = true;
    lk::TestNode node;
    node.op = "LpPool";
    node.opset = 22;
    node.ints = {{"kernel_shape", {1, 1}}, {"p", {3}}};
    LK_EXPECT_OK(node.create(executor, &op, LK_ERR));
  }
  Plan bind_pool(uint32_t flags, lk_dtype dtype = LK_F32) {
    const lk_tensor tensors[] = {{lk::desc_of(dtype, {1, 2, 3, 5}), nullptr}};
    lk_bind_desc desc = host_bind(tensors, 1);
    desc.flags = flags;
    Plan plan;
    LK_EXPECT_OK(api()->op_bind(op, &desc, plan.out(), LK_ERR));
    return plan;
  }
  static std::vector<lk_step_info> steps(lk_plan *plan) {
    std::vector<lk_step_info> found(host_plan_info(plan).n_steps);
    for (uint32_t i = 0; i < found.size(); i++) {
      found[i].struct_size = sizeof found[i];
      LK_EXPECT_OK(api()->plan_step(plan, i, &found[i], LK_ERR));
    }
    return found;
  }
  static std::vector<uint32_t> works(lk_plan *plan) {
    std::vector<uint32_t> found;
    for (const lk_step_info &step : steps(plan)) found.push_back(step.work);
    return found;
  }
  static std::vector<std::string> engines(lk_plan *plan) {
    std::vector<std::string> found;
    for (const lk_step_info &step : steps(plan)) found.emplace_back(step.engine);
    return found;
  }
};

TEST_F(AutoPart, StepsHaveTheNumberOfTheirWork) {
  const std::vector<uint32_t> wanted = {0, 1, 0};
  for (const uint32_t flags : {0u, uint32_t(LK_BIND_RECURS), uint32_t(LK_BIND_ENGINE)}) {
    const Plan plan = bind_pool(flags);
    EXPECT_EQ(works(plan), wanted) << flags;
    EXPECT_EQ(host_plan_info(plan).n_values, flags == LK_BIND_ENGINE ? 1u : 0u);
  }
  const std::vector<uint32_t> converted = works(bind_pool(0, LK_BF16));
  EXPECT_EQ(std::count(converted.begin(), converted.end(), 1u), 1) << "the roots are converted";
}

TEST_F(AutoPart, StepsSayWhoComputesThem) {
  const std::vector<std::string> native(3, "native"), part = {"native", "plain", "native"};
  EXPECT_EQ(engines(bind_pool(0)), native);
  EXPECT_EQ(engines(bind_pool(LK_BIND_ENGINE)), part);
}

// The reorders around it are other ones at another place.
TEST_F(AutoPart, TimesAreOfTheWorkWithoutItsReorders) {
  lk::TestNode node;
  node.op = "Softmax";
  node.ints = {{"axis", {1}}};
  LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
  const auto bind_softmax = [&](lk_layout layout, uint32_t flags) {
    lk_tensor tensor = {lk::desc_of(LK_F32, {2, 5, 3, 4}), nullptr};
    tensor.desc.layout = layout;
    lk_bind_desc desc = host_bind(&tensor, 1);
    desc.wishes = &layout;
    desc.flags = flags;
    Plan plan;
    LK_EXPECT_OK(api()->op_bind(op, &desc, plan.out(), LK_ERR));
    return plan;
  };
  const Plan measured = bind_softmax(LK_LAYOUT_PLAIN, LK_BIND_ENGINE);
  ASSERT_EQ(host_plan_info(measured).n_reorders, 2u);
  LK_ASSERT_OK(api()->plan_note_work(measured, 1, 1e6, 5e5, LK_ERR));
  (void)bind_softmax(LK_LAYOUT_PLAIN, LK_BIND_RECURS);
  const double reorders = choice().reorder_ns;
  EXPECT_GT(reorders, 0);
  EXPECT_NEAR(choice().engine_ns, 5e5, 1) << "as it was measured";
  LK_ASSERT_OK(api()->cache_clear(context, executor, LK_ERR));
  (void)bind_softmax(LK_LAYOUT_CHANNELS_LAST, LK_BIND_RECURS);
  EXPECT_EQ(choice().is_measured, 1u);
  EXPECT_EQ(choice().reorder_ns, 0);
  EXPECT_NEAR(choice().engine_ns, 5e5 - reorders, 1);
  LK_ASSERT_OK(api()->plan_note_work(measured, 1, 1, 2, LK_ERR)); // less than is estimated
  LK_ASSERT_OK(api()->cache_clear(context, executor, LK_ERR));
  (void)bind_softmax(LK_LAYOUT_CHANNELS_LAST, LK_BIND_RECURS);
  EXPECT_NEAR(choice().engine_ns, (5e5 - reorders + 1) / 2, 1) << "half of it is the work's";
}

// Who computes in f32 needs them, and who takes bf16 as it is does not: they are part of the work.
TEST_F(AutoPart, ConversionsAreStepsOfTheWork) {
  lk::TestNode node;
  node.op = "MatMul";
  node.n_inputs = 2;
  LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
  const lk_tensor tensors[] = {{lk::desc_of(LK_BF16, {5, 7}), nullptr},
                               {lk::desc_of(LK_BF16, {7, 3}), nullptr}};
  for (const uint32_t flags : {0u, uint32_t(LK_BIND_ENGINE)}) {
    lk_bind_desc desc = host_bind(tensors, 2);
    desc.flags = flags;
    Plan plan;
    LK_ASSERT_OK(api()->op_bind(op, &desc, plan.out(), LK_ERR));
    EXPECT_EQ(works(plan), std::vector<uint32_t>(4, 1)) << "two come, one goes";
    EXPECT_EQ(host_plan_info(plan).n_values, flags == LK_BIND_ENGINE ? 1u : 0u);
  }
}

TEST_F(AutoPart, OnlyWhatTheWorkTakesIsNoted) {
  const Plan plan = bind_pool(LK_BIND_ENGINE);
  LK_ASSERT_OK(api()->plan_note_times(plan, 100, 50, LK_ERR)); // of the whole node
  LK_ASSERT_OK(api()->plan_note_work(plan, 2, 100, 50, LK_ERR));
  EXPECT_EQ(lk::stats(context).tuning_works, 0u);
  LK_ASSERT_OK(api()->plan_note_work(plan, 1, 30, 10, LK_ERR));
  EXPECT_EQ(lk::stats(context).tuning_works, 1u);
  const Plan chosen = bind_pool(LK_BIND_RECURS);
  EXPECT_EQ(host_plan_info(chosen).n_values, 1u);
  EXPECT_EQ(choice().native_ns, 30);
  EXPECT_EQ(choice().engine_ns, 10);
  EXPECT_EQ(host_plan_info(chosen).expected_ns, 10) << "of the steps of the work";
}

TEST_F(AutoPart, TimesOfAWorkAreChecked) {
  const Plan plan = bind_pool(LK_BIND_ENGINE), native = bind_pool(0);
  for (const double bad : {std::nan(""), HUGE_VAL, -1.0, 0.0}) {
    for (const uint32_t work : {1u, 2u}) {
      LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->plan_note_work(plan, work, bad, 1, LK_ERR));
      LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->plan_note_work(plan, work, 1, bad, LK_ERR));
    }
  }
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->plan_note_work(plan, 0, 1, 1, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("works of a node are numbered from 1"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->plan_note_work(nullptr, 1, 1, 1, LK_ERR));
  LK_ASSERT_OK(api()->plan_note_work(native, 1, 1, 1, LK_ERR));
  EXPECT_EQ(lk::stats(context).tuning_works, 0u);
}

TEST_F(Auto, PlansOfOneChoiceAreNotFoundByAnother) {
  engine.run_ratio = 2;
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ(bind(0), "matmul");
    EXPECT_EQ(bind(LK_BIND_RECURS), "matmul");
    EXPECT_EQ(bind(LK_BIND_ENGINE), "plain loops");
    EXPECT_EQ(bind(LK_BIND_ENGINE | LK_BIND_RECURS), "plain loops");
  }
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].misses, 3u);
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].hits, 5u);
}

TEST_F(Auto, ABindThatNowRecursIsNotUnchanged) {
  engine.run_ratio = 0.5;
  lk_plan *plan = nullptr;
  for (const uint32_t flags : {0u, uint32_t(LK_BIND_RECURS), 0u, uint32_t(LK_BIND_RECURS)}) {
    LK_ASSERT_OK(bind_into(&plan, flags));
    EXPECT_STREQ(host_plan_info(plan).implementation, flags == 0 ? "matmul" : "plain loops");
    lk_plan *const former = plan;
    LK_ASSERT_OK(bind_into(&plan, flags));
    EXPECT_EQ(plan, former);
  }
  api()->plan_release(plan);
}

// What native's plans have in common is no engine's.
TEST_F(Auto, OwnPlansAreMadeWithoutALookUpAndFindTheirValues) {
  engine.run_ratio = 0.5;
  for (const int64_t rows : {5, 6, 7}) EXPECT_EQ(bind(LK_BIND_OWN, rows), "matmul");
  for (int round = 0; round < 2; round++) {
    for (const int64_t rows : {5, 6}) {
      EXPECT_EQ(bind(LK_BIND_OWN | LK_BIND_RECURS, rows), "plain loops");
      EXPECT_EQ(bind(LK_BIND_OWN, rows), "matmul");
    }
  }
  const lk_stats stats = lk::stats(context);
  EXPECT_EQ(stats.kind[LK_KIND_NAME].misses, 0u);
  EXPECT_EQ(stats.kind[LK_KIND_VALUE].builds, 2u);
  EXPECT_EQ(stats.kind[LK_KIND_VALUE].hits, 2u);
}

TEST_F(Auto, AFileOfMeasuredTimesServesOtherContexts) {
  const std::string path = temporary();
  engine.run_ratio = 2;
  note(100, 50);
  uint64_t works = 0;
  LK_ASSERT_OK(api()->tuning_save(context, path.c_str(), &works, LK_ERR));
  EXPECT_EQ(works, 1u);
  LK_ASSERT_OK(api()->tuning_save(context, path.c_str(), &works, LK_ERR));
  EXPECT_EQ(works, 0u) << "it is saved";
  end();
  start(path.c_str());
  EXPECT_EQ(lk::stats(context).tuning_works, 1u);
  EXPECT_EQ(lk::stats(context).tuning_skipped, 0u);
  EXPECT_EQ(bind(LK_BIND_RECURS), "plain loops");
  EXPECT_EQ(choice().is_measured, 1u);
  std::filesystem::remove(path);
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.tuning = path.c_str();
  lk_context *made = nullptr;
  LK_EXPECT_STATUS(LK_NOT_FOUND, api()->context_create(&options, &made, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr(path));
}

// Of another version of the engine nothing is known.
TEST_F(Auto, MeasuredTimesAreOfTheEnginesState) {
  const std::string path = temporary();
  note(100, 50);
  LK_ASSERT_OK(api()->tuning_save(context, path.c_str(), nullptr, LK_ERR));
  for (const char *state : {"2", "1"}) {
    end();
    start(path.c_str(), state);
    EXPECT_EQ(lk::stats(context).tuning_works, 1u);
    EXPECT_EQ(lk::stats(context).tuning_fitting, uint64_t(std::string(state) == "1"));
    EXPECT_EQ(bind(LK_BIND_RECURS), std::string(state) == "1" ? "plain loops" : "matmul");
    EXPECT_EQ(choice().is_measured, uint32_t(std::string(state) == "1"));
  }
  std::filesystem::remove(path);
}

TEST_F(Auto, EstimatesThatAreNoneAreRefused) {
  for (const double bad : {std::nan(""), HUGE_VAL, -1.0}) {
    lk_plan *plan = nullptr;
    engine.run_ratio = bad;
    LK_EXPECT_STATUS(LK_INTERNAL, bind_into(&plan, LK_BIND_RECURS));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("it estimates a ratio of"));
    engine.run_ratio = 1;
    engine.build_ns = bad;
    LK_EXPECT_STATUS(LK_INTERNAL, bind_into(&plan, LK_BIND_RECURS));
    engine.build_ns = 0;
  }
}

TEST_F(Auto, TimesAndFlagsAreChecked) {
  lk_plan *plan = nullptr;
  LK_ASSERT_OK(bind_into(&plan, LK_BIND_ENGINE));
  for (const double bad : {std::nan(""), HUGE_VAL, -1.0, 0.0}) {
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->plan_note_times(plan, bad, 1, LK_ERR));
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->plan_note_times(plan, 1, bad, LK_ERR));
  }
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->plan_note_times(nullptr, 1, 1, LK_ERR));
  LK_ASSERT_OK(bind_into(&plan, 0));
  LK_ASSERT_OK(api()->plan_note_times(plan, 1, 1, LK_ERR)); // native's
  EXPECT_EQ(lk::stats(context).tuning_works, 0u);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, bind_into(&plan, 16));
  EXPECT_EQ(plan, nullptr);
  const lk_engine table = engine.table("other");
  LK_EXPECT_STATUS(
      LK_INVALID_ARGUMENT,
      api()->engine_register(context, &table, LK_ENGINE_CHOOSE | LK_ENGINE_AUTO, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("only 0x1"));
  const lk_engine named = engine.table("auto");
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->engine_register(context, &named, 0, LK_ERR));
}

} // namespace
