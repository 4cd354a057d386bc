/* What the iterations of a loop leave, one behind the other. */
#pragma once

#include <latchkey/latchkey.h>

#include "executor_glue/flow/value.h"

/* Zeroed at first. */
typedef struct lk_flow_stack {
  lk_tensor_desc each; /* of what each iteration leaves */
  unsigned char *data;
  size_t bytes, capacity;
  int64_t count;
} lk_flow_stack;

/* Appends a value. LK_INVALID_ARGUMENT: it is of another type or shape than those before.
 * `expected`: how many there will be, if that is known; else 0. */
lk_status lk_flow_stack_push(const lk_api *api, const lk_allocator *allocator, lk_flow_stack *self,
                             const lk_flow_value *value, int64_t expected, lk_error *error);
/* The whole as one value, with a first dimension that counts; the stack is empty afterwards. With
 * nothing in it, elements are as `each` says. */
lk_status lk_flow_stack_finish(const lk_api *api, const lk_allocator *allocator,
                               lk_flow_stack *self, lk_flow_value *out, lk_error *error);
void lk_flow_stack_end(const lk_allocator *allocator, lk_flow_stack *self);
