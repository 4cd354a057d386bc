/* The operators on sequences and optional values, but SequenceMap (list_map.c). */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/flow/copy.h"
#include "executor_glue/flow/list_state.h"
#include "executor_glue/graph/own_ops.h"

/* ---- positions ---- */

/* The number that input `index` holds, which may count from the end; without it `fallback`. */
static lk_status read_position(const list_call *c, uint32_t index, int64_t fallback, int64_t least,
                               int64_t most, int64_t *out, lk_error *error) {
  const int64_t count = (int64_t)c->inputs[0].list->count;
  *out = fallback;
  if (index < c->n_inputs && c->inputs[index].tensor.data != NULL) {
    const lk_tensor *tensor = &c->inputs[index].tensor;
    if (tensor->desc.dtype == LK_I32 && lk_elements(&tensor->desc) == 1) {
      *out = *(const int32_t *)tensor->data;
    } else {
      LK_RETURN_NOT_OK(lk_flow_value_int(&c->inputs[index], "the position", out, error));
    }
    if (*out < 0) *out += count;
  }
  if (*out >= least && *out <= most) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to find position %" PRId64 ": the sequence has %" PRId64
                 " tensors, the position must lie within it",
                 *out < 0 ? *out - count : *out, count);
}

/* ---- sequences ---- */

/* All tensors of a sequence have one type. */
static lk_status put(lk_flow_list *list, size_t at, const lk_flow_value *value, lk_error *error) {
  const uint32_t dtype = value->tensor.desc.dtype;
  if (value->tensor.data == NULL) {
    return lk_fail(
        error, LK_INVALID_ARGUMENT,
        "failed to make a sequence: a value is a sequence or absent, tensors are required");
  }
  if (list->dtype != LK_DTYPE_NONE && list->dtype != dtype) {
    return lk_fail(
        error, LK_INVALID_ARGUMENT,
        "failed to make a sequence: one tensor is of type %s and another of %s, they must be equal",
        lk_dtype_name(dtype), lk_dtype_name(list->dtype));
  }
  list->dtype = dtype;
  list->values[at] = lk_flow_value_retain(value);
  return LK_OK;
}

static lk_status empty(const list_call *c, lk_flow_value *out, lk_error *error) {
  LK_RETURN_NOT_OK(lk_flow_list_create(c->allocator, 0, out, error));
  out->list->dtype = c->attributes.dtype;
  return LK_OK;
}

static lk_status construct(const list_call *c, lk_flow_value *out, lk_error *error) {
  LK_RETURN_NOT_OK(lk_flow_list_create(c->allocator, c->n_inputs, out, error));
  for (uint32_t i = 0; i < c->n_inputs; i++) {
    LK_RETURN_NOT_OK(put(out->list, i, &c->inputs[i], error));
  }
  return LK_OK;
}

static lk_status insert(const list_call *c, lk_flow_value *out, lk_error *error) {
  const lk_flow_list *from = c->inputs[0].list;
  int64_t at = 0;
  const int64_t end = (int64_t)from->count;
  LK_RETURN_NOT_OK(read_position(c, 2, end, 0, end, &at, error));
  LK_RETURN_NOT_OK(lk_flow_list_create(c->allocator, from->count + 1, out, error));
  out->list->dtype = from->dtype;
  size_t done = 0;
  for (size_t i = 0; i < from->count; i++) {
    out->list->values[i + (i >= (size_t)at)] = lk_flow_value_retain(&from->values[i]);
    LK_RETURN_NOT_OK(lk_flow_look_after(c->api, sizeof *from->values, &done, error));
  }
  return put(out->list, (size_t)at, &c->inputs[1], error);
}

