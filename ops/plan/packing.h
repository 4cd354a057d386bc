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
  LK_PACKED_INTEGER,
  LK_PACKED_INTEGER_SMALL, /* one bool */
  LK_PACKED_INTEGER_DEPTHWISE,
  LK_PACKED_INTEGER_SCALE,
  LK_PACKED_BITS,
  LK_PACKED_WIDE,      /* f16 or bf16 as f32 */
  LK_PACKED_BY_ENGINE, /* as the bytes of the layout say, which are an engine's */
  LK_PACKED_BY_HOST    /* the same, and they are a host's */
} lk_packed_kind;

/* The copy of `content` in the layout of `to`; its plain bytes lie in that of `from`. Dimensions
 * and types are equal. */
lk_status lk_pack_layout(lk_content *content, const lk_tensor_desc *from, const lk_tensor_desc *to,
                         lk_packed **out_packed, lk_error *error);

/* The copy of `content`, `count` numbers of f16 or bf16, as f32. */
lk_status lk_pack_wide(lk_content *content, uint32_t dtype, int64_t count, lk_packed **out_packed,
                       lk_error *error);

/* What a packer of f32 is given for f16 or bf16. */
typedef struct lk_widening {
  const lk_allocator *allocator; /* outlives the store */
  uint32_t dtype;
  int64_t count;
} lk_widening;

/* lk_content_pack by a packer of f32, for whose `layout` the last number is 0. */
lk_status lk_pack_widened(lk_content *content, const lk_widening *of,
                          const lk_weights_layout *layout, size_t bytes, const lk_packer *packer,
                          lk_packed **out_packed, lk_error *error);
