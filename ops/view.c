/* Operators that leave the bytes as they are: Identity, Dropout in inference, Reshape, Flatten,
 * Squeeze, Unsqueeze. The planner makes each a view where the memory allows it. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/plan/moves.h"
#include "ops/plan/values.h"

static lk_status plan_view(lk_planner *planner, lk_error *error) {
  return lk_plan_view(planner, 0, LK_LAYOUT_PLAIN, LK_LAYOUT_PLAIN, error);
}

static lk_status plan_same(lk_planner *planner, lk_error *error) {
  return lk_plan_same(planner, 0, error);
}

/* ---- Identity ---- */

static lk_status infer_identity(lk_inference *self, lk_error *error) {
  self->copy_of = 0;
  return lk_infer_same(self, error);
}

const lk_op_class lk_op_identity = {
    LK_OP_ROW("Identity", "", 7, "the input itself", .min_inputs = 1, .max_inputs = 1,
              .max_outputs = 1, .input_types = "T", .output_types = "T", .in_place_inputs = 1),
    .infer = infer_identity,
    .plan = plan_same,
};

/* ---- Dropout ---- */

enum { DROPOUT_RATIO = 1, DROPOUT_TRAINING = 2 };

/* Whether nothing is dropped in training mode: the ratio is a constant 0. */
static bool drops_nothing(const lk_inference *self) {
  const lk_op_node *node = self->node;
  double value = 1;
  if (!lk_op_has(node, DROPOUT_RATIO)) return false;
  const lk_tensor *ratio = &self->inputs[DROPOUT_RATIO];
  const bool is_kept = node->constants != NULL && node->constants[DROPOUT_RATIO].content != NULL;
  if (is_kept) ratio = &node->constants[DROPOUT_RATIO].tensor;
  if (ratio->data == NULL || !lk_shape_is_known(&ratio->desc) || lk_elements(&ratio->desc) != 1) {
    return false;
  }
  lk_cast_one(ratio->desc.dtype, ratio->data, LK_F64, &value);
  return value == 0;
}

static lk_status infer_dropout(lk_inference *self, lk_error *error) {
  const lk_op_node *node = self->node;
  self->copy_of = 0;
  if (lk_op_has(node, DROPOUT_TRAINING)) {
    const lk_tensor *training = &self->inputs[DROPOUT_TRAINING];
    if (lk_shape_is_known(&training->desc) && lk_elements(&training->desc) != 1) {
      char text[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read training_mode: it is %s, it must be one bool",
                     lk_tensor_text(&training->desc, text));
    }
    if (training->data == NULL) {
      self->copy_of = -1;
    } else if (*(const uint8_t *)training->data != 0 && !drops_nothing(self)) {
      return lk_fail(
          error, LK_UNSUPPORTED,
          "failed to read training_mode: it is true, which drops elements at random; false, "
          "or a constant ratio of 0, is supported: export the model for inference");
    }
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) lk_shape_of_input(self, i, 0);
  /* before opset 10, the mask has the data's type */
  if (node->n_outputs > 1) {
    self->outputs[1].dtype = node->opset >= 10 ? (uint32_t)LK_BOOL : self->outputs[0].dtype;
  }
  return LK_OK;
}

/* A mask of an old opset has the type of the data. */
static lk_status plan_dropout(lk_planner *planner, lk_error *error) {
  lk_operand mask;
  const double one = 1;
  uint8_t value[sizeof one];
  LK_RETURN_NOT_OK(lk_plan_same(planner, 0, error));
  if (planner->node->n_outputs == 1) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 1, LK_LAYOUT_PLAIN, &mask, error));
  lk_cast_one(LK_F64, &one, mask.desc.dtype, value);
  return lk_plan_fill(planner, &mask, lk_dtype_size(mask.desc.dtype), value, error);
}

const lk_op_class lk_op_dropout = {
    LK_OP_ROW("Dropout", "", 7, "inference: the input itself, and a mask of ones", .min_inputs = 1,
              .max_inputs = 3, .max_outputs = 2, .input_types = "TUV", .output_types = "T?",
              .types = {LK_TYPES_ANY, LK_TYPES_ANY, LK_TYPE(LK_BOOL)},
              .shape_inputs = 1u << DROPOUT_TRAINING, .in_place_inputs = 1,
              .mode_inputs = 1u << DROPOUT_TRAINING),
    LK_OP_ATTRS(LK_FLOAT("ratio", 0.5F, .until = 11, .input = 1, .is_unused = 1),
                LK_ANY_INT("seed", 0, .since = 12, .is_unused = 1)),
    .infer = infer_dropout,
    .plan = plan_dropout,
};

