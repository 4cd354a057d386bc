/* Where the elements of a tensor lie, and how loops over several tensors become shorter. */
#pragma once

#include <latchkey/base.h>

/* The distance between neighbours along each dimension of a tensor in its layout, where an element
 * counts as `unit`: 1, or its size in bytes. A dimension of 0 counts as 1. */
void lk_strides(const lk_tensor_desc *desc, int64_t unit, int64_t strides[LK_MAX_RANK]);

/* Drops dimensions of size 1, and merges neighbours that are one dimension in both tensors, whose
 * strides are `a` and `b`. Returns the new rank. */
uint32_t lk_merge_dims(uint32_t rank, int64_t *dims, int64_t *a, int64_t *b);
