/* The planes of strided copies of each instruction set. */
#include "ops/kernel/move/copy_plane.h"

const lk_copy_planes *lk_copy_planes_get(lk_isa isa) {
  static const lk_copy_planes *const sets[LK_ISA_COUNT] = {[LK_ISA_BASE] = &lk_copy_planes_base,
                                                           [LK_ISA_AVX2] = &lk_copy_planes_avx2,
                                                           [LK_ISA_AVX512] =
                                                               &lk_copy_planes_avx512};
  return sets[isa];
}
