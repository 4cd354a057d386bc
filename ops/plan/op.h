/* What an operator is: a row in op_list.inc, parameters parsed once, and two functions.
 *
 * An operator file has the parameters that are attributes as they are, or `parse`, which makes
 * them of attributes when the op is created; `infer` (types and shapes of outputs from those of
 * inputs), `plan` (which kernels run; planner.h) and one lk_op_class. It never runs anything
 * itself: a plan is data, and one loop runs them all.
 */
#pragma once

#include <stdbool.h>

#include "ops/plan/attrs.h"
#include "ops/plan/dims.h"
#include "ops/plan/env.h"

typedef struct lk_planner lk_planner;
typedef struct lk_op_class lk_op_class;
typedef struct lk_resizing lk_resizing;

/* A constant input. */
typedef struct lk_node_constant {
  lk_content *content; /* NULL: the input is no constant */
  lk_lent lent;        /* data: what intern was given, for the release; NULL after a copy */
  lk_tensor tensor;    /* data: only of shape inputs, and of others up to 4 KB; a copy, aligned */
} lk_node_constant;

/* A node as operators see it: immutable once created. */
typedef struct lk_op_node {
  const lk_op_class *class_;
  const char *output_name;
  int32_t opset;
  uint32_t n_inputs, n_outputs, n_post_ops;
  uint32_t n_operands; /* inputs of the operator itself; those that only post-ops use follow */
  uint64_t absent;     /* bit i: input i is not there */
  const lk_post_op *post_ops;
  const lk_node_constant *constants; /* [n_inputs] */
  const void *params;                /* of the class */
} lk_op_node;

/* A question for the shapes of a node's outputs. What is not known yet: a type is LK_DTYPE_NONE, a
 * rank LK_RANK_UNKNOWN, a dimension as in dims.h, and a value that shapes depend on has no data.
 * When a plan is built, all of them are known. */
typedef struct lk_inference {
  const lk_op_node *node;
  const lk_tensor *inputs;      /* [n_inputs]; absent ones are zeroed */
  const int64_t *const *values; /* [n_inputs], of inputs without data (values.h); NULL: none */
  lk_dims *dims;                /* where terms are; NULL: what is no number is unknown */
  lk_tensor_desc *outputs;      /* [n_outputs] */
  void *found;     /* of the class's found_size, for `plan`; NULL: there will be no plan */
  bool bounds;     /* a plan will be made: dimensions that follow from data are bounds */
  int32_t copy_of; /* the input that output 0 is, type and elements; -1: none, or not certain */
} lk_inference;

#define LK_MAX_OWN_POST_OPS 4

/* Sets of element types, for lk_op_row.types. */
#define LK_TYPES_ANY 0u
#define LK_TYPES_F32 LK_TYPE(LK_F32)
#define LK_TYPES_FLOAT (LK_TYPE(LK_F32) | LK_TYPE(LK_F64) | LK_TYPE(LK_F16) | LK_TYPE(LK_BF16))
#define LK_TYPES_BY_F32 (LK_TYPE(LK_F32) | LK_TYPE(LK_F16) | LK_TYPE(LK_BF16)) /* computed in it */
#define LK_TYPES_INTEGER                                                                           \
  (LK_TYPE(LK_U8) | LK_TYPE(LK_I8) | LK_TYPE(LK_U16) | LK_TYPE(LK_I16) | LK_TYPE(LK_I32) |         \
   LK_TYPE(LK_I64) | LK_TYPE(LK_U32) | LK_TYPE(LK_U64))
#define LK_TYPES_SIGNED (LK_TYPE(LK_I8) | LK_TYPE(LK_I16) | LK_TYPE(LK_I32) | LK_TYPE(LK_I64))
#define LK_TYPES_NUMBER (LK_TYPES_FLOAT | LK_TYPES_INTEGER)
#define LK_TYPES_INDEX (LK_TYPE(LK_I32) | LK_TYPE(LK_I64))

/* How a row begins: {LK_OP_ROW("Relu", "", 1, "max(x, 0)", .flags = ...), .infer = ...}. The four
 * are the first members of lk_op_row; others that are not 0 follow by name. */
#define LK_OP_ROW(name, domain, since, summary, ...)                                               \
  .row = {sizeof(lk_op_row), name, domain, summary, LK_OP_SINCE(domain, since), __VA_ARGS__}
