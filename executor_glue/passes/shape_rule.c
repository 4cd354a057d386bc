/* Shapes of operators, as far as they are certain. Where a rule does not know a dimension it leaves
 * it open, and where it does not know the rank it says so: both are always sound. */
#include "executor_glue/passes/shape_rule.h"

#include <string.h>

typedef struct rule_context {
  const lk_graph *graph;
  lk_symbolic_shapes *classes;
  lk_symbolic_dims *terms;
  const lk_node *node;
} rule_context;

static const lk_shape UNKNOWN = {-1, {0}};

static lk_shape input_shape(const rule_context *c, uint32_t index) {
  if (index >= c->node->n_inputs || c->node->inputs[index] == LK_NO_VALUE) return UNKNOWN;
  return c->classes->shapes[c->node->inputs[index]];
}

static lk_shape open_shape(const rule_context *c, int64_t rank) {
  lk_shape shape = UNKNOWN;
  if (rank < 0 || rank > LK_MAX_RANK) return shape;
  shape.rank = (int32_t)rank;
  for (int32_t i = 0; i < shape.rank; i++) shape.dims[i] = lk_dim_open(c->terms);
  return shape;
}

/* Integers of a constant input, or of an attribute when the input is not there. */
typedef struct int_list {
  int64_t count; /* -1: not known */
  int64_t values[LK_MAX_RANK];
} int_list;

static int_list attr_ints(const rule_context *c, const char *name) {
  int_list list = {-1, {0}};
  const lk_attr *attr = lk_node_attr(c->node, name);
  if (attr == NULL || attr->type != LK_ATTR_INTS || attr->count > LK_MAX_RANK) return list;
  list.count = attr->count;
  memcpy(list.values, attr->data, attr->count * sizeof(int64_t));
  return list;
}

static const lk_value *constant_input(const rule_context *c, uint32_t index) {
  if (index >= c->node->n_inputs || c->node->inputs[index] == LK_NO_VALUE) return NULL;
  const lk_value *value = &c->graph->values[c->node->inputs[index]];
  if (value->constant_kind == LK_CONSTANT_NONE || value->is_input) return NULL;
  if (value->constant.desc.rank != 1 || value->constant.desc.dims[0] > LK_MAX_RANK) return NULL;
  return value;
}

static int_list input_ints(const rule_context *c, uint32_t index) {
  int_list list = {-1, {0}};
  const lk_value *value = constant_input(c, index);
  if (value == NULL) return list;
  const uint32_t dtype = value->constant.desc.dtype;
  if (dtype != LK_I64 && dtype != LK_I32) return list;
  list.count = value->constant.desc.dims[0];
  for (int64_t i = 0; i < list.count; i++) {
    list.values[i] = (int64_t)lk_constant_number(value, (size_t)i);
  }
  return list;
}

/* Axes from the attribute or input 1 as marks on 0..rank-1; false when they are not certain. */
static bool read_axes(const rule_context *c, int32_t rank, bool marks[LK_MAX_RANK]) {
  int_list axes = attr_ints(c, "axes");
  if (axes.count < 0) axes = input_ints(c, 1);
  if (axes.count < 0) return false;
  for (int64_t i = 0; i < axes.count; i++) {
    const int64_t axis = axes.values[i] < 0 ? axes.values[i] + rank : axes.values[i];
    if (axis < 0 || axis >= rank) return false;
    marks[axis] = true;
  }
  return true;
}

static lk_shape same_rule(const rule_context *c) {
  return input_shape(c, 0);
}

static lk_shape broadcast(const rule_context *c, const lk_shape *a, const lk_shape *b) {
  if (a->rank < 0 || b->rank < 0) return UNKNOWN;
  lk_shape shape = a->rank >= b->rank ? *a : *b;
  const lk_shape *shorter = a->rank >= b->rank ? b : a;
  for (int32_t i = 0; i < shorter->rank; i++) {
    int32_t *dim = &shape.dims[shape.rank - shorter->rank + i];
    *dim = lk_dim_broadcast(c->terms, *dim, shorter->dims[i]);
  }
  return shape;
}

static lk_shape broadcast_rule(const rule_context *c) {
  lk_shape shape = input_shape(c, 0);
  const uint32_t n = lk_node_own_inputs(c->node);
  for (uint32_t i = 1; i < n; i++) {
    const lk_shape other = input_shape(c, i);
    shape = broadcast(c, &shape, &other);
  }
  return shape;
}

