// Owners of the handles of the public table, for tests in C++.
#pragma once

#include "tests/harness/host.h"
#include "tests/harness/lk_test.h"

namespace lk {

inline const lk_api *api() {
  return host_api();
}

inline void end_context(lk_context *context) {
  api()->context_destroy(context);
}
inline void end_executor(lk_executor *executor) {
  api()->executor_destroy(executor);
}
inline void end_op(lk_op *op) {
  api()->op_destroy(op);
}
inline void end_plan(lk_plan *plan) {
  api()->plan_release(plan);
}
inline void end_frame(lk_frame *frame) {
  api()->frame_destroy(frame);
}
using Context = Owned<lk_context, end_context>;
using Executor = Owned<lk_executor, end_executor>;
using Op = Owned<lk_op, end_op>;
using Plan = Owned<lk_plan, end_plan>;
using Frame = Owned<lk_frame, end_frame>;

inline Context open(uint32_t mode = LK_CACHE_DEFAULT, int32_t threads = 2) {
  Context context;
  LK_EXPECT_OK(host_context_create(mode, threads, nullptr, context.out(), LK_ERR));
  return context;
}

inline Executor executor_in(lk_context *context) {
  Executor executor;
  LK_EXPECT_OK(api()->executor_create(context, "test", executor.out(), LK_ERR));
  return executor;
}

// op_bind with the plan in hand.
inline lk_status bind(lk_op *op, const lk_bind_desc &desc, Plan *plan, lk_error *error) {
  lk_plan *inout = plan->release();
  const lk_status status = api()->op_bind(op, &desc, &inout, error);
  plan->reset(inout);
  return status;
}

} // namespace lk
