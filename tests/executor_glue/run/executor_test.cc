// The graph executor on a fake level-1 library: run plans, views, in-place, outputs, known values,
// bad arguments. What the operators compute is plain enough to be written down here by hand.
#include <time.h>

#include <thread>

#include "tests/executor_glue/graph/builder.h"
#include "tests/executor_glue/run/fake_api.h"

extern "C" {
#include "base/clock.h"
#include "executor_glue/run/executor.h"
}

using lk::GraphBuilder;
using ::testing::HasSubstr;
using Floats = std::vector<float>;
using Dims = std::vector<int64_t>;

namespace {

lk_status run_graph(lk_graph_executor *executor, const lk_tensor *inputs, lk_tensor *outputs,
                    const bool *wanted, const lk_run_options *options, lk_error *error) {
  lk_graph_run run = {};
  run.inputs = inputs;
  run.outputs = outputs;
  run.wanted = wanted;
  run.options = options;
  return lk_graph_executor_run(executor, &run, error);
}

class Executor : public ::testing::Test {
protected:
  // Links the graph and makes the executor.
  void make(bool run_plans = true, uint32_t workers = 1) {
    const lk_graph_executor_options options = {run_plans, workers, 0, false, nullptr};
    LK_ASSERT_OK(g.link());
    LK_ASSERT_OK(lk_graph_executor_create(lk::fake::api(), &context, &executor, g.get(), &options,
                                          &e, LK_ERR));
  }
  void TearDown() override {
    lk_graph_executor_destroy(e);
    lk::fake::clear(&context);
    EXPECT_EQ(context.count.plans, 0);
    EXPECT_EQ(context.count.frames, 0);
    EXPECT_EQ(context.count.ops, 0);
    EXPECT_EQ(context.count.allocations_in_steps, 0);
  }

  static lk_tensor tensor(const Dims &dims, const void *data, uint32_t dtype = LK_F32) {
    return {lk_tensor_desc_make(dtype, uint32_t(dims.size()), dims.data()),
            const_cast<void *>(data)};
  }
  lk_tensor in(const Dims &dims, const Floats &data) { return tensor(dims, data.data()); }

  // Runs with outputs from the library, and gives their elements.
  std::vector<Floats> run(const std::vector<lk_tensor> &inputs) {
    std::vector<lk_tensor> outputs(g->n_outputs);
    std::vector<Floats> results(g->n_outputs);
    LK_EXPECT_OK(run_graph(e, inputs.data(), outputs.data(), nullptr, nullptr, LK_ERR));
    shapes.clear();
    for (size_t i = 0; i < outputs.size(); i++) {
      if (outputs[i].data == nullptr) continue;
      const size_t n = size_t(lk_elements(&outputs[i].desc));
      shapes.push_back(Dims(outputs[i].desc.dims, outputs[i].desc.dims + outputs[i].desc.rank));
      const bool ints = outputs[i].desc.dtype == LK_I64;
      for (size_t k = 0; k < n; k++) {
        results[i].push_back(ints ? float(static_cast<int64_t *>(outputs[i].data)[k])
                                  : static_cast<float *>(outputs[i].data)[k]);
      }
      lk_free(context.allocator.get(), outputs[i].data);
    }
    return results;
  }
  lk_status try_run(const std::vector<lk_tensor> &inputs, std::vector<lk_tensor> &outputs,
                    const lk_run_options *options = nullptr) {
    return run_graph(e, inputs.data(), outputs.data(), nullptr, options, LK_ERR);
  }
  lk_session_stats stats() {
    lk_session_stats s = {};
    lk_graph_executor_stats(e, &s);
    return s;
  }

