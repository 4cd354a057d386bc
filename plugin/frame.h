/* What a frame consists of: frame.c attaches plans to it, run.c runs them. */
#pragma once

#include "base/team/float_state.h"
#include "ops/plan/onednn.h"
#include "plugin/internal.h"

/* A plan's arguments in a frame. Steps of primitives have their handles one after the other, the
 * scratchpad's last; kernels have pointers at the same places. */
typedef struct lk_slot {
  lk_plan *plan;
  const lk_plan_body *body;
  dnnl_exec_arg_t *args; /* [n_args + n_steps] */
  void **pointers;       /* [n_args] */
  uint32_t lane;         /* whose scratch memory they point into */
} lk_slot;

/* What slots need to run that may not run at the same time as others of the frame. */
typedef struct lk_lane {
  dnnl_stream_t stream;
  unsigned char *scratch; /* [scratch_bytes of the frame] */
} lk_lane;

struct lk_frame {
  lk_executor *executor;
  lk_lane *lanes;
  uint32_t n_lanes;
  lk_slot *slots;
  size_t n_slots, slots_capacity;
  size_t scratch_bytes; /* of each lane */
  uint64_t handles;
  int host_threads; /* saved by frame_begin; 0: not begun */
  lk_float_state host_float;
};

static inline uint32_t lk_handle_index(const lk_plan_body *body, uint32_t step, uint32_t arg) {
  return body->steps[step].first_arg + step + arg;
}

/* A primitive's arguments, and behind them its scratchpad, if it has one. */
static inline uint32_t lk_n_handles(const lk_step *step) {
  if (step->primitive == NULL) return 0;
  return step->n_args + (step->primitive->scratchpad_bytes > 0 ? 1 : 0);
}

/* Sets everything that does not change from run to run in one lane. */
lk_status lk_slot_point(lk_frame *frame, lk_slot *self, uint32_t lane_index, lk_error *error);
/* Forgets the slot that was attached last. */
void lk_frame_detach(lk_frame *frame);
