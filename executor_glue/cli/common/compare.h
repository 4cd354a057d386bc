/* Compares a tensor with what was expected. */
#pragma once

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tolerance {
  double relative, absolute;
} tolerance;

/* LK_OK when types and shapes are equal and every element is: floats within absolute + relative *
 * |expected| (as numpy.testing.assert_allclose; of bf16, which has fewer bits, 16 times the
 * relative), with NaN equal to NaN and an infinity to itself; integers and bools exactly. Else
 * LK_INVALID_ARGUMENT: the first difference and how many there are, with `name` in the sentence. */
lk_status compare_tensors(const lk_tensor *got, const lk_tensor *expected, tolerance within,
                          const char *name, lk_error *error);

#ifdef __cplusplus
}
#endif
