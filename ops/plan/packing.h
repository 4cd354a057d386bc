/* Packing constants through the weights store. */
#pragma once

#include "keys/weights/weights.h"

/* What packs constants: the first number of the layouts of the weights store. */
typedef enum lk_packed_kind {
  LK_PACKED_LAYOUT = 1, /* from one layout of tensors to another */
  LK_PACKED_CONV,
  LK_PACKED_CONV_TRANSPOSED,
  LK_PACKED_DEPTHWISE,
  LK_PACKED_MATMUL,
  LK_PACKED_RECURRENT,
  LK_PACKED_INTEGER
} lk_packed_kind;

/* The copy of `content` in the layout of `to`; its plain bytes lie in that of `from`. Dimensions
 * and types are equal. */
lk_status lk_pack_layout(lk_content *content, const lk_tensor_desc *from, const lk_tensor_desc *to,
                         lk_packed **out_packed, lk_error *error);
