/* The loops of attention, compiled for each instruction set. */
#define LK_ATTEND_LOOPS LK_OF_ISA(lk_attend_loops)

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/sequence/attend_loops.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/sequence/attend_loops.inc"

#include "ops/kernel/vec/vec_end.h"
