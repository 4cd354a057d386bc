/* The activation that an operator of com.microsoft has behind it, as a post-op. */
#pragma once

#include "ops/plan/op.h"

#define LK_ACTIVATION_ATTR                                                                         \
  LK_ANY_CHOICE("activation", "Clip|HardSigmoid|LeakyRelu|Relu|Sigmoid|Tanh")

/* From attribute 'activation', which names an operator, and that operator's numbers: in
 * 'activation_params' or, where the row does not list that, in 'activation_alpha' and
 * 'activation_beta'. False: there is none, or their number is wrong, which is noted. */
bool lk_attrs_activation(lk_attrs *attrs, lk_post_op *out_post_op);
