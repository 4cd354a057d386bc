/* The loops of products of bytes, compiled for each instruction set. */
#define LK_DOT_GROUP 2
#define LK_INTEGER_TABLE LK_OF_ISA(lk_integer)

#include <immintrin.h>
#include <latchkey/base.h>
#include <stddef.h>
#include <string.h>

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/integer/integer_loops.inc"

#include "ops/kernel/vec/vec_end.h"
