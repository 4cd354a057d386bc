/* What a frame consists of: frame.c attaches plans to it, run.c runs them. */
#pragma once

#include "base/team/float_state.h"
#include "ops/plan/onednn.h"
#include "plugin/internal.h"

/* A kernel with more arguments than this has its pointers in the slot, others on the stack. */
enum { LK_FEW_ARGS = 16 };

/* A plan in a frame. Steps of primitives have their handles one after the other, the scratchpad's
 * last. */
typedef struct lk_slot {
  lk_plan *plan;
  const lk_plan_body *body;
  dnnl_exec_arg_t *args; /* [n_args + n_steps]; NULL: there are no primitives */
  void **pointers;       /* of one kernel after the other; NULL: each has few */
  uint32_t lane;         /* whose scratch memory the handles point into */
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
  return lk_plan_steps(body)[step].first_arg + step + arg;
}

/* A primitive's arguments, and behind them its scratchpad, if it has one. */
static inline uint32_t lk_n_handles(const lk_step *step) {
  if (step->primitive == NULL) return 0;
  return step->n_args + (step->primitive->scratchpad_bytes > 0 ? 1 : 0);
}

/* Where an operand is that does not change from run to run; NULL for inputs and outputs. */
static inline void *lk_fixed_pointer(const lk_plan_body *body, const lk_step_arg *arg,
                                     unsigned char *scratch) {
  if (arg->place == LK_PLACE_TEMP) return scratch + lk_plan_temps(body)[arg->index];
  /* oneDNN takes every pointer as writable; packed constants are only read */
  if (arg->place == LK_PLACE_PACKED) {
    return (void *)(uintptr_t)lk_packed_data(lk_plan_packed(body)[arg->index]);
  }
  return NULL;
}
/* Sets the handles that do not change from run to run in one lane. */
lk_status lk_slot_point(lk_frame *frame, lk_slot *self, uint32_t lane_index, lk_error *error);
/* Forgets the slot that was attached last. */
void lk_frame_detach(lk_frame *frame);
