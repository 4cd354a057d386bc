/* Fills: a pattern all over a tensor. */
#pragma once

#include "ops/kernel/kernel.h"

/* The longest pattern that a fill repeats, in bytes. */
#define LK_MAX_FILL 4096

/* `count` times the same `size` bytes. */
typedef struct lk_fill {
  int64_t count;
  size_t size;
  uint8_t value[LK_MAX_FILL]; /* may be left out behind the first `size` bytes */
} lk_fill;

/* Params: lk_fill. Pointers: to. */
lk_status lk_fill_kernel(const void *params, void *const *pointers, lk_error *error);
