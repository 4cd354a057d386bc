/* The steps of an element program, and the form of the loops that do them: what the planner
 * (element_plan.c) and the loops (element_loops.inc) share. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

/* What a value is while it is computed; f16 and bf16 are F32, narrow integers I32, u32 I64.
 * X(symbol, name, C type, the lk_dtype of its memory) */
#define LK_ELEMENT_CLASS_LIST(X)                                                                   \
  X(LK_ELEMENT_F32, f32, float, LK_F32)                                                            \
  X(LK_ELEMENT_F64, f64, double, LK_F64)                                                           \
  X(LK_ELEMENT_I32, i32, int32_t, LK_I32)                                                          \
  X(LK_ELEMENT_I64, i64, int64_t, LK_I64)                                                          \
  X(LK_ELEMENT_U64, u64, uint64_t, LK_U64)                                                         \
  X(LK_ELEMENT_BOOL, bool, uint8_t, LK_BOOL)

typedef enum lk_element_class {
#define LK_ELEMENT_ENUM(symbol, name, type, dtype) symbol,
  LK_ELEMENT_CLASS_LIST(LK_ELEMENT_ENUM)
#undef LK_ELEMENT_ENUM
      LK_ELEMENT_CLASSES
} lk_element_class;

/* X(symbol, operands, what it is). p and q are the step's numbers. Logical values are BOOL, 0 or 1.
 * Floating point: NaN in any operand comes out, but where it says otherwise. */
