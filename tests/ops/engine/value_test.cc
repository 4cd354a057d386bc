// An engine beside `native`: what it is asked for, what is kept of it, and what it leaves.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>

#include "tests/harness/wait.h"
#include "tests/ops/engine/plain_engine.h"
#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Op;
using lk::Plan;
using lk::Value;
using ::testing::HasSubstr;

class Engine : public ::testing::Test {
protected:
  Engine() {
    add();
    executor = lk::executor_in(context);
  }
  ~Engine() override {
    close();
    EXPECT_EQ(engine.builds - failed, engine.destroyed);
    EXPECT_EQ(engine.opened, engine.closed);
  }
  void close() {
    op = Op();
    executor = lk::Executor();
    context = lk::Context();
  }
  void add() {
    const lk_engine table = engine.table();
    LK_ASSERT_OK(api()->engine_register(context, &table, LK_ENGINE_CHOOSE, LK_ERR));
  }
  // y = x w, with w as a constant or not, and post-ops.
  lk::TestNode node(bool is_constant = true) const {
    lk::TestNode n;
    n.op = "MatMul";
    n.n_inputs = 2;
    if (is_constant) n.constants = {w};
    return n;
  }
  void create(const lk::TestNode &n) { LK_ASSERT_OK(n.create(executor, &op, LK_ERR)); }
  lk_status bind(Plan *plan, const std::vector<lk_tensor_desc> &inputs, uint32_t flags = 0) {
    std::vector<lk_tensor> tensors;
    for (const lk_tensor_desc &desc : inputs) tensors.push_back({desc, nullptr});
    const lk_layout wish = LK_LAYOUT_PLAIN;
    lk_bind_desc desc = host_bind(tensors.data(), uint32_t(tensors.size()));
    desc.wishes = &wish;
    desc.flags = flags;
    return lk::bind(op, desc, plan, LK_ERR);
  }
  void expect_run(lk_plan *plan, const std::vector<Value> &inputs, const Value &y) {
    std::vector<lk::Memory> memory;
    std::vector<void *> pointers;
    for (const Value &input : inputs) memory.push_back(input.in(LK_LAYOUT_PLAIN));
    for (lk::Memory &each : memory) pointers.push_back(each.data());
    lk::Memory to(y.bytes.size());
    LK_ASSERT_OK(lk::run(executor, plan, pointers, to.data(), LK_ERR));
    EXPECT_TRUE(lk::all_close(y, Value::from(y.desc, to.data())));
  }
  uint64_t misses(lk_kind kind) { return lk::stats(context).kind[kind].misses; }
  uint64_t hits(lk_kind kind) { return lk::stats(context).kind[kind].hits; }

  const Value x = lk::random({5, 7}, 1), w = lk::random({7, 3}, 2), y = lk::ref::matmul(x, w);
  int failed = 0; // builds that gave no value
  lk::PlainEngine engine;
  lk::Context context = lk::open();
  lk::Executor executor;
  Op op;
};

TEST_F(Engine, ComputesWhatItTakes) {
  Plan plan;
  create(node());
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  EXPECT_STREQ(host_plan_info(plan).implementation, "plain loops");
  EXPECT_EQ(host_plan_info(plan).n_values, 1u);
  expect_run(plan, {x, w}, y);
  EXPECT_EQ(engine.runs, 1);
  EXPECT_EQ(engine.packs, 1);
  EXPECT_STREQ(api()->engine_chosen(context), "plain");
  const lk_stats stats = lk::stats(context);
  EXPECT_EQ(stats.engine_works, 1u);
  EXPECT_EQ(stats.kind[LK_KIND_VALUE].builds, 1u);
  EXPECT_GE(stats.kind[LK_KIND_VALUE].bytes, engine.bytes);
}

