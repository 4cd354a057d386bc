/* Element-wise works: one pass over memory, by an element program. */
#include <float.h>
#include <math.h>

#include "base/status.h"
#include "ops/engine/native/native.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/post_op_steps.h"

enum { FIRST = LK_FUNCTION_ABS };

/* Functions that are one step. */
static const uint8_t steps[] = {
    [LK_FUNCTION_ABS - FIRST] = LK_ELEMENT_ABS,
    [LK_FUNCTION_NEG - FIRST] = LK_ELEMENT_NEG,
    [LK_FUNCTION_SIGN - FIRST] = LK_ELEMENT_SIGN,
    [LK_FUNCTION_FLOOR - FIRST] = LK_ELEMENT_FLOOR,
    [LK_FUNCTION_CEIL - FIRST] = LK_ELEMENT_CEIL,
    [LK_FUNCTION_ROUND - FIRST] = LK_ELEMENT_ROUND,
    [LK_FUNCTION_RECIPROCAL - FIRST] = LK_ELEMENT_RECIPROCAL,
    [LK_FUNCTION_SQRT - FIRST] = LK_ELEMENT_SQRT,
    [LK_FUNCTION_SQUARE - FIRST] = LK_ELEMENT_SQUARE,
    [LK_FUNCTION_EXP - FIRST] = LK_ELEMENT_EXP,
    [LK_FUNCTION_LOG - FIRST] = LK_ELEMENT_LOG,
    [LK_FUNCTION_SIN - FIRST] = LK_ELEMENT_SIN,
    [LK_FUNCTION_COS - FIRST] = LK_ELEMENT_COS,
    [LK_FUNCTION_TAN - FIRST] = LK_ELEMENT_TAN,
    [LK_FUNCTION_ASIN - FIRST] = LK_ELEMENT_ASIN,
    [LK_FUNCTION_ACOS - FIRST] = LK_ELEMENT_ACOS,
    [LK_FUNCTION_ATAN - FIRST] = LK_ELEMENT_ATAN,
    [LK_FUNCTION_SINH - FIRST] = LK_ELEMENT_SINH,
    [LK_FUNCTION_COSH - FIRST] = LK_ELEMENT_COSH,
    [LK_FUNCTION_ASINH - FIRST] = LK_ELEMENT_ASINH,
    [LK_FUNCTION_ACOSH - FIRST] = LK_ELEMENT_ACOSH,
    [LK_FUNCTION_ATANH - FIRST] = LK_ELEMENT_ATANH,
    [LK_FUNCTION_ERF - FIRST] = LK_ELEMENT_ERF,
    [LK_FUNCTION_SOFTPLUS - FIRST] = LK_ELEMENT_SOFTPLUS,
    [LK_FUNCTION_SOFTSIGN - FIRST] = LK_ELEMENT_SOFTSIGN,
    [LK_FUNCTION_LEAKY_RELU - FIRST] = LK_ELEMENT_LEAKY_RELU,
    [LK_FUNCTION_ELU - FIRST] = LK_ELEMENT_ELU,
    [LK_FUNCTION_THRESHOLD - FIRST] = LK_ELEMENT_THRESHOLD,
    [LK_FUNCTION_SHRINK - FIRST] = LK_ELEMENT_SHRINK,
    [LK_FUNCTION_NOT - FIRST] = LK_ELEMENT_NOT,
    [LK_FUNCTION_BIT_NOT - FIRST] = LK_ELEMENT_BIT_NOT,
    [LK_FUNCTION_IS_NAN - FIRST] = LK_ELEMENT_IS_NAN,
    [LK_FUNCTION_IS_INF - FIRST] = LK_ELEMENT_IS_INF,
    [LK_FUNCTION_MIN - FIRST] = LK_ELEMENT_MIN,
    [LK_FUNCTION_MAX - FIRST] = LK_ELEMENT_MAX,
    [LK_FUNCTION_MOD - FIRST] = LK_ELEMENT_MOD,
    [LK_FUNCTION_FMOD - FIRST] = LK_ELEMENT_FMOD,
    [LK_FUNCTION_EQUAL - FIRST] = LK_ELEMENT_EQUAL,
    [LK_FUNCTION_LESS - FIRST] = LK_ELEMENT_LESS,
    [LK_FUNCTION_LESS_EQUAL - FIRST] = LK_ELEMENT_LESS_EQUAL,
    [LK_FUNCTION_AND - FIRST] = LK_ELEMENT_AND,
    [LK_FUNCTION_OR - FIRST] = LK_ELEMENT_OR,
    [LK_FUNCTION_XOR - FIRST] = LK_ELEMENT_XOR,
    [LK_FUNCTION_SHIFT_LEFT - FIRST] = LK_ELEMENT_SHIFT_LEFT,
    [LK_FUNCTION_SHIFT_RIGHT - FIRST] = LK_ELEMENT_SHIFT_RIGHT,
};

