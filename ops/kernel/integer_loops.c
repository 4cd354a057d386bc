/* The loops of products of bytes, of each instruction set. */
#include "ops/kernel/integer_loops.h"

const lk_integer_loops *lk_integer_loops_get(lk_isa isa) {
  static const lk_integer_loops *const sets[LK_ISA_COUNT] = {[LK_ISA_BASE] = &lk_integer_base,
                                                             [LK_ISA_AVX2] = &lk_integer_avx2,
                                                             [LK_ISA_AVX512] = &lk_integer_avx512};
  return isa == LK_ISA_AVX512 && lk_isa_has_vnni() ? &lk_integer_vnni : sets[isa];
}
