/* The instruction set that kernels of several may use. */
#include "ops/kernel/isa.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

const char *lk_isa_name(lk_isa isa) {
  static const char *const names[LK_ISA_COUNT] = {
      [LK_ISA_BASE] = "sse2", [LK_ISA_AVX2] = "avx2", [LK_ISA_AVX512] = "avx512"};
  return names[isa];
}

static bool is_amx(const char *name) {
  return strcasecmp(name, "amx") == 0;
}

bool lk_isa_parse(const char *name, lk_isa *out_isa) {
  if (is_amx(name)) {
    *out_isa = LK_ISA_AVX512;
    return true;
  }
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

bool lk_isa_has_vbmi(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vbmi") != 0;
}

bool lk_isa_has_vnni(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") != 0;
}

#if defined(__x86_64__)
/* Linux keeps the registers for threads of a process that has asked, see its
 * Documentation/arch/x86/xstate.rst. */
static bool ask_for_amx(void) {
  enum { ASK_FOR_STATE = 0x1023, TILES = 18, TILE_BITS = 3 << 24, OSXSAVE = 1 << 27 };
  unsigned a = 0, b = 0, c = 0, d = 0, low = 0, high = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & OSXSAVE) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & TILE_BITS) != TILE_BITS) return false;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low >> 17 & 3) != 3) return false;
  return syscall(SYS_arch_prctl, ASK_FOR_STATE, TILES) == 0;
}
#else
static bool ask_for_amx(void) {
  return false;
}
#endif

bool lk_isa_has_amx(void) {
  enum { UNKNOWN, NO, YES };
  static atomic_int known;
  int found = atomic_load_explicit(&known, memory_order_relaxed);
  if (found == UNKNOWN) {
    const char *name = getenv("LATCHKEY_MAX_ISA");
    lk_isa limit;
    const bool is_allowed = name == NULL || is_amx(name) || !lk_isa_parse(name, &limit);
    found = is_allowed && ask_for_amx() ? YES : NO;
    atomic_store_explicit(&known, found, memory_order_relaxed);
  }
  return found == YES;
}

bool lk_isa_multiplies_bytes(void) {
  return lk_isa_get() == LK_ISA_AVX512 && lk_isa_has_vnni();
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
