/* The loops of resizing, of each instruction set. */
#include "ops/kernel/sample/resize_loops.h"

const lk_resize_loops *lk_resize_loops_get(lk_isa isa) {
  static const lk_resize_loops *const sets[LK_ISA_COUNT] = {[LK_ISA_BASE] = &lk_resize_loops_base,
                                                            [LK_ISA_AVX2] = &lk_resize_loops_avx2,
                                                            [LK_ISA_AVX512] =
                                                                &lk_resize_loops_avx512};
  return sets[isa];
}
