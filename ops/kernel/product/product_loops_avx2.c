/* The loops of products that need no tiles, compiled for AVX2 and FMA. */
#define LK_VEC_BYTES 32
#define LK_PRODUCT_LOOPS lk_product_loops_avx2

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/product/product_loops.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/product/product_table.inc"

#include "ops/kernel/vec/vec_end.h"
