/* Operators that make tensors of numbers that are known when binding: Shape, Size, Constant,
 * ConstantOfShape. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/move/fill.h"
#include "ops/plan/moves.h"
#include "ops/plan/values.h"

/* ---- Shape ---- */

typedef struct shape_params {
  int64_t start, end;
} shape_params;

/* A negative bound counts from the end; then both are held within the rank. */
static int64_t shape_bound(int64_t bound, int64_t rank) {
  if (bound < 0) bound += rank;
  return bound < 0 ? 0 : bound > rank ? rank : bound;
}

static lk_status infer_shape(lk_inference *self, lk_error *error) {
  (void)error;
  const shape_params *params = self->node->params;
  const lk_tensor_desc *from = &self->inputs[0].desc;
  lk_shape_open(&self->outputs[0], 1);
  if (!lk_rank_is_known(from)) return LK_OK;
  const int64_t start = shape_bound(params->start, from->rank);
  const int64_t end = shape_bound(params->end, from->rank);
  self->outputs[0].dims[0] = end > start ? end - start : 0;
  return LK_OK;
}

static lk_status plan_shape(lk_planner *planner, lk_error *error) {
  const shape_params *params = planner->node->params;
  const lk_tensor_desc *from = &planner->inputs[0].desc;
  lk_operand to;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  return lk_plan_fill(planner, &to, (size_t)to.desc.dims[0] * sizeof from->dims[0],
                      from->dims + shape_bound(params->start, from->rank), error);
}

const lk_op_class lk_op_shape = {
    LK_OP_ROW("Shape", "", 7, "the dimensions of the input", .flags = LK_OP_SHAPE_ONLY,
              .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, .input_types = "T",
              .output_types = "U", .types = {LK_TYPES_ANY, LK_TYPE(LK_I64)}),
    LK_OP_ATTRS(LK_ANY_INT("end", INT64_MAX, .since = 15), LK_INT("start", 0, .since = 15)),
    LK_OP_PARAMS(shape_params, LK_PARAM(shape_params, start, "start"),
                 LK_PARAM(shape_params, end, "end")),
    .infer = infer_shape,
    .plan = plan_shape,
};

/* ---- Size ---- */

static lk_status infer_size(lk_inference *self, lk_error *error) {
  (void)error;
  lk_shape_open(&self->outputs[0], 0);
  return LK_OK;
}

static lk_status plan_size(lk_planner *planner, lk_error *error) {
  const int64_t count = lk_elements(&planner->inputs[0].desc);
  lk_operand to;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  return lk_plan_fill(planner, &to, sizeof count, &count, error);
}

const lk_op_class lk_op_size = {
    LK_OP_ROW("Size", "", 7, "how many elements the input has", .flags = LK_OP_SHAPE_ONLY,
              .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, .input_types = "T",
              .output_types = "U", .types = {LK_TYPES_ANY, LK_TYPE(LK_I64)}),
    .infer = infer_size,
    .plan = plan_size,
};

/* ---- Constant ---- */

/* A larger tensor belongs in the weights store: it is given as a constant input of its users. */
enum { CONSTANT_BYTES = LK_MAX_FILL };

typedef struct constant_params {
  lk_tensor_desc desc;
  size_t bytes;
  uint8_t data[CONSTANT_BYTES];
} constant_params;

static void keep_constant(lk_attrs *attrs, constant_params *constant, const lk_tensor_desc *desc,
                          const void *data) {
  lk_error error = {LK_OK, ""};
  int64_t bytes;
  lk_status status = lk_tensor_size(desc, "the value", NULL, &bytes, &error);
  if (status != LK_OK) {
    lk_attrs_fail(attrs, status, "%s", error.message);
  } else if (bytes > CONSTANT_BYTES) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED,
                  "a value of %" PRId64 " bytes, at most %d; larger ones are constant inputs",
                  bytes, CONSTANT_BYTES);
  } else if (desc->layout != LK_LAYOUT_PLAIN || (bytes > 0 && data == NULL)) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "a value without plain data");
  } else {
    constant->desc = *desc;
    constant->bytes = (size_t)bytes;
    if (bytes > 0) memcpy(constant->data, data, (size_t)bytes);
  }
}

/* The one attribute of the row's that is given; NULL: none is, or several are. */
static const lk_op_attr *find_value(lk_attrs *attrs) {
  const lk_op_row *row = attrs->row;
  const lk_op_attr *found = NULL;
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    const lk_op_attr *attr = &row->attrs[i];
    if (!lk_op_attr_holds(attr, attrs->opset) || !lk_attrs_has(attrs, attr->name)) continue;
    if (found != NULL) {
      lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                    "attributes '%s' and '%s' are there, only one is allowed", found->name,
                    attr->name);
      return NULL;
    }
    found = attr;
  }
  if (found == NULL) lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "no value, one is required");
  return found;
}

