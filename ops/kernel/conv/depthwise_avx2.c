/* Tiles of depthwise convolutions, compiled for AVX2 and FMA. */
#define LK_VEC_BYTES 32
#define LK_DEPTHWISE_TABLE lk_depthwise_avx2

#include <immintrin.h>
#include <stddef.h>

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/conv/depthwise_tile.inc"

#include "ops/kernel/vec/vec_end.h"