/* ---- Reshape ---- */

static lk_status reshape_fail(lk_error *error, const lk_tensor_desc *from, const int64_t *shape,
                              uint32_t rank, const char *rule) {
  lk_tensor_desc wanted = lk_tensor_desc_make(from->dtype, rank, shape);
  char text_from[LK_TENSOR_TEXT_CAPACITY], text_to[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "failed to reshape %s to %s: %s",
                 lk_tensor_text(from, text_from), lk_tensor_text(&wanted, text_to), rule);
}

/* What -1 stands for: the elements that no other dimension has. */
static bool find_rest(lk_dims *dims, const lk_tensor_desc *from, const bool *copied, int64_t known,
                      int64_t *out_dim) {
  int64_t rest = 1;
  *out_dim = LK_DIM_UNKNOWN;
  if (!lk_rank_is_known(from)) return true;
  for (uint32_t i = 0; i < from->rank; i++) {
    if (!copied[i] && !lk_dims_multiply(dims, rest, from->dims[i], &rest)) return false;
  }
  if (rest >= 0 && rest % known != 0) return false;
  *out_dim = lk_dims_divide(dims, rest, known);
  return true;
}

/* To a shape that the graph computes: as far as its values are certain. */
static lk_status reshape_by_values(lk_inference *self, lk_error *error) {
  const bool allow_zero = *(const bool *)self->node->params;
  const lk_tensor_desc *from = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  lk_dims *dims = self->dims;
  int64_t values[LK_MAX_VALUES], known = 1, elements = 1, rest = 1, inferred = -1;
  uint32_t rank = 0;
  bool copied[LK_MAX_RANK] = {false}, is_certain = lk_rank_is_known(from);
  lk_shape_open(to, lk_infer_count(self, 1));
  if (!lk_value_list(self, 1, values, &rank) || rank > LK_MAX_RANK) return LK_OK;
  for (uint32_t i = 0; is_certain && i < from->rank; i++) {
    LK_RETURN_NOT_OK(
        lk_infer_product(self, elements, from->dims[i], "count elements", &elements, error));
  }
  for (uint32_t i = 0; i < rank; i++) {
    int64_t number = 1;
    const bool is_number = lk_dims_number(dims, values[i], &number);
    const int64_t same = lk_rank_is_known(from) && i < from->rank ? from->dims[i] : LK_DIM_UNKNOWN;
    if (number == -1 && inferred < 0) {
      inferred = i;
    } else if (!allow_zero &&
               (number == 0 || (values[i] == same && !is_number && lk_dims_is_dim(dims, same)))) {
      to->dims[i] = same; /* a 0 is this one too */
      copied[i] = true;
    } else if (lk_dims_is_dim(dims, values[i]) &&
               (is_number || allow_zero || lk_dims_has_factors(dims, elements, values[i]))) {
      to->dims[i] = values[i];
      LK_RETURN_NOT_OK(lk_infer_product(self, known, values[i], "reshape", &known, error));
    } else {
      is_certain = false; /* it may be 0 or -1 */
    }
  }
  for (uint32_t i = 0; is_certain && i < from->rank; i++) {
    if (copied[i]) continue;
    LK_RETURN_NOT_OK(lk_infer_product(self, rest, from->dims[i], "reshape", &rest, error));
  }
  if (inferred >= 0 && is_certain) to->dims[inferred] = lk_dims_quotient(dims, rest, known);
  return LK_OK;
}

