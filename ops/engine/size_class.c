/* Which sizes of a work are free, and their classes. */
#include "ops/engine/size_class.h"

#include <stdbool.h>

#define ROLE(name) (1U << LK_ROLE_##name)

/* Sizes of these are those of a model, also where the tensor comes with a run. */
#define PARAMETERS                                                                                 \
  (ROLE(SCALE) | ROLE(SHIFT) | ROLE(RECURRENT_WEIGHTS) | ROLE(RECURRENT_ZERO) |                    \
   ROLE(RECURRENT_SCALE) | ROLE(PEEPHOLES) | ROLE(SINKS))
#define WEIGHTS (ROLE(WEIGHTS) | ROLE(WEIGHTS_ZERO) | ROLE(WEIGHTS_SCALE))

static int64_t round_up(int64_t size) {
  enum { MOST_BITS = 62 };
  if (size <= 1) return size; /* what a key has may be anything */
  const int bits = 64 - __builtin_clzll((unsigned long long)size - 1);
  return INT64_C(1) << (bits < MOST_BITS ? bits : MOST_BITS);
}

/* The second tensor of a product may be anything that comes with a run. */
static uint32_t parameters_of(const lk_work *work) {
  const bool has_weights = work->kind != LK_WORK_PRODUCT;
  const bool has_given = work->kind == LK_WORK_BATCH_NORM;
  return work->constants | PARAMETERS | (has_weights ? WEIGHTS : 0) |
         (has_given ? ROLE(MEAN) | ROLE(VARIANCE) : 0);
}

/* Dimension 1 is channels, of which a model has so many. */
static bool has_channels(const lk_work *work) {
  switch (work->kind) {
  case LK_WORK_CONV:
  case LK_WORK_CONV_TRANSPOSED:
  case LK_WORK_POOL:
  case LK_WORK_LRN:
  case LK_WORK_GROUP_NORM:
  case LK_WORK_BATCH_NORM:
  case LK_WORK_RESIZE:
    return true;
  default:
    return false;
  }
}

static void round_tensor(lk_tensor_desc *desc, bool has_channels) {
  for (uint32_t i = 0; i < desc->rank && i < LK_MAX_RANK; i++) {
    if (i != 1 || !has_channels) desc->dims[i] = round_up(desc->dims[i]);
  }
}

static void round_place(lk_heads_place *place) {
  place->first = round_up(place->first);
  place->batch = round_up(place->batch);
  place->head = round_up(place->head);
  place->row = round_up(place->row);
}

/* Heads and their sizes are the model's, as are windows. */
static void round_attention(lk_work_attention *of) {
  of->batch = round_up(of->batch);
  of->queries = round_up(of->queries);
  of->keys = round_up(of->keys);
  of->past = round_up(of->past);
  round_place(&of->q);
  round_place(&of->k);
  round_place(&of->v);
  round_place(&of->y);
}

/* A pooling of all of a dimension has a window as large as that: 0, as no other has. */
static void round_window(const lk_work *work, lk_window_shape *of) {
  for (uint32_t i = 0; i < of->rank && i < LK_MAX_SPATIAL; i++) {
    const bool is_whole = work->kind == LK_WORK_POOL && of->out[i] == 1 &&
                          of->kernel[i] == work->tensors[LK_ROLE_SRC].dims[2 + i];
    if (is_whole) of->kernel[i] = 0;
    of->out[i] = round_up(of->out[i]);
  }
}

/* A scale is a quotient of two sizes, or was given as one number. */
static void divide_scales(lk_work_resize *of) {
  for (uint32_t i = 0; i < LK_MAX_RANK; i++) {
    if (of->down[i] == 0) continue;
    of->up[i] /= of->down[i];
    of->down[i] = 1;
  }
}

void lk_size_class(const lk_work *work, lk_work *out_class) {
  const uint32_t parameters = parameters_of(work);
  const bool of_channels = has_channels(work);
  *out_class = *work;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if ((parameters >> role & 1) != 0) continue;
    round_tensor(&out_class->tensors[role], of_channels);
  }
  round_window(work, &out_class->window);
  round_attention(&out_class->attention);
  divide_scales(&out_class->resize);
}
