/* Loops of attention (attend.h). One source, attend_loops.inc, compiled for SSE2, AVX2 and
 * AVX-512. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ops/kernel/isa.h"

/* Scores of a row, which become cap * tanh(scale * score / cap) plus masks. */
typedef struct lk_attend_row {
  float *scores;
  int64_t n;
  const float *masks[2]; /* NULL: none */
  bool fills;            /* what the mask has stands in the place of the score, where it is not 0 */
  float scale, cap;      /* cap 0: none */
} lk_attend_row;

typedef struct lk_attend_loops {
  /* Does that, and says the largest; NaN does not count. */
  float (*prepare)(const lk_attend_row *row);
  /* The largest alone, of scores as they are. */
  float (*largest)(const float *scores, int64_t n);
  /* x = e^(scale * x - shift), which is at most 1; their sum. */
  float (*powers)(float *x, int64_t n, float scale, float shift);
  void (*multiply)(float *x, int64_t n, float factor);
} lk_attend_loops;

extern const lk_attend_loops lk_attend_loops_base, lk_attend_loops_avx2, lk_attend_loops_avx512;

/* Only for a processor that has the instructions. */
static inline const lk_attend_loops *lk_attend_loops_get(lk_isa isa) {
  return LK_BY_ISA(isa, lk_attend_loops);
}
