/* The operators that a host has registered with a context. */
#pragma once

#include <latchkey/operator.h>

#include "ops/plan/op.h"

#define LK_MAX_HOST_OPERATORS 256

lk_status lk_host_operators_create(const lk_allocator *allocator, lk_host_operators **out_operators,
                                   lk_error *error);
/* Closes them. Nothing may refer to them any more. NULL is allowed. */
void lk_host_operators_destroy(lk_host_operators *operators);
/* Copies the operator, whose domain is no NULL, and "" for ai.onnx: what op_register says, but that
 * its name is none of the library's. One thread, before others find. */
lk_status lk_host_operators_add(lk_host_operators *operators, const lk_operator *given,
                                lk_error *error);
/* The one that holds at the opset; NULL: none does, or `operators` is NULL. */
const lk_op_class *lk_host_operators_find(const lk_host_operators *operators, const char *op_type,
                                          const char *domain, int32_t opset);
/* The first opset for which the name is registered; 0: it is not. */
int32_t lk_host_operators_since(const lk_host_operators *operators, const char *op_type,
                                const char *domain);
