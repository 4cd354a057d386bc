/* Engines: who computes what operators want.
 *
 * An operator says what it wants computed, as a work: a pure value without pointers and names. An
 * engine says how: it offers, builds a value that computes the work, and runs it. The library asks
 * engines, keeps what they build in its cache by a key that has the whole work and the engine's
 * state in it, puts steps in that bring tensors into the layouts which an engine wants, and plans
 * what an engine leaves. So an engine never sees a node, a graph or a key.
 *
 * The library's own engine, `native`, computes all works by kernels that serve every size. A module
 * (docs/engines.md) or a host, by engine_register, adds another one.
 *
 * Thread rule: all functions of an engine but `close` are called by any thread, several at once.
 */
#ifndef LATCHKEY_ENGINE_H
#define LATCHKEY_ENGINE_H

#include <latchkey/node.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- works ---- */

typedef enum lk_work_kind {
  /* src [N][C][spatial], weights [M][C / groups][kernel], maybe a bias [M]; dst. Of real numbers,
   * or of bytes, which may have zero points: then dst is sums of i32, or bytes where there are
   * scales */
  LK_WORK_CONV = 0,
  /* the same of real numbers, with weights [C][M / groups][kernel] */
  LK_WORK_CONV_TRANSPOSED = 1,
  /* dst = src weights: matrices and batches of them as numpy.matmul has them, but for `orders`.
   * Of bytes: sums of (src - src zero) (weights - weights zero), and of a bias that broadcasts to
   * dst, exact in i32, which is dst's type. Where there are scales, these sums times factor, src
   * scale and weights scale are dst, of real numbers; or divided by dst scale, rounded to even,
   * plus dst zero, and held within dst's type, they are bytes. Zero points and scales are one
   * number, or
   * of weights a vector with one for each column, or [batch][1][columns]; or of src one for each
   * row, as a vector or [batch][rows][1] */
  LK_WORK_PRODUCT = 2,
  LK_WORK_SOFTMAX = 3,     /* dst = e^src over its sum along `axes` */
  LK_WORK_LOG_SOFTMAX = 4, /* the logarithm of that */
  LK_WORK_HARDMAX = 5,     /* 1 where the first of the largest elements along `axes` is, else 0 */
  /* dst is src pooled over `window`, by `pooling`; maybe indices, of maxima: where each lies in the
   * tensor, counted along rows, or with `column_major` along columns */
  LK_WORK_POOL = 6,
  /* dst = src (bias + alpha / size * the sum of src^2 over `size` channels around each)^-beta (ONNX
   * LRN), by `lrn` */
  LK_WORK_LRN = 7,
  /* dst = (src - mean) / sqrt(variance + epsilon) scale + shift, mean and variance over `axes`,
   * which are the last ones. Scale and shift broadcast to src, and may be absent. Maybe mean, and
   * deviation: 1 over the divisor. Without `is_centered` the mean counts as 0 */
  LK_WORK_LAYER_NORM = 8,
  /* the same over `groups` of the channels of src [N][C][...]; a scale and a shift for each
   * channel, or for each group */
  LK_WORK_GROUP_NORM = 9,
  /* dst = src, to which the functions of `post_ops` are applied one after the other, element by
   * element. They may be those of lk_function, too. Src and operands are broadcast to dst (numpy's
   * rule). Without a function, dst is src. Integers keep their low bits; where one is divided by 0,
   * the run fails */
  LK_WORK_ELEMENT = 10,
  /* dst = src reduced over `axes`, by `reducing`. Dst has the dimensions that are not reduced; the
   * reduced ones are left out, or of size 1 */
  LK_WORK_REDUCE = 11,
  LK_WORK_RESIZE = 12, /* dst = src interpolated between its elements (ONNX Resize), by `resize` */
  /* dst = src weights': weights [columns][src's last dimension] of few bits, by `bits`. A row is
   * blocks, each with a scale, and maybe a zero point: without one that is the middle of the range
   * (com.microsoft MatMulNBits). The tensors of weights, scales [columns][blocks] and zero points
   * [columns][blocks] may have any dimensions, as the node has them: the sizes are those of src,
   * dst and `bits` */
  LK_WORK_PRODUCT_BITS = 13,
  /* A recurrent layer (ONNX RNN, GRU and LSTM, whose order of gates it has), by `recurrent`:
   *   src                [steps][batch][width]
   *   dst                [steps][directions][batch][hidden]
   *   weights            [directions][gates * hidden][width]
   *   recurrent weights  [directions][gates * hidden][hidden]
   *   bias               [directions][2 * gates * hidden]: first beside weights, then beside
   *                      recurrent weights
   *   states, cells      [directions][batch][hidden]
   *   peepholes          [directions][3 * hidden]
   *   lengths            [batch]
   * With weights of bytes (com.microsoft DynamicQuantizeLSTM), both weights are transposed:
   * [directions][width][gates * hidden] and [directions][hidden][gates * hidden], their scales and
   * zero points [directions] or [directions][gates * hidden]. Products are of bytes, which src and
   * states are made by DynamicQuantizeLinear's rule: src once, as a whole, up to the longest of the
   * lengths; states anew at each step, the rows that go on as a whole */
  LK_WORK_RECURRENT = 14,
  /* Scaled dot-product attention, by `attention`, which has the sizes, and says where the heads of
   * src (the queries), keys, values and dst lie. For each batch and head:
   *   scores = scale src keys', [queries][keys]
   *   scores = softcap tanh(scores / softcap), unless softcap is 0
   *   scores = scores + bias + the first operand: masks of numbers, or of bool, which are 0 where
   *            they are true, and minus infinity elsewhere
   *   weights = e^scores over (their sum + the sink), of the keys that a query attends, else 0
   *   dst = weights values
   * Masks broadcast to [batch][heads][queries][keys], but along keys: the last dimension is `keys`,
   * or of bias less, and then nobody attends the keys behind it. A query that attends no key, or
   * whose scores are all minus infinity, has 0 in dst. No layout can be chosen */
  LK_WORK_ATTENTION = 15,
  /* dst = src with its dimensions in another order: dimension i of dst is dimension order[i] of src
   * (ONNX Transpose), and its elements are moved to where dst's layout has them. Where only layouts
   * differ, order is 0, 1, 2, ...: the library brings a tensor into the layout that another work
   * wants. Both are of the same type, which may be any; no layout can be chosen; no post-ops */
  LK_WORK_REORDER = 16,
  /* dst = src and the operands, from the lowest on, one behind the other along the dimension of
   * `axes`. All are of the same type, which may be any, and of the same layout, which cannot be
   * chosen; no post-ops */
  LK_WORK_CONCAT = 17,
  /* dst = (src - mean) / sqrt(variance + epsilon) scale + shift: these four are vectors, with one
   * number for each channel of src [N][C][...] (ONNX BatchNormalization, but for training) */
  LK_WORK_BATCH_NORM = 18,
  LK_WORK_KINDS = 19
} lk_work_kind;