// The text of a value key finds what the engine has built, and drops it: who uses it keeps it.
TEST_F(Engine, ItsValuesAreFoundAndDroppedByTheirText) {
  Plan plan;
  create(node());
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  struct Keys {
    lk_context *context;
    lk_key *of[LK_KIND_COUNT] = {};
  } keys{context};
  LK_ASSERT_OK(api()->cache_visit(
      context,
      [](void *arg, const lk_entry_info *info) {
        auto *to = static_cast<Keys *>(arg);
        char text[4096];
        LK_EXPECT_OK(api()->key_print(to->context, info->key, text, sizeof text, nullptr, LK_ERR));
        LK_EXPECT_OK(api()->key_parse(to->context, text, &to->of[info->kind], LK_ERR));
      },
      &keys, LK_ERR));
  ASSERT_NE(keys.of[LK_KIND_VALUE], nullptr);
  lk_ref *ref = nullptr;
  uint64_t dropped = 0;
  LK_ASSERT_OK(api()->cache_find(context, nullptr, keys.of[LK_KIND_VALUE], &ref, LK_ERR));
  ASSERT_NE(ref, nullptr);
  EXPECT_EQ(hits(LK_KIND_VALUE), 1u);
  LK_ASSERT_OK(api()->cache_drop(context, nullptr, keys.of[LK_KIND_VALUE], &dropped, LK_ERR));
  EXPECT_EQ(dropped, 1u);
  expect_run(plan, {x, w}, y);
  LK_ASSERT_OK(api()->cache_drop(context, nullptr, keys.of[LK_KIND_NAME], &dropped, LK_ERR));
  EXPECT_EQ(dropped, 1u);
  plan.reset();
  EXPECT_EQ(engine.destroyed, 0) << "the host has a reference";
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  EXPECT_EQ(engine.builds, 2);
  api()->ref_release(ref);
  EXPECT_EQ(engine.destroyed, 1);
  expect_run(plan, {x, w}, y);
  for (lk_key *key : keys.of) api()->key_destroy(context, key);
}

TEST_F(Engine, BuildsOnceForAllNodesThatWantTheSame) {
  Plan first, second;
  create(node());
  LK_ASSERT_OK(bind(&first, {x.desc, w.desc}));
  lk::TestNode other = node();
  other.name = "z";
  lk::Executor another = lk::executor_in(context);
  Op of_other;
  LK_ASSERT_OK(other.create(another, &of_other, LK_ERR));
  LK_ASSERT_OK(lk::bind(of_other, {x.desc, w.desc}, &second, LK_ERR));
  EXPECT_EQ(engine.builds, 1);
  EXPECT_EQ(engine.packs, 1) << "the same content in the same layout";
  EXPECT_EQ(hits(LK_KIND_VALUE), 1u);
  EXPECT_EQ(misses(LK_KIND_NAME), 2u);
}

TEST_F(Engine, IsFoundByNameKeyAlsoForOwnPlans) {
  create(node());
  for (const uint32_t flags : {0u, 1u, 1u}) {
    Plan plan;
    LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}, flags));
    expect_run(plan, {x, w}, y);
  }
  EXPECT_EQ(engine.offers, 1);
  EXPECT_EQ(misses(LK_KIND_NAME), 1u);
  EXPECT_EQ(hits(LK_KIND_NAME), 2u);
}

TEST_F(Engine, ANewSizeIsAnotherValueWithTheSameWeights) {
  create(node());
  for (const int64_t rows : {1, 2, 9, 2}) {
    const Value of_rows = lk::random({rows, 7}, 3);
    Plan plan;
    LK_ASSERT_OK(bind(&plan, {of_rows.desc, w.desc}));
    expect_run(plan, {of_rows, w}, lk::ref::matmul(of_rows, w));
  }
  EXPECT_EQ(engine.builds, 3);
  EXPECT_EQ(engine.packs, 1);
}

TEST_F(Engine, TakesWeightsThatComeWithARun) {
  Plan plan;
  create(node(false));
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  expect_run(plan, {x, w}, y);
  EXPECT_EQ(engine.packs, 0);
  EXPECT_EQ(engine.runs, 1);
}

TEST_F(Engine, MayPackBothWeightsOfARecurrentLayer) {
  const Value weights = lk::random({1, 3, 7}, 3), recurrent = lk::random({1, 3, 3}, 4);
  const lk_tensor_desc sequence = lk::desc_of(LK_F32, {2, 5, 7});
  lk::TestNode n;
  n.op = "RNN";
  n.n_inputs = 3;
  for (const bool are_both : {false, true}) {
    Plan plan;
    n.name = are_both ? "both" : "one";
    n.constants = {recurrent};
    if (are_both) n.constants.insert(n.constants.begin(), weights);
    create(n);
    LK_ASSERT_OK(bind(&plan, {sequence, weights.desc, recurrent.desc}));
    EXPECT_EQ(engine.constants >> LK_ROLE_WEIGHTS & 1, uint32_t(are_both));
    EXPECT_EQ(engine.constants >> LK_ROLE_RECURRENT_WEIGHTS & 1, 1u);
  }
}

