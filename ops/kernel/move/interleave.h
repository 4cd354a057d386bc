/* Elements of two or four arrays in turns: coordinates of points or of boxes, say.
 *
 * Bound: bytes, each read and written once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LK_INTERLEAVE_ARRAYS = 4 }; /* at the most */

/* `from`: the arrays, each of `count` elements. */
typedef void lk_interleave_fn(void *const *from, int64_t count, char *to);

/* For so many arrays of elements of so many bytes. NULL: there is none. */
lk_interleave_fn *lk_interleave_find(uint32_t arrays, size_t element);
