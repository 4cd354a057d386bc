/* The microkernels, compiled for AVX2 and FMA. */
#define LK_VEC_BYTES 32
#define LK_MICRO_TABLE lk_micro_avx2

#include <immintrin.h>
#include <stddef.h>

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/product/micro_tile.inc"

#include "ops/kernel/vec/vec_end.h"
