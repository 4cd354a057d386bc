/* Tiles of depthwise convolutions, compiled for any x86-64. */
#define LK_VEC_BYTES 16
#define LK_DEPTHWISE_TABLE lk_depthwise_base

#include <immintrin.h>
#include <stddef.h>

#include "ops/kernel/conv/depthwise_tile.inc"
