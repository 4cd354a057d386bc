/* Masks of keys as numbers that are added to attention scores. Bound: bytes. */
#pragma once

#include "ops/kernel/kernel.h"

typedef enum lk_padding_form {
  LK_PADDING_ENDS,       /* [batch]: from there on keys are hidden; what follows does not matter */
  LK_PADDING_ENDS_BEGIN, /* [2][batch]: and those before the second number */
  LK_PADDING_EACH        /* a number for each key, hidden where it is not positive */
} lk_padding_form;

typedef struct lk_padding {
  lk_padding_form form;
  int64_t batch, rows, keys;           /* rows: 1 but for LK_PADDING_EACH */
  int64_t first, batch_step, row_step; /* of LK_PADDING_EACH, in elements */
  float filter;                        /* for a hidden key; else 0 */
} lk_padding;

/* Params: lk_padding. Pointers: the mask i32, and f32 [batch][rows][keys]. */
lk_status lk_padding_kernel(const void *params, void *const *pointers, lk_error *error);
