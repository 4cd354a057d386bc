/* What a run plan owns. build_run_plan.c makes it. */
#include "executor_glue/run/run_plan.h"

#include "base/alloc.h"

void lk_run_plan_destroy(lk_run_plan *plan) {
  if (plan == NULL) return;
  const lk_program *program = plan->program;
  const lk_allocator *allocator = program->allocator;
  for (uint32_t i = 0; i < plan->n_steps; i++) program->api->plan_release(plan->steps[i].plan);
  for (uint32_t i = 0; i < plan->n_known; i++) lk_free(allocator, plan->known[i]);
  lk_free(allocator, plan->known);
  lk_schedule_destroy(allocator, plan->schedule);
  lk_free(allocator, plan->output_bytes);
  lk_free(allocator, plan->outputs);
  lk_free(allocator, plan->copies);
  lk_free(allocator, plan->operands);
  lk_free(allocator, plan->steps);
  lk_free(allocator, plan);
}