/* Operands that a work has at most. */
#define LK_WORK_OPERANDS 4

/* What a tensor is to a work. */
typedef enum lk_role {
  LK_ROLE_SRC = 0,
  LK_ROLE_WEIGHTS = 1,
  LK_ROLE_BIAS = 2,
  LK_ROLE_DST = 3,
  LK_ROLE_INDICES = 4,
  LK_ROLE_SCALE = 5,
  LK_ROLE_SHIFT = 6,
  LK_ROLE_MEAN = 7, /* of a batch norm it is given, as is the variance; of others it is made */
  LK_ROLE_DEVIATION = 8,
  LK_ROLE_VARIANCE = LK_ROLE_DEVIATION, /* of a batch norm */
  /* what bytes stand for: (byte - zero point) * scale. Zero points that are constants of 0 are not
   * there */
  LK_ROLE_SRC_ZERO = 9,
  LK_ROLE_WEIGHTS_ZERO = 10,
  LK_ROLE_DST_ZERO = 11,
  LK_ROLE_SRC_SCALE = 12,
  LK_ROLE_WEIGHTS_SCALE = 13,
  LK_ROLE_DST_SCALE = 14,
  LK_ROLE_RECURRENT_WEIGHTS = 15,
  LK_ROLE_RECURRENT_ZERO = 16,
  LK_ROLE_RECURRENT_SCALE = 17,
  /* Steps of each sequence. What lies behind them is not read, and is 0 in dst; the other direction
   * begins at a sequence's last step. They come with a run: who reads them checks that they are 0
   * to the number of steps, or the run fails (LK_OUT_OF_RANGE).
   * Of attention, i64 [batch]: keys of each batch, held between 0 and `keys`. Nobody attends those
   * behind them, which may be anything, also NaN, as may be their values */
  LK_ROLE_LENGTHS = 18,
  LK_ROLE_STATE = 19,     /* before the first step; 0 where there is none, as is the cell */
  LK_ROLE_CELL = 20,      /* of LSTM */
  LK_ROLE_PEEPHOLES = 21, /* of LSTM: of the input, output and forget gate */
  LK_ROLE_DST_STATE = 22, /* after each sequence's last step */
  LK_ROLE_DST_CELL = 23,
  LK_ROLE_KEYS = 24, /* of attention, as are the next three */
  LK_ROLE_VALUES = 25,
  LK_ROLE_SINKS = 26, /* f32 [heads] */
  /* written besides dst, [batch][heads][queries][keys], f32, f16 or bf16: those of `stage` */
  LK_ROLE_SCORES = 27,
  /* the first of LK_WORK_OPERANDS: of post-ops; of attention its second mask; of a concatenation
   * the tensors behind src */
  LK_ROLE_OPERAND = 28,
  LK_ROLES = LK_ROLE_OPERAND + LK_WORK_OPERANDS
} lk_role;

