/* The operators that exist: one row each in op_list.inc, and those of a host's own. */
#pragma once

#include "ops/host_operators.h"

/* The rows of the library, in the order of op_list.inc. */
extern const lk_op_class *const lk_op_classes[];
extern const uint32_t lk_n_op_classes;

/* The class for an operator at an opset: LK_UNSUPPORTED says whether the operator or only the opset
 * is unknown. `host` may be NULL: none are registered. */
lk_status lk_op_class_find(const lk_host_operators *host, const char *op_type, const char *domain,
                           int32_t opset, const lk_op_class **out_class, lk_error *error);

/* The same, for who only asks: the public row, or NULL. */
const lk_op_row *lk_op_row_find_in(const lk_host_operators *host, const char *op_type,
                                   const char *domain, int32_t opset);
/* The library has it, at whatever opset. */
bool lk_op_is_built_in(const char *op_type, const char *domain);
/* Of the library. */
const lk_op_row *lk_op_row_find(const char *op_type, const char *domain, int32_t opset);
