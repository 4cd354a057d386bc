/* From a work to oneDNN's descriptor of a primitive. */
#pragma once

#include "ops/engine/onednn/module.h"
#include "ops/engine/onednn/shapes.h"

/* The descriptor of the primitive for the work, which the caller destroys. */
lk_status lk_onednn_describe(const lk_onednn *self, const lk_work *work,
                             dnnl_primitive_desc_t *out_desc, lk_error *error);
/* The argument of a primitive that the tensor of `role` is. */
int lk_onednn_arg(const lk_work *work, uint32_t role);
/* The weights as they lie plain, with the dimensions that the primitive has them with. */
lk_strided lk_onednn_plain_weights(const lk_work *work);