TEST_F(Engine, LeavesPostOpsThatFollowAsSteps) {
  const Value full = lk::random({5, 3}, 4);
  lk::TestNode n = node();
  n.n_inputs = 3;
  n.constants = {w, full};
  n.post_ops = {{LK_POST_ADD, 2, 0, 0},
                {LK_POST_RELU, -1, 0, 0},
                {LK_POST_TANH, -1, 0, 0},
                {LK_POST_ADD, 2, 0, 0}};
  create(n);
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc, full.desc}));
  EXPECT_EQ(host_plan_info(plan).n_steps, 2u);
  std::vector<float> out = y.as<float>();
  const std::vector<float> added = full.as<float>();
  for (size_t i = 0; i < out.size(); i++) {
    out[i] = std::tanh(std::fmax(out[i] + added[i], 0.0f)) + added[i];
  }
  expect_run(plan, {x, w, full}, lk::floats({5, 3}, out));
}

// Whatever a work has beside them, its operands are numbered from the first one on.
TEST_F(Engine, OperandsOfPostOpsHaveTheFirstRoles) {
  const lk_tensor_desc full = lk::desc_of(LK_F32, {5, 3});
  lk::TestNode n = node(false);
  n.n_inputs = 4;
  n.post_ops = {{LK_POST_ADD, 2, 0, 0}, {LK_POST_ADD, 3, 0, 0}};
  create(n);
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc, full, full}));
  EXPECT_EQ(host_plan_info(plan).n_steps, 1u);
  EXPECT_EQ(engine.roles, uint32_t(1) << LK_ROLE_SRC | uint32_t(1) << LK_ROLE_WEIGHTS |
                              uint32_t(1) << LK_ROLE_DST | uint32_t(3) << LK_ROLE_OPERAND);
}

// Selu is two functions, and the node has two behind it.
TEST_F(Engine, TakesNoLessOfAnElementWiseWorkThanTheOperatorIs) {
  std::vector<float> expected = x.as<float>();
  for (float &value : expected) {
    value = 1.05070102F * (value < 0 ? 1.67326319F * std::expm1(value) : value);
    value = std::tanh(std::fmax(value, 0.0f));
  }
  lk::TestNode n;
  n.op = "Selu";
  n.post_ops = {{LK_POST_RELU, -1, 0, 0}, {LK_POST_TANH, -1, 0, 0}};
  const struct {
    uint32_t functions, steps;
    int runs;
  } cases[] = {{1, 1, 0}, {2, 2, 1}, {3, 2, 1}};
  for (const auto &each : cases) {
    Plan plan;
    engine.functions = each.functions;
    engine.runs = 0;
    n.name = "y" + std::to_string(each.functions);
    create(n);
    LK_ASSERT_OK(bind(&plan, {x.desc}));
    EXPECT_EQ(host_plan_info(plan).n_steps, each.steps);
    expect_run(plan, {x}, lk::floats({5, 7}, expected));
    EXPECT_EQ(engine.runs, each.runs);
  }
  EXPECT_EQ(engine.builds, 2);
  EXPECT_EQ(lk::stats(context).engine_left, 1u);
}

TEST_F(Engine, GetsTensorsOfAnyRankAsItWantsThem) {
  engine.functions = 1;
  for (size_t rank = 3; rank <= LK_MAX_RANK; rank++) {
    SCOPED_TRACE(rank);
    lk::Dims dims = {2, 3, 2, 1, 3, 2, 2, 3};
    dims.resize(rank);
    const Value image = lk::random(dims, 6);
    lk_tensor_desc desc = image.desc;
    desc.layout = LK_LAYOUT_CHANNELS_LAST;
    lk::TestNode n;
    n.op = "Relu";
    n.name = "y" + std::to_string(rank);
    create(n);
    Plan plan;
    LK_ASSERT_OK(bind(&plan, {desc}));
    EXPECT_EQ(host_plan_info(plan).n_steps, 2u);
    const lk::Memory from = image.in(LK_LAYOUT_CHANNELS_LAST), to(image.bytes.size());
    LK_ASSERT_OK(lk::run(executor, plan, {from.data()}, to.data(), LK_ERR));
    EXPECT_TRUE(lk::all_close(lk::ref::apply(image, {LK_POST_RELU, -1, 0, 0}),
                              Value::from(image.desc, to.data())));
  }
}

