/* The functions that api.c puts into the table, by the file that has them. latchkey.h has their
 * contracts. */
#pragma once

#include <latchkey/latchkey.h>

/* version.c */
const char *lk_version_text(void);

/* context.c */
lk_status lk_context_create(const lk_context_options *options, lk_context **out_context,
                            lk_error *error);
void lk_context_destroy(lk_context *context);
void lk_context_log(lk_context *context, lk_log_level level, const char *line);
lk_status lk_executor_create(lk_context *context, const char *name, lk_executor **out_executor,
                             lk_error *error);
void lk_executor_destroy(lk_executor *executor);

/* engines.c */
lk_status lk_engine_register(lk_context *context, const lk_engine *engine, uint32_t flags,
                             lk_error *error);
const char *lk_engine_chosen(const lk_context *context);
lk_status lk_engine_choice(lk_context *context, uint32_t index, lk_engine_choice_info *out_info,
                           lk_error *error);
lk_status lk_plan_note_times(const lk_plan *plan, double native_ns, double engine_ns,
                             lk_error *error);
lk_status lk_plan_note_work(const lk_plan *plan, uint32_t work, double native_ns, double engine_ns,
                            lk_error *error);
lk_status lk_tuning_save(lk_context *context, const char *path, uint64_t *out_works,
                         lk_error *error);
lk_status lk_engine_left(lk_context *context, uint32_t index, lk_engine_left_info *out_info,
                         lk_error *error);

/* operators.c */
lk_status lk_op_register(lk_context *context, const lk_operator *op, lk_error *error);
const lk_op_row *lk_op_find_in(const lk_context *context, const char *op_type, const char *domain,
                               int32_t opset);
void lk_dims_set_context(lk_dims *dims, const lk_context *context);

/* option_info.c */
lk_status lk_option_info_get(lk_context *context, uint32_t index, lk_option_info *out,
                             lk_error *error);

/* threads.c */
lk_status lk_threads_enter(lk_context *context, const lk_threads_ask *ask, int32_t *out_threads,
                           lk_error *error);
void lk_threads_leave(lk_context *context);
lk_status lk_threads_stats_get(lk_threads_stats *out, lk_error *error);
lk_status lk_processors_set(int32_t processors, lk_error *error);
int32_t lk_processors_get(void);
void lk_parallel_run(lk_context *context, int32_t threads, lk_parallel_fn fn, void *arg);
void lk_loan_open(lk_context *context, lk_loan *loan, int32_t threads);
void lk_loan_close(lk_context *context, lk_loan *loan);
uint64_t lk_loan_assist(lk_context *context, lk_loan *loan);
lk_status lk_machine_peak_measure(lk_context *context, int32_t threads, lk_machine_peak *out,
                                  lk_error *error);

/* op.c */
lk_status lk_op_create(lk_executor *executor, const lk_node_desc *node, lk_op **out_op,
                       lk_error *error);
void lk_op_destroy(lk_op *op);
lk_status lk_op_info_get(const lk_op *op, lk_op_info *info, lk_error *error);

/* infer.c */
lk_status lk_dims_new(const lk_allocator *allocator, lk_dims **out_dims, lk_error *error);
lk_status lk_node_infer(lk_dims *dims, const lk_node_desc *given, const lk_tensor *inputs,
                        lk_tensor_desc *outputs, int32_t *out_copy_of, lk_error *error);
lk_status lk_node_infer_values(lk_dims *dims, const lk_node_desc *given, const lk_tensor *inputs,
                               const int64_t *const *values, lk_tensor_desc *outputs,
                               int32_t *out_copy_of, int64_t *out_values, lk_error *error);

/* bind.c */
void lk_ops_expect(lk_op *const *ops, uint32_t n_ops);
lk_status lk_op_bind(lk_op *op, const lk_bind_desc *bind, lk_plan **inout_plan, lk_error *error);
lk_status lk_plan_info_get(const lk_plan *plan, lk_plan_info *info, lk_error *error);
lk_status lk_plan_output(const lk_plan *plan, uint32_t index, lk_tensor_desc *out, lk_error *error);
lk_status lk_plan_step(const lk_plan *plan, uint32_t index, lk_step_info *out, lk_error *error);
lk_status lk_plan_block(const lk_plan *plan, uint32_t index, lk_block *out, lk_error *error);
void lk_plan_release(lk_plan *plan);

/* frame.c */
lk_status lk_frame_create(lk_executor *executor, lk_frame **out_frame, lk_error *error);
void lk_frame_destroy(lk_frame *frame);
lk_status lk_frame_lanes(lk_frame *frame, uint32_t count, lk_error *error);
void lk_frame_bring_scratch(lk_frame *frame);
lk_status lk_frame_watch(lk_frame *frame, const lk_watch *watch, lk_error *error);
lk_status lk_thread_watch_begin(lk_thread_watch *room, const lk_watch *watch, lk_error *error);
void lk_thread_watch_end(lk_thread_watch *room);
lk_status lk_thread_watch_look(lk_error *error);
lk_status lk_frame_attach(lk_frame *frame, lk_plan *plan, uint32_t *out_slot, lk_error *error);
void lk_frame_reset(lk_frame *frame);
uint64_t lk_frame_bytes(const lk_frame *frame);

/* run.c */
lk_status lk_op_run(lk_frame *frame, uint32_t slot, void *const *inputs, void *const *outputs,
                    lk_error *error);
lk_status lk_op_run_lane(lk_frame *frame, uint32_t lane, uint32_t slot, void *const *inputs,
                         void *const *outputs, lk_error *error);
lk_status lk_op_run_timed(lk_frame *frame, uint32_t lane, uint32_t slot, void *const *inputs,
                          void *const *outputs, lk_step_time *times, lk_error *error);
void lk_frame_begin(lk_frame *frame, int32_t threads);
void lk_frame_end(lk_frame *frame);

/* run_alloc.c */
lk_status lk_op_run_alloc(lk_frame *frame, lk_op *op, const lk_bind_desc *given,
                          lk_output_alloc_fn alloc, void *arg, lk_tensor *outputs, lk_error *error);

/* constants.c */
lk_status lk_constant_create(lk_context *context, const void *data, uint64_t bytes, uint32_t flags,
                             lk_constant **out_constant, lk_error *error);
void lk_constant_release(lk_constant *constant);
lk_status lk_constant_pack(lk_constant *constant, const lk_packing *packing, lk_packed **out_packed,
                           lk_error *error);

/* key_api.c */
lk_status lk_user_key_create(lk_context *context, lk_executor *executor, const lk_key_desc *desc,
                             lk_key **out_key, lk_error *error);
lk_status lk_user_get_or_create(lk_context *context, lk_executor *executor, const lk_key *key,
                                lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                                lk_error *error);
lk_status lk_user_get_or_create_like(lk_context *context, lk_executor *executor, const lk_key *like,
                                     const lk_key_desc *desc, lk_build_fn build, void *arg,
                                     lk_ref **out_ref, int *out_hit, lk_error *error);
lk_status lk_user_get_or_create_text(lk_context *context, lk_executor *executor, const char *text,
                                     lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                                     lk_error *error);
lk_status lk_user_find(lk_context *context, lk_executor *executor, const lk_key *key,
                       lk_ref **out_ref, lk_error *error);
lk_status lk_user_drop(lk_context *context, lk_executor *executor, const lk_key *key,
                       uint64_t *out_dropped, lk_error *error);
