/* The planes of strided copies of each instruction set. */
#include "ops/kernel/copy_plane.h"

const lk_copy_planes *lk_copy_planes_get(lk_isa isa) {
  static const lk_copy_planes *const sets[LK_ISA_COUNT] = {[LK_ISA_BASE] = &lk_copy_planes_base,
                                                           [LK_ISA_AVX2] = &lk_copy_planes_avx2,
                                                           [LK_ISA_AVX512] =
                                                               &lk_copy_planes_avx512};
  return sets[isa];
}

enum { LARGE_BLOCK = 1024 };

lk_copy_plane_fn *lk_copy_blocks_fn(const lk_copy_planes *planes, size_t block) {
  if (block >= LARGE_BLOCK) return planes->large;
  if (block >= 64) return planes->vectors;
  const uint32_t log = lk_copy_log(block);
  return log < 5 && block == (size_t)1 << log ? planes->exact[log] : planes->up_to[log];
}