// clang-format off
#define LK_ELEMENT_OP_LIST(X)                                                                      \
  X(LK_ELEMENT_ABS,         1, "abs")                                                              \
  X(LK_ELEMENT_NEG,         1, "neg")                                                              \
  X(LK_ELEMENT_SIGN,        1, "sign")         /* -1, 0 or 1 */                                    \
  X(LK_ELEMENT_FLOOR,       1, "floor")                                                            \
  X(LK_ELEMENT_CEIL,        1, "ceil")                                                             \
  X(LK_ELEMENT_ROUND,       1, "round")        /* ties to even */                                  \
  X(LK_ELEMENT_RECIPROCAL,  1, "reciprocal")                                                       \
  X(LK_ELEMENT_SQRT,        1, "sqrt")                                                             \
  X(LK_ELEMENT_SQUARE,      1, "square")                                                           \
  X(LK_ELEMENT_EXP,         1, "exp")                                                              \
  X(LK_ELEMENT_LOG,         1, "log")                                                              \
  X(LK_ELEMENT_SIN,         1, "sin")                                                              \
  X(LK_ELEMENT_COS,         1, "cos")                                                              \
  X(LK_ELEMENT_TAN,         1, "tan")                                                              \
  X(LK_ELEMENT_ASIN,        1, "asin")                                                             \
  X(LK_ELEMENT_ACOS,        1, "acos")                                                             \
  X(LK_ELEMENT_ATAN,        1, "atan")                                                             \
  X(LK_ELEMENT_SINH,        1, "sinh")                                                             \
  X(LK_ELEMENT_COSH,        1, "cosh")                                                             \
  X(LK_ELEMENT_ASINH,       1, "asinh")                                                            \
  X(LK_ELEMENT_ACOSH,       1, "acosh")                                                            \
  X(LK_ELEMENT_ATANH,       1, "atanh")                                                            \
  X(LK_ELEMENT_TANH,        1, "tanh")                                                             \
  X(LK_ELEMENT_ERF,         1, "erf")                                                              \
  X(LK_ELEMENT_SIGMOID,     1, "sigmoid")                                                          \
  X(LK_ELEMENT_SOFTPLUS,    1, "softplus")     /* log(1 + e^x) */                                  \
  X(LK_ELEMENT_SOFTSIGN,    1, "softsign")     /* x / (1 + |x|) */                                 \
  X(LK_ELEMENT_MISH,        1, "mish")         /* x tanh(softplus(x)) */                           \
  X(LK_ELEMENT_GELU,        1, "gelu")         /* x (1 + erf(x / sqrt(2))) / 2 */                  \
  X(LK_ELEMENT_GELU_TANH,   1, "gelu_tanh")    /* its approximation by tanh */                     \
  X(LK_ELEMENT_RELU,        1, "relu")         /* max(x, 0) */                                     \
  X(LK_ELEMENT_LEAKY_RELU,  1, "leaky_relu")   /* x < 0 ? p x : x */                               \
  X(LK_ELEMENT_THRESHOLD,   1, "threshold")    /* x > p ? x : 0, and so of NaN */                 \
  X(LK_ELEMENT_SHRINK,      1, "shrink")       /* x < -p ? x + q : x > p ? x - q : 0; NaN: 0 */    \
  X(LK_ELEMENT_ELU,         1, "elu")          /* x < 0 ? p (e^(q x) - 1) : x; q > 0 */            \
  X(LK_ELEMENT_CLIP,        1, "clip")         /* min(max(x, p), q) */                             \
  X(LK_ELEMENT_SATURATE,    1, "saturate")     /* the same, but NaN is p */                        \
  X(LK_ELEMENT_HARDSIGMOID, 1, "hard_sigmoid") /* min(max(p x + q, 0), 1) */                       \
  X(LK_ELEMENT_HARDSWISH,   1, "hard_swish")   /* x min(max(p x + q, 0), 1) */                     \
  X(LK_ELEMENT_SWISH,       1, "swish")        /* x sigmoid(p x) */                                \
  X(LK_ELEMENT_LINEAR,      1, "linear")       /* p x + q */                                       \
  X(LK_ELEMENT_PRODUCT_SUM, 1, "product_sum")  /* p x, rounded, + q, rounded */                    \
  X(LK_ELEMENT_QUOTIENT,    1, "quotient")     /* x / p */                                         \
  X(LK_ELEMENT_NOT,         1, "not")          /* x == 0 */                                        \
  X(LK_ELEMENT_BIT_NOT,     1, "bit_not")                                                          \
  X(LK_ELEMENT_IS_NAN,      1, "is_nan")                                                           \
  X(LK_ELEMENT_IS_INF,      1, "is_inf")       /* p, q not 0: finds negative, positive infinity */ \
  X(LK_ELEMENT_TO_F32,      1, "to_f32")       /* casts, as number.h has them */                   \
  X(LK_ELEMENT_TO_F64,      1, "to_f64")                                                           \
  X(LK_ELEMENT_TO_I32,      1, "to_i32")                                                           \
  X(LK_ELEMENT_TO_I64,      1, "to_i64")                                                           \
  X(LK_ELEMENT_TO_U64,      1, "to_u64")                                                           \
  X(LK_ELEMENT_TO_BOOL,     1, "to_bool")      /* x != 0 */                                        \
  X(LK_ELEMENT_ADD,         2, "add")                                                              \
  X(LK_ELEMENT_SUB,         2, "sub")                                                              \
  X(LK_ELEMENT_MUL,         2, "mul")                                                              \
  X(LK_ELEMENT_DIV,         2, "div")          /* integers: toward zero; by 0 is a fault */        \
  X(LK_ELEMENT_POW,         2, "pow")          /* C's, where 1^NaN and NaN^0 are 1 */          \
  X(LK_ELEMENT_MIN,         2, "min")                                                              \
  X(LK_ELEMENT_MAX,         2, "max")                                                              \
  X(LK_ELEMENT_MOD,         2, "mod")          /* the divisor's sign; integers by 0: a fault */    \
  X(LK_ELEMENT_FMOD,        2, "fmod")         /* the dividend's sign; integers by 0: a fault */   \
  X(LK_ELEMENT_EQUAL,       2, "equal")        /* comparisons: BOOL; false for NaN */              \
  X(LK_ELEMENT_LESS,        2, "less")                                                             \
  X(LK_ELEMENT_LESS_EQUAL,  2, "less_equal")                                                       \
  X(LK_ELEMENT_AND,         2, "and")          /* of bits, and so of logical values */             \
  X(LK_ELEMENT_OR,          2, "or")                                                               \
  X(LK_ELEMENT_XOR,         2, "xor")                                                              \
  X(LK_ELEMENT_SHIFT_LEFT,  2, "shift_left")   /* by 64 or more, or less than 0: 0 */              \
  X(LK_ELEMENT_SHIFT_RIGHT, 2, "shift_right")  /* the sign comes in; so for 64 or more */          \
  X(LK_ELEMENT_FMA,         3, "fma")          /* a b + c; rounded once, f32 of SSE2 twice */  \
  X(LK_ELEMENT_WHERE,       3, "where")        /* a != 0 ? b : c; a is BOOL */
