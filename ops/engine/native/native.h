/* The native engine: works by the kernels of ops/kernel/, which serve every size. */
#pragma once

#include "ops/kernel/conv_shape.h"
#include "ops/plan/work.h"

/* By lk_work_kind. */
extern const lk_planning *const lk_native_planning[LK_WORK_KINDS];

/* The input of the node that has this role in the work; -1: nothing has it. */
static inline int32_t lk_task_input_of(const lk_task *task, lk_role role) {
  return lk_work_has(&task->work, role) ? task->from[role].index : -1;
}

/* ---- for native.c: one for each kind ---- */

extern const lk_planning lk_native_conv, lk_native_product, lk_native_softmax, lk_native_hardmax,
    lk_native_pool, lk_native_lrn, lk_native_layer_norm, lk_native_group_norm, lk_native_batch_norm,
    lk_native_element, lk_native_reduce, lk_native_resize, lk_native_product_bits,
    lk_native_recurrent, lk_native_attention, lk_native_reorder, lk_native_concat;
/* Works of conv.c and product.c that are of bytes. */
lk_status lk_native_conv_bytes(lk_planner *planner, const lk_task *task, const lk_conv_shape *shape,
                               lk_error *error);
lk_status lk_native_product_bytes(lk_planner *planner, const lk_task *task, lk_error *error);
/* The product's own bias (lk_task_bias), if it has one, in place, as a step behind its sums. */
lk_status lk_native_add_bias(lk_planner *planner, const lk_task *task, const lk_operand *to,
                             lk_error *error);