typedef enum lk_pooling {
  LK_POOLING_MAX = 0,  /* NaN is never the largest; minus infinity where there is no other */
  LK_POOLING_MEAN = 1, /* of the elements */
  /* of the elements and the declared padding, but of nothing beyond it */
  LK_POOLING_MEAN_WITH_PADDING = 2,
  LK_POOLING_TOTAL = 3 /* the sum */
} lk_pooling;

/* Of floating-point numbers, NaN comes out where one is. Of integers, sums, products and sizes keep
 * their low bits; means, roots and logarithms are cut toward zero and held within the type. */
typedef enum lk_reducing {
  LK_REDUCING_SUM = 0,
  LK_REDUCING_MEAN = 1,
  LK_REDUCING_MAX = 2,
  LK_REDUCING_MIN = 3,
  LK_REDUCING_PRODUCT = 4,
  LK_REDUCING_L1 = 5,         /* the sum of |x| */
  LK_REDUCING_L2 = 6,         /* the root of the sum of x^2 */
  LK_REDUCING_SUM_SQUARE = 7, /* the sum of x^2 */
  LK_REDUCING_LOG_SUM = 8,    /* the logarithm of the sum */
  LK_REDUCING_LOG_SUM_EXP = 9 /* the logarithm of the sum of e^x */
} lk_reducing;

#define LK_MAX_SPATIAL 3

/* How a window moves over the spatial dimensions, of which there are `rank`. */
typedef struct lk_window_shape {
  uint32_t rank;
  uint32_t reserved;
  int64_t kernel[LK_MAX_SPATIAL], strides[LK_MAX_SPATIAL], dilations[LK_MAX_SPATIAL]; /* from 1 */
  int64_t begin[LK_MAX_SPATIAL]; /* padding, as is `end` */
  int64_t out[LK_MAX_SPATIAL];   /* positions of the window */
  int64_t end[LK_MAX_SPATIAL];   /* without what the last window may have beyond it */
} lk_window_shape;

/* How an operand of rank 2 or more lies, where it does not lie as numpy.matmul has it. */
typedef struct lk_matmul_order {
  uint16_t swaps;        /* 1: rows and columns have changed places */
  uint16_t batch_inside; /* 1: the first dimension is that of the rows, and the batch lies between
                            it and the last one */
} lk_matmul_order;

typedef struct lk_work_lrn {
  int64_t size;
  float alpha, beta, bias;
  uint32_t reserved;
} lk_work_lrn;

/* Functions that element-wise works have besides those of lk_post_op_kind, whose values lie below
 * these. x: the value so far. y: the operand; without one, of those that need it, alpha. NaN comes
 * out of NaN but where it says otherwise. X(symbol, value, name) */
