/* The loops of attention, compiled for any x86-64. */
#define LK_VEC_BYTES 16

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/number.h"
#include "ops/kernel/sequence/attend_loops.h"

#include "ops/kernel/sequence/attend_loops.inc"

const lk_attend_loops lk_attend_loops_base = {attend_prepare, attend_largest, attend_powers,
                                              attend_multiply};
