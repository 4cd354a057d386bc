/* Arithmetic of sizes. */
#pragma once

#include <stdint.h>

static inline int64_t lk_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t lk_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}
/* How many times b makes a or more: both are not negative, b is not 0. */
static inline int64_t lk_div_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
