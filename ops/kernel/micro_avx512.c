/* The microkernels, compiled for AVX-512. */
#define LK_VEC_BYTES 64
#define LK_MICRO_TABLE lk_micro_avx512

#include <immintrin.h>
#include <stddef.h>

/* What follows may use these instructions, and is called only where the processor has them. */
#ifdef __clang__
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))),                   \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif
#include "ops/kernel/micro_tile.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
