/* The loops of products of bytes, compiled for AVX-512 with VNNI; and with AMX, which differ in how
 * products are made. */
#define LK_VEC_BYTES 64
#define LK_VEC_VNNI 1
#define LK_DOT_GROUP 4
#define LK_INTEGER_TABLE lk_integer_vnni
#define LK_INTEGER_TILES_TABLE lk_integer_amx

#include <assert.h>
#include <immintrin.h>
#include <latchkey/base.h>
#include <stddef.h>
#include <string.h>

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/integer/integer_loops.inc"

#include "ops/kernel/vec/vec_end.h"
