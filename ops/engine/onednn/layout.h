/* How the tensors of a primitive lie. */
#pragma once

#include "ops/engine/onednn/shapes.h"

/* How a tensor lies, or that of an argument; it lives as long as the primitive's descriptor. */
lk_status lk_onednn_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index,
                          const_dnnl_memory_desc_t *out_desc, lk_error *error);
lk_status lk_onednn_query_arg(const_dnnl_primitive_desc_t desc, int arg,
                              const_dnnl_memory_desc_t *out_desc, lk_error *error);

/* oneDNN's bytes of the layout that is wanted, and behind them how plain weights are read: those of
 * two primitives that want the same may lie in other orders. The caller frees them, also where it
 * fails. */
lk_status lk_onednn_write_layout(const_dnnl_memory_desc_t wanted, const lk_strided *plain,
                                 unsigned char **out_layout, uint64_t *out_bytes, lk_error *error);
