/* Packing constants into the layouts that primitives want, through the weights store. */
#pragma once

#include "ops/plan/env.h"

/* What packs constants: the first number of the layouts of the weights store. */
typedef enum lk_packed_kind {
  LK_PACKED_REORDER = 1, /* oneDNN, from one interned layout to another */
  LK_PACKED_CONV,
  LK_PACKED_CONV_TRANSPOSED,
  LK_PACKED_DEPTHWISE,
  LK_PACKED_MATMUL
} lk_packed_kind;

/* The copy of `content` in the layout of `to`; its plain bytes lie in that of `from`. Dimensions
 * and types are equal. */
lk_status lk_pack_content(lk_ops_env *env, lk_content *content, const lk_tensor_desc *from,
                          const lk_tensor_desc *to, lk_packed **out_packed, lk_error *error);

/* Copies between two layouts once: the reorder is not kept. */
lk_status lk_reorder_once(dnnl_engine_t engine, const_dnnl_memory_desc_t from_md, const void *from,
                          const_dnnl_memory_desc_t to_md, void *to, lk_error *error);
