/* The operators that exporters compute dimensions with: what each makes of values. */
#include "ops/plan/values.h"

#include <string.h>

#include "base/tensor.h"

/* How many elements a tensor of values has; -1: it is none. */
static int64_t count_of(const lk_tensor_desc *desc) {
  if (desc->dtype >= 32 || (LK_TYPES_OF_SHAPES >> desc->dtype & 1) == 0 || !lk_shape_is_known(desc))
    return -1;
  int64_t count = 1;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (desc->dims[i] > LK_MAX_VALUES) return -1;
    count *= desc->dims[i]; /* at most 16 to the power of 8 */
  }
  return count <= LK_MAX_VALUES ? count : -1;
}

int64_t lk_value_at(const lk_inference *self, uint32_t input, int64_t index) {
  const lk_tensor *x = &self->inputs[input];
  if (self->dims == NULL || !lk_op_has(self->node, input) || index >= count_of(&x->desc)) {
    return LK_DIM_UNKNOWN;
  }
  if (x->data == NULL) {
    const int64_t *values = self->values != NULL ? self->values[input] : NULL;
    return values != NULL ? values[index] : LK_DIM_UNKNOWN;
  }
  const void *data = x->data;
  return lk_dims_signed(self->dims, x->desc.dtype == LK_I64 ? ((const int64_t *)data)[index]
                                    : x->desc.dtype == LK_I32
                                        ? ((const int32_t *)data)[index]
                                        : ((const uint8_t *)data)[index] != 0);
}

bool lk_value_list(const lk_inference *self, uint32_t input, int64_t out[LK_MAX_VALUES],
                   uint32_t *out_count) {
  const lk_tensor_desc *desc = &self->inputs[input].desc;
  if (!lk_op_has(self->node, input) || desc->rank > 1 || count_of(desc) < 0) return false;
  *out_count = (uint32_t)count_of(desc);
  for (uint32_t i = 0; i < *out_count; i++) out[i] = lk_value_at(self, input, i);
  return true;
}

void lk_shape_of_values(const lk_inference *self, uint32_t input, lk_tensor_desc *to) {
  int64_t values[LK_MAX_VALUES];
  uint32_t count = 0;
  if (!lk_value_list(self, input, values, &count) || to->rank != count) return;
  for (uint32_t i = 0; i < count; i++) {
    if (lk_dims_is_dim(self->dims, values[i])) to->dims[i] = values[i];
  }
}

/* ---- operators ---- */

/* A node whose output is a tensor of `count` values. */
typedef struct evaluation {
  const lk_inference *of;
  lk_attrs attrs;
  int64_t count;
  int64_t *out;
} evaluation;

static bool is_number(const evaluation *self, uint32_t input, int64_t index, int64_t *out) {
  return lk_dims_number(self->of->dims, lk_value_at(self->of, input, index), out);
}

/* The same elements, in another shape or type. An i32 has room for all dimensions that fit into
 * memory but those of the largest lists, of which exporters that use it know nothing. */
static void copy(evaluation *self) {
  if (count_of(&self->of->inputs[0].desc) != self->count) return;
  const bool narrows = self->of->outputs[0].dtype < self->of->inputs[0].desc.dtype;
  for (int64_t i = 0; i < self->count; i++) {
    const int64_t value = lk_value_at(self->of, 0, i);
    int64_t number = 0;
    const bool fits = !lk_dims_number(self->of->dims, value, &number) || number == (int32_t)number;
    self->out[i] = fits || !narrows ? value : LK_DIM_UNKNOWN;
  }
}

static void cast(evaluation *self) {
  const uint32_t from = self->of->inputs[0].desc.dtype, to = self->of->outputs[0].dtype;
  if (to != LK_BOOL || from == LK_BOOL) copy(self);
}

static void shape(evaluation *self) {
  const lk_tensor_desc *x = &self->of->inputs[0].desc;
  if (!lk_rank_is_known(x)) return;
  int64_t start = lk_attrs_int(&self->attrs, "start");
  if (start < 0) start += x->rank;
  if (start < 0) start = 0;
  for (int64_t i = 0; i < self->count; i++) self->out[i] = x->dims[start + i];
}

