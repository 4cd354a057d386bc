/* The instruction set that kernels of several may use. */
#pragma once

#include <stdbool.h>

typedef enum lk_isa {
  LK_ISA_BASE,   /* SSE2, which every x86-64 has */
  LK_ISA_AVX2,   /* AVX2, FMA and F16C */
  LK_ISA_AVX512, /* these and AVX-512 F, BW, DQ and VL */
  LK_ISA_COUNT
} lk_isa;

/* The best one that this processor has and the environment allows: ONEDNN_MAX_CPU_ISA, which limits
 * oneDNN by the names of its levels, limits kernels too. Always the same in a process. */
lk_isa lk_isa_get(void);

/* Whether the processor converts f32 to bf16 itself; what comes out does not depend on it. */
bool lk_isa_has_bf16(void);

/* The level for a value of that variable. One that oneDNN does not know limits nothing, nor does
 * NULL. */
lk_isa lk_isa_limit(const char *name);
