/* Poolings with 1 to 3 spatial dimensions, in plain or channels-last layout: maxima of f32, f64, u8
 * and i8, means and sums of f32 and f64.
 *
 * Outputs that lie side by side are computed together: the channels of a place, or in plain layout
 * the outputs of a line. Bound: bytes, where windows do not overlap much. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/reduce/pool_window.h"

/* Sets the second half from the first. */
void lk_pool_plan(lk_pool *self, lk_isa isa);

/* Params: lk_pool. Pointers: from, to, positions. The latter are i32 in the layout of the result:
 * which element of the kernel was the largest, and 0 where nothing was larger than the
 * type's least number. */
lk_status lk_pool_kernel(const void *params, void *const *pointers, lk_error *error);
