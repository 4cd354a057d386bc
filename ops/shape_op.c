/* Operators that make tensors of numbers that are known when binding: Shape, Size, Constant,
 * ConstantOfShape. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/fill.h"
#include "ops/plan/moves.h"
#include "ops/plan/values.h"

/* ---- Shape ---- */

typedef struct shape_params {
  int64_t start, end;
} shape_params;

static void parse_shape(lk_attrs *attrs, void *params) {
  shape_params *shape = params;
  shape->end = INT64_MAX;
  if (attrs->node->opset < 15) return;
  shape->start = lk_attrs_int(attrs, "start", 0);
  shape->end = lk_attrs_int(attrs, "end", INT64_MAX);
}

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
    .params_size = sizeof(shape_params),
    .parse = parse_shape,
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

static void parse_constant(lk_attrs *attrs, void *params) {
  static const char *const names[] = {"value", "value_float", "value_floats", "value_int",
                                      "value_ints"};
  constant_params *constant = params;
  const lk_attr *found = NULL;
  for (uint32_t i = 0; i < attrs->node->n_attrs; i++) {
    const lk_attr *attr = &attrs->node->attrs[i];
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
      if (strcmp(attr->name, names[k]) != 0) continue;
      if (found != NULL) {
        lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "attributes %s and %s, only one is allowed",
                      found->name, attr->name);
        return;
      }
      found = attr;
    }
  }
  if (found == NULL) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED,
                  "no value; must be value, value_float, value_floats, value_int or value_ints");
    return;
  }
  if (strcmp(found->name, "value") == 0) {
    const lk_tensor *value = lk_attrs_tensor(attrs, "value");
    if (value != NULL) keep_constant(attrs, constant, &value->desc, value->data);
    return;
  }
  /* The values are checked and copied by the readers; a list is a tensor of rank 1. */
  bool floats = strncmp(found->name, "value_float", strlen("value_float")) == 0;
  bool list = found->name[strlen(found->name) - 1] == 's';
  uint32_t count;
  if (floats) {
    count = lk_attrs_floats(attrs, found->name, (float *)(void *)constant->data,
                            CONSTANT_BYTES / sizeof(float));
  } else {
    count = lk_attrs_ints(attrs, found->name, (int64_t *)(void *)constant->data,
                          CONSTANT_BYTES / sizeof(int64_t));
  }
  if (!list && count != 1) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "attribute %s has %" PRIu32 " values, must be one",
                  found->name, count);
  }
  int64_t dim = count;
  constant->desc = lk_tensor_desc_make(floats ? LK_F32 : LK_I64, list ? 1 : 0, &dim);
  constant->bytes = count * lk_dtype_size(constant->desc.dtype);
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
    .parse = parse_constant_of_shape,
    .infer = infer_constant_of_shape,
    .plan = plan_constant_of_shape,
};
