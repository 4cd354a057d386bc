/* The microkernels of each instruction set. */
#include "ops/kernel/product/micro.h"

const lk_micro *lk_micro_for(lk_isa isa, int64_t columns) {
  const bool fits_half = isa == LK_ISA_AVX512 && columns <= lk_micro_avx2.lanes;
  return lk_micro_get(fits_half ? LK_ISA_AVX2 : isa);
}
