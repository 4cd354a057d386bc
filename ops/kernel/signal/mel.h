/* The weights that bring a spectrum to bands of the mel scale. */
#pragma once

#include "ops/kernel/kernel.h"

typedef struct lk_mel {
  int64_t bands, length, rate; /* length: of the transform; rate: samples in a second */
  double lower, upper;         /* Hz: 0 <= lower <= upper <= rate / 2 */
} lk_mel;

/* Params: lk_mel. Pointers: to, f64 [length / 2 + 1][bands]. */
lk_status lk_mel_kernel(const void *params, void *const *pointers, lk_error *error);
