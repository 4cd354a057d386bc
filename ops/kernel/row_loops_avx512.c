/* The loops of the kernels that reduce, compiled for AVX-512. */
#define LK_VEC_BYTES 64
#define LK_ROW_LOOPS lk_row_loops_avx512

#include <float.h>
#include <immintrin.h>
#include <math.h>

#include "ops/kernel/row_loops.h"

#include "ops/kernel/vec_begin.h"

#include "ops/kernel/vec_double.h"
#include "ops/kernel/vec_lanes.h"

#include "ops/kernel/lrn_loops.inc"
#include "ops/kernel/pool_loops.inc"
#include "ops/kernel/pool_rolling_loops.inc"
#include "ops/kernel/reduce_loops.inc"
#include "ops/kernel/reduce_plain.inc"

/* with what reductions have */
#include "ops/kernel/along_plain.inc"
#include "ops/kernel/norm_loops.inc"
#include "ops/kernel/softmax_loops.inc"

#include "ops/kernel/row_table.inc"

#include "ops/kernel/vec_end.h"
