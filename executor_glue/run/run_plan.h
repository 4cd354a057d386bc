/* A run plan: a graph bound to the shapes of a request, and to the values that shapes depend on.
 *
 * It lists the operators that really run (what can be known from shapes and constants was computed
 * when it was built), where each operand lies, and how large the arena is. Immutable, shared by
 * threads; it holds a reference to the plan of each step.
 */
#pragma once

#include "executor_glue/run/implementation_names.h"
#include "executor_glue/run/node_counts.h"
#include "executor_glue/run/node_keys.h"
#include "executor_glue/run/program.h"
#include "executor_glue/run/schedule.h"

/* The buffers of a run. An execution frame has their addresses. */
typedef enum lk_buffer_index {
  LK_BUFFER_NONE = 0, /* the offset is the address: known values, constants; 0: no pointer */
  LK_BUFFER_ARENA = 1,
  LK_BUFFER_FIRST_INPUT = 2 /* then one for each graph input, then one for each graph output */
} lk_buffer_index;

/* Where an operand lies. There are as many as all nodes have inputs and outputs, for each size. */
typedef struct lk_buffer_ref {
  uint64_t offset : 48; /* an address of a process takes no more */
  uint64_t buffer : 16; /* lk_buffer_index */
} lk_buffer_ref;
#define LK_MAX_BUFFERS 65536u

typedef struct lk_run_step {
  lk_plan *plan;
  int32_t node;
  uint32_t first_operand; /* inputs, then outputs, then scratch memory */
  uint32_t n_inputs;
  uint32_t n_outputs : 31;
  uint32_t has_scratch : 1;
} lk_run_step;

/* Of all operands: those of the step end before it. */
static inline uint32_t lk_run_step_end(const lk_run_step *step) {
  return step->first_operand + step->n_inputs + step->n_outputs + step->has_scratch;
}

/* A graph output that no step writes into the caller's buffer: copied after the last step. */
typedef struct lk_output_copy {
  lk_buffer_ref from;
  lk_tensor_desc desc; /* of `from`; converted to plain when it is in another layout */
  uint32_t output;
} lk_output_copy;

typedef struct lk_run_plan {
  const lk_program *program;
  lk_run_step *steps;
  lk_buffer_ref *operands; /* of all steps */
  lk_output_copy *copies;
  lk_tensor_desc *outputs; /* [n graph outputs]: plain; type LK_DTYPE_NONE: not wanted */
  uint64_t *output_bytes;  /* [n graph outputs] */
  void **known;            /* values computed at build that steps or copies read */
  uint32_t n_steps, n_operands, n_copies, n_known;
  uint32_t n_values;     /* of the nodes' plans: steps by what an engine besides native has built */
  lk_schedule *schedule; /* NULL: the steps run in their order */
  uint32_t workers;      /* with a schedule: threads that it is for */
  uint64_t arena_bytes;
  uint64_t bytes; /* of the run plan itself */
} lk_run_plan;

/* What a run plan is built for. Descriptions are plain, with zeros beyond their rank; data is read
 * of the inputs that are known by value only. */
typedef struct lk_run_plan_desc {
  const lk_tensor *inputs; /* [n graph inputs] */
  const bool *wanted;      /* [n graph outputs] */
  uint32_t workers;        /* 1: the steps run in their order; more: in parallel, if it is faster */
  bool is_kept;            /* for more than one run: then its plans are its own; else the cache's */
  uint32_t flags;          /* lk_bind_flags of all nodes besides that */
  lk_implementation_names *implementations; /* told that of each node that is bound */
  lk_node_counts *node_counts;              /* told how long that took, where is_kept */
  lk_node_keys *node_keys;                  /* told of the inputs' shapes, where is_kept */
  /* NULL, or told of each node when it was bound. */
  void (*bound)(void *arg, size_t node, uint64_t begin_ns, uint64_t end_ns);
  void *bound_arg;
} lk_run_plan_desc;

void lk_run_plan_destroy(lk_run_plan *plan); /* NULL is allowed */
