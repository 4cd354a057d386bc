/* Elements that are added to others, and so on. */
#include "ops/kernel/move/combine.h"

#include "ops/kernel/number.h"

#define LOOP(name, type, wide, load, store, expression)                                            \
  static void name(void *restrict to, const void *restrict from, int64_t count) {                  \
    type *restrict x = to;                                                                         \
    const type *restrict y = from;                                                                 \
    for (int64_t i = 0; i < count; i++) {                                                          \
      const wide a = load(x[i]), b = load(y[i]);                                                   \
      x[i] = (type)store(expression);                                                              \
    }                                                                                              \
  }                                                                                                \
  static void name##_each(char *data, const int64_t *at, const char *from, int64_t step,           \
                          int64_t count) {                                                         \
    for (int64_t i = 0; i < count; i++, from += step) {                                            \
      type *x = (type *)(void *)(data + at[i]);                                                    \
      const type y = *(const type *)(const void *)from;                                            \
      const wide a = load(*x), b = load(y);                                                        \
      *x = (type)store(expression);                                                                \
    }                                                                                              \
  }

/* In 64 bits without a sign, whose overflow is defined; the low bits are right. */
#define INTEGER_LOOPS(dtype, name, type)                                                           \
  LOOP(name##_add, type, type, , , (uint64_t)a + (uint64_t)b)                                      \
  LOOP(name##_mul, type, type, , , (uint64_t)a *(uint64_t)b)                                       \
  LOOP(name##_min, type, type, , , a < b ? a : b)                                                  \
  LOOP(name##_max, type, type, , , a > b ? a : b)
LK_EACH_INTEGER(INTEGER_LOOPS)

/* The inner comparison is one instruction; the outer one is always false, or nearly so. */
#define FLOAT_LOOPS(name, type, wide, load, store)                                                 \
  LOOP(name##_add, type, wide, load, store, a + b)                                                 \
  LOOP(name##_mul, type, wide, load, store, a *b)                                                  \
  LOOP(name##_min, type, wide, load, store, a != a ? a : (a < b ? a : b))                          \
  LOOP(name##_max, type, wide, load, store, a != a ? a : (a > b ? a : b))
FLOAT_LOOPS(f32, float, float, , )
FLOAT_LOOPS(f64, double, double, , )
/* f32 has more than twice the digits of an f16, so that what is rounded twice is as rounded once */
FLOAT_LOOPS(f16, uint16_t, float, lk_f16_to_f32, lk_f32_to_f16)
FLOAT_LOOPS(bf16, uint16_t, double, lk_bf16_to_f64, lk_f64_to_bf16)

LOOP(bool_or, uint8_t, uint8_t, , , a | b)
LOOP(bool_and, uint8_t, uint8_t, , , a &b)

typedef struct combine_loops {
  lk_combine_fn *dense;
  lk_combine_each_fn *each;
} combine_loops;

#define LOOPS(name)                                                                                \
  { name, name##_each }
#define ROW(dtype, name, type)                                                                     \
  [dtype] = {[LK_COMBINE_ADD] = LOOPS(name##_add),                                                 \
             [LK_COMBINE_MUL] = LOOPS(name##_mul),                                                 \
             [LK_COMBINE_MIN] = LOOPS(name##_min),                                                 \
             [LK_COMBINE_MAX] = LOOPS(name##_max)},

static combine_loops find(uint32_t dtype, lk_combine_op op) {
  static const combine_loops table[][LK_COMBINE_OPS] = {
      LK_EACH_INTEGER(ROW) /* */
      ROW(LK_F32, f32, )   /* */
      ROW(LK_F64, f64, )   /* */
      ROW(LK_F16, f16, )   /* */
      ROW(LK_BF16, bf16, ) /* */
          [LK_BOOL] = {[LK_COMBINE_ADD] = LOOPS(bool_or),
                       [LK_COMBINE_MUL] = LOOPS(bool_and),
                       [LK_COMBINE_MIN] = LOOPS(bool_and),
                       [LK_COMBINE_MAX] = LOOPS(bool_or)},
  };
  return dtype < sizeof table / sizeof table[0] ? table[dtype][op] : (combine_loops){NULL, NULL};
}

lk_combine_fn *lk_combine_find(uint32_t dtype, lk_combine_op op) {
  return find(dtype, op).dense;
}
lk_combine_each_fn *lk_combine_find_each(uint32_t dtype, lk_combine_op op) {
  return find(dtype, op).each;
}