static lk_status erase(const list_call *c, lk_flow_value *out, lk_error *error) {
  const lk_flow_list *from = c->inputs[0].list;
  int64_t at = 0;
  const int64_t end = (int64_t)from->count;
  LK_RETURN_NOT_OK(read_position(c, 1, end - 1, 0, end - 1, &at, error));
  LK_RETURN_NOT_OK(lk_flow_list_create(c->allocator, from->count - 1, out, error));
  out->list->dtype = from->dtype;
  size_t done = 0;
  for (size_t i = 0; i < out->list->count; i++) {
    out->list->values[i] = lk_flow_value_retain(&from->values[i + (i >= (size_t)at)]);
    LK_RETURN_NOT_OK(lk_flow_look_after(c->api, sizeof *from->values, &done, error));
  }
  return LK_OK;
}

static lk_status element(const list_call *c, lk_flow_value *out, lk_error *error) {
  const lk_flow_list *from = c->inputs[0].list;
  int64_t at = 0;
  LK_RETURN_NOT_OK(read_position(c, 1, -1, 0, (int64_t)from->count - 1, &at, error));
  *out = lk_flow_value_retain(&from->values[at]);
  return LK_OK;
}

static lk_status length(const list_call *c, lk_flow_value *out, lk_error *error) {
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_I64, 0, NULL);
  LK_RETURN_NOT_OK(lk_flow_value_create(c->allocator, &desc, out, error));
  *(int64_t *)out->tensor.data = (int64_t)c->inputs[0].list->count;
  return LK_OK;
}

/* ---- tensors that come apart, and together ---- */

static lk_status find_axis(int64_t given, uint32_t rank, uint32_t *out, lk_error *error) {
  const int64_t axis = given < 0 ? given + rank : given;
  *out = (uint32_t)axis;
  if (axis >= 0 && axis < rank) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to find axis %" PRId64 ": it must be one of %" PRIu32 " dimensions", given,
                 rank);
}

/* Elements before an axis, and bytes of what lies behind it. */
static size_t outer_of(const lk_tensor_desc *desc, uint32_t axis) {
  size_t outer = 1;
  for (uint32_t i = 0; i < axis; i++) outer *= (size_t)desc->dims[i];
  return outer;
}

static size_t inner_of(const lk_tensor_desc *desc, uint32_t axis) {
  size_t inner = lk_dtype_size(desc->dtype);
  for (uint32_t i = axis + 1; i < desc->rank; i++) inner *= (size_t)desc->dims[i];
  return inner;
}

/* `outer` times `size` slices, of tensors that have `from_size` and `to_size` along the axis. */
static lk_flow_pieces slices(size_t from_size, size_t to_size, size_t size, size_t outer,
                             size_t inner) {
  return (lk_flow_pieces){.count = outer,
                          .bytes = size * inner,
                          .from_step = from_size * inner,
                          .to_step = to_size * inner};
}

/* A tensor of the sequence as it is put together: with a dimension of 1 at a new axis. */
static lk_tensor_desc widened(const lk_tensor_desc *desc, bool new_axis, uint32_t axis) {
  if (!new_axis) return *desc;
  int64_t dims[LK_MAX_RANK] = {0};
  for (uint32_t i = 0, n = 0; i <= desc->rank; i++) dims[i] = i == axis ? 1 : desc->dims[n++];
  return lk_tensor_desc_make(desc->dtype, desc->rank + 1, dims);
}

static lk_status find_whole(const list_call *c, const lk_flow_list *list, uint32_t axis,
                            lk_tensor_desc *out, lk_error *error) {
  const bool new_axis = c->attributes.new_axis;
  size_t done = 0;
  *out = widened(&list->values[0].tensor.desc, new_axis, axis);
  for (size_t i = 1; i < list->count; i++) {
    LK_RETURN_NOT_OK(lk_flow_look_after(c->api, sizeof *list->values, &done, error));
    lk_tensor_desc each = widened(&list->values[i].tensor.desc, new_axis, axis);
    const int64_t size = each.rank > axis ? each.dims[axis] : 0;
    if (each.rank == out->rank) each.dims[axis] = out->dims[axis];
    if (!lk_tensor_desc_same(&each, out)) {
      char first[LK_TENSOR_TEXT_CAPACITY], other[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to concatenate a sequence: one tensor is %s and the first is %s, they "
                     "must be alike but for axis %" PRIu32,
                     lk_tensor_text(&list->values[i].tensor.desc, other),
                     lk_tensor_text(&list->values[0].tensor.desc, first), axis);
    }
    out->dims[axis] += size;
  }
  return LK_OK;
}