static bool is_integer(uint32_t dtype) {
  return (LK_TYPE(dtype) & LK_TYPES_INTEGER) != 0;
}

/* ---- powers ---- */

/* Whole numbers of two types, by way of 64 bits: results wrap around, so that their low bits are
 * right for every type. */
static lk_element_value power_of_integers(lk_element_program *program, lk_element_value x,
                                          uint32_t x_dtype, lk_element_value y, uint32_t y_dtype) {
  const uint32_t wide = y_dtype == LK_U64 ? LK_U64 : LK_I64;
  lk_element_value base = lk_element_cast(program, x, wide);
  const lk_element_value exponent = lk_element_cast(program, y, wide);
  if (x_dtype == LK_U64 && wide == LK_I64) {
    /* what looks negative here is large, and 1 over a power of it is 0, like that of 2 */
    const lk_element_value zero = lk_element_integer(program, wide, 0);
    const lk_element_value two = lk_element_integer(program, wide, 2);
    const lk_element_value is_large = lk_element_binary(program, LK_ELEMENT_LESS, base, zero);
    const lk_element_value divides = lk_element_binary(program, LK_ELEMENT_LESS, exponent, zero);
    const lk_element_value both = lk_element_binary(program, LK_ELEMENT_AND, is_large, divides);
    base = lk_element_ternary(program, LK_ELEMENT_WHERE, both, two, base);
  }
  return lk_element_binary(program, LK_ELEMENT_POW, base, exponent);
}

static lk_element_value power(lk_element_program *program, lk_element_value x, uint32_t x_dtype,
                              lk_element_value y, uint32_t y_dtype) {
  if (x_dtype == y_dtype) return lk_element_binary(program, LK_ELEMENT_POW, x, y);
  if (is_integer(x_dtype) && is_integer(y_dtype)) {
    const lk_element_value whole = power_of_integers(program, x, x_dtype, y, y_dtype);
    return lk_element_cast(program, whole, x_dtype);
  }
  const lk_element_value real =
      lk_element_binary(program, LK_ELEMENT_POW, lk_element_cast(program, x, LK_F64),
                        lk_element_cast(program, y, LK_F64));
  /* Integers are the low bits of wide ones; but what no i32 holds is its least value, as ONNX
   * Runtime and ONNX's reference have it. */
  const bool is_narrow = is_integer(x_dtype) && x_dtype != LK_U64 && x_dtype != LK_I32;
  const lk_element_value wide = is_narrow ? lk_element_cast(program, real, LK_I64) : real;
  return lk_element_cast(program, wide, x_dtype);
}

/* ---- functions of several steps ---- */

/* Divided as the type is, not by way of a reciprocal. What is positive stays as it is, which
 * x / alpha * alpha would round. */
static lk_element_value celu(lk_element_program *program, lk_element_value x, uint32_t dtype,
                             float given) {
  const lk_element_value alpha = lk_element_number(program, dtype, (double)given);
  const lk_element_value zero = lk_element_number(program, dtype, 0);
  lk_element_value value = lk_element_binary(program, LK_ELEMENT_DIV, x, alpha);
  value = lk_element_unary(program, LK_ELEMENT_ELU, value, 1, 1);
  value = lk_element_binary(program, LK_ELEMENT_MUL, value, alpha);
  return lk_element_ternary(program, LK_ELEMENT_WHERE,
                            lk_element_binary(program, LK_ELEMENT_LESS, x, zero), value, x);
}

/* Integers have integers for alpha and beta, and the function that ONNX gives. */
static lk_element_value shrink_integers(lk_element_program *program, lk_element_value x,
                                        uint32_t dtype, const lk_work_post_op *of) {
  const int64_t limit = (int64_t)of->alpha;
  const lk_element_value low = lk_element_integer(program, dtype, dtype == LK_U64 ? 0 : -limit);
  const lk_element_value high = lk_element_integer(program, dtype, limit);
  const lk_element_value bias = lk_element_integer(program, dtype, (int64_t)of->beta);
  const lk_element_value zero = lk_element_integer(program, dtype, 0);
  const lk_element_value over = lk_element_ternary(
      program, LK_ELEMENT_WHERE, lk_element_binary(program, LK_ELEMENT_LESS, high, x),
      lk_element_binary(program, LK_ELEMENT_SUB, x, bias), zero);
  return lk_element_ternary(program, LK_ELEMENT_WHERE,
                            lk_element_binary(program, LK_ELEMENT_LESS, x, low),
                            lk_element_binary(program, LK_ELEMENT_ADD, x, bias), over);
}