// It would write over elements that it has not read yet.
TEST_F(Engine, DoesNotTurnWhatTheOutputLiesOver) {
  const Value image = lk::random({1, 3, 2, 2}, 6);
  lk::TestNode n;
  n.op = "Relu";
  create(n);
  engine.functions = 1;
  engine.turns = true;
  Plan apart, over;
  LK_ASSERT_OK(lk::bind(op, {image.desc}, &apart, LK_ERR, -1, LK_LAYOUT_ANY));
  EXPECT_EQ(lk::stats(context).engine_works, 1u);
  LK_ASSERT_OK(lk::bind(op, {image.desc}, &over, LK_ERR, 0, LK_LAYOUT_ANY));
  EXPECT_EQ(lk::stats(context).engine_left, 1u);
  lk_tensor_desc desc;
  LK_ASSERT_OK(api()->plan_output(over, 0, &desc, LK_ERR));
  lk::Memory memory = image.in(LK_LAYOUT_PLAIN);
  LK_ASSERT_OK(lk::run(executor, over, {memory.data()}, memory.data(), LK_ERR));
  const Value expected = lk::ref::map(image, [](double value) { return std::fmax(value, 0.0); });
  EXPECT_TRUE(lk::all_close(expected, Value::from(desc, memory.data())));
}

TEST_F(Engine, GetsTensorsInTheLayoutsThatItWants) {
  const Value image = lk::random({2, 5, 3, 4}, 5);
  lk::TestNode n;
  n.op = "Softmax";
  n.ints = {{"axis", {1}}};
  create(n);
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {image.desc}));
  EXPECT_EQ(host_plan_info(plan).n_reorders, 2u);
  std::vector<float> expected = image.as<float>();
  for (int64_t line = 0; line < 2 * 12; line++) {
    const size_t at = size_t(line / 12 * 60 + line % 12);
    double total = 0;
    for (size_t c = 0; c < 5; c++) total += std::exp(double(expected[at + c * 12]));
    for (size_t c = 0; c < 5; c++) {
      expected[at + c * 12] = float(std::exp(double(expected[at + c * 12])) / total);
    }
  }
  expect_run(plan, {image}, lk::floats({2, 5, 3, 4}, expected));
  EXPECT_EQ(engine.runs, 1);
}

TEST_F(Engine, IsLentScratchMemory) {
  engine.scratch_bytes = 1000;
  Plan plan;
  create(node());
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  EXPECT_GE(host_plan_info(plan).scratch_bytes, 1000u);
  expect_run(plan, {x, w}, y);
}

TEST_F(Engine, WhatItDoesNotTakeIsNatives) {
  const Value vector = lk::random({7}, 6);
  Plan plan;
  create(node());
  LK_ASSERT_OK(bind(&plan, {vector.desc, w.desc}));
  EXPECT_STREQ(host_plan_info(plan).implementation, "matmul");
  EXPECT_EQ(engine.builds, 0);
  EXPECT_EQ(lk::stats(context).engine_left, 1u);
}

TEST_F(Engine, IsNotAskedAgainForWhatItCannotBuild) {
  engine.build_status = LK_UNSUPPORTED;
  failed = 1;
  create(node());
  for (int i = 0; i < 3; i++) {
    Plan plan;
    LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
    EXPECT_STREQ(host_plan_info(plan).implementation, "matmul");
    expect_run(plan, {x, w}, y);
    LK_ASSERT_OK(api()->cache_clear(context, executor, LK_ERR)); // its plans, not the values
  }
  EXPECT_EQ(engine.builds, 1);
}

TEST_F(Engine, FailuresAreTheBindsAndLeaveNothing) {
  create(node());
  Plan plan;
  engine.build_status = LK_OUT_OF_MEMORY;
  failed = 1;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, bind(&plan, {x.desc, w.desc}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to bind MatMul 'y'"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("fails to build"));
  engine.build_status = LK_OK;
  engine.gives_nothing = true;
  failed = 2;
  LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {x.desc, w.desc}));
  engine.gives_nothing = false;
  engine.pack_status = LK_IO;
  LK_EXPECT_STATUS(LK_IO, bind(&plan, {x.desc, w.desc}));
  EXPECT_EQ(lk::stats(context).weights_packed, 0u);
  engine.pack_status = LK_OK;
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  engine.open_status = LK_BUSY;
  lk::Memory from = x.in(LK_LAYOUT_PLAIN), to(y.bytes.size());
  LK_EXPECT_STATUS(LK_BUSY, lk::run(executor, plan, {from.data(), nullptr}, to.data(), LK_ERR));
  engine.open_status = LK_OK;
  engine.run_status = LK_INTERNAL;
  LK_EXPECT_STATUS(LK_INTERNAL, lk::run(executor, plan, {from.data(), nullptr}, to.data(), LK_ERR));
  engine.run_status = LK_OK;
  expect_run(plan, {x, w}, y);
}