static lk_status concatenate(const list_call *c, lk_flow_value *out, lk_error *error) {
  const lk_flow_list *list = c->inputs[0].list;
  uint32_t axis = 0;
  lk_tensor_desc whole;
  if (list->count == 0) {
    return lk_fail(
        error, LK_INVALID_ARGUMENT,
        "failed to concatenate a sequence: it is empty, at least one tensor is required");
  }
  const uint32_t rank = list->values[0].tensor.desc.rank + (c->attributes.new_axis ? 1 : 0);
  if (rank > LK_MAX_RANK) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to concatenate a sequence: the output has rank %" PRIu32
                   ", at most %d is supported",
                   rank, LK_MAX_RANK);
  }
  LK_RETURN_NOT_OK(find_axis(c->attributes.axis, rank, &axis, error));
  LK_RETURN_NOT_OK(find_whole(c, list, axis, &whole, error));
  LK_RETURN_NOT_OK(lk_flow_value_create(c->allocator, &whole, out, error));
  const size_t outer = outer_of(&whole, axis), inner = inner_of(&whole, axis);
  size_t done = 0;
  unsigned char *to = out->tensor.data;
  for (size_t i = 0; i < list->count; i++) {
    const lk_tensor *from = &list->values[i].tensor;
    const size_t size = c->attributes.new_axis ? 1 : (size_t)from->desc.dims[axis];
    const lk_flow_pieces pieces = slices(size, (size_t)whole.dims[axis], size, outer, inner);
    LK_RETURN_NOT_OK(lk_flow_copy(c->api, from->data, to, &pieces, error));
    LK_RETURN_NOT_OK(lk_flow_look_after(c->api, pieces.bytes * outer, &done, error));
    to += size * inner;
  }
  return LK_OK;
}

/* Making a piece takes as long as copying so much. */
enum { PIECE_BYTES = 4096 };

/* Where the tensor is split: in pieces of one size, or of a list of sizes. */
typedef struct sizes {
  const lk_tensor *list; /* NULL: all have size `each`, but the last */
  int64_t each, total;
  size_t count;
} sizes;

static int64_t size_at(const sizes *self, size_t i) {
  if (self->list == NULL) {
    const int64_t left = self->total - (int64_t)i * self->each;
    return left < self->each ? left : self->each;
  }
  return self->list->desc.dtype == LK_I32 ? ((const int32_t *)self->list->data)[i]
                                          : ((const int64_t *)self->list->data)[i];
}

static lk_status read_sizes(const lk_api *api, const lk_tensor *split, int64_t total, sizes *out,
                            lk_error *error) {
  *out = (sizes){.each = 1, .total = total, .count = (size_t)total};
  if (split == NULL) return LK_OK;
  const bool is_index = split->desc.dtype == LK_I64 || split->desc.dtype == LK_I32;
  if (!is_index || split->desc.rank > 1) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(
        error, LK_INVALID_ARGUMENT,
        "failed to split a tensor: sizes are %s, they must be one number or a list of numbers",
        lk_tensor_text(&split->desc, text));
  }
  out->list = split;
  if (split->desc.rank == 0) {
    out->each = size_at(out, 0);
    out->list = NULL;
    if (out->each > 0) out->count = (size_t)(total / out->each + (total % out->each != 0));
    if (out->each > 0) return LK_OK;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to split a tensor: a piece would have the size %" PRId64
                   ", it must be at least 1",
                   out->each);
  }
  size_t done = 0;
  int64_t left = total;
  out->count = (size_t)split->desc.dims[0];
  for (size_t i = 0; i < out->count; i++) {
    const int64_t size = size_at(out, i);
    if (size < 0 || size > left) left = -1;
    if (left < 0) break;
    left -= size;
    LK_RETURN_NOT_OK(lk_flow_look_after(api, 0, &done, error));
  }
  if (left == 0) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to split a tensor: the sizes must be at least 0 and add up to that of the "
                 "axis, %" PRId64,
                 total);
}

