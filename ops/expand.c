/* Copying a tensor to the shape that it broadcasts to. */
#include "ops/expand.h"

#include <string.h>

#include "plugin/base/tensor.h"

typedef struct expand_params {
  int64_t dims[LK_MAX_RANK];    /* of the result */
  int64_t strides[LK_MAX_RANK]; /* of the source, in bytes; 0 where it is repeated */
  uint32_t rank;
  uint32_t element; /* bytes */
} expand_params;

static lk_status expand_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const expand_params *self = params;
  const char *from = pointers[0];
  char *to = pointers[1];
  int64_t at[LK_MAX_RANK] = {0};
  int64_t rows = 1;
  const uint32_t last = self->rank - 1;
  for (uint32_t i = 0; i < last; i++) rows *= self->dims[i];
  const int64_t width = self->dims[last], step = self->strides[last];
  const size_t element = self->element;
  for (int64_t row = 0; row < rows; row++) {
    const char *source = from;
    for (uint32_t i = 0; i < last; i++) source += at[i] * self->strides[i];
    if (step != 0) {
      memcpy(to, source, (size_t)width * element);
    } else {
      for (int64_t x = 0; x < width; x++) memcpy(to + (size_t)x * element, source, element);
    }
    to += (size_t)width * element;
    for (uint32_t i = last; i-- > 0;) {
      if (++at[i] < self->dims[i]) break;
      at[i] = 0;
    }
  }
  return LK_OK;
}

lk_status lk_plan_expand(lk_planner *planner, const lk_operand *from, const lk_tensor_desc *shape,
                         lk_operand *out_operand, lk_error *error) {
  const uint32_t rank = shape->rank > 0 ? shape->rank : 1;
  const lk_tensor_desc padded = lk_shape_pad_rank(&from->desc, rank);
  expand_params params = {.rank = rank, .element = (uint32_t)lk_dtype_size(from->desc.dtype)};
  int64_t stride = (int64_t)params.element;
  for (uint32_t i = rank; i-- > 0;) {
    params.dims[i] = shape->rank > 0 ? shape->dims[i] : 1;
    params.strides[i] = padded.dims[i] == 1 ? 0 : stride;
    stride *= padded.dims[i];
  }
  const lk_tensor_desc full = lk_tensor_desc_make(from->desc.dtype, shape->rank, shape->dims);
  lk_status status = lk_planner_temp(planner, &full, out_operand, error);
  if (status != LK_OK) return status;
  const lk_operand operands[] = {*from, *out_operand};
  return lk_planner_kernel(planner, expand_kernel, &params, sizeof params, operands, 2, error);
}