/* Spatial dimensions of Conv and the pools: from x, or open where x is not known. */
static void window_dims(const rule_context *c, const lk_shape *x, const int64_t *kernel,
                        lk_shape *shape) {
  const int32_t spatial = shape->rank - 2;
  const int_list strides = attr_ints(c, "strides"), pads = attr_ints(c, "pads"),
                 dilations = attr_ints(c, "dilations");
  const lk_attr *attr = lk_node_attr(c->node, "auto_pad");
  const bool notset = attr == NULL || (attr->count == 6 && memcmp(attr->data, "NOTSET", 6) == 0);
  const bool valid = !notset && attr->count == 5 && memcmp(attr->data, "VALID", 5) == 0;
  const bool open = x->rank != shape->rank || lk_node_attr_int(c->node, "ceil_mode", 0) != 0 ||
                    (strides.count >= 0 && strides.count != spatial) ||
                    (pads.count >= 0 && pads.count != 2 * (int64_t)spatial) ||
                    (dilations.count >= 0 && dilations.count != spatial) ||
                    (lk_node_attr(c->node, "pads") != NULL && pads.count < 0);
  for (int32_t i = 0; i < spatial; i++) {
    int32_t *dim = &shape->dims[2 + i];
    if (open || kernel[i] < 1 || kernel[i] > INT32_MAX) {
      *dim = lk_dim_open(c->terms);
      continue;
    }
    const int64_t stride = strides.count < 0 ? 1 : strides.values[i];
    const int64_t dilation = dilations.count < 0 ? 1 : dilations.values[i];
    const int64_t padding =
        !notset || pads.count < 0 ? 0 : pads.values[i] + pads.values[spatial + i];
    const bool sane = dilation >= 1 && dilation <= INT32_MAX;
    if (notset || valid) {
      *dim = !sane ? lk_dim_open(c->terms)
                   : lk_dim_window(c->terms, x->dims[2 + i], (kernel[i] - 1) * dilation + 1,
                                   padding, stride);
    } else { /* SAME_UPPER, SAME_LOWER: ceil(x / stride) = floor((x - 1) / stride) + 1 */
      *dim = lk_dim_window(c->terms, x->dims[2 + i], 1, 0, stride);
    }
  }
}

static lk_shape conv_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0), w = input_shape(c, 1);
  if (w.rank < 3) return x.rank < 3 ? UNKNOWN : open_shape(c, x.rank);
  lk_shape shape = {w.rank, {0}};
  int64_t kernel[LK_MAX_RANK] = {0};
  for (int32_t i = 2; i < w.rank; i++) kernel[i - 2] = lk_dim_value(c->terms, w.dims[i]);
  shape.dims[0] = x.rank == w.rank ? x.dims[0] : lk_dim_open(c->terms);
  shape.dims[1] = w.dims[0];
  window_dims(c, &x, kernel, &shape);
  return shape;
}

static lk_shape conv_transpose_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0), w = input_shape(c, 1);
  if (w.rank < 3) return UNKNOWN;
  lk_shape shape = open_shape(c, w.rank);
  const int64_t group = lk_node_attr_int(c->node, "group", 1);
  shape.dims[1] = lk_dim_affine(c->terms, w.dims[1], group, 0);
  if (x.rank != w.rank) return shape;
  shape.dims[0] = x.dims[0];
  /* Only the form that exporters write: plain padding, no sizes that override it. */
  const int32_t spatial = w.rank - 2;
  const int_list strides = attr_ints(c, "strides"), pads = attr_ints(c, "pads");
  if (lk_node_attr(c->node, "auto_pad") != NULL || lk_node_attr(c->node, "output_shape") != NULL ||
      lk_node_attr(c->node, "output_padding") != NULL ||
      lk_node_attr(c->node, "dilations") != NULL || strides.count != spatial ||
      pads.count != 2 * (int64_t)spatial) {
    return shape;
  }
  for (int32_t i = 0; i < spatial; i++) {
    const int64_t kernel = lk_dim_value(c->terms, w.dims[2 + i]);
    if (kernel < 1 || kernel > INT32_MAX) continue;
    int64_t addend = 0;
    if (__builtin_sub_overflow(kernel - strides.values[i], pads.values[i], &addend) ||
        __builtin_sub_overflow(addend, pads.values[spatial + i], &addend)) {
      continue;
    }
    shape.dims[2 + i] = lk_dim_affine(c->terms, x.dims[2 + i], strides.values[i], addend);
  }
  return shape;
}

