/* The loops of attention, compiled for AVX-512. */
#define LK_VEC_BYTES 64
#define LK_ATTEND_LOOPS lk_attend_loops_avx512

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/sequence/attend_loops.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/sequence/attend_loops.inc"

#include "ops/kernel/vec/vec_end.h"
