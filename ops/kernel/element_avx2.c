/* The loops of element programs, compiled for AVX2, FMA and F16C. */
#define LK_VEC_BYTES 32
#define LOOPS lk_element_loops_avx2

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/element_ops.h"
#include "ops/kernel/number.h"

/* What follows may use these instructions, and is called only where the processor has them. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif
#include "ops/kernel/vec_double.h"

#include "ops/kernel/element_loops.inc"
#include "ops/kernel/element_plain.inc"
#include "ops/kernel/element_table.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
