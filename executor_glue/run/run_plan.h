/* A run plan: a graph bound to the shapes, and shape-determining values, of a request.
 *
 * It lists the operators that really run (what can be known from shapes and constants was computed
 * when it was built), where each operand lies, and how large the arena is. Immutable, shared by
 * threads; it holds a reference to the plan of each step.
 */
#ifndef LK_RUN_RUN_PLAN_H
#define LK_RUN_RUN_PLAN_H

#include "executor_glue/run/program.h"
#include "executor_glue/run/schedule.h"

/* Where an operand lies: an offset from one of the bases that a run has. */
typedef enum lk_run_base {
  LK_RUN_ABSOLUTE = 0, /* the offset is the address: known values, constants; 0: no pointer */
  LK_RUN_ARENA = 1,
  LK_RUN_FIRST_INPUT = 2 /* then one for each graph input, then one for each graph output */
} lk_run_base;

typedef struct lk_run_operand {
  uint64_t offset;
  uint32_t base;
  uint32_t reserved;
} lk_run_operand;

typedef struct lk_run_step {
  lk_plan *plan;
  int32_t node;
  uint32_t first_operand; /* inputs, then outputs */
  uint32_t n_inputs, n_outputs;
} lk_run_step;

/* A graph output that no step writes into the caller's buffer itself: copied after the last step. */
typedef struct lk_run_copy {
  lk_run_operand from;
  lk_tensor_desc desc; /* of `from`; converted to plain when it is in another layout */
  uint32_t output;
  uint32_t reserved;
} lk_run_copy;

typedef struct lk_run_plan {
  const lk_program *program;
  lk_run_step *steps;
  lk_run_operand *operands;
  lk_run_copy *copies;
  lk_tensor_desc *outputs; /* [n graph outputs]: plain; type LK_DTYPE_NONE: not wanted */
  uint64_t *output_bytes;  /* [n graph outputs] */
  void **known;            /* values computed at build that steps or copies read */
  uint32_t n_steps, n_operands, n_copies, n_known;
  lk_run_schedule *schedule; /* NULL: the steps run in their order */
  uint32_t workers;          /* with a schedule: on so many threads at most */
  uint64_t arena_bytes;
  uint64_t bytes; /* of the run plan itself */
} lk_run_plan;

/* What a run plan is built for. Plain descriptions without anything beyond their rank; data is read
 * of the inputs that are known by value only. */
typedef struct lk_run_request {
  const lk_tensor *inputs; /* [n graph inputs] */
  const bool *wanted;      /* [n graph outputs] */
  int32_t threads;         /* of a step: 1, or 0 for the context's where that helps */
  uint32_t workers;        /* 1: the steps run in their order; more: at once, if that is faster */
  /* Told the implementation of each node that was bound; may be NULL. */
  void (*bound)(void *arg, int32_t node, const char *implementation);
  void *bound_arg;
} lk_run_request;

/* Binds every node that a wanted output needs. LK_UNSUPPORTED names a node and the input whose value
 * its shapes depend on when that value cannot be known before the run.
 * With more than one worker, it turns out when all is bound whether the graph has width at these
 * shapes: whether they are faster, each with a step on one thread, than the steps in their order on
 * the context's threads. `*out_plan` is NULL where `threads` was not for what turned out. */
lk_status lk_run_plan_build(const lk_program *program, const lk_run_request *request,
                            lk_run_plan **out_plan, lk_error *error);
void lk_run_plan_destroy(lk_run_plan *plan); /* NULL is allowed */

#endif
