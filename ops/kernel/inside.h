/* Which places lie inside: elements of a window in an image, or windows that have an element in it.
 */
#pragma once

#include <stdint.h>

#include "ops/kernel/sizes.h"

/* `count` neighbouring places. The first of them has number `first` and lies at `at`. */
typedef struct lk_inside {
  int64_t first, count, at;
} lk_inside;

/* Of `count` places, `step` apart from `at` on, which may be negative, those from 0 to `size` - 1:
 * they are neighbours. */
static inline lk_inside lk_find_inside(int64_t at, int64_t step, int64_t count, int64_t size) {
  if (at >= 0 && at + (count - 1) * step < size) return (lk_inside){0, count, at};
  /* most are not apart, and need no division */
  const int64_t before = at < 0 ? (step == 1 ? -at : lk_div_up(-at, step)) : 0;
  const int64_t end = at < size ? (step == 1 ? size - at : lk_div_up(size - at, step)) : 0;
  const int64_t first = lk_min(before, count);
  return (lk_inside){first, lk_max(0, lk_min(end, count) - first), at + first * step};
}