// clang-format on

typedef enum lk_element_op {
#define LK_ELEMENT_ENUM(symbol, operands, name) symbol,
  LK_ELEMENT_OP_LIST(LK_ELEMENT_ENUM)
#undef LK_ELEMENT_ENUM
      LK_ELEMENT_OPS
} lk_element_op;

/* ---- loops ---- */

/* Where the rows of an operand lie: `row` bytes apart. */
typedef struct lk_element_ref {
  char *at;
  int64_t row;
} lk_element_ref;

/* A block of rows and columns. Elements of a row lie side by side, but for strided loads and
 * stores. Operands may be where the result goes to, element for element. */
typedef struct lk_element_args {
  lk_element_ref to, a, b, c;
  int64_t rows, cols;
  int64_t stride; /* of strided loads and stores: bytes from element to element */
  float p, q;     /* the step's numbers; of arithmetic on f32: bounds for the result */
  bool *fault;    /* set where integers are divided by 0; the result is then any */
} lk_element_args;

typedef void lk_element_fn(const lk_element_args *args);

/* For unary operations `all`; for binary ones all three: operands that are rows of elements, and,
 * where a scalar may stand, one element for each row. Ternary ones: `all`, and in `right` b and c
 * are scalars. NULL: there is none. */
typedef struct lk_element_forms {
  lk_element_fn *all, *right, *left;
} lk_element_forms;

enum { LK_ELEMENT_DTYPES = LK_BF16 + 1 };

/* Types whose memory is not as their class is, and which some steps need no class for: X(lk_dtype,
 * name). */
#define LK_ELEMENT_NARROW_LIST(X)                                                                  \
  X(LK_I8, i8)                                                                                     \
  X(LK_U8, u8)                                                                                     \
  X(LK_I16, i16)                                                                                   \
  X(LK_U16, u16)                                                                                   \
  X(LK_U32, u32)                                                                                   \
  X(LK_F16, f16)                                                                                   \
  X(LK_BF16, bf16)
typedef enum lk_element_narrow {
#define LK_ELEMENT_ENUM(dtype, name) LK_ELEMENT_NARROW_##name,
  LK_ELEMENT_NARROW_LIST(LK_ELEMENT_ENUM)
#undef LK_ELEMENT_ENUM
      LK_ELEMENT_NARROWS
} lk_element_narrow;

/* The loops for an instruction set. */
typedef struct lk_element_loops {
  lk_element_forms ops[LK_ELEMENT_OPS][LK_ELEMENT_CLASSES];
  /* memory of a type to its class, and back */
  lk_element_fn *load[LK_ELEMENT_DTYPES], *store[LK_ELEMENT_DTYPES];
  /* memory, side by side, to f32, and f32 cast to memory; NULL: by its class */
  lk_element_fn *load_f32[LK_ELEMENT_DTYPES], *store_f32[LK_ELEMENT_DTYPES];
  /* steps on elements as they lie in memory, which class they are computed in else */
  lk_element_forms narrow[LK_ELEMENT_OPS][LK_ELEMENT_NARROWS];
  lk_element_fn *fill[4]; /* a scalar for each row, all along it; by the logarithm of its size */
  /* elements of 4 bytes that lie `stride` bytes apart, and side by side from row to row */
  lk_element_fn *transpose;
  /* one row, whose elements have `stride` bytes, to all rows, without gaps */
  lk_element_fn *repeat;
} lk_element_loops;

extern const lk_element_loops lk_element_loops_base, lk_element_loops_avx2, lk_element_loops_avx512;