// clang-format off
#define LK_FUNCTION_LIST(X)                                                                        \
  X(LK_FUNCTION_ABS,          64, "abs")                                                           \
  X(LK_FUNCTION_NEG,          65, "neg")                                                           \
  X(LK_FUNCTION_SIGN,         66, "sign")         /* -1, 0 or 1 */                                 \
  X(LK_FUNCTION_FLOOR,        67, "floor")                                                         \
  X(LK_FUNCTION_CEIL,         68, "ceil")                                                          \
  X(LK_FUNCTION_ROUND,        69, "round")        /* ties to even */                               \
  X(LK_FUNCTION_RECIPROCAL,   70, "reciprocal")                                                    \
  X(LK_FUNCTION_SQRT,         71, "sqrt")                                                          \
  X(LK_FUNCTION_SQUARE,       72, "square")                                                        \
  X(LK_FUNCTION_CUBE,         73, "cube")                                                          \
  X(LK_FUNCTION_EXP,          74, "exp")                                                           \
  X(LK_FUNCTION_LOG,          75, "log")                                                           \
  X(LK_FUNCTION_SIN,          76, "sin")                                                           \
  X(LK_FUNCTION_COS,          77, "cos")                                                           \
  X(LK_FUNCTION_TAN,          78, "tan")                                                           \
  X(LK_FUNCTION_ASIN,         79, "asin")                                                          \
  X(LK_FUNCTION_ACOS,         80, "acos")                                                          \
  X(LK_FUNCTION_ATAN,         81, "atan")                                                          \
  X(LK_FUNCTION_SINH,         82, "sinh")                                                          \
  X(LK_FUNCTION_COSH,         83, "cosh")                                                          \
  X(LK_FUNCTION_ASINH,        84, "asinh")                                                         \
  X(LK_FUNCTION_ACOSH,        85, "acosh")                                                         \
  X(LK_FUNCTION_ATANH,        86, "atanh")                                                         \
  X(LK_FUNCTION_ERF,          87, "erf")                                                           \
  X(LK_FUNCTION_SOFTPLUS,     88, "softplus")     /* log(1 + e^x) */                               \
  X(LK_FUNCTION_SOFTSIGN,     89, "softsign")     /* x / (1 + |x|) */                              \
  X(LK_FUNCTION_LEAKY_RELU,   90, "leaky_relu")   /* x < 0 ? alpha x : x; with an alpha of 0,      \
                                                     -inf gives NaN */                             \
  X(LK_FUNCTION_ELU,          91, "elu")          /* x < 0 ? alpha (e^(beta x) - 1) : x */         \
  X(LK_FUNCTION_CELU,         92, "celu")         /* x < 0 ? alpha (e^(x / alpha) - 1) : x */      \
  X(LK_FUNCTION_THRESHOLD,    93, "threshold")    /* x > alpha ? x : 0; NaN gives 0 */             \
  X(LK_FUNCTION_SHRINK,       94, "shrink")       /* x < -alpha ? x + beta : x > alpha ?           \
                                                     x - beta : 0; NaN gives 0 */                  \
  X(LK_FUNCTION_NOT,          95, "not")          /* of bool */                                    \
  X(LK_FUNCTION_BIT_NOT,      96, "bit_not")      /* of integers */                                \
  X(LK_FUNCTION_IS_NAN,       97, "is_nan")       /* bool */                                       \
  X(LK_FUNCTION_IS_INF,       98, "is_inf")       /* bool; alpha, beta not 0: finds negative,      \
                                                     positive infinity */                          \
  X(LK_FUNCTION_MIN,          99, "min")          /* of this and the next one, an alpha is held    \
                                                     to the finite numbers of x's type */          \
  X(LK_FUNCTION_MAX,         100, "max")                                                           \
  X(LK_FUNCTION_POW,         101, "pow")          /* x^y in the type of x, whatever that of y;     \
                                                     1^NaN and NaN^0 are 1 */                      \
  X(LK_FUNCTION_MOD,         102, "mod")          /* the rest of x / y, with the sign of y */      \
  X(LK_FUNCTION_FMOD,        103, "fmod")         /* with the sign of x */                         \
  X(LK_FUNCTION_EQUAL,       104, "equal")        /* bool; false for NaN, as are the next two */   \
  X(LK_FUNCTION_LESS,        105, "less")         /* x < y */                                      \
  X(LK_FUNCTION_LESS_EQUAL,  106, "less_equal")                                                    \
  X(LK_FUNCTION_AND,         107, "and")          /* of bits, and so of bool */                    \
  X(LK_FUNCTION_OR,          108, "or")                                                            \
  X(LK_FUNCTION_XOR,         109, "xor")                                                           \
  X(LK_FUNCTION_SHIFT_LEFT,  110, "shift_left")   /* by y bits */                                  \
  X(LK_FUNCTION_SHIFT_RIGHT, 111, "shift_right")                                                   \
  X(LK_FUNCTION_PRELU,       112, "prelu")        /* x < 0 ? y x : x */
