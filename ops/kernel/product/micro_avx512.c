/* The microkernels, compiled for AVX-512. */
#define LK_VEC_BYTES 64
#define LK_MICRO_TABLE lk_micro_avx512

#include <immintrin.h>
#include <stddef.h>

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/product/micro_tile.inc"

#include "ops/kernel/vec/vec_end.h"