TEST_F(Engine, EachFunctionFailsOnceWithEachStatus) {
  static const lk_status statuses[] = {
#define STATUS(symbol, value, text) symbol,
      LK_STATUS_LIST(STATUS)
#undef STATUS
  };
  const struct {
    const char *name;
    lk_status lk::PlainEngine::*status;
  } functions[] = {{"build", &lk::PlainEngine::build_status},
                   {"pack", &lk::PlainEngine::pack_status},
                   {"open a slot", &lk::PlainEngine::open_status},
                   {"run", &lk::PlainEngine::run_status}};
  lk::Memory from = x.in(LK_LAYOUT_PLAIN), to(y.bytes.size());
  for (const auto &function : functions) {
    for (const lk_status status : statuses) {
      if (status == LK_OK) continue;
      SCOPED_TRACE(std::string(function.name) + " " + lk::status_name(status));
      Plan plan;
      create(node());
      engine.*function.status = status;
      const bool is_build = &(engine.*function.status) == &engine.build_status;
      failed += is_build ? 1 : 0;
      lk_status told = bind(&plan, {x.desc, w.desc});
      if (told == LK_OK && is_build && status == LK_UNSUPPORTED) {
        EXPECT_STREQ(host_plan_info(plan).implementation, "matmul"); // native's
        expect_run(plan, {x, w}, y);
        plan = Plan();
      } else {
        if (told == LK_OK) {
          told = lk::run(executor, plan, {from.data(), nullptr}, to.data(), LK_ERR);
        }
        LK_EXPECT_STATUS(status, told);
        EXPECT_THAT(LK_MESSAGE, HasSubstr(std::string("fails to ") + function.name));
        engine.*function.status = LK_OK;
        if (plan.get() == nullptr) {
          LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
        }
        expect_run(plan, {x, w}, y);
      }
      engine.*function.status = LK_OK;
      plan = Plan();
      op = Op();
      LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
      EXPECT_EQ(engine.builds - failed, engine.destroyed);
      EXPECT_EQ(engine.opened, engine.closed);
      EXPECT_EQ(lk::stats(context).weights_entries, 0u);
      EXPECT_EQ(lk::stats(context).unlinked_bytes, 0u);
    }
  }
}

