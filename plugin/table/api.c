/* The table of functions that the library exports. */
#include "base/status.h"
#include "base/team/team.h"
#include "keys/cache/listeners.h"
#include "ops/kernel/isa.h"
#include "ops/op_table.h"
#include "plugin/internal.h"
#include "plugin/serve/context.h"
#include "plugin/serve/reporters.h"
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
      .context_create = lk_served_context_create,
      .context_destroy = lk_served_context_destroy,
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
      .tensor_bytes = lk_tensor_bytes_of,
      .tensor_convert = lk_tensor_convert,
      .get_or_create = lk_user_get_or_create,
      .get_or_create_like = lk_user_get_or_create_like,
      .get_or_create_text = lk_user_get_or_create_text,
      .cache_find = lk_user_find,
      .ref_value = lk_ref_value,
      .ref_retain = lk_ref_retain,
      .ref_release = lk_ref_release,
      .ref_charge = lk_ref_charge,
      .cache_set_capacity = lk_context_set_capacity,
      .cache_set_weights_capacity = lk_context_set_weights_capacity,
      .cache_clear = lk_context_clear,
      .cache_drop = lk_user_drop,
      .cache_trim = lk_context_trim,
      .memory_set_limit = lk_context_set_memory_limit,
      .cache_stats = lk_context_stats,
      .cache_visit = lk_context_visit,
      .key_create = lk_user_key_create,
      .key_parse = lk_user_key_parse,
      .key_print = lk_user_key_print,
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