  lk_context context;
  lk_executor executor{&context};
  GraphBuilder g;
  lk_graph_executor *e = nullptr;
  std::vector<Dims> shapes; // of the outputs of the last run
};

TEST_F(Executor, SecondRunOfAShapeBindsNothing) {
  const int32_t x = g.input("x", {-1, 2});
  g.output(g.node("Add", {g.node("Relu", {x}), x}));
  make();
  EXPECT_EQ(run({in({1, 2}, {-1, 3})})[0], (Floats{-1, 6}));
  EXPECT_EQ(context.count.binds, 2);
  EXPECT_EQ(run({in({1, 2}, {5, -7})})[0], (Floats{10, -7}));
  EXPECT_EQ(context.count.binds, 2);
  EXPECT_EQ(run({in({2, 2}, {1, 2, 3, 4})})[0], (Floats{2, 4, 6, 8}));
  EXPECT_EQ(context.count.binds, 4);
  EXPECT_EQ(stats().runs, 3u);
  EXPECT_EQ(stats().run_plan_hits, 1u);
  EXPECT_EQ(stats().run_plan_builds, 2u);
  EXPECT_EQ(context.count.lookups, 3);
  EXPECT_STREQ(lk_graph_executor_implementation(e, 0), "Relu");
}

TEST_F(Executor, WithoutRunPlansEveryRunBindsEveryNode) {
  const int32_t x = g.input("x", {-1, 2});
  g.output(g.node("Add", {g.node("Relu", {x}), x}));
  make(false);
  const Floats a = {-1, 3}, b = {1, -2, 3, 4};
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ(run({in({1, 2}, a)})[0], (Floats{-1, 6}));
    EXPECT_EQ(run({in({2, 2}, b)})[0], (Floats{2, -2, 6, 8}));
  }
  EXPECT_EQ(context.count.binds, 8);
  EXPECT_EQ(context.count.lookups, 0);
  EXPECT_EQ(stats().run_plan_builds, 0u);
  EXPECT_EQ(stats().frames, 1u) << "one frame serves them all";
}

TEST_F(Executor, WithoutRunPlansNothingIsKept) {
  g.output(g.node("Relu", {g.input("x", {-1})}));
  make(false);
  const Floats data = {-1, 3};
  const lk_tensor x = in({2}, data);
  lk_tensor y = {};
  lk_graph_run run = {};
  run.inputs = &x;
  run.outputs = &y;
  lk_kept_run *kept = nullptr;
  LK_EXPECT_OK(lk_graph_executor_run_kept(e, &run, &kept, LK_ERR));
  lk_free(context.allocator.get(), y.data);
  EXPECT_EQ(kept, nullptr);
  EXPECT_EQ(context.count.lookups, 0);
}

TEST_F(Executor, CacheOffTurnsRunPlansOff) {
  context.mode = LK_CACHE_OFF;
  g.output(g.node("Relu", {g.input("x", {2})}));
  make(true);
  EXPECT_EQ(run({in({2}, {-1, 3})})[0], (Floats{0, 3}));
  EXPECT_EQ(context.count.lookups, 0);
}

TEST_F(Executor, ChainRunsInPlaceButNeverOverAnInput) {
  const int32_t x = g.input("x", {4});
  const int32_t y = g.input("y", {4});
  int32_t v = g.node("Add", {x, y});
  for (int i = 0; i < 5; i++) v = g.node("Relu", {v});
  g.output(v);
  make();
  const Floats a = {-1, 2, -3, 4}, b = {0, 0, 0, 1};
  EXPECT_EQ(run({in({4}, a), in({4}, b)})[0], (Floats{0, 2, 0, 5}));
  EXPECT_EQ(a, (Floats{-1, 2, -3, 4}));
  EXPECT_EQ(b, (Floats{0, 0, 0, 1}));
  EXPECT_EQ(context.count.in_place_binds, 5);
  EXPECT_EQ(stats().arena_bytes, 0u) << "the chain lies in the output buffer";
}

TEST_F(Executor, ValueThatIsReadLaterIsNotOverwritten) {
  const int32_t x = g.input("x", {2});
  const int32_t a = g.node("Add", {x, x});
  const int32_t b = g.node("Relu", {a}); // a is read again below
  g.output(g.node("Cat", {a, b}));
  make();
  EXPECT_EQ(run({in({2}, {-1, 3})})[0], (Floats{-2, 6, 0, 6}));
  EXPECT_EQ(context.count.in_place_binds, 0);
}

TEST_F(Executor, ViewKeepsItsSourceFromBeingOverwritten) {
  const int32_t x = g.input("x", {2, 2});
  const int32_t a = g.node("Add", {x, x});
  const int32_t view = g.node("Reshape", {a, g.ints({4})});
  const int32_t b = g.node("Relu", {a}); // last reader of a, not of the view
  const int32_t c = g.node("Reshape", {b, g.ints({4})});
  g.output(g.node("Cat", {view, c}));
  make();
  EXPECT_EQ(run({in({2, 2}, {-1, 1, -2, 2})})[0], (Floats{-2, 2, -4, 4, 0, 2, 0, 4}));
  EXPECT_EQ(context.count.in_place_binds, 0);
  EXPECT_EQ(context.count.runs, 3) << "views are no steps";
}

