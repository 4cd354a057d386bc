/* The tiles of depthwise convolutions of each instruction set. */
#include "ops/kernel/conv/depthwise_tile.h"

const lk_depthwise_tiles *lk_depthwise_tiles_get(lk_isa isa) {
  static const lk_depthwise_tiles *const sets[LK_ISA_COUNT] = {[LK_ISA_BASE] = &lk_depthwise_base,
                                                               [LK_ISA_AVX2] = &lk_depthwise_avx2,
                                                               [LK_ISA_AVX512] =
                                                                   &lk_depthwise_avx512};
  return sets[isa];
}
