/* Tiles of depthwise convolutions, compiled for AVX-512. */
#define LK_VEC_BYTES 64
#define LK_DEPTHWISE_TABLE lk_depthwise_avx512

#include <immintrin.h>
#include <stddef.h>

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/conv/depthwise_tile.inc"

#include "ops/kernel/vec/vec_end.h"
