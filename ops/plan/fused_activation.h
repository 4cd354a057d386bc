/* The activation that an operator of com.microsoft has behind it, as a post-op. */
#pragma once

#include "ops/plan/op.h"

/* From attribute 'activation', which names an operator, and that operator's numbers: in
 * 'activation_params', or else in 'activation_alpha' and 'activation_beta'. False: there is none,
 * or it is not supported, which is noted. */
bool lk_attrs_activation(lk_attrs *attrs, lk_post_op *out_post_op);
