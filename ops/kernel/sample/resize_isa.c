/* The loops of resizing, compiled for each instruction set. */
#define LOOPS LK_OF_ISA(lk_resize_loops)

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
