/* Operators of hosts. */
#include "base/require.h"
#include "base/status.h"
#include "ops/op_table.h"
#include "plugin/internal.h"
#include "plugin/table.h"

/* Nobody looks for operators before: so those who do need no lock. */
lk_status lk_op_register(lk_context *context, const lk_operator *op, lk_error *error) {
  LK_REQUIRE("op_register", error, context, op);
  if (atomic_load(&context->had_executor)) {
    return lk_fail(error, LK_BUSY,
                   "failed to register an operator: the context has had an executor, whose threads "
                   "may be looking for operators; register before the first");
  }
  return lk_host_operators_add(context->operators, op, error);
}

const lk_op_row *lk_op_find_in(const lk_context *context, const char *op_type, const char *domain,
                               int32_t opset) {
  return lk_op_row_find_in(context->operators, op_type, domain, opset);
}

void lk_dims_set_context(lk_dims *dims, const lk_context *context) {
  lk_dims_set_operators(dims, context != NULL ? context->operators : NULL);
}
