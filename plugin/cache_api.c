/* The cache and the memory of a context, as the table has them: limits, statistics, a walk. */
#include <malloc.h>

#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "plugin/internal.h"
#include "plugin/table.h"

/* An amount as the cache takes it. */
static uint64_t capacity_of(uint64_t amount) {
  return amount == LK_NONE ? 0 : amount;
}

lk_status lk_context_set_capacity(lk_context *context, lk_executor *executor, uint64_t entries,
                                  uint64_t bytes, lk_error *error) {
  LK_REQUIRE("cache_set_capacity", error, context);
  LK_RETURN_NOT_OK(lk_executor_check(context, executor, "set a capacity", error));
  lk_cache_set_capacity(context->env.cache, executor != NULL ? executor->quota : NULL,
                        capacity_of(entries), capacity_of(bytes));
  return LK_OK;
}

lk_status lk_context_set_weights_capacity(lk_context *context, uint64_t bytes, lk_error *error) {
  LK_REQUIRE("cache_set_weights_capacity", error, context);
  if (bytes != LK_UNSET) lk_weights_set_capacity(context->env.weights, capacity_of(bytes));
  return LK_OK;
}

lk_status lk_context_set_memory_limit(lk_context *context, uint64_t bytes, lk_error *error) {
  LK_REQUIRE("memory_set_limit", error, context);
  if (bytes == 0) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to limit memory to 0 bytes: at least 1 is required");
  }
  if (bytes == LK_UNSET) return LK_OK;
  lk_memory_budget_set_limit(&context->memory, bytes);
  lk_memory_budget_trim(&context->memory);
  return LK_OK;
}

lk_status lk_context_clear(lk_context *context, lk_executor *executor, lk_error *error) {
  LK_REQUIRE("cache_clear", error, context);
  LK_RETURN_NOT_OK(lk_executor_check(context, executor, "clear the cache", error));
  lk_cache_clear(context->env.cache, executor != NULL ? executor->quota : NULL);
  return LK_OK;
}

void lk_context_trim(lk_context *context) {
  lk_memory_budget_trim(&context->memory);
  lk_memory_budget_trim(&context->weights_memory);
  (void)malloc_trim(0);
}

lk_status lk_context_stats(lk_context *context, lk_executor *executor, lk_stats *out,
                           lk_error *error) {
  LK_REQUIRE("cache_stats", error, context, out);
  LK_RETURN_NOT_OK(lk_executor_check(context, executor, "read statistics", error));
  lk_stats stats = {.struct_size = sizeof stats};
  lk_weights_stats weights = {0};
  lk_cache_get_stats(context->env.cache, executor != NULL ? executor->quota : NULL, &stats);
  lk_weights_get_stats(context->env.weights, &weights);
  stats.weights_entries = weights.entries;
  stats.weights_bytes = weights.bytes;
  stats.weights_packed = weights.packed;
  stats.weights_shared = weights.shared;
  stats.weights_capacity_bytes = weights.capacity_bytes;
  stats.weights_lent_bytes = weights.lent;
  stats.reorders = atomic_load_explicit(&context->env.reorders, memory_order_relaxed);
  const lk_memory_state memory = lk_memory_budget_state(&context->memory);
  stats.allocations = lk_tally_sum(&context->memory.counts, LK_MEMORY_ALLOCATIONS) +
                      lk_tally_sum(&context->weights_memory.counts, LK_MEMORY_ALLOCATIONS);
  stats.memory_bytes = memory.bytes;
  stats.memory_peak_bytes = memory.peak;
  stats.memory_limit_bytes = memory.limit;
  stats.memory_refusals = memory.refusals;
  stats.memory_refused_bytes = memory.refused;
  stats.memory_spare_bytes = memory.spare;
  const lk_engines_stats engines = lk_engines_stats_get(context->env.engines);
  stats.engine_works = engines.works;
  stats.engine_left = engines.left;
  stats.engine_references = engines.references;
  stats.choices_measured = engines.measured;
  stats.choices_estimated = engines.estimated;
  stats.choices_of_class = engines.of_class;
  stats.tuning_fitting = engines.fitting;
  stats.tuning_works = lk_tuning_works(lk_engines_tuning(context->env.engines));
  stats.tuning_skipped = lk_tuning_skipped(lk_engines_tuning(context->env.engines));
  const bool is_apart = context->weights_allocator.user != context->allocator.user;
  stats.memory_weights_bytes = is_apart ? 0 : weights.bytes;
  return lk_struct_write(out, &stats, sizeof stats, "statistics", error);
}

lk_status lk_context_visit(lk_context *context, lk_visit_fn visit, void *arg, lk_error *error) {
  LK_REQUIRE("cache_visit", error, context, visit);
  return lk_cache_visit(context->env.cache, visit, arg, error);
}