static lk_status split(const list_call *c, lk_flow_value *out, lk_error *error) {
  const lk_tensor *whole = &c->inputs[0].tensor;
  const bool has_sizes = c->n_inputs > 1 && c->inputs[1].tensor.data != NULL;
  const bool drops = !has_sizes && !c->attributes.keeps_dims;
  uint32_t axis = 0;
  sizes pieces;
  LK_RETURN_NOT_OK(find_axis(c->attributes.axis, whole->desc.rank, &axis, error));
  LK_RETURN_NOT_OK(read_sizes(c->api, has_sizes ? &c->inputs[1].tensor : NULL,
                              whole->desc.dims[axis], &pieces, error));
  LK_RETURN_NOT_OK(lk_flow_list_create(c->allocator, pieces.count, out, error));
  const size_t outer = outer_of(&whole->desc, axis), inner = inner_of(&whole->desc, axis);
  const unsigned char *from = whole->data;
  size_t done = 0;
  out->list->dtype = whole->desc.dtype;
  for (size_t i = 0; i < pieces.count; i++) {
    lk_tensor_desc desc = whole->desc;
    desc.dims[axis] = size_at(&pieces, i);
    const size_t size = (size_t)desc.dims[axis];
    if (drops) {
      int64_t dims[LK_MAX_RANK] = {0};
      for (uint32_t d = 0, n = 0; d < desc.rank; d++) {
        if (d != axis) dims[n++] = desc.dims[d];
      }
      desc = lk_tensor_desc_make(desc.dtype, desc.rank - 1, dims);
    }
    lk_flow_value *piece = &out->list->values[i];
    LK_RETURN_NOT_OK(lk_flow_value_create(c->allocator, &desc, piece, error));
    const lk_flow_pieces part = slices((size_t)whole->desc.dims[axis], size, size, outer, inner);
    LK_RETURN_NOT_OK(lk_flow_copy(c->api, from, piece->tensor.data, &part, error));
    LK_RETURN_NOT_OK(lk_flow_look_after(c->api, PIECE_BYTES, &done, error));
    from += size * inner;
  }
  return LK_OK;
}

/* ---- optional values ---- */

static bool is_there(const lk_flow_value *value) {
  return value->tensor.data != NULL || value->list != NULL;
}

/* Also of what makes it optional, or copies it; nothing of nothing. */
static lk_status same(const list_call *c, lk_flow_value *out, lk_error *error) {
  (void)error;
  if (c->n_inputs > 0) *out = lk_flow_value_retain(&c->inputs[0]);
  return LK_OK;
}

static lk_status has(const list_call *c, lk_flow_value *out, lk_error *error) {
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_BOOL, 0, NULL);
  LK_RETURN_NOT_OK(lk_flow_value_create(c->allocator, &desc, out, error));
  *(uint8_t *)out->tensor.data = c->n_inputs > 0 && is_there(&c->inputs[0]);
  return LK_OK;
}

static lk_status get(const list_call *c, lk_flow_value *out, lk_error *error) {
  if (!is_there(&c->inputs[0])) {
    return lk_fail(
        error, LK_INVALID_ARGUMENT,
        "failed to read an optional value: it is absent, OptionalHasElement says so beforehand");
  }
  return same(c, out, error);
}

/* ---- the table ---- */

