/* Shape rules and helpers that operators share: axes, broadcasting, and values of shape inputs. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/kernel/sizes.h"
#include "ops/plan/op.h"

int64_t lk_axis(int64_t axis, uint32_t rank) {
  int64_t limit = (int64_t)rank;
  if (axis < -limit || axis >= limit) return -1;
  return axis < 0 ? axis + limit : axis;
}

lk_status lk_attr_axis(int64_t axis, const lk_tensor_desc *x, uint32_t *out_axis, lk_error *error) {
  const int64_t found = lk_axis(axis, x->rank);
  *out_axis = (uint32_t)found;
  if (found >= 0) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "attribute 'axis' is %" PRId64 ", it must be one of the %" PRIu32
                 " dimensions of the input",
                 axis, x->rank);
}

lk_status lk_read_axes(const int64_t *axes, uint32_t count, uint32_t rank, const char *what,
                       uint32_t *out_axes, lk_error *error) {
  bool seen[LK_MAX_RANK] = {false};
  if (rank > LK_MAX_RANK) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to %s: the rank would be %" PRIu32 ", at most %d is supported", what,
                   rank, LK_MAX_RANK);
  }
  for (uint32_t i = 0; i < count; i++) {
    const int64_t axis = lk_axis(axes[i], rank);
    if (axis < 0 || seen[axis]) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to %s: axis %" PRId64 " is given for rank %" PRIu32 ", it must be %s",
                     what, axes[i], rank, axis < 0 ? "one of the dimensions" : "given once");
    }
    seen[axis] = true;
    out_axes[i] = (uint32_t)axis;
  }
  return LK_OK;
}

bool lk_shape_is_known(const lk_tensor_desc *desc) {
  bool known = lk_rank_is_known(desc);
  for (uint32_t i = 0; known && i < desc->rank; i++) known = desc->dims[i] >= 0;
  return known;
}

void lk_shape_open(lk_tensor_desc *desc, int64_t rank) {
  desc->rank = rank >= 0 && rank <= LK_MAX_RANK ? (uint32_t)rank : LK_RANK_UNKNOWN;
  for (uint32_t i = 0; i < LK_MAX_RANK; i++) {
    desc->dims[i] = lk_rank_is_known(desc) && i < desc->rank ? LK_DIM_UNKNOWN : 0;
  }
}

void lk_shape_of_input(lk_inference *self, uint32_t output, uint32_t input) {
  lk_tensor_desc *to = &self->outputs[output];
  const lk_tensor_desc *from = &self->inputs[input].desc;
  to->rank = from->rank;
  for (uint32_t i = 0; lk_rank_is_known(from) && i < from->rank; i++) to->dims[i] = from->dims[i];
}

lk_status lk_shape_check(const lk_tensor_desc *desc, const char *what, lk_error *error) {
  if (!lk_shape_is_known(desc) || desc->dtype == LK_DTYPE_NONE) return LK_OK;
  return lk_tensor_size(desc, what, NULL, NULL, error);
}

bool lk_infer_knows(const lk_inference *self, uint32_t index) {
  const lk_tensor *input = &self->inputs[index];
  if (!lk_op_has(self->node, index) || input->desc.dtype == LK_DTYPE_NONE) return false;
  return input->data != NULL || (lk_shape_is_known(&input->desc) && lk_elements(&input->desc) == 0);
}

bool lk_infer_knows_all(const lk_inference *self) {
  const uint64_t shape_inputs = self->node->class_->row.shape_inputs;
  for (uint32_t i = 0; i < self->node->n_operands && i < 64; i++) {
    const bool is_value = (shape_inputs >> i & 1) != 0 && lk_op_has(self->node, i);
    if (is_value && !lk_infer_knows(self, i)) return false;
  }
  return true;
}

int64_t lk_count_dims(const lk_tensor_desc *desc, uint32_t first, uint32_t end) {
  return lk_multiply_dims(desc->dims, first, end);
}

int64_t lk_infer_count(const lk_inference *self, uint32_t index) {
  const lk_tensor_desc *desc = &self->inputs[index].desc;
  return desc->rank == 0 ? 1 : desc->rank == 1 ? desc->dims[0] : LK_DIM_UNKNOWN;
}

lk_status lk_refuse(const lk_tensor_desc *desc, const char *what, const char *rule,
                    lk_error *error) {
  char text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "failed to read %s: it is %s, it must be %s", what,
                 lk_tensor_text(desc, text), rule);
}

lk_tensor_desc lk_shape_channels_second(const lk_tensor_desc *desc) {
  lk_tensor_desc moved = *desc;
  moved.dims[1] = desc->dims[desc->rank - 1];
  memcpy(moved.dims + 2, desc->dims + 1, (desc->rank - 2) * sizeof *desc->dims);
  moved.layout = LK_LAYOUT_CHANNELS_LAST;
  return moved;
}

lk_tensor_desc lk_shape_channels_last(const lk_tensor_desc *desc) {
  lk_tensor_desc moved = *desc;
  moved.dims[desc->rank - 1] = desc->dims[1];
  memcpy(moved.dims + 1, desc->dims + 2, (desc->rank - 2) * sizeof *desc->dims);
  moved.layout = LK_LAYOUT_PLAIN;
  return moved;
}

bool lk_shape_may_equal(const lk_tensor_desc *a, const lk_tensor_desc *b) {
  if (!lk_rank_is_known(a) || !lk_rank_is_known(b)) return true;
  bool fits = a->rank == b->rank;
  for (uint32_t i = 0; fits && i < a->rank; i++) fits = !lk_dims_differ(a->dims[i], b->dims[i]);
  return fits;
}

lk_status lk_infer_same(lk_inference *self, lk_error *error) {
  (void)error;
  lk_shape_of_input(self, 0, 0);
  return LK_OK;
}

lk_status lk_infer_broadcast(lk_inference *self, lk_error *error) {
  lk_shape_of_input(self, 0, 0);
  for (uint32_t i = 1; i < self->node->n_operands; i++) {
    const lk_tensor_desc so_far = self->outputs[0];
    LK_RETURN_NOT_OK(
        lk_broadcast_dims(self->dims, &so_far, &self->inputs[i].desc, &self->outputs[0], error));
  }
  if (self->node->n_operands == 1) self->copy_of = 0;
  return LK_OK;
}

lk_status lk_infer_broadcast_to_first(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc;
  LK_RETURN_NOT_OK(lk_infer_broadcast(self, error));
  self->copy_of = -1;
  const lk_tensor_desc *to = &self->outputs[0];
  if (!lk_rank_is_known(x)) return LK_OK;
  bool grows = lk_rank_is_known(to) && to->rank != x->rank;
  for (uint32_t i = 0; lk_rank_is_known(to) && i < x->rank && !grows; i++) {
    grows = lk_dims_differ(to->dims[i], x->dims[i]);
  }
  lk_shape_of_input(self, 0, 0);
  if (!grows) return LK_OK;
  char text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "input 1 is larger than input 0, %s, it must broadcast to it",
                 lk_tensor_text(x, text));
}

lk_status lk_broadcast_dims(lk_dims *dims, const lk_tensor_desc *a, const lk_tensor_desc *b,
                            lk_tensor_desc *out, lk_error *error) {
  lk_tensor_desc result = {.dtype = out->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
  for (uint32_t i = 0; lk_rank_is_known(&result) && i < result.rank; i++) {
    /* Counted from the last dimension; a missing one is 1. */
    const int64_t in_a = i < a->rank ? a->dims[a->rank - 1 - i] : 1;
    const int64_t in_b = i < b->rank ? b->dims[b->rank - 1 - i] : 1;
    if (!lk_dims_broadcast(dims, in_a, in_b, &result.dims[result.rank - 1 - i])) {
      char text_a[LK_TENSOR_TEXT_CAPACITY], text_b[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to broadcast %s and %s: sizes %" PRId64 " and %" PRId64
                     " meet, they must be equal or one of them 1",
                     lk_tensor_text(a, text_a), lk_tensor_text(b, text_b), in_a, in_b);
    }
  }
  *out = result;
  return LK_OK;
}

