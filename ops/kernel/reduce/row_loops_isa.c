/* The loops of the kernels that reduce, compiled for each instruction set. */
#define LK_ROW_LOOPS LK_OF_ISA(lk_row_loops)

#include <float.h>
#include <immintrin.h>
#include <math.h>

#include "ops/kernel/reduce/row_loops.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/vec/vec_double.h"
#include "ops/kernel/vec/vec_lanes.h"

#include "ops/kernel/reduce/lrn_loops.inc"
#include "ops/kernel/reduce/pool_loops.inc"
#include "ops/kernel/reduce/pool_rolling_loops.inc"
#include "ops/kernel/reduce/reduce_loops.inc"
#include "ops/kernel/reduce/reduce_plain.inc"

/* with what reductions have */
#include "ops/kernel/reduce/along_plain.inc"
#include "ops/kernel/reduce/norm_loops.inc"
#include "ops/kernel/reduce/softmax_loops.inc"

#include "ops/kernel/reduce/row_table.inc"

#include "ops/kernel/vec/vec_end.h"