/* What is not negative stays as it is, whatever the slope. */
static lk_element_value prelu(lk_element_program *program, lk_element_value x, uint32_t dtype,
                              lk_element_value slope) {
  const lk_element_value zero = lk_element_integer(program, dtype, 0);
  const lk_element_value is_below = lk_element_binary(program, LK_ELEMENT_LESS, x, zero);
  const lk_element_value product = lk_element_binary(program, LK_ELEMENT_MUL, x, slope);
  return lk_element_ternary(program, LK_ELEMENT_WHERE, is_below, product, x);
}

static lk_element_value cube(lk_element_program *program, lk_element_value x) {
  const lk_element_value square = lk_element_unary(program, LK_ELEMENT_SQUARE, x, 0, 0);
  return lk_element_binary(program, LK_ELEMENT_MUL, square, x);
}

/* ---- one function ---- */

/* The largest finite number of a floating-point type. */
static double largest(uint32_t dtype) {
  return dtype == LK_F64    ? DBL_MAX
         : dtype == LK_F16  ? 65504.0
         : dtype == LK_BF16 ? 0x1.fep127
                            : (double)FLT_MAX;
}

/* The second value of a function that has no operand. */
static lk_element_value number_of(lk_element_program *program, uint32_t dtype,
                                  const lk_work_post_op *of) {
  const bool is_bound = of->kind == LK_FUNCTION_MIN || of->kind == LK_FUNCTION_MAX;
  const double alpha = (double)of->alpha, most = largest(dtype);
  return lk_element_number(program, dtype, is_bound ? fmin(fmax(alpha, -most), most) : alpha);
}

static bool has_two_values(uint32_t kind) {
  return kind >= FIRST ? kind >= LK_FUNCTION_MIN : LK_POST_OP_IS_BINARY(kind);
}

/* `y`: the operand, of type `y_dtype`, or the number. */
static lk_element_value append(lk_element_program *program, const lk_work_post_op *of,
                               lk_element_value x, uint32_t dtype, lk_element_value y,
                               uint32_t y_dtype) {
  switch (of->kind) {
  case LK_FUNCTION_CUBE:
    return cube(program, x);
  case LK_FUNCTION_CELU:
    return celu(program, x, dtype, of->alpha);
  case LK_FUNCTION_POW:
    return power(program, x, dtype, y, y_dtype);
  case LK_FUNCTION_PRELU:
    return prelu(program, x, dtype, y);
  case LK_FUNCTION_SHRINK:
    if (is_integer(dtype)) return shrink_integers(program, x, dtype, of);
    break;
  default:
    break;
  }
  if (of->kind < FIRST) {
    const lk_post_op post_op = {.kind = of->kind,
                                .input = has_two_values(of->kind) ? 0 : -1,
                                .alpha = of->alpha,
                                .beta = of->beta};
    return lk_post_op_append(program, &post_op, x, y);
  }
  const lk_element_op op = (lk_element_op)steps[of->kind - FIRST];
  return has_two_values(of->kind) ? lk_element_binary(program, op, x, y)
                                  : lk_element_unary(program, op, x, of->alpha, of->beta);
}

static lk_status apply(lk_chain *chain, const lk_task *task, const lk_work_post_op *of,
                       lk_error *error) {
  const uint32_t dtype = task->work.tensors[LK_ROLE_SRC].dtype;
  lk_element_value y = 0;
  uint32_t y_dtype = dtype;
  if (of->operand != 0) {
    y_dtype = task->work.tensors[of->operand].dtype;
    LK_RETURN_NOT_OK(lk_chain_next_input(chain, task->from[of->operand].index, &y, error));
  } else if (has_two_values(of->kind)) {
    y = number_of(&chain->program, dtype, of);
  }
  chain->value = append(&chain->program, of, chain->value, dtype, y, y_dtype);
  return LK_OK;
}

/* ---- the step ---- */

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_work *work = &task->work;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, task->from[LK_ROLE_SRC].index, &chain.value, error));
  for (uint32_t i = 0; i < work->n_post_ops; i++) {
    LK_RETURN_NOT_OK(apply(&chain, task, &work->post_ops[i], error));
  }
  return lk_chain_end(&chain, error);
}

static bool resize(const lk_resizing *self, const lk_task *task) {
  (void)task;
  return lk_chain_resize(self);
}

const lk_planning lk_native_element = {.plan = plan, .resize = resize};