// clang-format on

typedef enum lk_function {
#define LK_FUNCTION_ENUM(symbol, value, name) symbol = value,
  LK_FUNCTION_LIST(LK_FUNCTION_ENUM)
#undef LK_FUNCTION_ENUM
} lk_function;

typedef enum lk_interpolation {
  LK_INTERPOLATION_NEAREST = 0,
  LK_INTERPOLATION_LINEAR = 1,
  LK_INTERPOLATION_CUBIC = 2
} lk_interpolation;

/* Where position x of dst lies in src, as ONNX's coordinate_transformation_mode has it. */
typedef enum lk_coordinates {
  LK_COORDINATES_HALF_PIXEL = 0,
  LK_COORDINATES_PYTORCH_HALF_PIXEL = 1,
  LK_COORDINATES_ALIGN_CORNERS = 2,
  LK_COORDINATES_ASYMMETRIC = 3,
  LK_COORDINATES_HALF_PIXEL_SYMMETRIC = 4,
  LK_COORDINATES_TF_CROP_AND_RESIZE = 5,
  LK_COORDINATES_TF_HALF_PIXEL_FOR_NN = 6 /* until opset 13 */
} lk_coordinates;

/* Which element is the nearest one. */
typedef enum lk_nearest {
  LK_NEAREST_ROUND_PREFER_FLOOR = 0,
  LK_NEAREST_ROUND_PREFER_CEIL = 1,
  LK_NEAREST_FLOOR = 2,
  LK_NEAREST_CEIL = 3,
  LK_NEAREST_FLOOR_UP_CEIL_DOWN = 4 /* floor where dst is larger, else ceil: before opset 11 */
} lk_nearest;

typedef struct lk_work_resize {
  uint32_t interpolation, coordinates; /* lk_interpolation, lk_coordinates */
  uint32_t nearest;                    /* lk_nearest */
  uint32_t antialias, exclude_outside; /* 0 or 1 */
  uint32_t rounded;                    /* bit i: up[i] / down[i] was given, and is not exactly the
                                          size of dimension i of dst over that of src */
  float cubic;                         /* the coefficient "a" */
  float extrapolation;                 /* of tf_crop_and_resize: what lies outside of src */
  /* For each dimension: the scale is up / down, and it goes from start to end of src, where 0 and 1
   * are the first and the last element. */
  double up[LK_MAX_RANK], down[LK_MAX_RANK], start[LK_MAX_RANK], end[LK_MAX_RANK];
} lk_work_resize;

/* Weights of few bits: a row is blocks of `block` numbers, the last one filled up, of `width` bits
 * each, from the lowest bits of the first byte on. A zero point is such a number, too, each row of
 * them filled up to whole bytes, or it is of src's type. */
typedef struct lk_work_bits {
  int64_t block;        /* a power of 2 */
  uint32_t width;       /* 2, 4 or 8 */
  uint32_t takes_bytes; /* 1: src may be made bytes, by a scale for each block of a row */
} lk_work_bits;

typedef enum lk_cell {
  LK_CELL_RNN = 0, /* 1 gate */
  LK_CELL_GRU = 1, /* 3 gates */
  /* The reset gate is applied to the product by recurrent weights, and not before it
   * (linear_before_reset) */
  LK_CELL_GRU_LINEAR = 2,
  LK_CELL_LSTM = 3 /* 4 gates */
} lk_cell;

/* Activations of recurrent layers, as ONNX has them. X(symbol, value, name) */
// clang-format off
#define LK_ACTIVATION_LIST(X)                                                                      \
  X(LK_ACTIVATION_AFFINE,            0, "Affine")          /* alpha x + beta */                    \
  X(LK_ACTIVATION_RELU,              1, "Relu")                                                    \
  X(LK_ACTIVATION_LEAKY_RELU,        2, "LeakyRelu")       /* x < 0 ? alpha x : x */               \
  X(LK_ACTIVATION_THRESHOLDED_RELU,  3, "ThresholdedRelu") /* x >= alpha ? x : 0 */                \
  X(LK_ACTIVATION_TANH,              4, "Tanh")                                                    \
  X(LK_ACTIVATION_SCALED_TANH,       5, "ScaledTanh")      /* alpha tanh(beta x) */                \
  X(LK_ACTIVATION_SIGMOID,           6, "Sigmoid")                                                 \
  X(LK_ACTIVATION_HARD_SIGMOID,      7, "HardSigmoid")     /* alpha x + beta, from 0 to 1 */       \
  X(LK_ACTIVATION_ELU,               8, "Elu")             /* x < 0 ? alpha (e^x - 1) : x */       \
  X(LK_ACTIVATION_SOFTSIGN,          9, "Softsign")                                                \
  X(LK_ACTIVATION_SOFTPLUS,         10, "Softplus")
