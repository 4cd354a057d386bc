/* What the files share that make a flow: slots.c, make_stages.c, make_bodies.c. */
#pragma once

#include "executor_glue/flow/part.h"
#include "executor_glue/flow/state.h"
#include "executor_glue/passes/symbolic_shapes.h"

/* What the stages of a model may take, those of bodies too: a file has one in 30 bytes. */
#define LK_FLOW_MOST_BYTES ((size_t)144 << 20)

/* As lk_flow_create, in the context and executor of `like`. `left`, `known` as of
 * lk_flow_builder. */
typedef lk_status lk_flow_create_fn(const lk_flow *like, size_t *left, lk_graph *graph,
                                    const lk_tensor_desc *known,
                                    const lk_graph_executor_options *options, lk_flow **out_flow,
                                    lk_error *error);

/* A flow while it is made. */
typedef struct lk_flow_builder {
  lk_flow *flow;
  size_t *left; /* bytes that stages of the model may still take */
  const lk_graph_executor_options *options;
  int32_t *stages;           /* [n_nodes]: as lk_flow_stages says */
  int32_t *slots;            /* [n_values], or LK_NO_SLOT */
  int32_t *inputs, *outputs; /* [n_values]: of a part */
  lk_flow_parts parts;
  const lk_tensor_desc *known; /* [n_inputs]: what is known of a body's; NULL: the main graph */
  lk_symbolic_shapes *shapes;  /* of a graph that has bodies in it; else NULL */
  lk_flow_create_fn *create;   /* of the flows of bodies */
  lk_error *error;
} lk_flow_builder;

/* slots.c: a slot for each input and output of the graph. */
void lk_flow_take_border_slots(const lk_flow_builder *b);
/* The slots of a stage, by values of the graph, which get one where they have none. */
lk_status lk_flow_set_slots(const lk_flow_builder *b, lk_stage *stage, const int32_t *inputs,
                            size_t n_inputs, const int32_t *outputs, size_t n_outputs);
/* When all stages have their slots: constants that stages or the caller read have a copy, aligned,
 * as long as the flow. */
lk_status lk_flow_fill_constants(const lk_flow_builder *b);
lk_status lk_flow_find_last_uses(const lk_flow_builder *b);

/* make_stages.c: a graph executor within, whose run plans have a name of their own. */
lk_status lk_flow_create_executor(const lk_flow_builder *b, lk_graph *graph, size_t stage,
                                  lk_graph_executor **out);
/* Before a stage of the kind is made. LK_OUT_OF_RANGE: the stages take more than is allowed. */
lk_status lk_flow_charge(const lk_flow_builder *b, lk_stage_kind kind);
/* Numbers stages anew, so that each node that runs alone has one of its own, and counts them. */
lk_status lk_flow_number_stages(const lk_flow_builder *b, int32_t count);
/* Makes them, when the parts are known. */
lk_status lk_flow_make_stages(const lk_flow_builder *b);

/* make_bodies.c: the flows of a stage's bodies, which must fit its node. */
lk_status lk_flow_make_bodies(const lk_flow_builder *b, lk_stage *stage);
