/* The loops of resizing, compiled for any x86-64. */
#define LK_VEC_BYTES 16
#define LOOPS lk_resize_loops_base

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "ops/kernel/number.h"
#include "ops/kernel/sample/resize_loops.h"

#include "ops/kernel/vec/lanes.h"
#include "ops/kernel/vec/vec.h"

#include "ops/kernel/sample/resize_loops.inc"