// clang-format on

typedef enum lk_activation {
#define LK_ACTIVATION_ENUM(symbol, value, name) symbol = value,
  LK_ACTIVATION_LIST(LK_ACTIVATION_ENUM)
#undef LK_ACTIVATION_ENUM
} lk_activation;

typedef enum lk_direction {
  LK_DIRECTION_FORWARD = 0,
  LK_DIRECTION_REVERSE = 1, /* from a sequence's last step to its first one */
  LK_DIRECTION_BOTH = 2     /* two layers, side by side */
} lk_direction;

#define LK_WORK_DIRECTIONS 2
#define LK_WORK_ACTIVATIONS 3 /* ONNX's f, g and h */

typedef struct lk_work_recurrent {
  uint32_t cell, direction; /* lk_cell, lk_direction */
  /* 1: src, dst, states and cells have the batch as their first dimension, and dst is
   * [batch][steps][directions][hidden] */
  uint32_t batch_first;
  uint32_t couples_forget; /* of LSTM: 1: the forget gate is 1 - the input gate */
  float clip;              /* sums are held within -clip and clip; infinity: they are not */
  uint32_t reserved;
  /* lk_activation, and its numbers, for each direction */
  uint32_t activations[LK_WORK_DIRECTIONS][LK_WORK_ACTIVATIONS];
  float alphas[LK_WORK_DIRECTIONS][LK_WORK_ACTIVATIONS];
  float betas[LK_WORK_DIRECTIONS][LK_WORK_ACTIVATIONS];
} lk_work_recurrent;

/* Where the heads of a tensor lie in its memory: the first element, and from one batch, head and
 * row to the next, in elements, 0 where they share it. The elements of a row lie side by side. */
typedef struct lk_heads_place {
  int64_t first, batch, head, row;
} lk_heads_place;

/* What is added to the sum of each row's powers of e, as if there were a key more that is worth
 * nothing: a row with a sink has no sum of 0. */
typedef enum lk_sink {
  LK_SINK_NONE = 0,
  LK_SINK_ONE = 1,     /* e^0 */
  LK_SINK_OF_HEADS = 2 /* e^sinks[head], unless that is minus infinity */
} lk_sink;

/* Which scores somebody wants to see. */
typedef enum lk_attention_stage {
  LK_ATTENTION_SCALED = 0,
  LK_ATTENTION_CAPPED = 1,
  LK_ATTENTION_MASKED = 2,
  LK_ATTENTION_SOFTMAX = 3 /* the weights */
} lk_attention_stage;

typedef struct lk_work_attention {
  /* Sizes: `size` elements of a head of src and keys, `v_size` of one of values and dst. Each
   * `heads` / `kv_heads` heads of src that follow each other share one of keys and values */
  int64_t batch, heads, kv_heads, queries, keys, size, v_size;
  /* Of src, keys, values and dst, whatever their dimensions and layouts are. They may be the same
   * memory, as parts of it */
  lk_heads_place q, k, v, y;
  /* Query i has the position `past` + i; where there are lengths and has_past is 0, its batch's
   * length - queries + i. It attends the keys from position - left to position + right; -1: all
   * before it, all behind it */
  int64_t past, left, right;
  uint32_t has_past; /* 0 or 1 */
  float scale, softcap;
  uint32_t sink;  /* lk_sink */
  uint32_t stage; /* lk_attention_stage, of SCORES */
  float hidden; /* what SCORES of LK_ATTENTION_MASKED have for keys that a query does not attend */
  /* 0 or 1, and 0 where there are SCORES:
   * bias is of numbers, and stands in the place of scores where it is not 0. There is no softcap
   * and no second mask */
  uint32_t mask_replaces;
  /* A query that attends no key, or whose scores are all minus infinity, has NaN in dst, and not 0.
   * Without any keys dst is 0 all the same */
  uint32_t empty_is_nan;
  /* Where softmax makes NaN, of scores that have NaN or plus infinity, or are all minus infinity,
   * the weights of the query are 0, so that dst has NaN only for values that are not finite. Each
   * query attends all keys */
  uint32_t nan_is_zero;
  uint32_t reserved;
} lk_work_attention;