/* ai.onnx, whose domain is "", is older than the opsets that are served. */
#define LK_OP_SINCE(domain, since)                                                                 \
  (sizeof(domain) == 1 && (since) < LK_MIN_OPSET ? LK_MIN_OPSET : (since))

/* The attributes of its nodes: no others are read. */
#define LK_OP_ATTRS(...) LK_ATTR_LIST_OF(.row., __VA_ARGS__)
/* Parameters of `type`: LK_PARAMs, or all of them are one attribute. */
#define LK_OP_PARAMS(type, ...)                                                                    \
  .params_size = sizeof(type), .params = (const lk_param[]) {                                      \
    __VA_ARGS__, {                                                                                 \
      0                                                                                            \
    }                                                                                              \
  }
#define LK_OP_PARAM(type, attr_)                                                                   \
  LK_OP_PARAMS(type, {.attr = (attr_), .kind = LK_PARAM_KIND(*(type *)NULL)})

struct lk_op_class {
  lk_op_row row; /* what others may know */
  size_t params_size;
  const lk_param *params; /* of lk_attrs_fill, before `parse`; NULL: none */
  /* Bytes of `params` behind these, for a node that has been checked. NULL: none. */
  size_t (*params_behind)(const lk_node_desc *desc);
  size_t found_size; /* of what `infer` finds out and `plan` needs too; 0: nothing */
  uint32_t function; /* of an element-wise operator: lk_function or lk_post_op_kind; else 0 */
  bool by_f32;       /* `plan` sees f16 and bf16 as f32: outputs are rounded behind it */
  bool needs_all;    /* none of its inputs may be absent, however many there are */
  int32_t variant;   /* which operator of its file it is, where one function serves several */
  /* Reads attributes into `params`, which are zeroed but for those of the list; failures are noted
   * in `attrs`. NULL: there is no more to read. */
  void (*parse)(lk_attrs *attrs, void *params);
  /* Post-ops that are part of the operator: put before the node's, which `node` does not have yet.
   * At most LK_MAX_OWN_POST_OPS. NULL: none. */
  uint32_t (*own_post_ops)(const lk_op_node *node, lk_post_op *out);
  /* The in-place attribute of the key, e.g. "axis=1": at most `capacity` bytes. NULL: the op
   * type. */
  void (*in_place_text)(const lk_op_node *node, char *buffer, size_t capacity);
  /* The shape rule: sets rank and dims of the outputs, which come as not known, types where the row
   * says '?', and copy_of. Fails when the node cannot run whatever is not known turns out to be.
   * The types of inputs have been checked; values of shape inputs are plain and aligned. Families
   * of operators share one (shape.c). */
  lk_status (*infer)(lk_inference *self, lk_error *error);
  /* Multiplications and additions, for shapes that are known. NULL: a few for each element. */
  double (*flops)(const lk_op_node *node, const lk_tensor *inputs, const lk_tensor_desc *outputs);
  /* Emits the steps. Not called when all outputs are empty, unless their shapes follow from
   * data. */
  lk_status (*plan)(lk_planner *planner, lk_error *error);
  /* Sets what depends on sizes in a copy of a plan of the node, of one step (pattern.h). False: it
   * cannot, and the plan is built from the beginning. NULL: never. */
  bool (*resize)(const lk_resizing *self);
};

static inline bool lk_op_is_absent(const lk_op_node *node, uint32_t index) {
  return index < 64 && (node->absent >> index & 1) != 0;
}
/* Whether the operator's own input `index` is there. */
static inline bool lk_op_has(const lk_op_node *node, uint32_t index) {
  return index < node->n_operands && !lk_op_is_absent(node, index);
}

/* Types by the row, and shapes by the class's `infer`. LK_UNSUPPORTED names a type that an input
 * may not have, LK_INVALID_ARGUMENT two inputs whose types must be equal. With a table of terms, no
 * dimension of an output of known rank stays unknown: it is an open term at least. */
lk_status lk_op_infer(lk_inference *self, lk_error *error);

/* ---- shape helpers (shape.c) ---- */