static lk_shape pool_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0);
  const int_list kernel = attr_ints(c, "kernel_shape");
  if (x.rank < 3) return UNKNOWN;
  if (kernel.count != x.rank - 2) return open_shape(c, x.rank);
  lk_shape shape = x;
  window_dims(c, &x, kernel.values, &shape);
  return shape;
}

static lk_shape global_pool_rule(const rule_context *c) {
  lk_shape shape = input_shape(c, 0);
  for (int32_t i = 2; i < shape.rank; i++) shape.dims[i] = lk_dim_constant(c->terms, 1);
  return shape;
}

static lk_shape concat_rule(const rule_context *c) {
  lk_shape shape = input_shape(c, 0);
  int64_t axis = lk_node_attr_int(c->node, "axis", 0);
  if (axis < 0) axis += shape.rank;
  if (axis < 0 || axis >= shape.rank || c->node->n_post_ops > 0) return UNKNOWN;
  for (uint32_t i = 1; i < c->node->n_inputs; i++) {
    const lk_shape other = input_shape(c, i);
    if (other.rank != shape.rank) {
      shape.dims[axis] = lk_dim_open(c->terms);
    } else {
      shape.dims[axis] = lk_dim_sum(c->terms, shape.dims[axis], other.dims[axis]);
    }
  }
  return shape;
}

static lk_shape transpose_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0);
  int_list perm = attr_ints(c, "perm");
  if (lk_node_attr(c->node, "perm") == NULL) {
    perm.count = x.rank;
    for (int32_t i = 0; i < x.rank; i++) perm.values[i] = x.rank - 1 - i;
  }
  if (perm.count < 0) return UNKNOWN;
  lk_shape shape = open_shape(c, perm.count);
  if (x.rank != perm.count) return shape;
  for (int32_t i = 0; i < shape.rank; i++) {
    if (perm.values[i] < 0 || perm.values[i] >= x.rank) return UNKNOWN;
    shape.dims[i] = x.dims[perm.values[i]];
  }
  return shape;
}

static lk_shape matmul_rule(const rule_context *c) {
  lk_shape a = input_shape(c, 0), b = input_shape(c, 1);
  if (a.rank < 2 || b.rank < 2) return UNKNOWN;
  const int32_t rows = a.dims[a.rank - 2], columns = b.dims[b.rank - 1];
  const int32_t one = lk_dim_constant(c->terms, 1);
  a.dims[a.rank - 2] = a.dims[a.rank - 1] = one;
  b.dims[b.rank - 2] = b.dims[b.rank - 1] = one;
  lk_shape shape = broadcast(c, &a, &b);
  shape.dims[shape.rank - 2] = rows;
  shape.dims[shape.rank - 1] = columns;
  return shape;
}

static lk_shape gemm_rule(const rule_context *c) {
  const lk_shape a = input_shape(c, 0), b = input_shape(c, 1);
  lk_shape shape = open_shape(c, 2);
  if (a.rank == 2) shape.dims[0] = a.dims[lk_node_attr_int(c->node, "transA", 0) != 0 ? 1 : 0];
  if (b.rank == 2) shape.dims[1] = b.dims[lk_node_attr_int(c->node, "transB", 0) != 0 ? 0 : 1];
  return shape;
}

static lk_shape reduce_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0);
  const bool keep = lk_node_attr_int(c->node, "keepdims", 1) != 0;
  bool marks[LK_MAX_RANK] = {false};
  if (x.rank < 0) return UNKNOWN;
  if (!read_axes(c, x.rank, marks)) return keep ? open_shape(c, x.rank) : UNKNOWN;
  lk_shape shape = {0, {0}};
  for (int32_t i = 0; i < x.rank; i++) {
    if (!marks[i]) shape.dims[shape.rank++] = x.dims[i];
    if (marks[i] && keep) shape.dims[shape.rank++] = lk_dim_constant(c->terms, 1);
  }
  /* An empty list of axes means all of them, or none, by another attribute. */
  for (int32_t i = 0; i < x.rank; i++) {
    if (marks[i]) return shape;
  }
  return keep ? open_shape(c, x.rank) : UNKNOWN;
}

static lk_shape reshape_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0), wanted = input_shape(c, 1);
  const int_list dims = input_ints(c, 1);
  if (dims.count < 0) {
    return wanted.rank == 1 ? open_shape(c, lk_dim_value(c->terms, wanted.dims[0])) : UNKNOWN;
  }
  lk_shape shape = open_shape(c, dims.count);
  const bool copies = lk_node_attr_int(c->node, "allowzero", 0) == 0;
  for (int32_t i = 0; i < shape.rank; i++) {
    if (dims.values[i] > 0) shape.dims[i] = lk_dim_constant(c->terms, dims.values[i]);
    if (dims.values[i] == 0 && copies && i < x.rank) shape.dims[i] = x.dims[i];
  }
  return shape;
}

