/* The loops of products of bytes, compiled for any x86-64. */
#define LK_VEC_BYTES 16
#define LK_DOT_GROUP 2
#define LK_INTEGER_TABLE lk_integer_base

#include <immintrin.h>
#include <latchkey/base.h>
#include <stddef.h>
#include <string.h>

#include "ops/kernel/integer/integer_loops.inc"
