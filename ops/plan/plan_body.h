/* Plans: a short list of steps, each a kernel of ops/kernel/.
 *
 * A plan is data: immutable once made, and shared by threads. Whoever runs it brings a frame with
 * scratch memory. It lies in one block of memory, because a host keeps one for
 * each node and size.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "ops/kernel/kernel.h"
#include "ops/plan/op.h"

/* Where memory that a step reads or writes comes from. */
typedef enum lk_place {
  LK_PLACE_NONE = 0,
  LK_PLACE_INPUT = 1,  /* index: input of the node */
  LK_PLACE_OUTPUT = 2, /* index: output of the node */
  LK_PLACE_TEMP = 3,   /* index: temporary in the frame's scratch memory */
  LK_PLACE_PACKED = 4, /* index: packed constant of the plan */
  LK_PLACE_SLOT = 5    /* index: value of the plan; what its engine keeps for it in the frame */
} lk_place;

typedef struct lk_step_arg {
  uint16_t place, index;
} lk_step_arg;

typedef struct lk_step {
  lk_kernel_fn kernel;
  const void *params;
  uint16_t first_arg, n_args;
  uint32_t params_size : 24;
  /* As lk_step_info has them; runs do not read them. */
  uint32_t work : 8;
  const char *kind;
  float flops, bytes;
} lk_step;

_Static_assert(sizeof(lk_step) == 40, "kept for each node and size: small");

/* As many as a step has room for. */
enum { LK_STEP_MOST_PARAMS = (1 << 24) - 1, LK_STEP_MOST_WORK = UINT8_MAX };

/* A plan. Its arrays lie behind this struct, and behind them the params of its steps. */
typedef struct lk_plan_body {
  lk_ops_env *env;
  uint64_t node_serial; /* the op it was made for: never reused */
  size_t temp_bytes;
  double flops;          /* as in lk_plan_info */
  _Atomic uint32_t refs; /* of a plan that no cache has; else not used */
  uint32_t bytes;        /* of the block */
  uint16_t n_steps, n_args, n_packed, n_temps, n_inputs, n_outputs, n_reorders;
  uint16_t n_blocks; /* as in lk_plan_info */
  int16_t alias_input;
  int16_t in_place_input; /* input that output 0 is written over, or -1 */
  bool is_compared : 1;   /* LK_PLAN_COMPARED */
  bool is_long : 1;       /* it may take long whatever its work is, see lk_plan_body_is_long */
  bool is_short : 1;      /* the description of its output is an lk_short_desc */
  bool is_expected : 1;   /* there is an lk_plan_expected */
  uint8_t asks;           /* lk_plan_asks */
  uint16_t n_values;
} lk_plan_body;

_Static_assert(sizeof(lk_plan_body) == 64, "kept for each node and size: small");

/* Who is asked to compute the works of a plan, besides native. */
typedef enum lk_plan_asks {
  LK_ASKS_NATIVE = 0,  /* nobody */
  LK_ASKS_CHEAPER = 1, /* the engine, for works that it takes less time for */
  LK_ASKS_ENGINE = 2   /* the engine, for all that it takes */
} lk_plan_asks;

/* The description of the only output of a plan that nobody compares: one is kept for each node and
 * size, and read when the plan is made. */
typedef struct lk_short_desc {
  uint8_t dtype, rank;
  uint16_t layout; /* UINT16_MAX: LK_LAYOUT_ANY */
  uint32_t dims[/* rank */];
} lk_short_desc;

/* What a run takes, as lk_plan_info has it: of plans for whose works engines were chosen. */
typedef struct lk_plan_expected {
  double ns; /* 0: not known of all works */
  uint64_t is_measured;
} lk_plan_expected;

/* The arrays of a plan, by the counts of its body. */
typedef struct lk_plan_arrays {
  lk_step *steps;
  lk_step_arg *args;
  lk_packed **packed;
  lk_ref **values;           /* each an lk_value (ops/engine/value.h), with a reference */
  size_t *temps;             /* offsets in the frame's scratch memory, 64-byte aligned */
  lk_tensor_desc *outputs;   /* see lk_plan_body_output */
  lk_tensor_desc *inputs;    /* as bound; with is_compared only, as are the wishes */
  lk_layout *wishes;         /* [n_outputs] */
  lk_plan_expected expected; /* with is_expected only */
} lk_plan_arrays;

