/* Nodes: what an op is made from, and the operators that exist. */
#ifndef LATCHKEY_NODE_H
#define LATCHKEY_NODE_H

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_op lk_op;     /* one node of a graph, immutable */
typedef struct lk_dims lk_dims; /* dimensions that are not known yet, by number */

typedef enum lk_attr_type {
  LK_ATTR_INTS = 1,    /* data: const int64_t[count]; a single INT has count 1 */
  LK_ATTR_FLOATS = 2,  /* data: const float[count] */
  LK_ATTR_STRING = 3,  /* data: const char[count], not necessarily NUL-terminated */
  LK_ATTR_TENSOR = 4,  /* data: const lk_tensor[count] */
  LK_ATTR_STRINGS = 5, /* data: const char *const[count], NUL-terminated */
  /* What no node description may have: only lists of attributes name them. */
  LK_ATTR_GRAPH = 6, /* a body */
  LK_ATTR_OTHER = 7  /* a sparse tensor, a type, several graphs */
} lk_attr_type;

typedef struct lk_attr {
  const char *name;
  uint32_t type; /* lk_attr_type */
  uint32_t count;
  const void *data;
} lk_attr;

/* Fused operators, which are applied to output 0 in their order. X(symbol, value, name) */
// clang-format off
#define LK_POST_OP_LIST(X)                                                             \
  X(LK_POST_RELU,         1, "relu")         /* x < 0 ? alpha ? alpha x : 0 : x */     \
  X(LK_POST_CLIP,         2, "clip")         /* min(max(x, alpha), beta) */            \
  X(LK_POST_SIGMOID,      3, "sigmoid")                                                \
  X(LK_POST_HARDSIGMOID,  4, "hard_sigmoid") /* clip(alpha * x + beta, 0, 1) */        \
  X(LK_POST_HARDSWISH,    5, "hard_swish")   /* x * clip(x / 6 + 1/2, 0, 1) */         \
  X(LK_POST_SWISH,        6, "swish")        /* x * sigmoid(alpha * x) */              \
  X(LK_POST_LINEAR,       7, "linear")       /* alpha * x + beta, rounded once; with   \
                                                the beta -0 a product, also of -0 */   \
  X(LK_POST_ADD,          8, "add")          /* + input */                             \
  X(LK_POST_MUL,          9, "mul")          /* * input */                             \
  X(LK_POST_SUB,         10, "sub")          /* - input */                             \
  X(LK_POST_DIV,         11, "div")          /* / input */                             \
  X(LK_POST_GELU,        12, "gelu")         /* x * (1 + erf(x / sqrt(2))) / 2 */      \
  X(LK_POST_GELU_TANH,   13, "gelu_tanh")    /* the same, approximated by tanh */      \
  X(LK_POST_TANH,        14, "tanh")                                                   \
  X(LK_POST_MISH,        15, "mish")         /* x * tanh(log(1 + e^x)) */              \
  X(LK_POST_QUOTIENT,    16, "quotient")     /* x / alpha */                           \
  X(LK_POST_ADD_SCALED,  17, "add_scaled")   /* + alpha * input */
// clang-format on

typedef enum lk_post_op_kind {
#define LK_POST_OP_ENUM(symbol, value, name) symbol = value,
  LK_POST_OP_LIST(LK_POST_OP_ENUM)
#undef LK_POST_OP_ENUM
} lk_post_op_kind;

/* Those that take an operand. */
#define LK_POST_OP_IS_BINARY(kind)                                                                 \
  ((kind) == LK_POST_ADD || (kind) == LK_POST_MUL || (kind) == LK_POST_SUB ||                      \
   (kind) == LK_POST_DIV || (kind) == LK_POST_ADD_SCALED)

typedef struct lk_post_op {
  uint32_t kind; /* lk_post_op_kind */
  int32_t input; /* add .. div, add_scaled: index of the node's input, which broadcasts to output 0;
                    else -1 */
  float alpha, beta;
} lk_post_op;

typedef enum lk_input_flags {
  LK_INPUT_ABSENT = 1, /* an optional input that is not there */
  LK_INPUT_COPY = 2    /* `constant` is copied now; without it, it is lent: its memory must stay
                          valid and unchanged until the op is destroyed. It need not be aligned */
} lk_input_flags;

typedef struct lk_node_input {
  const lk_tensor *constant; /* NULL: comes at run time */
  uint32_t flags;            /* lk_input_flags; LK_INVALID_ARGUMENT: others */
  uint32_t reserved;
} lk_node_input;

/* A node. Operators are ONNX's, with its attribute names and the meaning of the given opset; the
 * operand order is ONNX's, followed by the inputs that only post-ops use. */
typedef struct lk_node_desc {
  size_t struct_size;
  const char *op_type;
  const char *domain;      /* NULL or "" = ai.onnx; "latchkey" = operators that only fusion makes */
  const char *output_name; /* output tensor 0: part of the key; required */
  const char *scope;       /* graph within the executor: NULL or "" = the main graph */
  uint64_t generation;     /* raised when the node or a constant of it changes */
  uint32_t position;       /* among nodes that write the same output tensor in place */
  int32_t opset;           /* of the domain; of ai.onnx: LK_MIN_OPSET to LK_MAX_OPSET */
  uint32_t n_inputs, n_outputs, n_attrs, n_post_ops;
  const lk_node_input *inputs;
  const lk_attr *attrs; /* of those that the operator's row lists for the opset */
  const lk_post_op *post_ops;
  /* [n_inputs]: who has the memory of each constant that is lent; NULL: nobody says, as where
   * `owners` is NULL. The op holds a reference until it is destroyed, and each plan that reads the
   * constant where it lies has one of its own, so that such plans may outlive the op. That is only
   * done where an owner is given, with LK_LENT_LEAST_BYTES and more, aligned to 64 bytes; of all
   * other constants plans read copies. */
  const lk_owner *const *owners;
} lk_node_desc;

