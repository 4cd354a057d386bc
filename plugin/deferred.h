/* Plans of binds that lack a value which shapes depend on. */
#pragma once

#include "plugin/internal.h"

/* Whether input `index`, whose description has been sized, is a value that shapes depend on and
 * that is not there. */
bool lk_bind_lacks_value(const lk_op *op, const lk_bind_desc *bind, uint32_t index);
lk_status lk_deferred_build(const lk_op *op, const lk_bind_desc *bind, int32_t threads,
                            lk_plan_body **out_body, lk_error *error);