/* A list is a tensor of rank 1. */
static void parse_constant(lk_attrs *attrs, void *params) {
  constant_params *constant = params;
  const lk_op_attr *found = find_value(attrs);
  int64_t count = 0;
  if (found == NULL) return;
  if (found->type == LK_ATTR_TENSOR) {
    const lk_tensor *value = lk_attrs_tensor(attrs, found->name);
    if (value != NULL) keep_constant(attrs, constant, &value->desc, value->data);
    return;
  }
  const bool is_float = found->type == LK_ATTR_FLOATS;
  if (is_float) {
    count = lk_attrs_floats(attrs, found->name, (float *)(void *)constant->data,
                            CONSTANT_BYTES / sizeof(float));
  } else if (found->type == LK_ATTR_INTS) {
    count = lk_attrs_ints(attrs, found->name, (int64_t *)(void *)constant->data,
                          CONSTANT_BYTES / sizeof(int64_t));
  } else {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute '%s' is not supported, tensors and numbers are",
                  found->name);
  }
  constant->desc = lk_tensor_desc_make(is_float ? LK_F32 : LK_I64, found->is_list, &count);
  constant->bytes = (size_t)count * lk_dtype_size(constant->desc.dtype);
}

static lk_status infer_constant(lk_inference *self, lk_error *error) {
  (void)error;
  self->outputs[0] = ((const constant_params *)self->node->params)->desc;
  return LK_OK;
}

static lk_status plan_constant(lk_planner *planner, lk_error *error) {
  const constant_params *params = planner->node->params;
  lk_operand to;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  /* a copy, since the plan may outlive the op */
  return lk_plan_fill(planner, &to, params->bytes, params->data, error);
}

const lk_op_class lk_op_constant = {
    LK_OP_ROW("Constant", "", 7, "a tensor that the node itself holds, up to 4 KB",
              .max_outputs = 1, .input_types = "T", .output_types = "?"),
    .params_size = sizeof(constant_params),
    LK_OP_ATTRS(LK_OTHER("sparse_value", .since = 11),
                LK_TENSOR("value", .is_required = 1, .until = 10), LK_TENSOR("value", .since = 11),
                LK_ANY_FLOAT("value_float", 0, .since = 12), LK_FLOATS("value_floats", .since = 12),
                LK_ANY_INT("value_int", 0, .since = 12), LK_INTS("value_ints", .since = 12),
                LK_TEXT("value_string", .since = 12), LK_TEXTS("value_strings", .since = 12)),
    .parse = parse_constant,
    .infer = infer_constant,
    .plan = plan_constant,
};

/* ---- ConstantOfShape ---- */

typedef struct constant_of_shape_params {
  uint32_t dtype;
  uint8_t value[8];
} constant_of_shape_params;

static void parse_constant_of_shape(lk_attrs *attrs, void *params) {
  constant_of_shape_params *fill = params;
  fill->dtype = LK_F32; /* and 0 */
  const lk_tensor *value = lk_attrs_tensor(attrs, "value");
  if (value == NULL) return;
  size_t size = lk_dtype_size(value->desc.dtype);
  if (size == 0 || size > sizeof fill->value || value->desc.rank > LK_MAX_RANK ||
      lk_elements(&value->desc) != 1 || value->data == NULL) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "attribute value must be a tensor of one element");
    return;
  }
  fill->dtype = value->desc.dtype;
  memcpy(fill->value, value->data, size);
}

static lk_status infer_constant_of_shape(lk_inference *self, lk_error *error) {
  const constant_of_shape_params *params = self->node->params;
  lk_tensor_desc *to = &self->outputs[0];
  int64_t dims[LK_MAX_RANK];
  uint32_t rank = 0;
  to->dtype = params->dtype;
  if (!lk_infer_knows(self, 0)) {
    lk_shape_open(to, lk_infer_count(self, 0));
    lk_shape_of_values(self, 0, to);
    return LK_OK;
  }
  LK_RETURN_NOT_OK(lk_read_ints(&self->inputs[0], "the shape", dims, LK_MAX_RANK, &rank, error));
  *to = lk_tensor_desc_make(params->dtype, rank, dims);
  return lk_tensor_size(to, "the shape", NULL, NULL, error);
}

static lk_status plan_constant_of_shape(lk_planner *planner, lk_error *error) {
  const constant_of_shape_params *params = planner->node->params;
  lk_operand to;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  return lk_plan_fill(planner, &to, lk_dtype_size(params->dtype), params->value, error);
}

const lk_op_class lk_op_constant_of_shape = {
    LK_OP_ROW("ConstantOfShape", "", 9, "one value in a given shape", .min_inputs = 1,
              .max_inputs = 1, .max_outputs = 1, .input_types = "T", .output_types = "?",
              .types = {LK_TYPES_INDEX}, .shape_inputs = 1u << 0),
    .params_size = sizeof(constant_of_shape_params),
    LK_OP_ATTRS(LK_TENSOR("value")),
    .parse = parse_constant_of_shape,
    .infer = infer_constant_of_shape,
    .plan = plan_constant_of_shape,
};
