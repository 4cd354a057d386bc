/* What a value of a recurrent layer has besides its primitive: weights that are packed gate by
 * gate, and tensors that ONNX has otherwise, or not at all, which a run makes in scratch memory. */
#pragma once

#include "ops/engine/onednn/module.h"
#include "ops/engine/onednn/recurrent.h"
#include "ops/engine/onednn/reorder.h"

typedef struct lk_recurrent_value lk_recurrent_value;

/* `desc` is the primitive's, and outlives the value. `out` gets how both weights are packed, and
 * more scratch memory behind the primitive's. `*out_value` is set where it fails, too: the caller
 * destroys it. */
lk_status lk_onednn_recurrent_create(const lk_onednn *engine, const lk_work *work,
                                     const_dnnl_primitive_desc_t desc, lk_engine_value *out,
                                     lk_recurrent_value **out_value, lk_error *error);
void lk_onednn_recurrent_destroy(lk_recurrent_value *self);

/* As lk_engine's, but that it may throw what oneDNN throws. `reorder` comes zeroed, and the caller
 * ends it. */
lk_status lk_onednn_recurrent_pack(const lk_recurrent_value *self, const lk_onednn *engine,
                                   lk_onednn_pool *pool, uint32_t role, void *plain, void *packed,
                                   lk_onednn_reorder *reorder, lk_error *error);

/* From the pointers of a run to those of the primitive's arguments: roles of the work, scratch
 * memory, and roles that the primitive has besides, each from the lowest on. */
void lk_onednn_recurrent_prepare(const lk_recurrent_value *self, void *const *given,
                                 void **out_own);
