/* The loops of attention, compiled for AVX-512. */
#define LK_VEC_BYTES 64

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/sequence/attend_loops.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/sequence/attend_loops.inc"

const lk_attend_loops lk_attend_loops_avx512 = {attend_prepare, attend_largest, attend_powers,
                                                attend_multiply};

#include "ops/kernel/vec/vec_end.h"
