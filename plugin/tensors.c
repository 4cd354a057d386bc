/* Tensors as the table has them: their bytes, and the same in another layout. */
#include <string.h>

#include "base/require.h"
#include "base/status.h"
#include "base/team/float_state.h"
#include "base/tensor.h"
#include "ops/kernel/move/copy.h"
#include "ops/plan/layout.h"
#include "plugin/table.h"

lk_status lk_tensor_bytes_of(const lk_tensor_desc *desc, uint64_t *out_bytes, lk_error *error) {
  LK_REQUIRE("tensor_bytes", error, desc, out_bytes);
  return lk_layout_bytes(desc, out_bytes, error);
}

lk_status lk_tensor_convert(const lk_tensor *from, const lk_tensor *to, lk_error *error) {
  LK_REQUIRE("tensor_convert", error, from, to);
  uint64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_layout_bytes(&to->desc, &bytes, error));
  LK_RETURN_NOT_OK(lk_layout_bytes(&from->desc, &bytes, error));
  if (from->desc.dtype != to->desc.dtype || !lk_shape_equal(&from->desc, &to->desc)) {
    char a[LK_TENSOR_TEXT_CAPACITY], b[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to convert a tensor from %s to %s: types and shapes must be equal",
                   lk_tensor_text(&from->desc, a), lk_tensor_text(&to->desc, b));
  }
  if (bytes == 0) return LK_OK;
  if (from->data == NULL || to->data == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to convert a tensor: its data is NULL, it is required");
  }
  if (lk_layout_same_bytes(&from->desc, from->desc.layout, to->desc.layout)) {
    if (from->data != to->data) memcpy(to->data, from->data, bytes);
    return LK_OK;
  }
  const lk_float_state host_float = lk_float_begin();
  const lk_status status = lk_copy_layout(&from->desc, from->data, &to->desc, to->data, error);
  lk_float_end(host_float);
  return status;
}