// Whether an output that nobody reads has a name or none.
TEST_F(Executor, ViewWithMoreOutputsIsNoStep) {
  const int32_t x = g.input("x", {2});
  const int32_t named = g.node("Identity", {g.node("Relu", {x})}, {}, 2);
  const int32_t unnamed = g.node("Identity", {named}, {}, 2);
  g->nodes[g->n_nodes - 1].outputs[1] = LK_NO_VALUE;
  g.output(g.node("Add", {unnamed, unnamed}));
  make();
  EXPECT_EQ(run({in({2}, {-1, 1})})[0], (Floats{0, 2}));
  EXPECT_EQ(context.count.runs, 2);
}

TEST_F(Executor, BroadcastOperandIsNotOverwritten) {
  const int32_t x = g.input("x", {1, 3});
  const int32_t y = g.input("y", {2, 3});
  g.output(g.node("Add", {g.node("Relu", {x}), g.node("Relu", {y})}));
  make();
  EXPECT_EQ(run({in({1, 3}, {-1, 1, 2}), in({2, 3}, {1, 2, 3, 4, 5, 6})})[0],
            (Floats{1, 3, 5, 4, 6, 8}));
  EXPECT_EQ(context.count.in_place_binds, 1) << "over y, not over x";
}

TEST_F(Executor, ViewAsOutputIsWrittenDirectly) {
  const int32_t x = g.input("x", {2, 2});
  g.output(g.node("Reshape", {g.node("Relu", {x}), g.ints({4})}));
  make();
  EXPECT_EQ(run({in({2, 2}, {-1, 1, -2, 2})})[0], (Floats{0, 1, 0, 2}));
  EXPECT_EQ(shapes[0], (Dims{4}));
  EXPECT_EQ(stats().arena_bytes, 0u);
}

TEST_F(Executor, ValueAndItsViewAreBothOutputs) {
  const int32_t x = g.input("x", {2, 2});
  const int32_t a = g.node("Relu", {x});
  g.output(g.node("Reshape", {a, g.ints({4})}));
  g.output(a);
  make();
  const auto results = run({in({2, 2}, {-1, 1, -2, 2})});
  EXPECT_EQ(results[0], (Floats{0, 1, 0, 2}));
  EXPECT_EQ(results[1], (Floats{0, 1, 0, 2}));
  EXPECT_EQ(shapes, (std::vector<Dims>{{4}, {2, 2}}));
}

TEST_F(Executor, SameValueListedTwice) {
  const int32_t a = g.node("Relu", {g.input("x", {2})});
  g.output(a);
  g.output(a);
  make();
  const auto results = run({in({2}, {-1, 5})});
  EXPECT_EQ(results[0], (Floats{0, 5}));
  EXPECT_EQ(results[1], (Floats{0, 5}));
}

TEST_F(Executor, InputAndConstantAsOutput) {
  const int32_t x = g.input("x", {2});
  g.output(x);
  g.output(g.floats({3}, {7, 8, 9}));
  g.output(g.node("Identity", {x})); // a view of an input
  g.output(g.node("Relu", {x}));
  make();
  const auto results = run({in({2}, {-1, 5})});
  EXPECT_EQ(results[0], (Floats{-1, 5}));
  EXPECT_EQ(results[1], (Floats{7, 8, 9}));
  EXPECT_EQ(results[2], (Floats{-1, 5}));
  EXPECT_EQ(results[3], (Floats{0, 5}));
}

TEST_F(Executor, OutputThatIsReadAgainSurvives) {
  const int32_t x = g.input("x", {2});
  const int32_t a = g.node("Add", {x, x});
  g.output(a);
  g.output(g.node("Relu", {a}));
  make();
  const auto results = run({in({2}, {-1, 5})});
  EXPECT_EQ(results[0], (Floats{-2, 10}));
  EXPECT_EQ(results[1], (Floats{0, 10}));
}

TEST_F(Executor, LayoutsAreChosenInsideAndPlainOutside) {
  const int32_t x = g.input("x", {1, 2, 1, 2});
  const int32_t a = g.node("Nhwc", {x});
  const int32_t b = g.node("Relu", {a}); // in place, stays channels-last
  g.output(g.node("Cat", {b, b}));
  g.output(g.node("Nhwc", {x}));     // plain is wished for
  g.output(g.node("Stubborn", {x})); // converted at the end
  make();
  const auto results = run({in({1, 2, 1, 2}, {1, 2, -3, 4})});
  EXPECT_EQ(results[0], (Floats{1, 2, 0, 4, 1, 2, 0, 4}));
  EXPECT_EQ(results[1], (Floats{1, 2, -3, 4}));
  EXPECT_EQ(results[2], (Floats{1, 2, -3, 4}));
  EXPECT_EQ(context.count.in_place_binds, 1);
}