static lk_shape flatten_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0);
  lk_shape shape = open_shape(c, 2);
  int64_t axis = lk_node_attr_int(c->node, "axis", 1);
  if (axis < 0) axis += x.rank;
  if (x.rank < 0 || axis < 0 || axis > x.rank) return shape;
  shape.dims[0] = shape.dims[1] = lk_dim_constant(c->terms, 1);
  for (int32_t i = 0; i < x.rank; i++) {
    int32_t *dim = &shape.dims[i < axis ? 0 : 1];
    *dim = lk_dim_product(c->terms, *dim, x.dims[i]);
  }
  return shape;
}

static lk_shape squeeze_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0);
  bool marks[LK_MAX_RANK] = {false};
  if (x.rank < 0 || !read_axes(c, x.rank, marks)) return UNKNOWN;
  lk_shape shape = {0, {0}};
  for (int32_t i = 0; i < x.rank; i++) {
    if (!marks[i]) shape.dims[shape.rank++] = x.dims[i];
  }
  return shape.rank == x.rank ? UNKNOWN : shape; /* no axes: all dimensions that are 1 */
}

static lk_shape unsqueeze_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0);
  int_list axes = attr_ints(c, "axes");
  if (axes.count < 0) axes = input_ints(c, 1);
  const int64_t rank = (int64_t)x.rank + axes.count;
  bool marks[LK_MAX_RANK] = {false};
  if (x.rank < 0 || axes.count < 0 || rank > LK_MAX_RANK || !read_axes(c, (int32_t)rank, marks)) {
    return UNKNOWN;
  }
  lk_shape shape = {0, {0}};
  int32_t next = 0;
  for (int64_t i = 0; i < rank; i++) {
    if (!marks[i] && next >= x.rank) return UNKNOWN; /* an axis named twice */
    shape.dims[shape.rank++] = marks[i] ? lk_dim_constant(c->terms, 1) : x.dims[next++];
  }
  return shape;
}

/* A bound of Slice as ONNX clamps it to a dimension of n. */
static int64_t clamp_bound(int64_t bound, int64_t n) {
  if (bound < 0) bound = bound < -n ? 0 : bound + n;
  return bound < n ? bound : n;
}

/* Attributes before opset 10, inputs from there on. */
static lk_shape slice_rule(const rule_context *c) {
  lk_shape shape = input_shape(c, 0);
  const bool old = c->node->opset < 10;
  const int_list starts = old ? attr_ints(c, "starts") : input_ints(c, 1);
  const int_list ends = old ? attr_ints(c, "ends") : input_ints(c, 2);
  const int_list axes = old ? attr_ints(c, "axes") : input_ints(c, 3);
  const int_list steps = input_ints(c, 4);
  const bool stepped = !old && c->node->n_inputs > 4 && c->node->inputs[4] != LK_NO_VALUE;
  if (shape.rank < 0 || axes.count < 0) return open_shape(c, shape.rank);
  for (int64_t i = 0; i < axes.count; i++) {
    const int64_t axis = axes.values[i] < 0 ? axes.values[i] + shape.rank : axes.values[i];
    if (axis < 0 || axis >= shape.rank) return UNKNOWN;
    const int64_t n = lk_dim_value(c->terms, shape.dims[axis]);
    const bool certain = n >= 0 && starts.count == axes.count && ends.count == axes.count &&
                         (!stepped || (steps.count == axes.count && steps.values[i] == 1));
    if (!certain) {
      shape.dims[axis] = lk_dim_open(c->terms);
      continue;
    }
    const int64_t start = clamp_bound(starts.values[i], n), end = clamp_bound(ends.values[i], n);
    shape.dims[axis] = lk_dim_constant(c->terms, end > start ? end - start : 0);
  }
  return shape;
}