lk_tensor_desc lk_shape_pad_rank(const lk_tensor_desc *desc, uint32_t rank) {
  if (rank <= desc->rank) return *desc;
  lk_tensor_desc padded = {.dtype = desc->dtype, .rank = rank, .layout = desc->layout};
  uint32_t added = rank - desc->rank;
  for (uint32_t i = 0; i < rank; i++) padded.dims[i] = i < added ? 1 : desc->dims[i - added];
  return padded;
}

lk_status lk_read_ints(const lk_tensor *tensor, const char *what, int64_t *out, uint32_t capacity,
                       uint32_t *out_count, lk_error *error) {
  *out_count = 0;
  if (tensor->desc.dtype != LK_I64 && tensor->desc.dtype != LK_I32) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: it is of type %s, it must be i64 or i32", what,
                   lk_dtype_name(tensor->desc.dtype));
  }
  if (tensor->desc.rank > 1) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: it has rank %" PRIu32 ", it must have 0 or 1", what,
                   tensor->desc.rank);
  }
  int64_t count = lk_elements(&tensor->desc);
  if (count > (int64_t)capacity) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: it has %" PRId64 " values, at most %" PRIu32 " are allowed",
                   what, count, capacity);
  }
  if (count > 0 && tensor->data == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: its value is not known, it must be when shapes are bound",
                   what);
  }
  for (int64_t i = 0; i < count; i++) {
    out[i] = tensor->desc.dtype == LK_I64 ? ((const int64_t *)tensor->data)[i]
                                          : ((const int32_t *)tensor->data)[i];
  }
  *out_count = (uint32_t)count;
  return LK_OK;
}

lk_status lk_read_list(const lk_inference *self, uint32_t index, const char *what, lk_list *list,
                       lk_error *error) {
  if (!lk_op_has(self->node, index)) return LK_OK;
  list->given = true;
  return lk_read_ints(&self->inputs[index], what, list->values,
                      (uint32_t)(sizeof list->values / sizeof list->values[0]), &list->count,
                      error);
}

lk_status lk_infer_product(const lk_inference *self, int64_t a, int64_t b, const char *what,
                           int64_t *out, lk_error *error) {
  if (lk_dims_multiply(self->dims, a, b, out)) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to %s: %" PRId64 " times %" PRId64 " elements exceed 2^63", what, a, b);
}

lk_status lk_infer_one(const lk_inference *self, uint32_t index, const char *what, uint32_t dtype,
                       void *out, bool *out_is_known, lk_error *error) {
  const lk_tensor *input = &self->inputs[index];
  if (lk_op_has(self->node, index) && lk_shape_is_known(&input->desc) &&
      lk_elements(&input->desc) != 1) {
    return lk_refuse(&input->desc, what, "one value", error);
  }
  *out_is_known = lk_infer_knows(self, index);
  if (*out_is_known) lk_cast_one(input->desc.dtype, input->data, dtype, out);
  return LK_OK;
}
