/* The table of functions that the library exports. */
#include <malloc.h>
#include <string.h>

#include "base/alloc.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/team/float_state.h"
#include "base/team/team.h"
#include "base/tensor.h"
#include "keys/cache/listeners.h"
#include "ops/kernel/isa.h"
#include "ops/kernel/move/copy.h"
#include "ops/op_table.h"
#include "ops/plan/layout.h"
#include "plugin/internal.h"
#include "plugin/reporters.h"
#include "plugin/table.h"

static uint32_t context_cache_mode(const lk_context *context) {
  return lk_cache_mode_get(context->env.cache);
}

static int32_t context_threads(const lk_context *context) {
  return context->env.threads;
}

static const lk_allocator *context_allocator(const lk_context *context) {
  return &context->allocator;
}

static lk_status tensor_bytes(const lk_tensor_desc *desc, uint64_t *out_bytes, lk_error *error) {
  LK_REQUIRE("tensor_bytes", error, desc, out_bytes);
  return lk_layout_bytes(desc, out_bytes, error);
}

static lk_status tensor_convert(const lk_tensor *from, const lk_tensor *to, lk_error *error) {
  LK_REQUIRE("tensor_convert", error, from, to);
  uint64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_layout_bytes(&to->desc, &bytes, error));
  LK_RETURN_NOT_OK(lk_layout_bytes(&from->desc, &bytes, error));
  if (from->desc.dtype != to->desc.dtype || !lk_shape_equal(&from->desc, &to->desc)) {
    char a[LK_TENSOR_TEXT_CAPACITY], b[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to convert a tensor from %s to %s: types and shapes must be equal",
                   lk_tensor_text(&from->desc, a), lk_tensor_text(&to->desc, b));
  }
  if (bytes == 0) return LK_OK;
  if (from->data == NULL || to->data == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to convert a tensor: its data is NULL, it is required");
  }
  if (lk_layout_same_bytes(&from->desc, from->desc.layout, to->desc.layout)) {
    if (from->data != to->data) memcpy(to->data, from->data, bytes);
    return LK_OK;
  }
  const lk_float_state host_float = lk_float_begin();
  const lk_status status = lk_copy_layout(&from->desc, from->data, &to->desc, to->data, error);
  lk_float_end(host_float);
  return status;
}

/* An amount as the cache takes it. */
static uint64_t capacity_of(uint64_t amount) {
  return amount == LK_NONE ? 0 : amount;
}

static lk_status cache_set_capacity(lk_context *context, lk_executor *executor, uint64_t entries,
                                    uint64_t bytes, lk_error *error) {
  LK_REQUIRE("cache_set_capacity", error, context);
  LK_RETURN_NOT_OK(lk_executor_check(context, executor, "set a capacity", error));
  lk_cache_set_capacity(context->env.cache, executor != NULL ? executor->quota : NULL,
                        capacity_of(entries), capacity_of(bytes));
  return LK_OK;
}

static lk_status cache_set_weights_capacity(lk_context *context, uint64_t bytes, lk_error *error) {
  LK_REQUIRE("cache_set_weights_capacity", error, context);
  if (bytes != LK_UNSET) lk_weights_set_capacity(context->env.weights, capacity_of(bytes));
  return LK_OK;
}

