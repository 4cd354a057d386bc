/* The functions that table/api.c puts into the table, by the file that has them. latchkey.h has
 * their types and contracts. */
#pragma once

#include <latchkey/latchkey.h>

/* Declares `function`, with the type that the table's member has. */
#define LK_IN_TABLE(member, function) extern __typeof__(*((lk_api *)0)->member) function

/* version.c */
LK_IN_TABLE(version_text, lk_version_text);

/* context.c */
LK_IN_TABLE(context_create, lk_context_create);
LK_IN_TABLE(context_destroy, lk_context_destroy);
LK_IN_TABLE(context_log, lk_context_log);
LK_IN_TABLE(executor_create, lk_executor_create);
LK_IN_TABLE(executor_destroy, lk_executor_destroy);

/* engines.c */
LK_IN_TABLE(engine_register, lk_engine_register);
LK_IN_TABLE(engine_chosen, lk_engine_chosen);
LK_IN_TABLE(engine_choice, lk_engine_choice);
LK_IN_TABLE(plan_note_times, lk_plan_note_times);
LK_IN_TABLE(plan_note_work, lk_plan_note_work);
LK_IN_TABLE(tuning_save, lk_tuning_save);
LK_IN_TABLE(engine_left, lk_engine_left);

/* operators.c */
LK_IN_TABLE(op_register, lk_op_register);
LK_IN_TABLE(op_find_in, lk_op_find_in);
LK_IN_TABLE(dims_set_context, lk_dims_set_context);

/* option_info.c */
LK_IN_TABLE(option_info, lk_option_info_get);

/* threads.c */
LK_IN_TABLE(threads_enter, lk_threads_enter);
LK_IN_TABLE(threads_leave, lk_threads_leave);
LK_IN_TABLE(threads_stats, lk_threads_stats_get);
LK_IN_TABLE(processors_set, lk_processors_set);
LK_IN_TABLE(processors_get, lk_processors_get);
LK_IN_TABLE(parallel_run, lk_parallel_run);
LK_IN_TABLE(loan_open, lk_loan_open);
LK_IN_TABLE(loan_close, lk_loan_close);
LK_IN_TABLE(loan_assist, lk_loan_assist);
LK_IN_TABLE(machine_peak, lk_machine_peak_measure);

/* op.c */
LK_IN_TABLE(op_create, lk_op_create);
LK_IN_TABLE(op_destroy, lk_op_destroy);
LK_IN_TABLE(op_info, lk_op_info_get);

/* infer.c */
LK_IN_TABLE(dims_create, lk_dims_new);
LK_IN_TABLE(op_infer, lk_node_infer);
LK_IN_TABLE(op_infer_values, lk_node_infer_values);

/* bind.c */
LK_IN_TABLE(ops_expect, lk_ops_expect);
LK_IN_TABLE(op_bind, lk_op_bind);
LK_IN_TABLE(plan_info, lk_plan_info_get);
LK_IN_TABLE(plan_output, lk_plan_output);
LK_IN_TABLE(plan_step, lk_plan_step);
LK_IN_TABLE(plan_block, lk_plan_block);
LK_IN_TABLE(plan_release, lk_plan_release);

/* frame.c */
LK_IN_TABLE(frame_create, lk_frame_create);
LK_IN_TABLE(frame_destroy, lk_frame_destroy);
LK_IN_TABLE(frame_lanes, lk_frame_lanes);
LK_IN_TABLE(frame_bring_scratch, lk_frame_bring_scratch);
LK_IN_TABLE(frame_watch, lk_frame_watch);
LK_IN_TABLE(thread_watch, lk_thread_watch_begin);
LK_IN_TABLE(thread_unwatch, lk_thread_watch_end);
LK_IN_TABLE(thread_look, lk_thread_watch_look);
LK_IN_TABLE(frame_attach, lk_frame_attach);
LK_IN_TABLE(frame_reset, lk_frame_reset);
LK_IN_TABLE(frame_bytes, lk_frame_bytes);

/* run.c */
LK_IN_TABLE(op_run, lk_op_run);
LK_IN_TABLE(op_run_lane, lk_op_run_lane);
LK_IN_TABLE(op_run_timed, lk_op_run_timed);
LK_IN_TABLE(frame_begin, lk_frame_begin);
LK_IN_TABLE(frame_end, lk_frame_end);

/* run_alloc.c */
LK_IN_TABLE(op_run_alloc, lk_op_run_alloc);

/* constants.c */
LK_IN_TABLE(constant_create, lk_constant_create);
LK_IN_TABLE(constant_release, lk_constant_release);
LK_IN_TABLE(constant_pack, lk_constant_pack);

/* key_api.c */
LK_IN_TABLE(key_create, lk_user_key_create);
LK_IN_TABLE(get_or_create, lk_user_get_or_create);
LK_IN_TABLE(get_or_create_like, lk_user_get_or_create_like);
LK_IN_TABLE(get_or_create_text, lk_user_get_or_create_text);
LK_IN_TABLE(cache_find, lk_user_find);
LK_IN_TABLE(cache_drop, lk_user_drop);
LK_IN_TABLE(key_parse, lk_user_key_parse);
LK_IN_TABLE(key_print, lk_user_key_print);

/* cache_api.c */
LK_IN_TABLE(cache_set_capacity, lk_context_set_capacity);
LK_IN_TABLE(cache_set_weights_capacity, lk_context_set_weights_capacity);
LK_IN_TABLE(memory_set_limit, lk_context_set_memory_limit);
LK_IN_TABLE(cache_clear, lk_context_clear);
LK_IN_TABLE(cache_trim, lk_context_trim);
LK_IN_TABLE(cache_stats, lk_context_stats);
LK_IN_TABLE(cache_visit, lk_context_visit);

/* tensors.c */
LK_IN_TABLE(tensor_bytes, lk_tensor_bytes_of);
LK_IN_TABLE(tensor_convert, lk_tensor_convert);
