/* What a flow is: flow.c makes it, flow_run.c runs it. */
#pragma once

#include "executor_glue/flow/value.h"
#include "executor_glue/run/executor.h"
#include "executor_glue/run/program.h"
#include "executor_glue/run/run_limit.h"

#define LK_NO_SLOT (-1)

typedef struct lk_flow lk_flow;

typedef enum lk_stage_kind {
  LK_STAGE_PART, /* nodes that a graph executor runs */
  LK_STAGE_OP,   /* an operator whose outputs' shapes follow from data */
  LK_STAGE_IF,
  LK_STAGE_LOOP,
  LK_STAGE_SCAN,
  LK_STAGE_LIST /* an operator on sequences or optional values */
} lk_stage_kind;

/* What Scan's attributes say, by scan input and scan output. */
typedef struct lk_scan_axis {
  int64_t axis;
  bool is_backward;
} lk_scan_axis;

/* Which operator on sequences or optional values it is: list_ops.c. */
typedef struct lk_list_op lk_list_op;

/* What its attributes say. */
typedef struct lk_list_attributes {
  int64_t axis;
  bool new_axis, keeps_dims;
  uint32_t dtype;
} lk_list_attributes;

typedef struct lk_stage {
  lk_stage_kind kind;
  int32_t n_inputs, n_outputs;
  int32_t *slots;              /* of inputs, then of outputs; LK_NO_SLOT: absent */
  const lk_node *node;         /* but of parts: in the flow's graph */
  lk_graph *graph;             /* of a part, or of one operator; owned */
  lk_graph_executor *executor; /* of a part */
  lk_program *program;         /* of an operator: its only op */
  _Atomic(lk_frame *) frame;   /* of an operator: an idle one, or NULL */
  lk_flow *bodies[2];          /* then and else; one of Loop and Scan */
  uint32_t body_at[2];         /* which of the node's bodies each is */
  uint32_t n_captured[2];
  lk_tensor_desc *results; /* [n outputs of the body] of Loop and Scan: as lk_flow_body_outputs */
  lk_scan_axis *scan_inputs, *scan_outputs; /* of Scan */
  uint32_t n_scan_inputs;
  const lk_list_op *list_op; /* of LK_STAGE_LIST */
  lk_list_attributes of_list;
} lk_stage;

struct lk_flow {
  const lk_api *api;
  lk_context *context;
  lk_executor *executor;
  const lk_allocator *allocator;
  lk_graph *graph;           /* borrowed */
  lk_graph_executor *single; /* a graph without a cut: all of it; then nothing follows but limit */
  lk_run_limit limit;
  lk_stage *stages; /* in the order in which they run */
  size_t n_stages;
  size_t n_slots;
  lk_tensor *constants;  /* [n_slots]: what is in a slot from the start; without data: nothing */
  int32_t *last_use;     /* [n_slots]: the last stage that reads it; n_stages: an output */
  int32_t *input_slots;  /* [n graph inputs] */
  int32_t *output_slots; /* [n graph outputs] */
  int32_t *node_stage;   /* [n_nodes]: which of `stages` has it */
  int32_t *node_index;   /* [n_nodes]: in its part's graph */
  atomic_uint_least64_t runs;
};

/* What the runs of a flow that follow each other keep: frame.h. */
typedef struct lk_flow_frame lk_flow_frame;
typedef struct lk_flow_stage_frame lk_flow_stage_frame;

/* One run of a flow, also of those in bodies. */
typedef struct lk_flow_call lk_flow_call;

/* Runs a flow. `inputs` [n graph inputs]; `outputs` [n graph outputs] get a reference each where
 * `wanted` (NULL: everywhere). On failure there is none. `frame`: of the flow; NULL: nothing is
 * kept for the next run. */
typedef lk_status lk_flow_run_fn(lk_flow *flow, const lk_flow_call *call, lk_flow_frame *frame,
                                 const lk_flow_value *inputs, const bool *wanted,
                                 lk_flow_value *outputs, lk_error *error);

struct lk_flow_call {
  const lk_graph_run *run;  /* options, stop and threads of the caller */
  lk_flow_run_fn *run_body; /* flow_run.c's, which control flow is called by */
};

/* The inputs that a body has captured, of those of the node. */
const lk_flow_value *lk_flow_captured(const lk_stage *stage, uint32_t body,
                                      const lk_flow_value *inputs);

/* Stages of control flow: `inputs` and `outputs` as the node has them. `frame`: of the stage, in a
 * run that keeps it; NULL. */
lk_status lk_flow_if(lk_flow *flow, const lk_stage *stage, const lk_flow_call *call,
                     lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                     lk_flow_value *outputs, lk_error *error);
lk_status lk_flow_loop(lk_flow *flow, const lk_stage *stage, const lk_flow_call *call,
                       lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                       lk_flow_value *outputs, lk_error *error);
lk_status lk_flow_list_run(lk_flow *flow, const lk_stage *stage, const lk_flow_call *call,
                           lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                           lk_flow_value *outputs, lk_error *error);
lk_status lk_flow_scan(lk_flow *flow, const lk_stage *stage, const lk_flow_call *call,
                       lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                       lk_flow_value *outputs, lk_error *error);