static const lk_list_op ops[] = {
    {"ConcatFromSequence", 1, 1, LK_LIST_GIVES_TENSOR, true, false, concatenate},
    {"Optional", 0, 1, LK_LIST_GIVES_OPTIONAL, false, false, same},
    {"OptionalGetElement", 1, 1, LK_LIST_GIVES_ELEMENT, false, false, get},
    {"OptionalHasElement", 0, 1, LK_LIST_GIVES_TENSOR, false, false, has},
    {"SequenceAt", 2, 2, LK_LIST_GIVES_TENSOR, true, false, element},
    {"SequenceConstruct", 1, UINT32_MAX, LK_LIST_GIVES_SEQUENCE, false, false, construct},
    {"SequenceEmpty", 0, 0, LK_LIST_GIVES_SEQUENCE, false, false, empty},
    {"SequenceErase", 1, 2, LK_LIST_GIVES_SEQUENCE, true, false, erase},
    {"SequenceInsert", 2, 3, LK_LIST_GIVES_SEQUENCE, true, false, insert},
    {"SequenceLength", 1, 1, LK_LIST_GIVES_TENSOR, true, false, length},
    {"SequenceMap", 1, UINT32_MAX, LK_LIST_GIVES_SEQUENCE, true, true, NULL},
    {"SplitToSequence", 1, 2, LK_LIST_GIVES_SEQUENCE, false, false, split},
};
static const lk_list_op identity = {"Identity", 1, 1, LK_LIST_GIVES_SAME, false, false, same};

const lk_list_op *lk_flow_list_find(const lk_graph *graph, const lk_node *node) {
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    if (lk_node_is(node, ops[i].name)) return &ops[i];
  }
  /* Identity is an operator of the table, for tensors */
  const bool is_list = lk_node_is(node, identity.name) && node->n_inputs == 1 &&
                       node->inputs[0] != LK_NO_VALUE && graph->values[node->inputs[0]].kind != 0;
  return is_list ? &identity : NULL;
}

bool lk_flow_list_has_body(const lk_list_op *op) {
  return op->has_body;
}

lk_list_result lk_flow_list_result(const lk_list_op *op) {
  return op->result;
}

lk_status lk_flow_list_read(const lk_graph *graph, lk_stage *stage, lk_error *error) {
  const lk_node *node = stage->node;
  const lk_list_op *op = lk_flow_list_find(graph, node);
  const uint32_t own = node->n_inputs - lk_node_captured(node);
  if (own < op->least || own > op->most || node->n_outputs < 1 ||
      (node->n_outputs > 1 && !op->has_body)) {
    return lk_fail(error, LK_MALFORMED,
                   "failed to read it: it has %" PRIu32 " inputs and %" PRIu32 " outputs; %" PRIu32
                   " to %" PRIu32 " inputs and one output are allowed",
                   own, node->n_outputs, op->least, op->most);
  }
  stage->list_op = op;
  stage->of_list = (lk_list_attributes){
      .axis = lk_own_op_int(node, "axis"),
      .new_axis = lk_own_op_int(node, "new_axis") != 0,
      .keeps_dims = lk_own_op_int(node, "keepdims") != 0,
      .dtype = (uint32_t)lk_own_op_int(node, "dtype"),
  };
  return LK_OK;
}

lk_status lk_flow_list_run(lk_flow *flow, const lk_stage *stage, const lk_flow_call *call,
                           lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                           lk_flow_value *outputs, lk_error *error) {
  const lk_list_op *op = stage->list_op;
  const uint32_t own = stage->node->n_inputs - lk_node_captured(stage->node);
  const list_call c = {flow->api, flow->allocator, inputs, own, stage->of_list};
  for (uint32_t i = 0; i < own && i < op->least; i++) {
    const bool is_list = inputs[i].list != NULL;
    if (is_there(&inputs[i]) && (i > 0 || !op->needs_list || is_list)) continue;
    if (op->run == get || op->run == same) continue; /* they look themselves */
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to run %s: input %" PRIu32 " is %s",
                   op->name, i, is_there(&inputs[i]) ? "a tensor, not a sequence" : "absent");
  }
  if (op->has_body) return lk_flow_list_map(stage, call, &c, frame, outputs, error);
  const lk_status status = op->run(&c, &outputs[0], error);
  if (status != LK_OK) lk_flow_value_release(flow->allocator, &outputs[0]);
  return status;
}
