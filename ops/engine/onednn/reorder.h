/* A reorder of weights, while they are packed. */
#pragma once

#include "ops/engine/onednn/module.h"
#include "ops/engine/onednn/pool.h"

/* Zeroed before it is opened, and ended also where that fails. */
typedef struct lk_onednn_reorder {
  dnnl_primitive_t primitive;
  dnnl_memory_t from, to;
  dnnl_stream_t stream;
} lk_onednn_reorder;

/* Both may throw what oneDNN throws. `from` and `to`: how tensors lie, as those of `desc`. */
lk_status lk_onednn_reorder_open(lk_onednn_reorder *self, const lk_onednn *engine,
                                 lk_onednn_pool *pool, const_dnnl_primitive_desc_t desc,
                                 const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to,
                                 lk_error *error);
/* Of memory as `from` and `to` are of; any number of times. */
lk_status lk_onednn_reorder_run(const lk_onednn_reorder *self, void *from, void *to,
                                lk_error *error);
void lk_onednn_reorder_end(lk_onednn_reorder *self);
