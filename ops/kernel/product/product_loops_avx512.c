/* The loops of products that need no tiles, compiled for AVX-512. */
#define LK_VEC_BYTES 64

#include <immintrin.h>
#include <math.h>

#include "ops/kernel/product/product_loops.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/product/dots_loops.inc"
#include "ops/kernel/product/product_plain.inc"

const lk_product_loops lk_product_loops_avx512 = {
    .dots = dots,
    .weigh = weigh,
    .plain =
        {[LK_PLAIN_F64] = product_f64, [LK_PLAIN_U32] = product_u32, [LK_PLAIN_U64] = product_u64},
    .plain_columns = {[LK_PLAIN_F64] = product_columns_f64,
                      [LK_PLAIN_U32] = product_columns_u32,
                      [LK_PLAIN_U64] = product_columns_u64},
    .plain_panel = 2 * (int64_t)LK_VEC_BYTES,
};

#include "ops/kernel/vec/vec_end.h"
