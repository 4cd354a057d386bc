/* What a frame consists of: frame.c attaches plans to it, run.c runs them. */
#pragma once

#include "base/stop.h"
#include "base/team/float_state.h"
#include "plugin/internal.h"

/* A kernel with more arguments than this has its pointers in the slot, others on the stack. */
enum { LK_FEW_ARGS = 16 };

/* A plan in a frame. */
typedef struct lk_slot {
  lk_plan *plan;
  const lk_plan_body *body;
  void **pointers;       /* of one kernel after the other; NULL: each has few */
  void **values;         /* [n_values]: what engines keep for values here; NULL: there are none */
  uint32_t n_open;       /* of these */
  lk_kernel_ahead ahead; /* constants of a slot behind it, which most likely runs next */
  bool is_long;          /* a watch looks within it */
} lk_slot;

/* What slots need to run that may not run at the same time as others of the frame. */
typedef struct lk_lane {
  unsigned char *scratch; /* [scratch_bytes of the frame] */
} lk_lane;

struct lk_frame {
  lk_executor *executor;
  lk_lane *lanes;
  uint32_t n_lanes;
  lk_slot *slots;
  size_t n_slots, slots_capacity;
  size_t scratch_bytes; /* of each lane */
  uint64_t value_bytes; /* that engines keep for values */
  bool is_brought;      /* the caller brings the scratch memory with each run */
  bool is_watched;      /* operators look at `stop` */
  lk_stop stop;
  int host_threads; /* saved by frame_begin; 0: not begun */
  lk_float_state host_float;
};

/* Where an operand is that does not change from run to run; NULL for inputs and outputs. */
static inline void *lk_fixed_pointer(const lk_slot *slot, const lk_step_arg *arg,
                                     unsigned char *scratch) {
  const lk_plan_body *body = slot->body;
  if (arg->place == LK_PLACE_TEMP) return scratch + lk_plan_temps(body)[arg->index];
  /* kernels take every pointer as writable; packed constants are only read */
  if (arg->place == LK_PLACE_PACKED) {
    return (void *)(uintptr_t)lk_packed_data(lk_plan_packed(body)[arg->index]);
  }
  if (arg->place == LK_PLACE_SLOT) return slot->values[arg->index];
  return NULL;
}
/* Forgets the slot that was attached last. */
void lk_frame_detach(lk_frame *frame);