/* ---- the arrays of a finished plan, one behind the other ---- */

_Static_assert(sizeof(lk_step_arg) * 2 == sizeof(lk_packed *), "lk_plan_packed");
_Static_assert(sizeof(lk_packed *) == sizeof(lk_ref *), "lk_plan_values");

static inline const lk_step *lk_plan_steps(const lk_plan_body *body) {
  return (const lk_step *)(body + 1);
}
static inline const lk_step_arg *lk_plan_args(const lk_plan_body *body) {
  return (const lk_step_arg *)(lk_plan_steps(body) + body->n_steps);
}
static inline lk_packed *const *lk_plan_packed(const lk_plan_body *body) {
  /* pointers begin at a multiple of two arguments */
  return (lk_packed *const *)(lk_plan_args(body) + (body->n_args + 1) / 2 * 2);
}
static inline lk_ref *const *lk_plan_values(const lk_plan_body *body) {
  return (lk_ref *const *)(lk_plan_packed(body) + body->n_packed);
}
static inline const size_t *lk_plan_temps(const lk_plan_body *body) {
  return (const size_t *)(lk_plan_values(body) + body->n_values);
}
/* lk_tensor_desc [n_outputs], or an lk_short_desc. */
static inline const void *lk_plan_outputs(const lk_plan_body *body) {
  return lk_plan_temps(body) + body->n_temps;
}
/* Of output 0. */
static inline lk_layout lk_plan_output_layout(const lk_plan_body *body) {
  if (!body->is_short) return ((const lk_tensor_desc *)lk_plan_outputs(body))[0].layout;
  const uint16_t layout = ((const lk_short_desc *)lk_plan_outputs(body))->layout;
  return layout == UINT16_MAX ? LK_LAYOUT_ANY : layout;
}
static inline const lk_tensor_desc *lk_plan_inputs(const lk_plan_body *body) {
  return (const lk_tensor_desc *)lk_plan_outputs(body) + body->n_outputs;
}
static inline const lk_layout *lk_plan_wishes(const lk_plan_body *body) {
  return (const lk_layout *)(lk_plan_inputs(body) + body->n_inputs);
}

/* Who will look at a body besides those who run it. */
typedef enum lk_plan_use {
  LK_PLAN_COMPARED, /* a later bind compares its inputs and wishes with its own */
  LK_PLAN_RUN       /* nobody: they are left out */
} lk_plan_use;

/* A plan in one block, from a draft of its body and the arrays of that. Takes over the references
 * that these have; on failure they are still the draft's. */
lk_status lk_plan_body_create(const lk_plan_body *draft, const lk_plan_arrays *arrays,
                              lk_plan_body **out_body, lk_error *error);
/* The same block at another place, with room for it: it refers to nothing within the old one. */
void lk_plan_body_copy_to(const lk_plan_body *from, lk_plan_body *to);
/* A copy of a body that nobody compares, with other constants and another output of the same rank,
 * the only one. Takes over the references of `packed` [n_packed]; on failure they
 * are still the caller's. */
lk_status lk_plan_body_copy(const lk_plan_body *from, lk_packed *const *packed,
                            const lk_tensor_desc *output, lk_plan_body **out_body, lk_error *error);
/* Whether there is room for this output, of the same rank as the only one that it has. */
bool lk_plan_body_holds(const lk_plan_body *body, const lk_tensor_desc *output);
lk_tensor_desc lk_plan_body_output(const lk_plan_body *body, uint32_t index);
lk_plan_expected lk_plan_body_expected(const lk_plan_body *body);
/* Whether it may take milliseconds, on a slow processor say: a run that is watched looks within. */
bool lk_plan_body_is_long(const lk_plan_body *body);
/* NULL is allowed. */
void lk_plan_body_destroy(lk_plan_body *body);
