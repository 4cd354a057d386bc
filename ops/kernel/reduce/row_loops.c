/* The loops of each instruction set. */
#include "ops/kernel/reduce/row_loops.h"

const lk_row_loops *lk_row_loops_get(lk_isa isa) {
  static const lk_row_loops *const sets[LK_ISA_COUNT] = {[LK_ISA_BASE] = &lk_row_loops_base,
                                                         [LK_ISA_AVX2] = &lk_row_loops_avx2,
                                                         [LK_ISA_AVX512] = &lk_row_loops_avx512};
  return sets[isa];
}