TEST_F(Engine, WhoWaitsForABuildThatFailsIsToldToo) {
  lk::TestNode other = node();
  other.name = "z";
  Op of_other;
  create(node());
  LK_ASSERT_OK(other.create(executor, &of_other, LK_ERR));
  engine.build_status = LK_IO;
  failed = 1;
  engine.within_build = [&] {
    lk::wait_until([&] { return lk::stats(context).kind[LK_KIND_VALUE].waits == 1; });
  };
  std::thread waiter([&] {
    Plan plan;
    LK_EXPECT_STATUS(LK_IO, lk::bind(of_other, {x.desc, w.desc}, &plan, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("the plain engine fails to build"));
  });
  Plan plan;
  LK_EXPECT_STATUS(LK_IO, bind(&plan, {x.desc, w.desc}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the plain engine fails to build"));
  waiter.join();
  EXPECT_EQ(engine.builds, 1);
  engine.build_status = LK_OK;
  engine.within_build = [] {};
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  expect_run(plan, {x, w}, y);
}

TEST_F(Engine, ReferenceImplementationsAreCountedAndLeft) {
  engine.is_reference = true;
  Plan plan, again;
  create(node());
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  LK_ASSERT_OK(bind(&again, {x.desc, w.desc}));
  expect_run(plan, {x, w}, y);
  EXPECT_EQ(engine.builds, 1);
  EXPECT_EQ(engine.runs, 0);
  EXPECT_EQ(lk::stats(context).engine_references, 1u);
  EXPECT_EQ(lk::stats(context).engine_works, 0u);
}

// One line for each node, whatever its sizes, and none of what `auto` has not asked to compute.
TEST_F(Engine, ReferenceImplementationsAreWarnedAboutOnceForEachNode) {
  engine.is_reference = true;
  for (const uint32_t choice : {LK_ENGINE_CHOOSE, LK_ENGINE_AUTO}) {
    std::vector<std::string> lines;
    close();
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.log_user = &lines;
    options.engine = "native";
    options.log = [](void *user, lk_log_level level, const char *line) {
      EXPECT_EQ(level, LK_LOG_WARNING);
      static_cast<std::vector<std::string> *>(user)->push_back(line);
    };
    LK_ASSERT_OK(api()->context_create(&options, context.out(), LK_ERR));
    const lk_engine table = engine.table();
    LK_ASSERT_OK(api()->engine_register(context, &table, choice, LK_ERR));
    executor = lk::executor_in(context);
    for (const char *name : {"first", "second"}) {
      lk::TestNode of = node();
      of.name = name;
      create(of);
      for (const int64_t rows : {5, 9, 5}) {
        Plan plan;
        LK_ASSERT_OK(bind(&plan, {lk::desc_of(LK_F32, {rows, 7}), w.desc}, LK_BIND_RECURS));
      }
      op = Op();
    }
    const bool warns = choice == LK_ENGINE_CHOOSE;
    ASSERT_EQ(lines.size(), warns ? 2u : 0u);
    if (!warns) continue;
    EXPECT_THAT(lines[0], HasSubstr("node 'first'"));
    EXPECT_THAT(lines[0], HasSubstr("engine 'plain' has only a slow reference implementation"));
    EXPECT_THAT(lines[0], HasSubstr("'product'"));
    EXPECT_THAT(lines[0], HasSubstr("engine 'auto'"));
    EXPECT_THAT(lines[1], HasSubstr("node 'second'"));
  }
}

// By the option the engine computes what it takes, whatever it estimates.
TEST_F(Engine, WhatItOffersIsTold) {
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  Plan plan, other;
  engine.run_ratio = 2;
  create(node());
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  LK_ASSERT_OK(api()->engine_choice(context, 0, &info, LK_ERR));
  EXPECT_STREQ(info.engine, "plain");
  EXPECT_EQ(info.rule, uint32_t(LK_CHOICE_OPTION));
  EXPECT_EQ(info.is_engine, 1u);
  EXPECT_STREQ(info.reason, "");
  EXPECT_GT(info.estimated_native_ns, 0);
  EXPECT_DOUBLE_EQ(info.estimated_engine_ns, 2 * info.estimated_native_ns);
  EXPECT_EQ(info.built_bytes, engine.bytes);
  EXPECT_EQ(host_plan_info(plan).expected_ns, info.engine_ns);
  EXPECT_EQ(lk::stats(context).choices_estimated, 0u) << "which are those of `auto`";
  engine.is_reference = true;
  LK_ASSERT_OK(bind(&other, {lk::desc_of(LK_F32, {9, 7}), w.desc}));
  LK_ASSERT_OK(api()->engine_choice(context, 0, &info, LK_ERR));
  EXPECT_EQ(info.rule, uint32_t(LK_CHOICE_NONE));
  EXPECT_EQ(info.is_engine, 0u);
  EXPECT_STREQ(info.reason, "there is only a slow reference implementation");
  EXPECT_GT(info.tensor_bytes, 0u) << "it had an offer";
  EXPECT_EQ(info.built_bytes, 0u);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->engine_choice(context, 1, &info, LK_ERR));
}

TEST_F(Engine, AWorkWithoutAnOfferHasNoEstimates) {
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  lk::TestNode relu;
  relu.op = "Relu";
  create(relu);
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {x.desc}));
  LK_ASSERT_OK(api()->engine_choice(context, 0, &info, LK_ERR));
  EXPECT_STREQ(info.work, "element");
  EXPECT_STREQ(info.reason, "it has loops for products alone");
  EXPECT_EQ(info.rule, uint32_t(LK_CHOICE_NONE));
  EXPECT_EQ(info.estimated_native_ns, 0);
  EXPECT_EQ(info.tensor_bytes, 0u);
  EXPECT_EQ(host_plan_info(plan).expected_ns, 0);
}

// Each reason once, with how often and where it was first met.
TEST_F(Engine, WhyWorksAreLeftIsTold) {
  lk_engine_left_info info = {};
  info.struct_size = sizeof info;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->engine_left(context, 0, &info, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("reason 0 is asked for"));
  Plan plan, again;
  engine.is_reference = true;
  create(node());
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  LK_ASSERT_OK(bind(&again, {x.desc, w.desc}));
  LK_ASSERT_OK(api()->engine_left(context, 0, &info, LK_ERR));
  EXPECT_STREQ(info.work, "product");
  EXPECT_STREQ(info.reason, "there is only a slow reference implementation");
  EXPECT_STREQ(info.node, node().name.c_str());
  EXPECT_EQ(info.works, lk::stats(context).engine_left);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->engine_left(context, 1, &info, LK_ERR));
  lk_engine_left_info none = {};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->engine_left(context, 0, &none, LK_ERR));
}

