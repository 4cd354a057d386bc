/* Arithmetic of sizes. */
#pragma once

#include <stdint.h>

static inline int64_t lk_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t lk_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}
/* a * b, or the largest number where that is more: neither is negative. */
static inline int64_t lk_multiply_up_to_most(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
/* How many times b makes a or more: both are not negative, b is not 0. */
static inline int64_t lk_div_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
/* Of the dimensions `first` to `end` - 1. */
static inline int64_t lk_multiply_dims(const int64_t *dims, uint32_t first, uint32_t end) {
  int64_t product = 1;
  for (uint32_t i = first; i < end; i++) product *= dims[i];
  return product;
}