/* A function that is applied to dst, in the order of the list. */
typedef struct lk_work_post_op {
  uint32_t kind;    /* lk_post_op_kind; of LK_WORK_ELEMENT, also lk_function */
  uint32_t operand; /* role of its operand; 0: it has none */
  float alpha, beta;
} lk_work_post_op;

#define LK_WORK_POST_OPS 8

/* Channels are dimension 1 of each tensor that has such; the layout says where they lie in memory.
 * What a kind of work does not have is 0. No padding.
 *
 * A work with tensors of f16 or bf16 is computed as in f32, and rounded once, at its end; reorders
 * and concatenations keep all bits. Tensors of a work may be of several types.
 * It is offered as it is. Convolutions, products of real numbers,
 * poolings, Softmax, norms and recurrent layers of these types that an engine leaves, or whose
 * post-ops it does not take to the last, are offered once more with f32 in the place of them, and
 * the library converts what comes and goes. Attention comes with f32 in the place of those types,
 * but for masks and SCORES, which are as they are.
 */
typedef struct lk_work {
  uint32_t kind;       /* lk_work_kind */
  uint32_t roles;      /* bit i: role i is there */
  uint32_t constants;  /* bit i: it is a constant, which the engine may pack: its layout is the
                          engine's where that is LK_LAYOUT_ANY */
  uint32_t n_post_ops; /* of `post_ops` */
  lk_tensor_desc tensors[LK_ROLES];
  lk_work_post_op post_ops[LK_WORK_POST_OPS];
  lk_window_shape window; /* of convolutions and poolings */
  int64_t groups;         /* of convolutions and group norms */
  lk_work_lrn lrn;        /* of LRN */
  /* of what goes along dimensions: bit i is dimension i. The dimensions are neighbours. Those of a
   * reduction may be any; there is none only where it is the logarithm of each element */
  uint32_t axes;
  uint32_t pooling;          /* lk_pooling */
  uint32_t column_major;     /* of a pooling with indices: 0 or 1 */
  uint32_t is_centered;      /* of layer and group norms: 1: the mean is subtracted */
  float epsilon;             /* of norms */
  uint32_t reducing;         /* lk_reducing */
  lk_matmul_order orders[2]; /* of products: of src and weights */
  float factor;              /* of products of bytes with scales: what these are multiplied by */
  /* bit i: role i is a constant whose numbers are all finite and above 0. Said of operands of
   * LK_FUNCTION_PRELU alone */
  uint32_t positive;
  uint8_t order[LK_MAX_RANK];  /* of reorders */
  lk_work_bits bits;           /* of products by few bits */
  lk_work_recurrent recurrent; /* of recurrent layers */
  lk_work_resize resize;
  lk_work_attention attention;
} lk_work;

/* ---- engines ---- */

/* Of this header. It changes with what lk_work, lk_offer or lk_engine_value have. */
#define LK_ENGINE_VERSION 7u

/* What an engine says before anything is built. */
typedef struct lk_offer {
  size_t struct_size;
  /* How each tensor must lie; of a constant LK_LAYOUT_ANY: as the engine packs it. They come as the
   * tensors lie now; where that is open as LK_LAYOUT_ANY, which must be set, but of a constant. */
  lk_layout layouts[LK_ROLES];
  /* How many of the first ones it takes; comes as the number of all. A work may begin with those
   * that are the operator itself, as element-wise ones and products with a bias of their own do: an
   * offer that takes fewer counts as none. */
  uint32_t n_post_ops;
  uint32_t reserved;
  /* For people, why it leaves the work, or the first post-op that it leaves: "windows are dilated".
   * Lives as long as the engine; NULL: it does not say. */
  const char *reason;
  /* Estimates, by which `auto` chooses. What a run takes beside the library's own kernels: 0.5 is
   * half as long; 0: it does not say, which counts as 1. And nanoseconds of `build`. */
  double run_ratio, build_ns;
} lk_offer;

/* A constant as an engine packs it. Packed copies are found by content, by engine and role, and by
 * `layout`, all of whose bytes are compared: equal bytes must mean that equal contents are packed
 * equally. */
typedef struct lk_packed_layout {
  const void *layout; /* lives as long as the value; NULL: the constant is taken as it is, plain */
  uint64_t layout_bytes;
  uint64_t bytes; /* of the packed constant */
} lk_packed_layout;

