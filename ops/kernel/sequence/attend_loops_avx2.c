/* The loops of attention, compiled for AVX2 and FMA. */
#define LK_VEC_BYTES 32
#define LK_ATTEND_LOOPS lk_attend_loops_avx2

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/sequence/attend_loops.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/sequence/attend_loops.inc"

#include "ops/kernel/vec/vec_end.h"