static void size(evaluation *self) {
  const lk_tensor_desc *x = &self->of->inputs[0].desc;
  int64_t product = 1;
  for (uint32_t i = 0; lk_rank_is_known(x) && i < x->rank; i++) {
    if (!lk_dims_multiply(self->of->dims, product, x->dims[i], &product)) return;
  }
  if (lk_rank_is_known(x)) self->out[0] = product;
}

static void gather(evaluation *self) {
  const lk_tensor_desc *list = &self->of->inputs[0].desc;
  if (list->rank != 1 || count_of(list) < 0) return;
  for (int64_t i = 0; i < self->count; i++) {
    int64_t at;
    if (!is_number(self, 1, i, &at)) continue;
    if (at < 0) at += list->dims[0];
    if (at >= 0) self->out[i] = lk_value_at(self->of, 0, at);
  }
}

static void concat(evaluation *self) {
  int64_t next = 0;
  for (uint32_t input = 0; input < self->of->node->n_operands; input++) {
    const lk_tensor_desc *x = &self->of->inputs[input].desc;
    if (x->rank != 1 || count_of(x) < 0) return; /* the rest stays unknown */
    for (int64_t i = 0; i < x->dims[0] && next < self->count; i++) {
      self->out[next++] = lk_value_at(self->of, input, i);
    }
  }
}

/* Where the whole list starts at one number: `infer` has found how many there are. */
static void slice(evaluation *self) {
  enum { DATA, STARTS, AXES = 3, STEPS };
  const lk_op_node *node = self->of->node;
  const lk_tensor_desc *list = &self->of->inputs[DATA].desc;
  int64_t start, step = 1;
  if (list->rank != 1 || count_of(list) < 0 || node->n_operands <= STARTS) return;
  if (!is_number(self, STARTS, 0, &start)) return;
  if (lk_op_has(node, STEPS) && !is_number(self, STEPS, 0, &step)) return;
  if (step != 1 || start > count_of(list)) return;
  if (start < 0) start += list->dims[0];
  if (start < 0) start = 0;
  for (int64_t i = 0; i < self->count; i++) self->out[i] = lk_value_at(self->of, DATA, start + i);
}

static void fill(evaluation *self) {
  const lk_tensor *value = lk_attrs_tensor(&self->attrs, "value");
  if (value == NULL || value->data == NULL || value->desc.dtype != self->of->outputs[0].dtype) {
    return;
  }
  int64_t number = 0;
  int32_t narrow = 0;
  if (value->desc.dtype == LK_I64) {
    memcpy(&number, value->data, sizeof number);
  } else if (value->desc.dtype == LK_I32) {
    memcpy(&narrow, value->data, sizeof narrow);
    number = narrow;
  } else {
    number = *(const uint8_t *)value->data != 0;
  }
  for (int64_t i = 0; i < self->count; i++) {
    self->out[i] = lk_dims_signed(self->of->dims, number);
  }
}

/* Element `index` of an input that is broadcast to the output: as a whole, or one element. */
static int64_t broadcast_at(const evaluation *self, uint32_t input, int64_t index) {
  const int64_t count = count_of(&self->of->inputs[input].desc);
  return count != self->count && count != 1 ? LK_DIM_UNKNOWN
                                            : lk_value_at(self->of, input, count == 1 ? 0 : index);
}

/* Arithmetic on an i32 stays an i32. */
static int64_t narrowed(const evaluation *self, int64_t value) {
  int64_t number;
  const bool is_wide = self->of->outputs[0].dtype == LK_I64;
  if (is_wide || !lk_dims_number(self->of->dims, value, &number)) return value;
  return number == (int32_t)number ? value : LK_DIM_UNKNOWN;
}

static int64_t add(lk_dims *dims, int64_t a, int64_t b) {
  return lk_dims_add(dims, a, b, &a) ? a : LK_DIM_UNKNOWN;
}

