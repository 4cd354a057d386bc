/* A work that a host describes, while it is checked: what the files about that share. */
#pragma once

#include "ops/host_operator.h"
#include "ops/plan/work.h"

typedef struct lk_host_work {
  lk_planner *planner;
  const char *name; /* of its kind */
  const lk_operator_work *given;
  lk_task task; /* its tensors, and what was found right of `given` */
} lk_host_work;

/* ---- for kinds ---- */

/* LK_INTERNAL: "'work' describes work 'softmax': <sentence>". */
__attribute__((format(printf, 3, 4))) lk_status
lk_host_refuse(const lk_host_work *self, lk_error *error, const char *format, ...);
/* The same with the sentence of a rule that operators have too, behind `what`: "window: ". LK_OK
 * where `status` is. */
lk_status lk_host_refuse_as(const lk_host_work *self, const char *what, lk_status status,
                            const lk_error *why, lk_error *error);
/* Refuses the tensor of `role`: it is this and the output that, `must`. */
lk_status lk_host_refuse_shape(const lk_host_work *self, lk_role role, const char *must,
                               lk_error *error);
/* As engine.h spells the roles that works of this kind may have; of another one the number. */
#define LK_ROLE_TEXT_CAPACITY 32
const char *lk_host_role_text(const lk_host_work *self, uint32_t role,
                              char text[LK_ROLE_TEXT_CAPACITY]);

/* Src and dst have one shape. */
lk_status lk_host_check_same(const lk_host_work *self, lk_error *error);
/* The tensor of `role`, if it is there, broadcasts to dst. */
lk_status lk_host_check_broadcast(const lk_host_work *self, lk_role role, lk_error *error);
/* Dst is what the work makes, which is called `what`. */
lk_status lk_host_check_made(const lk_host_work *self, const char *what, const lk_tensor_desc *made,
                             lk_error *error);
/* A field from `least` to `most`. */
#define LK_HOST_MOST ((int64_t)1 << 40) /* of sizes and counts, as of attributes */
lk_status lk_host_check_number(const lk_host_work *self, const char *field, int64_t value,
                               int64_t least, int64_t most, lk_error *error);
/* A field that is finite. */
lk_status lk_host_check_finite(const lk_host_work *self, const char *field, double value,
                               lk_error *error);

/* ---- kinds: what is right of `given` goes into the task ---- */

typedef lk_status lk_host_take_fn(lk_host_work *self, lk_error *error);
lk_host_take_fn lk_host_take_element, lk_host_take_softmax, lk_host_take_layer_norm,
    lk_host_take_group_norm, lk_host_take_batch_norm, lk_host_take_lrn, lk_host_take_product,
    lk_host_take_reduce, lk_host_take_conv, lk_host_take_pool, lk_host_take_resize;

/* Makes the steps of kinds whose plan is another one where there is nothing to compute; else they
 * are those of the task. `sums`: of products and convolutions. */
typedef lk_status lk_host_plan_fn(const lk_host_work *self, lk_error *error);
lk_host_plan_fn lk_host_plan_sums, lk_host_plan_reduce, lk_host_plan_pool, lk_host_plan_resize;
