/* What of a processor decides which instruction set kernels use (isa.h). */
#pragma once

#include <stdbool.h>

/* What a processor, or the virtual machine on it, has of what the sets need. */
typedef struct lk_isa_features {
  bool avx2, fma, f16c;
  bool avx512; /* F, BW, DQ and VL */
} lk_isa_features;

/* The best set that needs no more, as a number: those of lk_isa. A virtual machine may hide any of
 * these from its guests. */
static inline int lk_isa_best(lk_isa_features has) {
  if (!has.avx2 || !has.fma || !has.f16c) return 0;
  return has.avx512 ? 2 : 1;
}
