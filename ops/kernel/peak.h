/* What this machine can do at the most: arithmetic in registers, and reading memory. It is what the
 * work of operators is compared with. */
#pragma once

#include <latchkey/base.h>

typedef struct lk_peak {
  int32_t threads; /* that took part: fewer than asked for where they cannot be started */
  double gflops;   /* 10^9 multiplications and additions of f32 in a second */
  double gbytes;   /* 10^9 bytes in a second, read from memory behind the caches */
} lk_peak;

/* Measures with `threads` threads, in about 150 ms, the best of several rounds of each. Memory of
 * up to LK_PEAK_MAX_BYTES is allocated meanwhile. LK_OUT_OF_MEMORY. */
#define LK_PEAK_MAX_BYTES ((size_t)256 << 20)
lk_status lk_peak_measure(const lk_allocator *allocator, int32_t threads, lk_peak *out,
                          lk_error *error);
