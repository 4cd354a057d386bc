/* What the description of a bind says. */
#pragma once

#include <latchkey/latchkey.h>

/* What a caller's older lk_bind_desc does not have. */
#define LK_BIND_DEFAULTS                                                                           \
  { .in_place_input = -1 }

static inline lk_layout lk_bind_wish(const lk_bind_desc *bind, uint32_t output) {
  return bind->wishes != NULL ? bind->wishes[output] : LK_LAYOUT_ANY;
}

/* Checks the description of an input that comes at run time; `out_elements` may be NULL. */
lk_status lk_bind_size_input(const lk_op *op, const lk_bind_desc *bind, uint32_t index,
                             int64_t *out_elements, lk_error *error);
