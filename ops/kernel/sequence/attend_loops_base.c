/* The loops of attention, compiled for any x86-64. */
#define LK_VEC_BYTES 16
#define LK_ATTEND_LOOPS lk_attend_loops_base

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/number.h"
#include "ops/kernel/sequence/attend_loops.h"

#include "ops/kernel/sequence/attend_loops.inc"
