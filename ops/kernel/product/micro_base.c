/* The microkernels, compiled for any x86-64. */
#define LK_VEC_BYTES 16
#define LK_MICRO_TABLE lk_micro_base

#include <immintrin.h>
#include <stddef.h>

#include "ops/kernel/product/micro_tile.inc"
