/* The table of operators. */
#include "ops/op_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"

#define OP(name) extern const lk_op_class lk_op_##name;
#include "ops/op_list.inc"
#undef OP

const lk_op_class *const lk_op_classes[] = {
#define OP(name) &lk_op_##name,
#include "ops/op_list.inc"
#undef OP
};
const uint32_t lk_n_op_classes = sizeof lk_op_classes / sizeof lk_op_classes[0];

lk_status lk_op_class_find(const char *op_type, const char *domain, int32_t opset,
                           const lk_op_class **out_class, lk_error *error) {
  *out_class = NULL;
  const char *wanted = domain != NULL && strcmp(domain, "ai.onnx") != 0 ? domain : "";
  const lk_op_class *other = NULL;
  for (uint32_t i = 0; i < lk_n_op_classes; i++) {
    const lk_op_class *row = lk_op_classes[i];
    if (strcmp(row->op_type, op_type) != 0 || strcmp(row->domain, wanted) != 0) continue;
    if (opset >= row->min_opset && opset <= row->max_opset) {
      *out_class = row;
      return LK_OK;
    }
    other = row;
  }
  const char *shown = wanted[0] != '\0' ? wanted : "ai.onnx";
  if (other != NULL) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to find operator %s of %s at opset %" PRId32 ": opsets %" PRId32
                   " to %" PRId32 " are supported",
                   op_type, shown, opset, other->min_opset, other->max_opset);
  }
  return lk_fail(error, LK_UNSUPPORTED,
                 "failed to find operator %s of %s at opset %" PRId32
                 ": it is not in the operator table",
                 op_type, shown, opset);
}
