/* The order of elements of any type. */
#include "ops/kernel/order.h"

#include <string.h>

#include "ops/kernel/number.h"

/* Numbers in the order of their bits: negative ones backwards below the others. */
static uint64_t key_of_f64(double value) {
  const uint64_t sign = UINT64_C(1) << 63;
  uint64_t bits;
  if (value != value) return UINT64_MAX;
  if (value == 0) value = 0; /* -0 too */
  memcpy(&bits, &value, sizeof bits);
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

#define INTEGER_CASE(dtype, name, type)                                                            \
  case dtype:                                                                                      \
    return LK_IS_SIGNED(type) ? (uint64_t)(int64_t)((const type *)data)[at] ^ UINT64_C(1) << 63    \
                              : (uint64_t)((const type *)data)[at];

uint64_t lk_order_key_of(uint32_t dtype, const void *data, int64_t at) {
  switch (dtype) {
    LK_EACH_INTEGER(INTEGER_CASE)
  case LK_BOOL:
    return ((const uint8_t *)data)[at];
  case LK_F16:
    return key_of_f64(lk_f16_to_f64(((const uint16_t *)data)[at]));
  case LK_BF16:
    return key_of_f64(lk_bf16_to_f64(((const uint16_t *)data)[at]));
  default:
    return key_of_f64(((const double *)data)[at]);
  }
}
