/* The order of elements of any type. */
#include "ops/kernel/reduce/order.h"

#include "ops/kernel/number.h"

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
    return lk_order_key_f64(lk_f16_to_f64(((const uint16_t *)data)[at]));
  case LK_BF16:
    return lk_order_key_f64(lk_bf16_to_f64(((const uint16_t *)data)[at]));
  default:
    return lk_order_key_f64(((const double *)data)[at]);
  }
}
