/* The instruction set that kernels of several may use. */
#include "ops/kernel/isa.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

/* oneDNN's names; what is above AVX-512's first level limits nothing here. */
static const struct {
  const char *name;
  lk_isa isa;
} limits[] = {{"SSE41", LK_ISA_BASE},
              {"AVX", LK_ISA_BASE},
              {"AVX2", LK_ISA_AVX2},
              {"AVX2_VNNI", LK_ISA_AVX2},
              {"AVX2_VNNI_2", LK_ISA_AVX2}};

lk_isa lk_isa_limit(const char *name) {
  for (size_t i = 0; name != NULL && i < sizeof limits / sizeof limits[0]; i++) {
    if (strcasecmp(name, limits[i].name) == 0) return limits[i].isa;
  }
  return LK_ISA_AVX512;
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

lk_isa lk_isa_get(void) {
  /* One more than the answer; 0: nobody asked yet. oneDNN too reads its variable only once, so that
   * a change at run time must not part the two. */
  static atomic_int known;
  int found = atomic_load_explicit(&known, memory_order_relaxed);
  if (found == 0) {
    const char *name = getenv("ONEDNN_MAX_CPU_ISA");
    const lk_isa limit = lk_isa_limit(name != NULL ? name : getenv("DNNL_MAX_CPU_ISA"));
    const lk_isa own = of_processor();
    found = 1 + (int)(limit < own ? limit : own);
    atomic_store_explicit(&known, found, memory_order_relaxed);
  }
  return (lk_isa)(found - 1);
}
