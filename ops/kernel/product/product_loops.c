/* The loops of products that need no tiles of each instruction set. */
#include "ops/kernel/product/product_loops.h"

const lk_product_loops *lk_product_loops_get(lk_isa isa) {
  static const lk_product_loops *const sets[LK_ISA_COUNT] = {[LK_ISA_BASE] = &lk_product_loops_base,
                                                             [LK_ISA_AVX2] = &lk_product_loops_avx2,
                                                             [LK_ISA_AVX512] =
                                                                 &lk_product_loops_avx512};
  return sets[isa];
}
