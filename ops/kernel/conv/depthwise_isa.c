/* Tiles of depthwise convolutions, compiled for each instruction set. */
#define LK_DEPTHWISE_TABLE LK_OF_ISA(lk_depthwise)

#include <immintrin.h>
#include <stddef.h>

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/conv/depthwise_tile.inc"

#include "ops/kernel/vec/vec_end.h"