static lk_shape gather_rule(const rule_context *c) {
  const lk_shape data = input_shape(c, 0), indices = input_shape(c, 1);
  int64_t axis = lk_node_attr_int(c->node, "axis", 0);
  if (axis < 0) axis += data.rank;
  if (data.rank < 1 || indices.rank < 0 || axis < 0 || axis >= data.rank ||
      data.rank - 1 + indices.rank > LK_MAX_RANK) {
    return UNKNOWN;
  }
  lk_shape shape = {0, {0}};
  for (int32_t i = 0; i < data.rank; i++) {
    if (i != axis) {
      shape.dims[shape.rank++] = data.dims[i];
      continue;
    }
    for (int32_t k = 0; k < indices.rank; k++) shape.dims[shape.rank++] = indices.dims[k];
  }
  return shape;
}

static lk_shape resize_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0);
  lk_shape shape = open_shape(c, x.rank);
  if (x.rank < 0 || lk_node_attr(c->node, "axes") != NULL) return shape;
  const lk_value *scales = constant_input(c, c->node->opset >= 11 ? 2 : 1);
  if (scales == NULL || scales->constant.desc.dtype != LK_F32 ||
      scales->constant.desc.dims[0] != x.rank) {
    return shape;
  }
  for (int32_t i = 0; i < x.rank; i++) {
    shape.dims[i] = lk_dim_scale(c->terms, x.dims[i], (float)lk_constant_number(scales, (size_t)i));
  }
  return shape;
}

static lk_shape shape_op_rule(const rule_context *c) {
  const lk_shape x = input_shape(c, 0);
  lk_shape shape = open_shape(c, 1);
  const bool part = lk_node_attr(c->node, "start") != NULL || lk_node_attr(c->node, "end") != NULL;
  if (!part && x.rank >= 0) shape.dims[0] = lk_dim_constant(c->terms, x.rank);
  return shape;
}

/* Operators whose output 0 has the type of input 0, unless lk_dtype_rule says otherwise. */
static const struct {
  const char *op_type;
  lk_shape (*rule)(const rule_context *c);
} RULES[] = {
    {"Relu", same_rule},
    {"Clip", same_rule},
    {"Sigmoid", same_rule},
    {"HardSigmoid", same_rule},
    {"HardSwish", same_rule},
    {"Sqrt", same_rule},
    {"LRN", same_rule},
    {"Softmax", same_rule},
    {"Identity", same_rule},
    {"Dropout", same_rule},
    {"Cast", same_rule},
    {"BatchNormalization", same_rule},
    {"Add", broadcast_rule},
    {"Sub", broadcast_rule},
    {"Mul", broadcast_rule},
    {"Div", broadcast_rule},
    {"Pow", broadcast_rule},
    {"Sum", broadcast_rule},
    {"Conv", conv_rule},
    {"ConvTranspose", conv_transpose_rule},
    {"MaxPool", pool_rule},
    {"AveragePool", pool_rule},
    {"Concat", concat_rule},
    {"GlobalAveragePool", global_pool_rule},
    {"Transpose", transpose_rule},
    {"MatMul", matmul_rule},
    {"Gemm", gemm_rule},
    {"ReduceMean", reduce_rule},
    {"Reshape", reshape_rule},
    {"Flatten", flatten_rule},
    {"Squeeze", squeeze_rule},
    {"Unsqueeze", unsqueeze_rule},
    {"Slice", slice_rule},
    {"Gather", gather_rule},
    {"Resize", resize_rule},
    {"Shape", shape_op_rule},
};

static int find_rule(const lk_node *node) {
  if (node->domain[0] != '\0') {
    const bool swish = strcmp(node->domain, "latchkey") == 0 && strcmp(node->op_type, "Swish") == 0;
    return swish ? 0 : -1; /* like Relu */
  }
  for (size_t i = 0; i < sizeof RULES / sizeof RULES[0]; i++) {
    if (strcmp(RULES[i].op_type, node->op_type) == 0) return (int)i;
  }
  return -1;
}

lk_shape lk_shape_rule(const lk_graph *graph, lk_symbolic_shapes *classes, const lk_node *node) {
  const int rule = find_rule(node);
  if (rule < 0) return UNKNOWN;
  const rule_context c = {graph, classes, classes->terms, node};
  return RULES[rule].rule(&c);
}

uint32_t lk_dtype_rule(const lk_symbolic_shapes *classes, const lk_node *node) {
  if (find_rule(node) < 0 || node->n_inputs == 0 || node->inputs[0] == LK_NO_VALUE) {
    return LK_DTYPE_NONE;
  }
  if (lk_node_is(node, "Shape")) return LK_I64;
  if (lk_node_is(node, "Cast")) return (uint32_t)lk_node_attr_int(node, "to", LK_DTYPE_NONE);
  return classes->dtypes[node->inputs[0]];
}
