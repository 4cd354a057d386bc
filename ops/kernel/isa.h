/* The instruction set that kernels of several may use. */
#pragma once

#include <stdbool.h>

typedef enum lk_isa {
  LK_ISA_BASE,   /* SSE2, which every x86-64 has */
  LK_ISA_AVX2,   /* AVX2, FMA and F16C */
  LK_ISA_AVX512, /* these and AVX-512 F, BW, DQ and VL */
  LK_ISA_COUNT
} lk_isa;

/* The best one that this processor has and the environment variable LATCHKEY_MAX_ISA allows, which
 * is one of lk_isa_name; another value limits nothing here, and no context is made with it. Always
 * the same in a process. Any thread may ask. */
lk_isa lk_isa_get(void);

/* Whether the processor converts f32 to bf16 itself; what comes out does not depend on it. */
bool lk_isa_has_bf16(void);
/* Whether it has VBMI beside AVX-512: permutations of bytes. */
bool lk_isa_has_vbmi(void);
/* Whether it has VNNI beside AVX-512: products of bytes, added four at a time. */
bool lk_isa_has_vnni(void);
/* Whether kernels may use AMX's products of bytes: the processor and the system have them,
 * LATCHKEY_MAX_ISA is not set or "amx", and the system has allowed this process to use them, for
 * which it is asked once. It refuses where a thread has an alternate signal stack too small for
 * what a signal then saves. */
bool lk_isa_has_amx(void);

/* Whether kernels use either for products of bytes. */
bool lk_isa_multiplies_bytes(void);

const char *lk_isa_name(lk_isa isa); /* "sse2", "avx2", "avx512" */
/* One of these, or "amx", which is LK_ISA_AVX512. False: there is no such name. Upper case is as
 * good as lower. */
bool lk_isa_parse(const char *name, lk_isa *out_isa);