static lk_status memory_set_limit(lk_context *context, uint64_t bytes, lk_error *error) {
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

static lk_status cache_clear(lk_context *context, lk_executor *executor, lk_error *error) {
  LK_REQUIRE("cache_clear", error, context);
  LK_RETURN_NOT_OK(lk_executor_check(context, executor, "clear the cache", error));
  lk_cache_clear(context->env.cache, executor != NULL ? executor->quota : NULL);
  return LK_OK;
}

static void cache_trim(lk_context *context) {
  lk_memory_budget_trim(&context->memory);
  lk_memory_budget_trim(&context->weights_memory);
  (void)malloc_trim(0);
}

static lk_status cache_stats(lk_context *context, lk_executor *executor, lk_stats *out,
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

static lk_status cache_visit(lk_context *context, lk_visit_fn visit, void *arg, lk_error *error) {
  LK_REQUIRE("cache_visit", error, context, visit);
  return lk_cache_visit(context->env.cache, visit, arg, error);
}

static lk_status key_parse(lk_context *context, const char *text, lk_key **out_key,
                           lk_error *error) {
  LK_REQUIRE("key_parse", error, context, text, out_key);
  return lk_key_parse(context->env.intern, &context->allocator, text, out_key, error);
}

static lk_status key_print(lk_context *context, const lk_key *key, char *buffer, size_t capacity,
                           size_t *out_length, lk_error *error) {
  LK_REQUIRE("key_print", error, context, key);
  if (key->names != 0 && key->names != lk_intern_serial(context->env.intern)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to print a key: it is one of another context, which has its names");
  }
  return lk_key_print(context->env.intern, key, buffer, capacity, out_length, error);
}

static uint32_t multiplies_bytes(void) {
  return lk_isa_multiplies_bytes() ? 1 : 0;
}

static void listener_enter(lk_context *context, lk_listener *listener) {
  lk_listener_enter(context->env.cache, listener);
}

static void key_destroy(lk_context *context, lk_key *key) {
  lk_key_destroy(&context->allocator, key);
}

static const lk_op_row *op_row(uint32_t index) {
  return index < lk_n_op_classes ? &lk_op_classes[index]->row : NULL;
}

const lk_api *lk_get_api(uint32_t version) {
  static const lk_api api = {
      .struct_size = sizeof api,
      .version = LK_API_VERSION,
      .status_text = lk_status_text,
      .version_text = lk_version_text,
      .context_create = lk_context_create,
      .context_destroy = lk_context_destroy,
      .context_cache_mode = context_cache_mode,
      .context_threads = context_threads,
      .context_allocator = context_allocator,
      .context_log = lk_context_log,
      .threads_enter = lk_threads_enter,
      .threads_leave = lk_threads_leave,
      .threads_stats = lk_threads_stats_get,
      .processors_set = lk_processors_set,
      .processors_get = lk_processors_get,
      .parallel_run = lk_parallel_run,
      .parallel_regions = lk_team_regions,
      .loan_open = lk_loan_open,
      .loan_close = lk_loan_close,
      .loan_assist = lk_loan_assist,
      .executor_create = lk_executor_create,
      .executor_destroy = lk_executor_destroy,
      .op_create = lk_op_create,
      .op_destroy = lk_op_destroy,
      .op_info = lk_op_info_get,
      .op_bind = lk_op_bind,
      .plan_info = lk_plan_info_get,
      .plan_output = lk_plan_output,
      .plan_release = lk_plan_release,
      .frame_create = lk_frame_create,
      .frame_destroy = lk_frame_destroy,
      .frame_lanes = lk_frame_lanes,
      .frame_attach = lk_frame_attach,
      .frame_reset = lk_frame_reset,
      .frame_bytes = lk_frame_bytes,
      .op_run = lk_op_run,
      .op_run_lane = lk_op_run_lane,
      .op_run_alloc = lk_op_run_alloc,
      .frame_begin = lk_frame_begin,
      .frame_end = lk_frame_end,
      .tensor_bytes = tensor_bytes,
      .tensor_convert = tensor_convert,
      .get_or_create = lk_user_get_or_create,
      .get_or_create_like = lk_user_get_or_create_like,
      .get_or_create_text = lk_user_get_or_create_text,
      .cache_find = lk_user_find,
      .ref_value = lk_ref_value,
      .ref_retain = lk_ref_retain,
      .ref_release = lk_ref_release,
      .ref_charge = lk_ref_charge,
      .cache_set_capacity = cache_set_capacity,
      .cache_set_weights_capacity = cache_set_weights_capacity,
      .cache_clear = cache_clear,
      .cache_drop = lk_user_drop,
      .cache_trim = cache_trim,
      .memory_set_limit = memory_set_limit,
      .cache_stats = cache_stats,
      .cache_visit = cache_visit,
      .key_create = lk_user_key_create,
      .key_parse = key_parse,
      .key_print = key_print,
      .key_destroy = key_destroy,
      .op_row = op_row,
      .op_find = lk_op_row_find,
      .dims_create = lk_dims_new,
      .dims_destroy = lk_dims_destroy,
      .dims_open = lk_dims_open,
      .op_infer = lk_node_infer,
      .plan_step = lk_plan_step,
      .plan_block = lk_plan_block,
      .op_run_timed = lk_op_run_timed,
      .machine_peak = lk_machine_peak_measure,
      .frame_bring_scratch = lk_frame_bring_scratch,
      .frame_watch = lk_frame_watch,
      .thread_watch = lk_thread_watch_begin,
      .thread_unwatch = lk_thread_watch_end,
      .thread_look = lk_thread_watch_look,
      .op_infer_values = lk_node_infer_values,
      .option_info = lk_option_info_get,
      .reporter_enter = lk_reporter_enter,
      .reporter_leave = lk_reporter_leave,
      .listener_enter = listener_enter,
      .listener_leave = lk_listener_leave,
      .multiplies_bytes = multiplies_bytes,
      .ops_expect = lk_ops_expect,
      .engine_register = lk_engine_register,
      .engine_chosen = lk_engine_chosen,
      .constant_create = lk_constant_create,
      .constant_release = lk_constant_release,
      .constant_pack = lk_constant_pack,
      .packed_data = lk_packed_data,
      .packed_release = lk_packed_release,
      .engine_left = lk_engine_left,
      .engine_choice = lk_engine_choice,
      .plan_note_times = lk_plan_note_times,
      .tuning_save = lk_tuning_save,
      .op_register = lk_op_register,
      .op_find_in = lk_op_find_in,
      .dims_set_context = lk_dims_set_context,
      .plan_note_work = lk_plan_note_work,
  };
  return version == LK_API_VERSION ? &api : NULL;
}
