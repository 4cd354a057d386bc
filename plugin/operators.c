/* Operators of hosts. */
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "ops/op_table.h"
#include "plugin/internal.h"
#include "plugin/table.h"

static lk_status check_free(const lk_operator *op, lk_error *error) {
  const bool is_fusions = strcmp(op->domain, "latchkey") == 0;
  if (op->op_type == NULL || (!is_fusions && !lk_op_is_built_in(op->op_type, op->domain))) {
    return LK_OK;
  }
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to register operator %.64s of %.64s: %s, give it a name or a domain of "
                 "your own",
                 op->op_type, op->domain[0] != '\0' ? op->domain : "ai.onnx",
                 is_fusions ? "the domain is the library's" : "the library has it");
}

/* Nobody looks for operators before: so those who do need no lock. */
lk_status lk_op_register(lk_context *context, const lk_operator *op, lk_error *error) {
  LK_REQUIRE("op_register", error, context, op);
  lk_operator read = {0};
  LK_RETURN_NOT_OK(lk_struct_read(&read, sizeof read, op, "an operator", error));
  if (read.domain == NULL || strcmp(read.domain, "ai.onnx") == 0) read.domain = "";
  if (atomic_load(&context->had_executor)) {
    return lk_fail(error, LK_BUSY,
                   "failed to register an operator: the context has had an executor, whose threads "
                   "may be looking for operators; register before the first");
  }
  LK_RETURN_NOT_OK(check_free(&read, error));
  return lk_host_operators_add(context->operators, &read, error);
}

const lk_op_row *lk_op_find_in(const lk_context *context, const char *op_type, const char *domain,
                               int32_t opset) {
  return lk_op_row_find_in(context->operators, op_type, domain, opset);
}

void lk_dims_set_context(lk_dims *dims, const lk_context *context) {
  lk_dims_set_operators(dims, context != NULL ? context->operators : NULL);
}