/* What an engine has built for a work. */
typedef struct lk_engine_value {
  size_t struct_size;
  void *value;                /* the engine's own; not NULL */
  const char *implementation; /* for people, not NULL: "brg_conv:avx2"; lives as long as `value` */
  uint64_t bytes;             /* of memory, which the cache charges */
  uint64_t scratch_bytes;     /* that a run needs, aligned to 64; the library lends them */
  uint64_t slot_bytes;        /* of each slot: for statistics */
  uint32_t is_reference;      /* 1: a slow one, which is counted and not taken */
  uint32_t reserved;
  lk_packed_layout packed[LK_ROLES];
} lk_engine_value;

/* The threads that compute, which are those of the library's run that calls the engine. */
typedef struct lk_engine_team {
  size_t struct_size;
  /* Calls `fn` on so many threads at once, this one among them, and returns when all are done.
   * Inside another `run`, on this thread alone. */
  void (*run)(void (*fn)(void *arg), void *arg, int threads);
  int (*threads)(void);    /* that `run` would get at most */
  int (*rank)(void);       /* the number of this thread among those of `run`, from 0 */
  int (*size)(void);       /* and of how many */
  int (*is_stopped)(void); /* 1: the run is to end, what is not computed yet may stay undone */
} lk_engine_team;

typedef struct lk_engine {
  size_t struct_size;
  uint32_t version; /* LK_ENGINE_VERSION */
  uint32_t reserved;
  const char *name; /* "onednn"; letters, digits and '_' */
  /* Everything that a value depends on besides its work: version, instruction set, math mode,
   * number of threads: "3.14.1 1a2b3c avx512_core threads=2". In the key of each value. */
  const char *state;
  uint32_t device_kind, device_index; /* 0 and 0: the processor */
  void *self;                         /* given to all functions */
  /* Whether it takes the work, and how. Builds nothing, and takes a microsecond at most. `placed`:
   * bit i: role i lies as its layout says, and cannot lie otherwise. 1: it does; else 0. */
  int (*offer)(void *self, const lk_work *work, uint32_t placed, lk_offer *inout_offer);
  /* Builds what computes `work`, whose layouts and post-ops are those of an offer, from nothing
   * else. `out` comes zeroed. LK_UNSUPPORTED: it cannot after all, which is remembered, and native
   * computes the work; other failures, with their sentences, are those of the bind. */
  lk_status (*build)(void *self, const lk_work *work, lk_engine_value *out, lk_error *error);
  void (*destroy)(void *self, void *value);
  /* Packs the constant of `role`, from plain bytes at any address. */
  lk_status (*pack)(void *self, const void *value, uint32_t role, const void *plain, void *packed,
                    lk_error *error);
  /* What changes while a value runs, such as an argument list. A slot serves one run at a time. */
  lk_status (*slot_open)(void *self, const void *value, void **out_slot, lk_error *error);
  void (*slot_close)(void *self, const void *value, void *slot);
  /* `pointers`: one for each bit of the work's `roles`, from the lowest on; then scratch memory, if
   * any. Where the operator can run in place (lk_bind_desc), dst may be the memory of a tensor
   * that it is computed from, which lies as dst does. */
  lk_status (*run)(void *self, const void *value, void *slot, void *const *pointers,
                   lk_error *error);
  void (*close)(void *self); /* when its context is destroyed, after all of its values; or NULL */
} lk_engine;

/* One of them, or 0. */
typedef enum lk_engine_flags {
  LK_ENGINE_CHOOSE = 1, /* works are offered to it, and native computes what it does not take */
  /* Works are offered to it where sizes recur (LK_BIND_RECURS), and it computes those that it takes
   * less time for than native, as measured (`tuning`) or else as it estimates: engine `auto` */
  LK_ENGINE_AUTO = 2
} lk_engine_flags;

/* What a module exports as LK_ENGINE_OPEN: an engine for so many threads. `team` lives as long as
 * the process. LK_VERSION: of another version of this header. LK_NOT_FOUND: it cannot work here */
#define LK_ENGINE_OPEN "lk_engine_open"
typedef lk_status (*lk_engine_open_fn)(uint32_t version, const lk_engine_team *team, int threads,
                                       lk_engine *out_engine, lk_error *error);

#ifdef __cplusplus
}
#endif

#endif
