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

/* The first row whose name is not before `op_type`. */
static uint32_t lower_bound(const char *op_type) {
  uint32_t begin = 0, end = lk_n_op_classes;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (strcmp(lk_op_classes[middle]->row.op_type, op_type) < 0) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/* The row, or one of another opset. Passes ask for every node several times. */
static const lk_op_class *find(const char *op_type, const char *domain, int32_t opset) {
  const lk_op_class *found = NULL;
  for (uint32_t i = lower_bound(op_type); i < lk_n_op_classes; i++) {
    const lk_op_row *row = &lk_op_classes[i]->row;
    if (strcmp(row->op_type, op_type) != 0) break;
    if (strcmp(row->domain, domain) != 0) continue;
    const bool fits = row->since <= opset;
    if (found == NULL || (fits && (found->row.since > opset || row->since > found->row.since))) {
      found = lk_op_classes[i];
    }
  }
  return found;
}

static const char *domain_of(const char *domain) {
  return domain != NULL && strcmp(domain, "ai.onnx") != 0 ? domain : "";
}

static bool holds(const lk_op_class *class_, int32_t opset) {
  return class_ != NULL && opset >= class_->row.since && opset <= LK_MAX_OPSET;
}

static const lk_op_class *find_in(const lk_host_operators *host, const char *op_type,
                                  const char *domain, int32_t opset) {
  const lk_op_class *found = find(op_type, domain, opset);
  if (found != NULL) return holds(found, opset) ? found : NULL;
  return lk_host_operators_find(host, op_type, domain, opset);
}

const lk_op_row *lk_op_row_find_in(const lk_host_operators *host, const char *op_type,
                                   const char *domain, int32_t opset) {
  const lk_op_class *found = find_in(host, op_type, domain_of(domain), opset);
  return found != NULL ? &found->row : NULL;
}

bool lk_op_is_built_in(const char *op_type, const char *domain) {
  return find(op_type, domain_of(domain), LK_MAX_OPSET) != NULL;
}

const lk_op_row *lk_op_row_find(const char *op_type, const char *domain, int32_t opset) {
  return lk_op_row_find_in(NULL, op_type, domain, opset);
}

/* A file of such operators runs on the processor alone for which it was saved. */
#define NCHWC                                                                                      \
  "; ONNX Runtime writes it when it saves an optimized model at level all (ORT_ENABLE_ALL): take " \
  "the original model, or save at level extended (ORT_ENABLE_EXTENDED)"

static bool has_domain(const char *domain) {
  for (uint32_t i = 0; i < lk_n_op_classes; i++) {
    if (strcmp(lk_op_classes[i]->row.domain, domain) == 0) return true;
  }
  return false;
}

/* What helps where the table has no such operator. */
static const char *advice(const char *domain) {
  if (strcmp(domain, "com.microsoft.nchwc") == 0) return NCHWC;
  return has_domain(domain) ? "" : "; a program in C may register one of its own, by op_register";
}

lk_status lk_op_class_find(const lk_host_operators *host, const char *op_type, const char *domain,
                           int32_t opset, const lk_op_class **out_class, lk_error *error) {
  const char *wanted = domain_of(domain);
  const char *shown = wanted[0] != '\0' ? wanted : "ai.onnx";
  *out_class = find_in(host, op_type, wanted, opset);
  if (*out_class != NULL) return LK_OK;
  const lk_op_class *found = find(op_type, wanted, opset);
  if (found != NULL) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to find operator %s of %s at opset %" PRId32 ": opsets %" PRId32
                   " to %d have it here; %s",
                   op_type, shown, opset, found->row.since, LK_MAX_OPSET,
                   opset == 0 ? "0 means that opset was not set"
                              : "onnx.version_converter changes a model's opset");
  }
  const int32_t since = lk_host_operators_since(host, op_type, wanted);
  if (since > 0) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to find operator %s of %s at opset %" PRId32
                   ": it is registered for opset %" PRId32 " and later ones",
                   op_type, shown, opset, since);
  }
  return lk_fail(error, LK_UNSUPPORTED,
                 "failed to find operator %s of %s at opset %" PRId32
                 ": it is not in the operator table, which 'latchkey ops' lists%s",
                 op_type, shown, opset, advice(wanted));
}
