/* Operator sets that a model or a function imports. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "executor_glue/onnx/builder.h"

const char *lk_onnx_domain(const char *domain) {
  return !lk_onnx_given(domain) || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

lk_status lk_onnx_check_opsets(const lk_onnx_builder *builder,
                               Onnx__OperatorSetIdProto *const *opsets, size_t count,
                               const char *where) {
  for (size_t i = 0; i < count; i++) {
    const char *domain = lk_onnx_domain(opsets[i]->domain);
    const int64_t version = opsets[i]->has_version ? opsets[i]->version : 0;
    if (domain[0] == '\0' && (version < LK_MIN_OPSET || version > LK_MAX_OPSET)) {
      const lk_status status =
          lk_fail(builder->error, LK_UNSUPPORTED,
                  "failed to read %s: it has opset %" PRId64
                  " of ai.onnx, %d to %d are supported; onnx.version_converter converts it",
                  where, version, LK_MIN_OPSET, LK_MAX_OPSET);
      LK_RETURN_NOT_OK(lk_onnx_source_forgive(builder->source, status, builder->error));
    }
    if (version < 1 || version > INT32_MAX) {
      return lk_fail(builder->error, LK_MALFORMED,
                     "failed to read %s: it has opset %" PRId64
                     " of domain '%s', it must be at least 1",
                     where, version, domain);
    }
    for (size_t j = 0; j < i; j++) {
      if (strcmp(domain, lk_onnx_domain(opsets[j]->domain)) != 0 || opsets[j]->version == version) {
        continue;
      }
      return lk_fail(builder->error, LK_MALFORMED,
                     "failed to read %s: it has opsets %" PRId64 " and %" PRId64
                     " of domain '%s', one is allowed",
                     where, opsets[j]->version, version, domain[0] != '\0' ? domain : "ai.onnx");
    }
  }
  return LK_OK;
}
