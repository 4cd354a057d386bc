/* The loops of products that need no tiles, compiled for any x86-64. */
#define LK_VEC_BYTES 16
#define LK_PRODUCT_LOOPS lk_product_loops_base

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/number.h"
#include "ops/kernel/product/product_loops.h"

#include "ops/kernel/product/product_table.inc"