/* `axis` of a tensor of `rank`, negative from the end; -1 when it is out of range. */
int64_t lk_axis(int64_t axis, uint32_t rank);
/* The attribute 'axis' as a dimension of `x`, whose rank is known. LK_OUT_OF_RANGE. */
lk_status lk_attr_axis(int64_t axis, const lk_tensor_desc *x, uint32_t *out_axis, lk_error *error);
/* Each of `axes` as a dimension of a tensor of `rank`; LK_INVALID_ARGUMENT where one is out of
 * range or given twice: "failed to <what>: ...". */
lk_status lk_read_axes(const int64_t *axes, uint32_t count, uint32_t rank, const char *what,
                       uint32_t *out_axes, lk_error *error);
static inline bool lk_rank_is_known(const lk_tensor_desc *desc) {
  return desc->rank != LK_RANK_UNKNOWN;
}
/* Rank and all dimensions are numbers. */
bool lk_shape_is_known(const lk_tensor_desc *desc);
/* Makes the shape one of `rank` unknown dimensions; a rank that is no number stays unknown. */
void lk_shape_open(lk_tensor_desc *desc, int64_t rank);
/* Output `output` has the shape of input `input`. */
void lk_shape_of_input(lk_inference *self, uint32_t output, uint32_t input);
/* lk_tensor_size, where type and shape are known. */
lk_status lk_shape_check(const lk_tensor_desc *desc, const char *what, lk_error *error);
/* The operator's own input `index` is there, and so is its value. */
bool lk_infer_knows(const lk_inference *self, uint32_t index);
/* The same of all shape inputs that are there. */
bool lk_infer_knows_all(const lk_inference *self);
/* How many values a list has as input `index`: a dimension. */
int64_t lk_infer_count(const lk_inference *self, uint32_t index);
/* The dimensions `first` to `end` - 1 of a tensor, multiplied. */
int64_t lk_count_dims(const lk_tensor_desc *desc, uint32_t first, uint32_t end);

/* Fails: "failed to read <what>: <description>, must be <rule>". */
lk_status lk_refuse(const lk_tensor_desc *desc, const char *what, const char *rule,
                    lk_error *error);
/* The same tensor, of rank 3 or more, with the last dimension behind the first one, and back. What
 * lies plain lies channels-last then. */
lk_tensor_desc lk_shape_channels_second(const lk_tensor_desc *desc);
lk_tensor_desc lk_shape_channels_last(const lk_tensor_desc *desc);
/* The dimensions are the same as far as both are known. */
bool lk_shape_may_equal(const lk_tensor_desc *a, const lk_tensor_desc *b);

/* ---- shape rules that several operators share (shape.c) ---- */

/* Output 0 is as large as input 0. */
lk_status lk_infer_same(lk_inference *self, lk_error *error);
/* The operator's inputs are broadcast to each other. */
lk_status lk_infer_broadcast(lk_inference *self, lk_error *error);
/* The same, and output 0 is no larger than input 0. */
lk_status lk_infer_broadcast_to_first(lk_inference *self, lk_error *error);

/* Multidirectional broadcasting (ONNX "Broadcasting"): sets rank and dims of `out`. */
lk_status lk_broadcast_dims(lk_dims *dims, const lk_tensor_desc *a, const lk_tensor_desc *b,
                            lk_tensor_desc *out, lk_error *error);
/* The same tensor with leading dimensions of 1 up to `rank`; layout only if rank is unchanged,
 * else it must be plain. */
lk_tensor_desc lk_shape_pad_rank(const lk_tensor_desc *desc, uint32_t rank);
/* Reads integer values (i32 or i64) of a shape input; LK_INVALID_ARGUMENT for another type, a rank
 * over 1, or more than `capacity` values. */
lk_status lk_read_ints(const lk_tensor *tensor, const char *what, int64_t *out, uint32_t capacity,
                       uint32_t *out_count, lk_error *error);

/* From input `index`, if it is there, else unchanged. */
lk_status lk_read_list(const lk_inference *self, uint32_t index, const char *what, lk_list *list,
                       lk_error *error);
/* The value of input `index`, if it is there, as `dtype`: one element is required. */
lk_status lk_infer_one(const lk_inference *self, uint32_t index, const char *what, uint32_t dtype,
                       void *out, bool *out_is_known, lk_error *error);
/* Sets a dimension to a * b; "failed to <what>: ..." where they overflow. */
lk_status lk_infer_product(const lk_inference *self, int64_t a, int64_t b, const char *what,
                           int64_t *out, lk_error *error);
