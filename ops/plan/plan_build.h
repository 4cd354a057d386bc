/* From a node and the shapes of its inputs to a plan. */
#pragma once

#include "ops/plan/plan_body.h"

/* Plans `node` for these inputs. `wishes` as in lk_bind_desc. */
lk_status lk_plan_build(lk_ops_env *env, const lk_op_node *node, const lk_tensor *inputs,
                        const lk_layout *wishes, int32_t threads, lk_plan_body **out_body,
                        lk_error *error);
