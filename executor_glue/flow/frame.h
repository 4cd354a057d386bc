/* What the runs of a body keep from one to the next. A loop has one frame for all its iterations:
 * as long as shapes stay the same, each finds the run plans, the lists and the memory that the one
 * before had.
 *
 * A frame belongs to one thread. */
#pragma once

#include "executor_glue/flow/state.h"

/* Of a graph executor. */
typedef struct lk_flow_part_frame {
  lk_kept_run *kept;
  lk_tensor *inputs;      /* [n_inputs] */
  lk_flow_spare *outputs; /* [n_outputs] */
  size_t n_outputs;
} lk_flow_part_frame;

struct lk_flow_stage_frame {
  lk_flow_part_frame part;  /* of LK_STAGE_PART */
  lk_flow_frame *bodies[2]; /* as of the stage; made when they run for the first time */
};

struct lk_flow_frame {
  const lk_flow *flow;
  lk_flow_part_frame single;   /* of a flow without a cut; then nothing follows */
  lk_flow_stage_frame *stages; /* [n_stages]; NULL: for one run, nothing is kept */
  lk_flow_value *slots;        /* [n_slots]: values of the run that is on */
  bool *is_needed;             /* [n_slots]: by a later stage that runs, or by the caller */
  lk_flow_value *operands;     /* of the largest stage: inputs, then outputs */
  bool *wanted;                /* of the largest stage */
  bool knows_needed;           /* `is_needed` is that of a run of which all is wanted */
};

/* `is_kept`: for more runs than one. */
lk_status lk_flow_frame_create(const lk_flow *flow, bool is_kept, lk_flow_frame **out,
                               lk_error *error);
void lk_flow_frame_destroy(lk_flow_frame *frame); /* NULL is allowed */

/* The frame of body `body` of a stage: the one that `frame` has, or a new one, which stays there.
 * Without `frame`, `*inout_own` holds it, which the caller destroys. */
lk_status lk_flow_frame_of_body(const lk_stage *stage, uint32_t body, lk_flow_stage_frame *frame,
                                lk_flow_frame **inout_own, lk_flow_frame **out, lk_error *error);
