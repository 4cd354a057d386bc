/* Shape helpers that operators share: axes, broadcasting, and values of shape inputs. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/op.h"

int64_t lk_axis(int64_t axis, uint32_t rank) {
  int64_t limit = (int64_t)rank;
  if (axis < -limit || axis >= limit) return -1;
  return axis < 0 ? axis + limit : axis;
}

lk_status lk_broadcast(const lk_tensor_desc *a, const lk_tensor_desc *b, lk_tensor_desc *out,
                       lk_error *error) {
  lk_tensor_desc result = {.dtype = a->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
  for (uint32_t i = 0; i < result.rank; i++) {
    /* Counted from the last dimension; a missing one is 1. */
    int64_t in_a = i < a->rank ? a->dims[a->rank - 1 - i] : 1;
    int64_t in_b = i < b->rank ? b->dims[b->rank - 1 - i] : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1) {
      char text_a[LK_TENSOR_TEXT_CAPACITY], text_b[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to broadcast %s and %s: %" PRId64 " and %" PRId64
                     ", dimensions must be equal or 1",
                     lk_tensor_text(a, text_a), lk_tensor_text(b, text_b), in_a, in_b);
    }
    result.dims[result.rank - 1 - i] = in_a == 1 ? in_b : in_a;
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
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to read %s: type %s, must be i64 or i32",
                   what, lk_dtype_name(tensor->desc.dtype));
  }
  if (tensor->desc.rank > 1) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: rank %" PRIu32 ", must be at most 1", what,
                   tensor->desc.rank);
  }
  int64_t count = lk_elements(&tensor->desc);
  if (count > (int64_t)capacity) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: %" PRId64 " values, at most %" PRIu32, what, count,
                   capacity);
  }
  if (count > 0 && tensor->data == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: no value, it must be known when binding", what);
  }
  for (int64_t i = 0; i < count; i++) {
    out[i] = tensor->desc.dtype == LK_I64 ? ((const int64_t *)tensor->data)[i]
                                          : ((const int32_t *)tensor->data)[i];
  }
  *out_count = (uint32_t)count;
  return LK_OK;
}