TEST_F(Executor, ShapeArithmeticIsDoneWhenTheRunPlanIsBuilt) {
  const int32_t x = g.input("x", {-1, 2});
  const int32_t y = g.input("y", {-1});
  // y as a matrix of x's shape: Reshape(y, Add(Shape(x), 0))
  const int32_t shape = g.node("Add", {g.node("Shape", {x}), g.ints({0, 0})});
  g.output(g.node("Add", {g.node("Reshape", {y, shape}), x}));
  g.output(shape);
  make();
  for (int round = 0; round < 2; round++) {
    auto results = run({in({1, 2}, {1, 2}), in({2}, {10, 20})});
    EXPECT_EQ(results[0], (Floats{11, 22}));
    EXPECT_EQ(results[1], (Floats{1, 2}));
    results = run({in({2, 2}, {1, 2, 3, 4}), in({4}, {10, 20, 30, 40})});
    EXPECT_EQ(results[0], (Floats{11, 22, 33, 44}));
    EXPECT_EQ(results[1], (Floats{2, 2}));
  }
  // Two builds with Shape and Add computed once, four runs with one step each.
  EXPECT_EQ(context.count.runs, 2 * 2 + 4);
}

TEST_F(Executor, ShapeInputFromTheGraphIsPartOfTheKeyByValue) {
  const int32_t x = g.input("x", {4});
  const int32_t shape = g.input("shape", {2}, LK_I64);
  g.output(g.node("Reshape", {g.node("Relu", {x}), shape}));
  make();
  const Floats data = {1, -2, 3, 4};
  const int64_t a[] = {2, 2}, b[] = {4, 1};
  run({in({4}, data), tensor({2}, a, LK_I64)});
  EXPECT_EQ(shapes[0], (Dims{2, 2}));
  run({in({4}, data), tensor({2}, b, LK_I64)});
  EXPECT_EQ(shapes[0], (Dims{4, 1}));
  run({in({4}, data), tensor({2}, a, LK_I64)});
  EXPECT_EQ(shapes[0], (Dims{2, 2}));
  EXPECT_EQ(stats().run_plan_builds, 2u);
  EXPECT_EQ(stats().run_plan_hits, 1u);
}

