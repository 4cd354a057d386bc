/* The instruction set that kernels of several may use. */
#pragma once

#include <stdbool.h>

typedef enum lk_isa {
  LK_ISA_BASE,   /* SSE2, which every x86-64 has */
  LK_ISA_AVX2,   /* AVX2, FMA and F16C */
  LK_ISA_AVX512, /* these and AVX-512 F, BW, DQ and VL */
  LK_ISA_COUNT
} lk_isa;

/* The table of an instruction set, of the three that a file *_isa.c becomes (LK_OF_ISA). */
#define LK_BY_ISA(isa, name)                                                                       \
  ((isa) == LK_ISA_AVX512 ? &name##_avx512 : (isa) == LK_ISA_AVX2 ? &name##_avx2 : &name##_base)

/* The best one that this processor has and the environment variable LATCHKEY_MAX_ISA allows. Always
 * the same in a process. Any thread may ask. */
lk_isa lk_isa_get(void);

/* The names that the variable takes: "sse2", "avx2"; "avx512_core", which is AVX-512 without what
 * lk_isa_has_* say; "avx512", all of it; "amx", which is that and AMX. Upper case is as good as
 * lower. Another value limits nothing here, and no context is made with it. */
bool lk_isa_is_name(const char *name);
/* What kernels use, by such a name. */
const char *lk_isa_in_use(void);

/* Whether kernels may use the processor's conversion of f32 to bf16; what comes out does not depend
 * on it. */
bool lk_isa_has_bf16(void);
/* Whether they may use VBMI: permutations of bytes. */
bool lk_isa_has_vbmi(void);
/* Whether they may use VNNI: products of bytes, added four at a time. */
bool lk_isa_has_vnni(void);
/* Whether they may use AMX's products of bytes: the processor and the system have them, and the
 * system has allowed this process to use them, for which it is asked once. It refuses where a
 * thread has an alternate signal stack too small for what a signal then saves. */
bool lk_isa_has_amx(void);

/* Whether kernels use either for products of bytes. */
bool lk_isa_multiplies_bytes(void);