/* ---- operators that exist ------------------------------------------------------------------ */

/* The oldest and the latest opset of ai.onnx that the rows know. */
#define LK_MIN_OPSET 7
#define LK_MAX_OPSET 28

/* What others may do with an operator, whatever its attributes. */
typedef enum lk_op_flags {
  LK_OP_WORTH_CLAIMING = 1 << 0,  /* arithmetic on data; a host hands the others over beside it */
  LK_OP_SHAPE_ONLY = 1 << 1,      /* reads the shape of its input, never an element */
  LK_OP_RANDOM = 1 << 2,          /* equal inputs do not give equal outputs */
  LK_OP_DATA_DEPENDENT = 1 << 3,  /* shapes of outputs follow from elements: known when it has run.
                                     Plans have bounds for them, and only op_run_alloc tells them */
  LK_OP_COMMUTATIVE = 1 << 4,     /* its inputs may change places */
  LK_OP_POST_OPS = 1 << 5,        /* takes post-ops */
  LK_OP_TENSOR_POST_OPS = 1 << 6, /* a post-op with a tensor costs it less than a node of its own */
  LK_OP_COLUMNS = 1 << 7,  /* output 0 has the last dimension of input 1, of rank 2 or more */
  LK_OP_QUANTIZES = 1 << 8 /* makes quantized numbers or real ones of them, or works on them: a host
                              may have a way of its own for all that lies between */
} lk_op_flags;

/* Sets of element types: bit d is the lk_dtype d. */
#define LK_TYPE(dtype) (1u << (dtype))
/* What sizes, axes and indices are made of, and what is asked of them. */
#define LK_TYPES_OF_SHAPES (LK_TYPE(LK_I64) | LK_TYPE(LK_I32) | LK_TYPE(LK_BOOL))

/* An attribute that an operator has. One whose default or type differs between opsets is in the
 * list once for each. */
typedef struct lk_op_attr {
  const char *name;
  uint32_t type;        /* lk_attr_type */
  int32_t since, until; /* the opsets that have it; 0: the first and the last of the row */
  /* As an attribute until then; from then on input `input` has what it said. 0: none has. */
  uint32_t input;
  uint8_t is_list;     /* LK_ATTR_INTS and LK_ATTR_FLOATS: any number of values, else exactly one */
  uint8_t is_required; /* a node must have it */
  uint8_t has_default; /* not giving it means the same as giving the default */
  uint8_t is_unused;   /* nothing that the operator computes depends on it, as on one of training */
  /* The default, or what it is read as where it is not given and has none. */
  int64_t integer;
  float number;
  uint32_t n_integers; /* of a list that has a default */
  const int64_t *integers;
  const char *texts; /* LK_ATTR_STRING: what it may be, "linear|nearest", the default first; NULL:
           anything. LK_ATTR_STRINGS: the default, "Tanh|Tanh"; NULL: none. LK_ATTR_INTS: a flag */
} lk_op_attr;

/* A number among the parameters of an operator. */
typedef struct lk_op_number {
  const char *attr; /* the attribute that has it, which has the default; NULL: none */
  float fallback;   /* where there is no attribute, and the input is not given */
  uint32_t input;   /* the input that has it instead, from opset `input_since` on; 0: none */
  int32_t input_since;
} lk_op_number;

/* The post-op that an operator becomes when it is fused into the one that makes its input. */
typedef struct lk_op_fusion {
  uint32_t kind; /* lk_post_op_kind; 0: none. add .. div: the operand is the other input, and where
                    that is one number, the post-op may be linear */
  lk_op_number alpha, beta;
} lk_op_fusion;

#define LK_MAX_TYPE_GROUPS 4

/* A row of the operator table. Static, valid for ever. */
typedef struct lk_op_row {
  size_t struct_size;
  const char *op_type, *domain; /* domain "": ai.onnx */
  const char *summary;          /* one line */
  int32_t since;                /* the opset from which on the row holds, up to LK_MAX_OPSET */
  uint32_t flags;               /* lk_op_flags */
  uint32_t min_inputs, max_inputs, max_outputs; /* inputs without those of post-ops */
  /* Types, as ONNX has them: a letter for each input, and the last one for those behind it. Inputs
   * with one letter have one type, of types[0] for T, types[1] for U, types[2] for V, types[3] for
   * W (0: any). Outputs too; a letter that no input has is the one type of its set. '?': the
   * operator has a rule of its own, as where attributes decide. */
  const char *input_types, *output_types;
  uint32_t types[LK_MAX_TYPE_GROUPS]; /* LK_TYPE bits */
  uint32_t reserved;
  uint64_t shape_inputs;    /* bit i: shapes or parameters depend on input i, by value */
  uint64_t in_place_inputs; /* bit i: output 0 may be written over input i */
  uint64_t mode_inputs;     /* bit i: of the values that input i may have, not all are supported */
  lk_op_fusion fusion;
  const lk_op_attr *attrs; /* [n_attrs]: a node with any other attribute is refused */
  uint32_t n_attrs;
} lk_op_row;

typedef struct lk_op_info {
  size_t struct_size;
  const lk_op_row *row;
  uint64_t shape_inputs;    /* of the row, without those that are absent */
  uint64_t in_place_inputs; /* of the row */
  uint32_t n_inputs, n_outputs;
} lk_op_info;

#ifdef __cplusplus
}
#endif

#endif
