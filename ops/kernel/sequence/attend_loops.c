/* The loops of attention of each instruction set. */
#include "ops/kernel/sequence/attend_loops.h"

const lk_attend_loops *lk_attend_loops_get(lk_isa isa) {
  static const lk_attend_loops *const sets[LK_ISA_COUNT] = {[LK_ISA_BASE] = &lk_attend_loops_base,
                                                            [LK_ISA_AVX2] = &lk_attend_loops_avx2,
                                                            [LK_ISA_AVX512] =
                                                                &lk_attend_loops_avx512};
  return sets[isa];
}
