/* The loops of products that need no tiles, compiled for each instruction set. */
#define LK_PRODUCT_LOOPS LK_OF_ISA(lk_product_loops)

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/product/product_loops.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/product/product_table.inc"

#include "ops/kernel/vec/vec_end.h"
