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

#include "ops/kernel/isa_features.h"

/* What LATCHKEY_MAX_ISA may say. Beside AVX-512's foundation, kernels use extensions of it where
 * the processor has them, and AMX's products of bytes. */
typedef enum level { SSE2, AVX2, AVX512_CORE, AVX512, AMX, LEVELS } level;

static const struct {
  const char *name;
  lk_isa isa;
} levels[LEVELS] = {[SSE2] = {"sse2", LK_ISA_BASE},
                    [AVX2] = {"avx2", LK_ISA_AVX2},
                    [AVX512_CORE] = {"avx512_core", LK_ISA_AVX512},
                    [AVX512] = {"avx512", LK_ISA_AVX512},
                    [AMX] = {"amx", LK_ISA_AVX512}};

static level find_level(const char *name) {
  level found = SSE2;
  while (found < LEVELS && strcasecmp(name, levels[found].name) != 0) found++;
  return found;
}

bool lk_isa_is_name(const char *name) {
  return find_level(name) < LEVELS;
}

/* The variable is read once: kernels of one plan must not part. */
static level most_allowed(void) {
  /* One more than the answer; 0: nobody asked yet. */
  static atomic_int known;
  int found = atomic_load_explicit(&known, memory_order_relaxed);
  if (found == 0) {
    const char *name = getenv("LATCHKEY_MAX_ISA");
    const level named = name != NULL ? find_level(name) : LEVELS;
    found = 1 + (int)(named < LEVELS ? named : AMX);
    atomic_store_explicit(&known, found, memory_order_relaxed);
  }
  return (level)(found - 1);
}

/* Its registers are those of AVX, which the system keeps where there is AVX2. */
static bool has_f16c(void) {
#if defined(__x86_64__)
  enum { F16C = 1 << 29 };
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & F16C) != 0;
#else
  return false;
#endif
}

_Static_assert(LK_ISA_BASE == 0 && LK_ISA_AVX2 == 1 && LK_ISA_AVX512 == 2, "lk_isa_best");

static lk_isa of_processor(void) {
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return (lk_isa)lk_isa_best((lk_isa_features){.avx2 = __builtin_cpu_supports("avx2") != 0,
                                               .fma = __builtin_cpu_supports("fma") != 0,
                                               .f16c = has_f16c(),
                                               .avx512 = avx512});
}

/* Extensions of AVX-512: bits, as they were found. Loops ask, so the processor is asked once. */
enum { BF16 = 1, VBMI = 2, VNNI = 4, ASKED = 8 };

static bool has(int extension) {
  static atomic_int known;
  int found = atomic_load_explicit(&known, memory_order_relaxed);
  if (found == 0) {
    __builtin_cpu_init();
    found = ASKED;
    if (most_allowed() >= AVX512 && lk_isa_get() == LK_ISA_AVX512) {
      if (__builtin_cpu_supports("avx512bf16")) found |= BF16;
      if (__builtin_cpu_supports("avx512vbmi")) found |= VBMI;
      if (__builtin_cpu_supports("avx512vnni")) found |= VNNI;
    }
    atomic_store_explicit(&known, found, memory_order_relaxed);
  }
  return (found & extension) != 0;
}

bool lk_isa_has_bf16(void) {
  return has(BF16);
}

bool lk_isa_has_vbmi(void) {
  return has(VBMI);
}

bool lk_isa_has_vnni(void) {
  return has(VNNI);
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
    found = most_allowed() >= AMX && lk_isa_get() == LK_ISA_AVX512 && ask_for_amx() ? YES : NO;
    atomic_store_explicit(&known, found, memory_order_relaxed);
  }
  return found == YES;
}

bool lk_isa_multiplies_bytes(void) {
  return lk_isa_has_vnni();
}

lk_isa lk_isa_get(void) {
  static atomic_int known; /* as above */
  int found = atomic_load_explicit(&known, memory_order_relaxed);
  if (found == 0) {
    const lk_isa own = of_processor(), limit = levels[most_allowed()].isa;
    found = 1 + (int)(limit < own ? limit : own);
    atomic_store_explicit(&known, found, memory_order_relaxed);
  }
  return (lk_isa)(found - 1);
}

const char *lk_isa_in_use(void) {
  const lk_isa isa = lk_isa_get();
  if (lk_isa_has_amx()) return levels[AMX].name;
  if (isa == LK_ISA_AVX512) return levels[most_allowed() < AVX512 ? AVX512_CORE : AVX512].name;
  return levels[isa == LK_ISA_AVX2 ? AVX2 : SSE2].name;
}
