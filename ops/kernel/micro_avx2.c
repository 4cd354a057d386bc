/* The microkernels, compiled for AVX2 and FMA. */
#define LK_VEC_BYTES 32
#define LK_MICRO_TABLE lk_micro_avx2

#include <immintrin.h>
#include <stddef.h>

/* What follows may use these instructions, and is called only where the processor has them. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif
#include "ops/kernel/micro_tile.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