static lk_status infer_reshape(lk_inference *self, lk_error *error) {
  const bool *allow_zero = self->node->params;
  const lk_tensor_desc *from = &self->inputs[0].desc;
  int64_t shape[LK_MAX_RANK];
  uint32_t rank;
  if (!lk_infer_knows(self, 1)) return reshape_by_values(self, error);
  LK_RETURN_NOT_OK(lk_read_ints(&self->inputs[1], "shape", shape, LK_MAX_RANK, &rank, error));

  /* Dimensions that a 0 takes over are left out of both products: so a batch of 0 still tells what
   * -1 stands for. */
  lk_tensor_desc to = {.dtype = self->outputs[0].dtype, .rank = rank};
  bool copied[LK_MAX_RANK] = {false};
  int64_t known = 1, inferred = -1;
  for (uint32_t i = 0; i < rank; i++) {
    to.dims[i] = shape[i];
    if (shape[i] == -1) {
      if (inferred >= 0) return reshape_fail(error, from, shape, rank, "only one -1 is allowed");
      inferred = i;
    } else if (shape[i] < -1) {
      return reshape_fail(error, from, shape, rank, "sizes must be at least -1");
    } else if (shape[i] == 0 && !*allow_zero) {
      if (i >= from->rank) {
        return reshape_fail(error, from, shape, rank,
                            "a 0 must have a dimension of the input to copy");
      }
      to.dims[i] = lk_rank_is_known(from) ? from->dims[i] : LK_DIM_UNKNOWN;
      copied[i] = true;
    } else if (__builtin_mul_overflow(known, shape[i], &known)) {
      return reshape_fail(error, from, shape, rank, "it must have fewer than 2^63 elements");
    }
  }
  if (inferred >= 0) {
    if (known == 0)
      return reshape_fail(error, from, shape, rank, "-1 cannot be worked out beside a 0");
    if (!find_rest(self->dims, from, copied, known, &to.dims[inferred])) {
      return reshape_fail(error, from, shape, rank,
                          "the elements must be a multiple of the product of the other sizes");
    }
  }
  LK_RETURN_NOT_OK(lk_shape_check(&to, "the reshaped tensor", error));
  if (lk_shape_is_known(&to) && lk_shape_is_known(from) && lk_elements(&to) != lk_elements(from)) {
    return reshape_fail(error, from, shape, rank, "the number of elements must stay");
  }
  self->outputs[0] = to;
  return LK_OK;
}

/* ---- Flatten ---- */

static lk_status infer_flatten(lk_inference *self, lk_error *error) {
  const int64_t given = *(const int64_t *)self->node->params;
  const lk_tensor_desc *from = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  const int64_t rank = from->rank;
  lk_shape_open(to, 2);
  if (!lk_rank_is_known(from)) return LK_OK;
  if (given < -rank || given > rank) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to flatten: axis is %" PRId64 ", -%" PRId64 " to %" PRId64
                   " are allowed",
                   given, rank, rank);
  }
  const int64_t axis = given < 0 ? given + rank : given;
  to->dims[0] = to->dims[1] = 1;
  for (int64_t i = 0; i < rank; i++) {
    int64_t *product = &to->dims[i < axis ? 0 : 1];
    /* With a dimension of 0 on the other side, the product is unchecked so far. */
    if (!lk_dims_multiply(self->dims, *product, from->dims[i], product)) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "failed to flatten: a dimension on one side of axis %" PRId64 " exceeds 2^63",
                     given);
    }
  }
  return LK_OK;
}

/* ---- Squeeze, Unsqueeze ---- */

typedef struct axes_params {
  uint32_t n_axes;
  bool given;
  int64_t axes[LK_MAX_RANK];
} axes_params;

enum { AXES_AS_INPUT_SINCE = 13 };

static void parse_axes(lk_attrs *attrs, void *params) {
  axes_params *axes = params;
  axes->given = lk_attrs_has(attrs, "axes");
  axes->n_axes = lk_attrs_ints(attrs, "axes", axes->axes, LK_MAX_RANK);
}

/* Reads the axes of a tensor of `rank` as marks. */
static lk_status read_axes(const lk_op_node *node, const lk_tensor *inputs, uint32_t rank,
                           bool marks[LK_MAX_RANK], lk_error *error) {
  axes_params axes = *(const axes_params *)node->params;
  uint32_t dims[LK_MAX_RANK];
  memset(marks, 0, LK_MAX_RANK * sizeof marks[0]);
  if (lk_op_has(node, 1)) {
    const bool is_onnx = node->class_->row.domain[0] == '\0';
    if (is_onnx && node->opset < AXES_AS_INPUT_SINCE) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read axes: they are input 1 at opset %" PRId32
                     ", which they may be since opset 13; before they are attribute 'axes'",
                     node->opset);
    }
    LK_RETURN_NOT_OK(lk_read_ints(&inputs[1], "axes", axes.axes, LK_MAX_RANK, &axes.n_axes, error));
  }
  LK_RETURN_NOT_OK(lk_read_axes(axes.axes, axes.n_axes, rank, "read axes", dims, error));
  for (uint32_t i = 0; i < axes.n_axes; i++) marks[dims[i]] = true;
  return LK_OK;
}

