/* Compares a tensor with what was expected. */
#include "executor_glue/cli/common/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"

static double from_half(uint16_t bits) {
  int exponent = (bits >> 10) & 0x1f;
  double fraction = bits & 0x3ff;
  double value = exponent == 0x1f ? (fraction != 0.0 ? (double)NAN : (double)INFINITY)
                 : exponent == 0  ? ldexp(fraction, -24)
                                  : ldexp(1024.0 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

static double from_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value = 0.0f;
  memcpy(&value, &wide, sizeof value);
  return (double)value;
}

static bool is_float(uint32_t dtype) {
  return dtype == LK_F32 || dtype == LK_F64 || dtype == LK_F16 || dtype == LK_BF16;
}

static double float_at(const lk_tensor *tensor, int64_t index) {
  switch (tensor->desc.dtype) {
  case LK_F32:
    return (double)((const float *)tensor->data)[index];
  case LK_F64:
    return ((const double *)tensor->data)[index];
  case LK_F16:
    return from_half(((const uint16_t *)tensor->data)[index]);
  default:
    return from_bf16(((const uint16_t *)tensor->data)[index]);
  }
}

/* bf16 has 8 bits: 1e-3 is less than its last one, and those who round after every step come out
 * two of these apart. */
enum { BF16_FACTOR = 16 };

static bool is_close(double got, double expected, tolerance limit) {
  if (isnan(got) || isnan(expected)) return isnan(got) && isnan(expected);
  if (isinf(got) || isinf(expected)) return got == expected;
  return fabs(got - expected) <= limit.absolute + limit.relative * fabs(expected);
}

static bool is_equal(const lk_tensor *got, const lk_tensor *expected, int64_t index,
                     tolerance limit) {
  if (is_float(got->desc.dtype)) {
    return is_close(float_at(got, index), float_at(expected, index), limit);
  }
  size_t size = lk_dtype_size(got->desc.dtype);
  size_t offset = (size_t)index * size;
  return memcmp((const char *)got->data + offset, (const char *)expected->data + offset, size) == 0;
}

static void element_text(const lk_tensor *tensor, int64_t index, char *text, size_t capacity) {
  const uint32_t dtype = tensor->desc.dtype;
  if (is_float(dtype)) {
    (void)snprintf(text, capacity, "%.9g", float_at(tensor, index));
    return;
  }
  /* An integer or bool, whatever its size: x86-64 is little-endian. */
  size_t size = lk_dtype_size(dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)tensor->data + (size_t)index * size, size);
  if (dtype == LK_I8 || dtype == LK_I16 || dtype == LK_I32 || dtype == LK_I64) {
    unsigned unused = (unsigned)(64 - 8 * size);
    (void)snprintf(text, capacity, "%" PRId64, (int64_t)(bits << unused) >> unused);
  } else {
    (void)snprintf(text, capacity, "%" PRIu64, bits);
  }
}

lk_status compare_tensors(const lk_tensor *got, const lk_tensor *expected, tolerance within,
                          const char *name, lk_error *error) {
  char got_text[LK_TENSOR_TEXT_CAPACITY];
  char expected_text[LK_TENSOR_TEXT_CAPACITY];
  int64_t elements = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(&got->desc, name, &elements, NULL, error));
  if (got->desc.dtype != expected->desc.dtype || !lk_shape_equal(&got->desc, &expected->desc)) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to match '%s': it is %s, %s expected", name,
                   lk_tensor_text(&got->desc, got_text),
                   lk_tensor_text(&expected->desc, expected_text));
  }
  if (got->desc.dtype == LK_BF16) within.relative *= BF16_FACTOR;
  int64_t first = -1;
  int64_t different = 0;
  for (int64_t i = 0; i < elements; i++) {
    if (is_equal(got, expected, i, within)) continue;
    if (first < 0) first = i;
    different++;
  }
  if (different == 0) return LK_OK;
  element_text(got, first, got_text, sizeof got_text);
  element_text(expected, first, expected_text, sizeof expected_text);
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to match '%s': element %" PRId64 " is %s, %s expected; %" PRId64
                 " of %" PRId64 " differ",
                 name, first, got_text, expected_text, different, elements);
}