// What the engine itself says of a work.
TEST_F(Engine, ItsOwnReasonIsTold) {
  Plan plan;
  lk::TestNode n;
  n.op = "Softmax";
  create(n);
  LK_ASSERT_OK(bind(&plan, {x.desc}));
  lk_engine_left_info info = {};
  info.struct_size = sizeof info;
  LK_ASSERT_OK(api()->engine_left(context, 0, &info, LK_ERR));
  EXPECT_STREQ(info.work, "softmax");
  EXPECT_STREQ(info.reason, "it has loops for products alone");
}

TEST_F(Engine, ValuesCountForTheMemoryOfTheContext) {
  engine.bytes = 1 << 20;
  create(node());
  const uint64_t before = lk::stats(context).memory_bytes;
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  EXPECT_GE(lk::stats(context).memory_bytes, before + engine.bytes);
  LK_ASSERT_OK(api()->memory_set_limit(context, before + (3 << 19), LK_ERR));
  Plan second;
  const lk_tensor_desc other = lk::random({6, 7}, 1).desc;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, bind(&second, {other, w.desc}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("a value of an engine"));
  EXPECT_EQ(engine.destroyed, 1);
  plan = Plan();
  LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
  EXPECT_LT(lk::stats(context).memory_bytes, before + engine.bytes);
  LK_ASSERT_OK(bind(&second, {other, w.desc}));
  failed = 0;
}

TEST_F(Engine, WhatItReturnsIsLookedAt) {
  create(node());
  Plan plan;
  engine.build_status = static_cast<lk_status>(-77);
  failed = 1;
  LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {x.desc, w.desc}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("by engine 'plain': it returned -77"));
  engine.build_status = LK_OK;
  engine.scratch_bytes = UINT64_MAX;
  LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {x.desc, w.desc}));
  EXPECT_THAT(LK_MESSAGE,
              HasSubstr("its value takes 1000 bytes and 18446744073709551615 for a run"));
  engine.scratch_bytes = 0;
  engine.bytes = (uint64_t(1) << 47) + 1;
  LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {x.desc, w.desc}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("at most 140737488355328 are allowed"));
  engine.bytes = 1000;
  engine.pack_status = static_cast<lk_status>(-78);
  LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {x.desc, w.desc}));
  EXPECT_THAT(LK_MESSAGE,
              HasSubstr("failed to pack a constant by engine 'plain': it returned -78"));
  engine.pack_status = LK_OK;
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  engine.run_status = LK_IO;
  engine.is_silent = true;
  lk::Memory from = x.in(LK_LAYOUT_PLAIN), to(y.bytes.size());
  LK_EXPECT_STATUS(LK_IO, lk::run(executor, plan, {from.data(), nullptr}, to.data(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to run by engine 'plain': it gave no reason"));
}

// As large as a tensor may be: there is no memory for it, and that is no fault of the engine.
TEST_F(Engine, AValueMayTakeAsMuchAsATensor) {
  create(node());
  Plan plan;
  engine.bytes = uint64_t(1) << 47;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, bind(&plan, {x.desc, w.desc}));
  engine.bytes = 1000;
  engine.scratch_bytes = uint64_t(1) << 47;
  LK_EXPECT_OK(bind(&plan, {lk::desc_of(LK_F32, {6, 7}), w.desc}));
}

TEST_F(Engine, ValuesGoWithinTheBudget) {
  engine.bytes = 1 << 20;
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, LK_UNSET, 4 << 20, LK_ERR));
  create(node());
  for (int64_t rows = 1; rows <= 20; rows++) {
    Plan plan;
    LK_ASSERT_OK(bind(&plan, {lk::random({rows, 7}, 3).desc, w.desc}));
    plan = Plan();
    EXPECT_LE(engine.builds - engine.destroyed, 4);
    EXPECT_LE(lk::stats(context).bytes, uint64_t(4 << 20));
  }
  EXPECT_EQ(engine.builds, 20);
}

