/* The instruction set that kernels of several may use. */
#include "ops/kernel/isa.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

const char *lk_isa_name(lk_isa isa) {
  static const char *const names[LK_ISA_COUNT] = {
      [LK_ISA_BASE] = "sse2", [LK_ISA_AVX2] = "avx2", [LK_ISA_AVX512] = "avx512"};
  return names[isa];
}

bool lk_isa_parse(const char *name, lk_isa *out_isa) {
  for (int isa = 0; isa < LK_ISA_COUNT; isa++) {
    if (strcasecmp(name, lk_isa_name((lk_isa)isa)) != 0) continue;
    *out_isa = (lk_isa)isa;
    return true;
  }
  return false;
}

static lk_isa of_processor(void) {
  __builtin_cpu_init();
  /* F16C is older than these two, and in every processor that has them */
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return LK_ISA_BASE;
  }
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
             ? LK_ISA_AVX512
             : LK_ISA_AVX2;
}

bool lk_isa_has_bf16(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
}

bool lk_isa_has_vnni(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") != 0;
}

lk_isa lk_isa_get(void) {
  /* One more than the answer; 0: nobody asked yet. The variable is read once: kernels of one plan
   * must not part. */
  static atomic_int known;
  int found = atomic_load_explicit(&known, memory_order_relaxed);
  if (found == 0) {
    const char *name = getenv("LATCHKEY_MAX_ISA");
    lk_isa limit = LK_ISA_AVX512;
    if (name != NULL) (void)lk_isa_parse(name, &limit);
    const lk_isa own = of_processor();
    found = 1 + (int)(limit < own ? limit : own);
    atomic_store_explicit(&known, found, memory_order_relaxed);
  }
  return (lk_isa)(found - 1);
}
