/* The loops of products of bytes, of each instruction set. */
#include "ops/kernel/integer/integer_loops.h"

#include <stddef.h>

#include "ops/kernel/sizes.h"

const lk_integer_loops *lk_integer_loops_get(lk_isa isa) {
  if (isa != LK_ISA_AVX512 || !lk_isa_has_vnni()) return LK_BY_ISA(isa, lk_integer);
  return lk_isa_has_amx() ? &lk_integer_amx : &lk_integer_vnni;
}

/* As signed bytes, which unsigned ones become by moving them by 128. */
bool lk_integer_are_small(const uint8_t *bytes, int64_t count, bool is_signed) {
  enum { CHUNK = 4096 };
  const uint8_t moved = LK_INTEGER_SMALL + (is_signed ? 0 : 128);
  for (int64_t i = 0; i < count; i += CHUNK) {
    uint8_t most = 0;
    const int64_t end = lk_min(count, i + CHUNK);
    for (int64_t k = i; k < end; k++) {
      const uint8_t above = (uint8_t)(bytes[k] + moved); /* the least small one: 0 */
      most = above > most ? above : most;
    }
    if (most > 2 * LK_INTEGER_SMALL) return false;
  }
  return true;
}

const lk_integer_loops *lk_integer_loops_small(lk_isa isa) {
  return isa == LK_ISA_AVX2 ? &lk_integer_avx2_small : NULL;
}