static lk_status infer_squeeze(lk_inference *self, lk_error *error) {
  const axes_params *params = self->node->params;
  const lk_tensor_desc *from = &self->inputs[0].desc;
  lk_tensor_desc to = {.dtype = self->outputs[0].dtype};
  bool marks[LK_MAX_RANK];
  const bool given = params->given || lk_op_has(self->node, 1);
  if (!lk_rank_is_known(from)) return LK_OK;
  if (lk_op_has(self->node, 1) && !lk_infer_knows(self, 1)) {
    const int64_t dropped = lk_infer_count(self, 1);
    if (dropped >= 0) lk_shape_open(&self->outputs[0], (int64_t)from->rank - dropped);
    return LK_OK;
  }
  LK_RETURN_NOT_OK(read_axes(self->node, self->inputs, from->rank, marks, error));
  if (!given && !lk_shape_is_known(from)) return LK_OK;
  for (uint32_t i = 0; i < from->rank; i++) {
    const bool drop = given ? marks[i] : from->dims[i] == 1;
    if (!drop) {
      to.dims[to.rank++] = from->dims[i];
    } else if (lk_dims_differ(from->dims[i], 1)) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to squeeze axis %" PRIu32 ": its size is %" PRId64 ", it must be 1", i,
                     from->dims[i]);
    }
  }
  self->outputs[0] = to;
  return LK_OK;
}

static lk_status infer_unsqueeze(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *from = &self->inputs[0].desc;
  const axes_params *params = self->node->params;
  lk_tensor_desc *to = &self->outputs[0];
  bool marks[LK_MAX_RANK];
  const bool as_input = lk_op_has(self->node, 1);
  if (!as_input && !params->given) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to unsqueeze: axes are missing, they are required");
  }
  /* Axes count in the output, whose rank depends on how many there are. */
  const int64_t count = as_input ? lk_infer_count(self, 1) : params->n_axes;
  if (!lk_rank_is_known(from) || count < 0) return LK_OK;
  if (count > LK_MAX_RANK - (int64_t)from->rank) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to unsqueeze: the output has rank %" PRId64 ", at most %d is supported",
                   from->rank + count, LK_MAX_RANK);
  }
  lk_shape_open(to, from->rank + count);
  if (as_input && !lk_infer_knows(self, 1)) return LK_OK;
  LK_RETURN_NOT_OK(read_axes(self->node, self->inputs, to->rank, marks, error));
  for (uint32_t i = 0, next = 0; i < to->rank; i++) {
    to->dims[i] = marks[i] ? 1 : from->dims[next++];
  }
  return LK_OK;
}

/* ---- Rows of operators that are only a view: inputs behind the first give the shape ---- */

#define VIEW_ROW(name, summary_text, least_inputs, most_inputs)                                    \
  VIEW_ROW_OF(name, "", 7, summary_text, least_inputs, most_inputs)
#define VIEW_ROW_OF(name, domain_text, first, summary_text, least_inputs, most_inputs)             \
  LK_OP_ROW(name, domain_text, first, summary_text, .min_inputs = least_inputs,                    \
            .max_inputs = most_inputs, .max_outputs = 1, .input_types = "TU", .output_types = "T", \
            .types = {LK_TYPES_ANY, LK_TYPES_INDEX}, .shape_inputs = (1U << (most_inputs)) - 2),   \
      .plan = plan_view

const lk_op_class lk_op_reshape = {
    VIEW_ROW("Reshape", "another shape for the same elements", 2, 2),
    LK_OP_ATTRS(LK_FLAG("allowzero", 0, .since = 14)),
    LK_OP_PARAM(bool, "allowzero"),
    .infer = infer_reshape,
};
const lk_op_class lk_op_flatten = {
    VIEW_ROW("Flatten", "the dimensions before and from an axis on as two", 1, 1),
    LK_OP_ATTRS(LK_INT("axis", 1)),
    LK_OP_PARAM(int64_t, "axis"),
    .infer = infer_flatten,
};
const lk_op_class lk_op_squeeze = {
    VIEW_ROW("Squeeze", "drops dimensions of size 1", 1, 2),
    .params_size = sizeof(axes_params),
    LK_OP_ATTRS(LK_INTS("axes", .until = AXES_AS_INPUT_SINCE - 1, .input = 1)),
    .parse = parse_axes,
    .infer = infer_squeeze,
};
const lk_op_class lk_op_unsqueeze = {
    VIEW_ROW("Unsqueeze", "inserts dimensions of size 1", 1, 2),
    .params_size = sizeof(axes_params),
    LK_OP_ATTRS(LK_INTS("axes", .is_required = 1, .until = AXES_AS_INPUT_SINCE - 1, .input = 1)),
    .parse = parse_axes,
    .infer = infer_unsqueeze,
};
const lk_op_class lk_op_expand_dims = {
    VIEW_ROW_OF("ExpandDims", "com.microsoft", 1, "inserts a dimension of size 1", 2, 2),
    .params_size = sizeof(axes_params),
    .infer = infer_unsqueeze,
};