TEST_F(Executor, HugeShapeInputIsRefused) {
  g.output(g.node("Fill", {g.input("x", {-1}, LK_I64)}));
  make();
  const std::vector<int64_t> data(10000, 1);
  std::vector<lk_tensor> outputs(1);
  LK_EXPECT_STATUS(LK_UNSUPPORTED, try_run({tensor({10000}, data.data(), LK_I64)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'x'"));
}

TEST_F(Executor, ShapeThatDependsOnAStubbornLayoutIsRefusedByName) {
  const int32_t x = g.input("x", {1, 1, 1, 1}, LK_I64);
  const int32_t v = g.node("Stubborn", {x}); // known, but not in a layout that can be read
  g.output(g.node("Fill", {v}));
  make();
  const int64_t one = 1;
  std::vector<lk_tensor> outputs(1);
  LK_EXPECT_STATUS(LK_UNSUPPORTED, try_run({tensor({1, 1, 1, 1}, &one, LK_I64)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("(Fill)"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 0"));
}

TEST_F(Executor, LargeConstantResultsAreNotKeptForEachShape) {
  const int32_t x = g.input("x", {-1});
  const int32_t fill = g.node("Fill", {g.ints({1, 100000})}); // 400 KB from a constant
  g.output(g.node("Add", {g.node("Reshape", {x, g.ints({1, 1})}), fill}));
  make();
  EXPECT_EQ(run({in({1}, {4})})[0][99999], 5.0f);
  for (auto &entry : context.cache) EXPECT_LT(entry.second->charged, 10000u);
}

TEST_F(Executor, ConstantResultsOfUpTo64KiBAreComputedOnce) {
  for (const int64_t most : {0, 1}) {
    const int32_t x = g.input("x" + std::to_string(most), {1});
    const int32_t fill = g.node("Fill", {g.ints({16384 + most})});
    g.output(g.node("Add", {fill, x}));
  }
  make();
  const Floats a = {4}, b = {5};
  const std::vector<lk_tensor> inputs = {in({1}, a), in({1}, b)};
  run(inputs);
  context.count.runs = 0;
  EXPECT_EQ(run(inputs)[0][16383], 5.0f);
  EXPECT_EQ(context.count.runs, 3) << "two sums, and the larger constant";
}

TEST_F(Executor, ZeroSizeBatchAndTheNextOne) {
  const int32_t x = g.input("x", {-1, 2});
  const int32_t a = g.node("Add", {x, x});
  g.output(g.node("Cat", {a, g.node("Relu", {a})}));
  make();
  EXPECT_EQ(run({in({0, 2}, {})})[0], (Floats{}));
  EXPECT_EQ(shapes[0], (Dims{0, 2}));
  EXPECT_EQ(run({in({1, 2}, {-1, 2})})[0], (Floats{-2, 4, 0, 4}));
  EXPECT_EQ(run({in({0, 2}, {})})[0], (Floats{}));
}

TEST_F(Executor, OutputsThatAreNotWantedAreNotComputed) {
  const int32_t x = g.input("x", {2});
  g.output(g.node("Boom", {x}));
  const int32_t both = g.node("Both", {g.node("Relu", {x})}, {}, 2);
  g.output(both + 1);
  make();
  std::vector<lk_tensor> outputs(2);
  const bool wanted[] = {false, true};
  const Floats data = {-1, 2};
  lk_tensor input = in({2}, data);
  LK_ASSERT_OK(run_graph(e, &input, outputs.data(), wanted, nullptr, LK_ERR));
  EXPECT_EQ(outputs[0].data, nullptr);
  EXPECT_EQ(static_cast<float *>(outputs[1].data)[1], -2.0f);
  lk_free(context.allocator.get(), outputs[1].data);
  // All wanted: another run plan, in which the first output is computed, and fails.
  outputs[1].data = nullptr;
  LK_EXPECT_STATUS(LK_INTERNAL, try_run({input}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("(Boom)"));
  EXPECT_EQ(outputs[1].data, nullptr) << "freed on failure";
}

TEST_F(Executor, PreallocatedOutputsAreUsedAndChecked) {
  const int32_t x = g.input("x", {-1});
  g.output(g.node("Relu", {x}));
  make();
  Floats data = {-1, 2}, room = {9, 9, 9};
  std::vector<lk_tensor> outputs = {tensor({2}, room.data())};
  LK_ASSERT_OK(try_run({in({2}, data)}, outputs));
  EXPECT_EQ(room, (Floats{0, 2, 9}));
  EXPECT_EQ(outputs[0].data, room.data());

  room = {9, 9, 9};
  outputs = {tensor({3}, room.data())};
  LK_ASSERT_OK(try_run({in({2}, data)}, outputs)) << "larger room will do";
  EXPECT_EQ(room, (Floats{0, 2, 9}));
  EXPECT_EQ(outputs[0].desc.dims[0], 2) << "of which so much is used";
  room = {9, 9, 9};
  outputs = {tensor({1}, room.data())};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, try_run({in({2}, data)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("1:f32"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("2:f32"));
  EXPECT_EQ(room, (Floats{9, 9, 9}));
  outputs = {tensor({2}, room.data(), LK_I32)};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, try_run({in({2}, data)}, outputs));
  outputs = {tensor({2}, data.data())};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, try_run({in({2}, data)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("overlaps input 'x'"));
  EXPECT_EQ(data, (Floats{-1, 2}));
  outputs = {tensor({2}, reinterpret_cast<char *>(room.data()) + 1)};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, try_run({in({2}, data)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("aligned"));
}

TEST_F(Executor, InputsAreCheckedAgainstTheirDeclaration) {
  const int32_t x = g.input("image", {-1, 3});
  g.output(g.node("Relu", {x}));
  make();
  const Floats data(12, 1.0f);
  std::vector<lk_tensor> outputs(1);
  auto expect = [&](lk_status status, const lk_tensor &input, const char *part) {
    LK_EXPECT_STATUS(status, try_run({input}, outputs));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("'image'"));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(part));
  };
  expect(LK_INVALID_ARGUMENT, tensor({1, 3}, data.data(), LK_I32), "?x3:f32");
  expect(LK_INVALID_ARGUMENT, in({3}, data), "rank");
  expect(LK_INVALID_ARGUMENT, in({3, 4}, data), "3x4:f32");
  expect(LK_OUT_OF_RANGE, in({-1, 3}, data), "at least 0");
  expect(LK_OUT_OF_RANGE, in({INT64_MAX / 2, 3}, data), "2^47");
  expect(LK_INVALID_ARGUMENT, tensor({1, 3}, nullptr), "data");
  lk_tensor wrong = in({1, 3}, data);
  wrong.desc.layout = LK_LAYOUT_CHANNELS_LAST;
  expect(LK_INVALID_ARGUMENT, wrong, "plain");
  wrong = in({1, 3}, data);
  wrong.desc.rank = 9;
  expect(LK_OUT_OF_RANGE, wrong, "rank 9");
  EXPECT_EQ(outputs[0].data, nullptr);
  // What lies beyond the rank means nothing.
  lk_tensor odd = in({1, 3}, data);
  odd.desc.dims[5] = 77;
  LK_ASSERT_OK(try_run({odd}, outputs));
  lk_free(context.allocator.get(), outputs[0].data);
  outputs[0].data = nullptr;
  run({in({1, 3}, data)});
  EXPECT_EQ(stats().run_plan_builds, 1u);
}

TEST_F(Executor, CancelAndDeadline) {
  const int32_t x = g.input("x", {1});
  g.output(g.node("Relu", {g.node("Relu", {x})}));
  make();
  const Floats data = {3};
  Floats room = {9};
  std::vector<lk_tensor> outputs = {tensor({1}, room.data())};
  volatile int32_t cancel = 1;
  lk_run_options options = lk::run_options(&cancel, 0);
  LK_EXPECT_STATUS(LK_CANCELLED, try_run({in({1}, data)}, outputs, &options));
  EXPECT_EQ(room[0], 9.0f);
  cancel = 0;
  options.deadline_ns = 1;
  LK_EXPECT_STATUS(LK_DEADLINE, try_run({in({1}, data)}, outputs, &options));
  EXPECT_EQ(room[0], 9.0f);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  options.deadline_ns = uint64_t(now.tv_sec + 1000) * 1000000000u;
  LK_ASSERT_OK(try_run({in({1}, data)}, outputs, &options));
  EXPECT_EQ(room[0], 3.0f);
}

TEST_F(Executor, ADeadlineThatPassesStopsTheNextStep) {
  const int32_t x = g.input("x", {1});
  g.output(g.node("Relu", {g.node("Relu", {x})}));
  for (const bool run_plans : {true, false}) {
    make(run_plans);
    const Floats data = {3};
    Floats room = {9};
    std::vector<lk_tensor> outputs = {tensor({1}, room.data())};
    LK_ASSERT_OK(try_run({in({1}, data)}, outputs, nullptr));
    const int runs = context.count.runs;
    room[0] = 9;
    // On a busy machine a short time may have passed before the first step.
    for (uint64_t ms = 20; context.count.runs == runs; ms *= 2) {
      lk_run_options options = lk::run_options(nullptr, lk_now_ns() + ms * 1000000);
      context.on_run = [&] {
        while (lk_now_ns() < options.deadline_ns) std::this_thread::yield();
      };
      LK_ASSERT_STATUS(LK_DEADLINE, try_run({in({1}, data)}, outputs, &options));
      EXPECT_THAT(LK_MESSAGE, HasSubstr("the deadline passed before node"));
    }
    EXPECT_EQ(context.count.runs, runs + 1);
    context.on_run = nullptr;
    LK_ASSERT_OK(try_run({in({1}, data)}, outputs, nullptr));
    EXPECT_EQ(room[0], 3.0f);
    if (run_plans) lk_graph_executor_destroy(e);
  }
}

TEST_F(Executor, OneArenaServesAllShapes) {
  const int32_t x = g.input("x", {-1});
  const int32_t a = g.node("Add", {x, x}), b = g.node("Relu", {x});
  g.output(g.node("Cat", {a, b}));
  make();
  for (int64_t n = 1; n <= 200; n++) run({in({n}, Floats(size_t(n), 1.0f))});
  // Two live values of 200 floats, each rounded up to 64 bytes; and room for sizes that grow on.
  EXPECT_GE(stats().arena_bytes, 2u * 832u);
  EXPECT_LE(stats().arena_bytes, 3u * 832u);
  EXPECT_EQ(stats().frames, 8u) << "four for each of two processors";
  lk::fake::clear(&context);
  EXPECT_EQ(stats().arena_bytes, 0u);
  EXPECT_EQ(stats().frames, 0u);
}

TEST_F(Executor, ScratchMemoryLiesInTheArena) {
  const int32_t x = g.input("x", {-1});
  int32_t v = g.node("Add", {x, x});
  for (int i = 0; i < 5; i++) v = g.node("Relu", {v});
  const int32_t kept = v; // is read after the next ones
  v = g.node("Relu", {g.node("Add", {kept, x})});
  g.output(g.node("Add", {v, kept}));
  make();
  constexpr uint64_t kValue = 64; // `kept`; the others lie in the output
  // Shared by the steps, and of each step's own: these lie in the same place, one after the other.
  for (const uint64_t bytes : {16u, 256u * 1024u}) {
    context.scratch_bytes = bytes;
    lk::fake::clear(&context); // as a context that is new: no plan, no arena
    for (int64_t n = 4; n > 0; n--) {
      const Floats ones(size_t(n), 1.0f);
      EXPECT_EQ(run({in({n}, ones)})[0], Floats(size_t(n), 5.0f));
      EXPECT_GE(stats().arena_bytes, uint64_t(n) * bytes);
    }
    EXPECT_LE(stats().arena_bytes, 4 * bytes + kValue) << "and room for nothing else";
  }
}

TEST_F(Executor, EntryMayOutliveTheExecutor) {
  g.output(g.node("Relu", {g.input("x", {2})}));
  make();
  run({in({2}, {1, 2})});
  lk_ref *ref = context.cache.begin()->second;
  ref->references++; // as a table of a sleeping thread would hold it
  lk_graph_executor_destroy(e);
  e = nullptr;
  EXPECT_EQ(context.count.plans, 0) << "nothing of the executor is left in it";
  EXPECT_EQ(context.count.frames, 0);
  lk::fake::unref(ref);
}

TEST_F(Executor, ManyThreads) {
  const int32_t x = g.input("x", {-1});
  int32_t v = g.node("Add", {x, g.filled({1}, 1.0f)});
  for (int i = 0; i < 6; i++) v = g.node("Add", {g.node("Relu", {v}), x});
  g.output(g.node("Cat", {v, g.node("Relu", {v})}));
  make();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; i++) {
        const size_t n = size_t(1 + (i + t) % 5);
        const float value = float(1 + t);
        Floats data(n, value);
        lk_tensor input = tensor({int64_t(n)}, data.data()), output = {};
        if (run_graph(e, &input, &output, nullptr, nullptr, nullptr) != LK_OK) {
          wrong++;
          continue;
        }
        for (size_t k = 0; k < 2 * n; k++) {
          wrong += static_cast<float *>(output.data)[k] != 7 * value + 1;
        }
        lk_free(context.allocator.get(), output.data);
      }
    });
  }
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stats().runs, 600u);
  context.count.allocations_in_steps = 0; // counted across threads: means nothing here
}

TEST_F(Executor, EveryFailedAllocationIsToldAndLeavesNothing) {
  const int32_t x = g.input("x", {-1, 2});
  const int32_t shape = g.node("Shape", {x});
  const int32_t a = g.node("Add", {x, x});
  g.output(g.node("Cat", {g.node("Reshape", {a, shape}), g.node("Relu", {x})}));
  g.output(x);
  make();
  context.scratch_bytes = 8;
  const Floats data = {1, -2, 3, 4};
  const size_t before = context.allocator.live_blocks();
  int tolerated = 0;
  for (bool cached : {false, true}) {
    for (size_t n = 1;; n++) {
      if (!cached) lk::fake::clear(&context);
      context.allocator.fail_at(n);
      std::vector<lk_tensor> outputs(2);
      const lk_status status = try_run({in({2, 2}, data)}, outputs);
      context.allocator.fail_never();
      // A note of an implementation's name is all that a run can do without.
      if (status == LK_OK && context.allocator.failed()) tolerated++;
      for (lk_tensor &output : outputs) lk_free(context.allocator.get(), output.data);
      if (status == LK_OK && !context.allocator.failed()) break;
      if (status != LK_OK) {
        ASSERT_EQ(status, LK_OUT_OF_MEMORY) << "allocation " << n;
        EXPECT_EQ(outputs[0].data, nullptr);
      }
      ASSERT_LT(n, 1000u);
    }
    lk::fake::clear(&context);
  }
  EXPECT_LE(tolerated, 3) << "one for each name";
  EXPECT_LE(context.allocator.live_blocks(), before + 10)
      << "three names, the list of one size, and a size of each of five nodes";
}

TEST_F(Executor, OpsFreeTheConstantsOfTheGraph) {
  const int32_t x = g.input("x", {1});
  const int32_t shared = g.floats({1}, {5}), output = g.floats({1}, {6});
  const int32_t sum = g.node("Add", {g.node("Add", {x, shared}), shared});
  g.output(g.node("Add", {sum, output}));
  g.output(output);
  make();
  size_t freed = 0;
  for (size_t i = 0; i < g->n_values; i++) {
    const lk_value *v = &g->values[i];
    freed += v->constant_kind != LK_CONSTANT_NONE && v->constant.data == nullptr;
  }
  EXPECT_EQ(freed, 1u) << "shared";
  EXPECT_NE(g->values[g->outputs[1]].constant.data, nullptr);
  const auto results = run({in({1}, {1})});
  EXPECT_EQ(results[0], (Floats{17}));
  EXPECT_EQ(results[1], (Floats{6}));
}

TEST_F(Executor, UnknownOperatorIsNamed) {
  g.output(g.node("Nonsense", {g.input("x", {1})}));
  LK_ASSERT_OK(g.link());
  const lk_graph_executor_options options = {true, 1, 0, false, nullptr};
  LK_EXPECT_STATUS(LK_UNSUPPORTED, lk_graph_executor_create(lk::fake::api(), &context, &executor,
                                                            g.get(), &options, &e, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("Nonsense"));
  EXPECT_EQ(e, nullptr);
}

// ---- where outputs are placed, the second stop flag, preparing ----

struct Placed {
  std::vector<lk_tensor_desc> asked;
  std::vector<Floats> memory;
  lk_status answer = LK_OK;
};

lk_status place(void *arg, uint32_t output, const lk_tensor_desc *desc, void **out_data,
                lk_error *error) {
  auto *placed = static_cast<Placed *>(arg);
  if (placed->answer != LK_OK) return lk_fail(error, placed->answer, "no room for %u", output);
  placed->asked.push_back(*desc);
  placed->memory.emplace_back(size_t(lk_elements(desc)));
  *out_data = placed->memory.back().data();
  return LK_OK;
}

TEST_F(Executor, OutputsArePlacedByTheCaller) {
  const int32_t x = g.input("x", {2, 2});
  const int32_t both = g.node("Both", {x}, {}, 2);
  g.output(both);
  g.output(both + 1);
  make();
  const Floats data = {1, -2, 3, -4};
  const lk_tensor input = in({2, 2}, data);
  Placed placed;
  placed.memory.reserve(8);
  lk_graph_run run = {};
  run.inputs = &input;
  run.place = place;
  run.place_arg = &placed;
  LK_ASSERT_OK(lk_graph_executor_run(e, &run, LK_ERR));
  ASSERT_EQ(placed.asked.size(), 2u);
  EXPECT_EQ(placed.asked[0].rank, 2u);
  EXPECT_EQ(placed.memory[0], data);
  EXPECT_EQ(placed.memory[1], (Floats{-1, 2, -3, 4}));
  placed.answer = LK_OUT_OF_MEMORY;
  EXPECT_EQ(lk_graph_executor_run(e, &run, LK_ERR), LK_OUT_OF_MEMORY);
  EXPECT_THAT(LK_MESSAGE, HasSubstr("no room for 0"));
}

TEST_F(Executor, TheSecondFlagStopsARun) {
  const int32_t x = g.input("x", {2});
  g.output(g.node("Relu", {x}));
  make();
  const Floats data = {1, 2};
  const lk_tensor input = in({2}, data);
  Placed placed;
  placed.memory.reserve(8);
  volatile uint8_t stop = 1;
  lk_graph_run run = {};
  run.inputs = &input;
  run.place = place;
  run.place_arg = &placed;
  run.stop = &stop;
  EXPECT_EQ(lk_graph_executor_run(e, &run, LK_ERR), LK_CANCELLED);
  stop = 0;
  LK_EXPECT_OK(lk_graph_executor_run(e, &run, LK_ERR));
}

TEST_F(Executor, FixedShapesArePreparedOnce) {
  const int32_t x = g.input("x", {2});
  g.output(g.node("Relu", {x}));
  make();
  LK_ASSERT_OK(lk_graph_executor_prepare(e, LK_ERR));
  EXPECT_EQ(stats().run_plan_builds, 1u);
  EXPECT_EQ(stats().runs, 0u);
  const Floats data = {-1, 2};
  EXPECT_EQ(run({in({2}, data)})[0], (Floats{0, 2}));
  EXPECT_EQ(stats().run_plan_builds, 1u);
}

TEST_F(Executor, OpenShapesAreNotPrepared) {
  const int32_t x = g.input("x", {-1});
  g.output(g.node("Relu", {x}));
  make();
  LK_ASSERT_OK(lk_graph_executor_prepare(e, LK_ERR));
  EXPECT_EQ(stats().run_plan_builds, 0u);
}

} // namespace
