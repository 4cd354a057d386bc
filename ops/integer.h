/* Element-wise arithmetic that oneDNN does not do: integers, f64, and powers with any exponent.
 * Called from the plans of the binary operators. Plain C, plain layout, broadcasting. */
#ifndef LK_OPS_INTEGER_H
#define LK_OPS_INTEGER_H

#include "ops/plan/planner.h"

typedef enum lk_integer_op {
  LK_INTEGER_ADD,
  LK_INTEGER_SUB,
  LK_INTEGER_MUL,
  LK_INTEGER_DIV,
  LK_INTEGER_POW
} lk_integer_op;

/* A step that computes output 0 from inputs 0 and 1, which broadcast to it: any integer type or
 * f64. Integers wrap around; division truncates toward zero, and division by zero is
 * LK_INVALID_ARGUMENT when it runs. LK_UNSUPPORTED names another type. For POW the exponent may be
 * of any type but f16 and bf16, and also the base may be f32. */
lk_status lk_plan_integer_binary(lk_planner *planner, lk_integer_op op, lk_error *error);

/* Pow with an exponent tensor: the same with LK_INTEGER_POW. */
lk_status lk_plan_pow_kernel(lk_planner *planner, lk_error *error);

#endif