static int64_t multiply(lk_dims *dims, int64_t a, int64_t b) {
  if (a == LK_DIM_UNKNOWN || b == LK_DIM_UNKNOWN) return LK_DIM_UNKNOWN;
  return lk_dims_multiply(dims, a, b, &a) ? a : LK_DIM_UNKNOWN;
}

/* Of numbers towards 0; of a dimension what is left over is dropped, as a window does. */
static int64_t divide(lk_dims *dims, int64_t a, int64_t b) {
  int64_t dividend, divisor;
  if (!lk_dims_number(dims, b, &divisor) || divisor <= 0 || a == LK_DIM_UNKNOWN) {
    return LK_DIM_UNKNOWN;
  }
  if (lk_dims_number(dims, a, &dividend)) return lk_dims_signed(dims, dividend / divisor);
  const int64_t exact = lk_dims_divide(dims, a, divisor);
  const bool is_exact = multiply(dims, exact, divisor) == a;
  return is_exact ? exact : lk_dims_window(dims, a, -divisor, divisor);
}

static void arithmetic(evaluation *self, int64_t (*of)(lk_dims *dims, int64_t a, int64_t b)) {
  for (int64_t i = 0; i < self->count; i++) {
    const int64_t a = broadcast_at(self, 0, i), b = broadcast_at(self, 1, i);
    self->out[i] = narrowed(self, of(self->of->dims, a, b));
  }
}

static void sum(evaluation *self) {
  arithmetic(self, add);
}
static void difference(evaluation *self) {
  arithmetic(self, lk_dims_subtract);
}
static void product(evaluation *self) {
  arithmetic(self, multiply);
}
static void quotient(evaluation *self) {
  arithmetic(self, divide);
}

/* Two terms that differ may be equal; a dimension never equals a number below 0. */
static void equal(evaluation *self) {
  const lk_dims *dims = self->of->dims;
  for (int64_t i = 0; i < self->count; i++) {
    const int64_t a = broadcast_at(self, 0, i), b = broadcast_at(self, 1, i);
    int64_t of_a = 0, of_b = 0;
    const bool is_a = lk_dims_number(dims, a, &of_a), is_b = lk_dims_number(dims, b, &of_b);
    if (a == LK_DIM_UNKNOWN || b == LK_DIM_UNKNOWN) continue;
    if (a == b) {
      self->out[i] = 1;
    } else if ((is_a && is_b) || of_a < 0 || of_b < 0) {
      self->out[i] = 0;
    }
  }
}

static void where(evaluation *self) {
  for (int64_t i = 0; i < self->count; i++) {
    const int64_t kept = broadcast_at(self, 0, i);
    if (kept >= 0) self->out[i] = broadcast_at(self, kept != 0 ? 1 : 2, i);
  }
}

static const struct {
  const char *op_type;
  void (*evaluate)(evaluation *self);
} rows[] = {
    {"Shape", shape},    {"Size", size},    {"Gather", gather},
    {"Concat", concat},  {"Slice", slice},  {"Squeeze", copy},
    {"Unsqueeze", copy}, {"Reshape", copy}, {"Flatten", copy},
    {"Identity", copy},  {"Cast", cast},    {"Add", sum},
    {"Sub", difference}, {"Mul", product},  {"Div", quotient},
    {"Equal", equal},    {"Where", where},  {"ConstantOfShape", fill},
};

void lk_values_infer(const lk_inference *self, const lk_node_desc *desc,
                     int64_t out[LK_MAX_VALUES]) {
  for (int64_t i = 0; i < LK_MAX_VALUES; i++) out[i] = LK_DIM_UNKNOWN;
  evaluation of = {.of = self,
                   .attrs = lk_attrs_of(self->node->class_, &self->node->class_->row, desc, NULL),
                   .out = out};
  if (self->node->n_outputs == 0 || self->node->n_post_ops > 0) return;
  of.count = count_of(&self->outputs[0]);
  if (of.count <= 0 || self->node->class_->row.domain[0] != '\0') return;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(rows[i].op_type, self->node->class_->row.op_type) == 0) rows[i].evaluate(&of);
  }
}
