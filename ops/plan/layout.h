/* The layouts that tensors have: LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST and
 * LK_LAYOUT_HEADS_INSIDE, all without gaps. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

/* Whether it is one of the two, with a rank that it can have. */
bool lk_layout_fits(const lk_tensor_desc *desc);

/* Bytes of a tensor in its layout. LK_INVALID_ARGUMENT: the layout does not fit; and what
 * lk_tensor_size says. */
lk_status lk_layout_bytes(const lk_tensor_desc *desc, uint64_t *out_bytes, lk_error *error);

/* The two layouts put these dimensions at the same places: one channel, one pixel, one head. */
bool lk_layout_same_bytes(const lk_tensor_desc *desc, lk_layout a, lk_layout b);
