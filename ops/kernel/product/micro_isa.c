/* The microkernels, compiled for each instruction set. */
#define LK_MICRO_TABLE LK_OF_ISA(lk_micro)

#include <immintrin.h>
#include <stddef.h>

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/product/micro_tile.inc"

#include "ops/kernel/vec/vec_end.h"
