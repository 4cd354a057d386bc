// A node with its own constants and the same names as every other: y = x W in an executor. Expected
// outputs come from plain loops.
#pragma once

#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace lk {

struct Model {
  Value w;
  Executor executor;
  Op op;

  Model(lk_context *context, unsigned seed) : executor(executor_in(context)) { replace(seed); }
  // The node anew, with other constants.
  void replace(unsigned seed, uint64_t generation = 0, const char *scope = "") {
    w = random({4, 4}, seed);
    create(executor, w, generation, scope, &op);
  }
  static void create(lk_executor *in, const Value &w, uint64_t generation, const char *scope,
                     Op *out_op) {
    TestNode n;
    n.op = "MatMul";
    n.n_inputs = 2;
    n.generation = generation;
    n.scope = scope;
    n.constants = {w};
    LK_EXPECT_OK(n.create(in, out_op, LK_ERR));
  }
  // Binds in `plan`, which may have the plan of an earlier call, and compares.
  static lk_status run(lk_executor *in, lk_op *op, const Value &w, int64_t rows, Plan *plan,
                       ::testing::AssertionResult *out) {
    const Value x = random({rows, 4}, 9);
    lk_error error;
    lk_status status = bind(op, {x.desc, desc_of(LK_F32, {4, 4})}, plan, &error);
    if (status != LK_OK) return status;
    const Memory from = x.in(LK_LAYOUT_PLAIN);
    Memory to(x.bytes.size());
    status = lk::run(in, *plan, {from.data(), nullptr}, to.data(), &error);
    *out = all_close(ref::matmul(x, w), Value::from(x.desc, to.data()));
    return status;
  }
  lk_status run(int64_t rows, ::testing::AssertionResult *out) const {
    Plan plan;
    return run(executor, op, w, rows, &plan, out);
  }
  void check(int64_t rows) const {
    ::testing::AssertionResult result = ::testing::AssertionSuccess();
    EXPECT_EQ(run(rows, &result), LK_OK);
    EXPECT_TRUE(result) << rows << " rows";
  }
};

// Parameter of tests that run in both modes.
inline std::string name_of_mode(const ::testing::TestParamInfo<uint32_t> &info) {
  return info.param == LK_CACHE_SHARED ? "shared" : "thread";
}

} // namespace lk

#define LK_IN_BOTH_MODES(suite)                                                                    \
  INSTANTIATE_TEST_SUITE_P(Modes, suite, ::testing::Values(LK_CACHE_SHARED, LK_CACHE_THREAD),      \
                           ::lk::name_of_mode)
