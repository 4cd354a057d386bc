/* The loops of resizing, compiled for AVX2. */
#define LK_VEC_BYTES 32
#define LOOPS lk_resize_loops_avx2

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "ops/kernel/number.h"
#include "ops/kernel/sample/resize_loops.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/vec/lanes.h"
#include "ops/kernel/vec/vec.h"

#include "ops/kernel/sample/resize_loops.inc"

#include "ops/kernel/vec/vec_end.h"
