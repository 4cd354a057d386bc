/* What the description of a bind says of one input. */
#include "plugin/bind_desc.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "base/tensor.h"
#include "plugin/internal.h"

lk_status lk_bind_size_input(const lk_op *op, const lk_bind_desc *bind, uint32_t index,
                             int64_t *out_elements, lk_error *error) {
  char what[32];
  (void)snprintf(what, sizeof what, "input %" PRIu32, index);
  const lk_status status =
      lk_tensor_size(&bind->inputs[index].desc, what, out_elements, NULL, error);
  if (status == LK_OK) return LK_OK;
  return lk_error_prefix(error, status, "failed to bind %s '%s'", op->node.class_->row.op_type,
                         op->node.output_name);
}