TEST_F(Engine, ThreadsBuildOnceAndRunAtTheSameTime) {
  create(node());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] {
      for (int64_t rows = 1; rows < 20; rows++) {
        const Value of_rows = lk::random({rows, 7}, uint32_t(rows));
        Plan plan;
        LK_ASSERT_OK(bind(&plan, {of_rows.desc, w.desc}));
        expect_run(plan, {of_rows, w}, lk::ref::matmul(of_rows, w));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(engine.builds, 19);
}

TEST_F(Engine, IsChosenBeforeTheFirstExecutor) {
  lk::PlainEngine other;
  const lk_engine table = other.table("other");
  LK_EXPECT_STATUS(LK_BUSY, api()->engine_register(context, &table, LK_ENGINE_CHOOSE, LK_ERR));
  LK_ASSERT_OK(api()->engine_register(context, &table, 0, LK_ERR));
  EXPECT_STREQ(api()->engine_chosen(context), "plain");
  close();
  EXPECT_EQ(other.engines_closed, 1);
  EXPECT_EQ(engine.engines_closed, 1);
}

TEST_F(Engine, MayNeedNoSlots) {
  engine.has_slots = false;
  Plan plan;
  create(node());
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  expect_run(plan, {x, w}, y);
  EXPECT_EQ(engine.opened, engine.closed);
}

TEST_F(Engine, OffersAreLookedAt) {
  const char *const sentences[] = {"it takes 1 post-ops, the work has 0",
                                   "in layout 4294967295, which it cannot have",
                                   "in layout 2, which it cannot have"};
  create(node());
  for (int i = 0; i < 3; i++) {
    Plan plan;
    engine.bad_offer = i + 1;
    LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {x.desc, w.desc}));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("engine 'plain'"));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(sentences[i]));
  }
  engine.bad_offer = 0;
}

TEST_F(Engine, AValueWithoutANameIsDestroyed) {
  engine.gives_no_name = true;
  Plan plan;
  create(node());
  LK_EXPECT_STATUS(LK_INTERNAL, bind(&plan, {x.desc, w.desc}));
  EXPECT_EQ(engine.destroyed, 1);
}

TEST_F(Engine, AForkWaitsForBuildsAndMayBeWithinOne) {
  bool is_inside = false;
  const auto fork_once = [] {
    const pid_t child = fork();
    // By a signal: ThreadSanitizer takes threads of the parent for left behind at an exit.
    if (child == 0) (void)raise(SIGKILL);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  };
  engine.within_build = [&] {
    if (std::exchange(is_inside, true)) return;
    fork_once(); // this thread does not wait for itself
  };
  create(node());
  Plan plan;
  LK_ASSERT_OK(bind(&plan, {x.desc, w.desc}));
  engine.within_build = [] {};
  std::thread other([&] {
    for (int64_t rows = 10; rows < 60; rows++) {
      Plan of_rows;
      LK_EXPECT_OK(bind(&of_rows, {lk::random({rows, 7}, 1).desc, w.desc}));
    }
  });
  for (int i = 0; i < 20; i++) fork_once();
  other.join();
  EXPECT_EQ(engine.builds, 51);
}

TEST_F(Engine, RegistersWhatIsWhole) {
  const struct {
    void (*break_it)(lk_engine *table);
    const char *sentence;
  } bad[] = {
      {[](lk_engine *e) { e->name = nullptr; }, "its name is 'NULL'"},
      {[](lk_engine *e) { e->name = ""; }, "its name is ''"},
      {[](lk_engine *e) { e->name = "a/b"; }, "letters, digits"},
      {[](lk_engine *e) { e->name = "native"; }, "the name is taken"},
      {[](lk_engine *e) { e->name = "auto"; }, "the name is taken"},
      {[](lk_engine *e) { e->name = "host"; }, "the name is taken"},
      {[](lk_engine *e) { e->name = "plain"; }, "the name is taken"},
      {[](lk_engine *e) { e->state = nullptr; }, "its state is NULL"},
      {[](lk_engine *e) { e->offer = nullptr; }, "a function is NULL"},
      {[](lk_engine *e) { e->run = nullptr; }, "a function is NULL"},
      {[](lk_engine *e) { e->struct_size = 0; }, "struct_size"},
  };
  lk_engine of_another_version = engine.table("another");
  of_another_version.version = 0;
  LK_EXPECT_STATUS(LK_VERSION, api()->engine_register(context, &of_another_version, 0, LK_ERR));
  for (const auto &each : bad) {
    SCOPED_TRACE(each.sentence);
    lk_engine table = engine.table("another");
    each.break_it(&table);
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->engine_register(context, &table, 0, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(each.sentence));
  }
  const lk_engine table = engine.table("another");
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->engine_register(context, &table, 4, LK_ERR));
  EXPECT_EQ(engine.engines_closed, 0);
  for (const char *name : {"b", "c", "d", "e", "f", "g", "h"}) {
    const lk_engine next = engine.table(name);
    LK_ASSERT_OK(api()->engine_register(context, &next, 0, LK_ERR));
  }
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->engine_register(context, &table, 0, LK_ERR));
  EXPECT_STREQ(api()->engine_chosen(context), "plain");
}

} // namespace
