/* Whether ONNX Runtime may run what the own executor does not. */
#include "executor_glue/graph/advice.h"

#include <stddef.h>
#include <string.h>

#include <latchkey/latchkey.h>

/* Of later opsets, as its sentence says: what helps is to convert the model. */
static bool is_too_new(const lk_node *node) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  return api->op_find(node->op_type, node->domain, node->opset) == NULL &&
         api->op_find(node->op_type, node->domain, LK_MAX_OPSET) != NULL;
}

const char *lk_advice_on_node(const lk_node *node) {
  static const char *const domains[] = {"", "ai.onnx.ml", "com.microsoft"};
  for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
    if (strcmp(node->domain, domains[i]) != 0) continue;
    return is_too_new(node) ? "" : LK_ADVICE_PROVIDER;
  }
  return "";
}

const char *lk_advice_on_type(int64_t dtype) {
  enum { COMPLEX64 = 14, COMPLEX128 = 15, NEWEST = 26 }; /* ONNX's numbers */
  const bool is_known = dtype > 0 && dtype <= NEWEST;
  return is_known && dtype != COMPLEX64 && dtype != COMPLEX128 ? LK_ADVICE_PROVIDER : "";
}
