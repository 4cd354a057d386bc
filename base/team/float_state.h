/* Floating point as C starts it: rounding to nearest, denormals kept, no traps. Hosts change that
 * for their threads (denormals flushed to zero, another rounding). Results must not depend on it,
 * and the host must find its state as it was, with the exceptions that it had seen. */
#pragma once

#if defined(__x86_64__)

#include <stdint.h>
#include <xmmintrin.h>

/* Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3: MXCSR, and what
 * is in it after a reset. The x87 unit is used by nothing here. */
#define LK_MXCSR_DEFAULT 0x1f80u
#define LK_MXCSR_EXCEPTIONS 0x3fu
#define LK_MXCSR_NO_DENORMALS 0x8040u /* 0 in place of denormal results, and of denormal operands */

typedef uint32_t lk_float_state;

static inline lk_float_state lk_float_begin(void) {
  const uint32_t before = _mm_getcsr();
  if ((before & ~LK_MXCSR_EXCEPTIONS) != LK_MXCSR_DEFAULT) _mm_setcsr(LK_MXCSR_DEFAULT);
  return before;
}

/* Until lk_float_end, denormals are 0. Arithmetic that shall see this, and no other, must be in a
 * function that is not inlined: compilers move arithmetic across a change of this state. */
static inline lk_float_state lk_float_begin_without_denormals(void) {
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(before | LK_MXCSR_NO_DENORMALS);
  return before;
}

static inline void lk_float_end(lk_float_state before) {
  if (_mm_getcsr() != before) _mm_setcsr(before);
}

#else

#include <fenv.h>

typedef fenv_t lk_float_state;

static inline lk_float_state lk_float_begin(void) {
  fenv_t before;
  (void)fegetenv(&before);
  (void)fesetenv(FE_DFL_ENV);
  return before;
}

/* C has no word for it: denormals are kept. */
static inline lk_float_state lk_float_begin_without_denormals(void) {
  fenv_t before;
  (void)fegetenv(&before);
  return before;
}

static inline void lk_float_end(lk_float_state before) {
  (void)fesetenv(&before);
}

#endif
