/* Layouts by number: oneDNN's memory descriptors without their dimensions for the two layouts that
 * activations have, and whole descriptors, interned by full comparison, for packed weights. */
#pragma once

#include <stdbool.h>

#include "ops/plan/env.h"

/* Numbers from here on are interned; smaller ones are fixed in base.h. */
#define LK_LAYOUT_FIRST_INTERNED ((lk_layout)16)

lk_status lk_layouts_create(const lk_allocator *allocator, lk_layouts **out_layouts,
                            lk_error *error);
void lk_layouts_destroy(lk_layouts *layouts);

/* The number of the layout that `md` has: plain, or a number that stands for all of `md`,
 * dimensions included, since the places of packed weights depend on them. */
lk_status lk_layouts_intern(lk_layouts *layouts, const_dnnl_memory_desc_t md, lk_layout *out_layout,
                            lk_error *error);

/* Makes the descriptor of a tensor: plain, channels-last, "any" (LK_LAYOUT_ANY), or interned, whose
 * dimensions and type must then be those of the interned one. A scalar becomes rank 1. */
lk_status lk_layouts_memory_desc(lk_layouts *layouts, const lk_tensor_desc *desc,
                                 dnnl_memory_desc_t *out_md, lk_error *error);

/* Bytes of a tensor in its layout. */
lk_status lk_layouts_bytes(lk_layouts *layouts, const lk_tensor_desc *desc, uint64_t *out_bytes,
                           lk_error *error);

/* The two fixed layouts put these dimensions at the same places: one channel, or one pixel. */
bool lk_layout_same_bytes(const lk_tensor_desc *desc, lk_layout a, lk_layout b);
