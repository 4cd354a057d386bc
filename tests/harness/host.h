/* A small host written in C: what an executor does with the table of functions. Tests call it, so
 * that they drive the ABI as its users do, from C and through the table alone.
 *
 * Functions that can fail return the status of the call that did, and fill `error` as that call
 * does. A question that cannot fail in a right program ends the process when it does. */
#pragma once

#include <latchkey/latchkey.h>

#ifdef __cplusplus
extern "C" {
#endif

const lk_api *host_api(void);

/* `threads` 0: the default. `allocator` NULL: the C library's. */
lk_status host_context_create(uint32_t cache_mode, int32_t threads, const lk_allocator *allocator,
                              lk_context **out_context, lk_error *error);

/* Descriptions as most calls have them, to be changed where a call wants something else: a node
 * of opset 13 with one output "y"; a bind of one output, which is not in place, on the context's
 * threads. `inputs` [n_inputs] is borrowed. */
lk_node_desc host_node(const char *op_type, const lk_node_input *inputs, uint32_t n_inputs);
lk_bind_desc host_bind(const lk_tensor *inputs, uint32_t n_inputs);

/* Runs a plan once, in a frame of its own. Pointers as for op_run. */
lk_status host_run(lk_executor *executor, lk_plan *plan, void *const *inputs, void *const *outputs,
                   lk_error *error);

/* What the table says. */
lk_stats host_stats(lk_context *context, lk_executor *executor);
lk_op_info host_op_info(const lk_op *op);
lk_plan_info host_plan_info(const lk_plan *plan);
lk_threads_stats host_threads_stats(void);

/* ---- a chain of nodes ---- */

enum { HOST_MAX_STEPS = 8, HOST_MAX_INPUTS = 8 };

/* Input 0 of its node is the output of the step before; the others are constants. */
typedef struct host_step {
  lk_node_desc node;
  int32_t in_place_input; /* -1, or behind the first step 0 */
  lk_layout wish;
} host_step;

/* Creates an executor, the ops and a frame, binds one step after the other, runs them, and
 * destroys it all. `*output` gets the description of the last step's output and memory from
 * malloc; on failure its data is NULL. */
lk_status host_run_chain(lk_context *context, const host_step *steps, uint32_t n_steps,
                         const lk_tensor *input, lk_tensor *output, lk_error *error);

#ifdef __cplusplus
}
#endif
