/* Why the chosen engine left works to native: counted by kind and reason. */
#pragma once

#include <latchkey/context.h>
#include <stdbool.h>

#include "base/alloc.h"

typedef struct lk_left lk_left;

lk_status lk_left_create(const lk_allocator *allocator, lk_left **out_left, lk_error *error);
void lk_left_destroy(lk_left *left); /* NULL is allowed */

/* Counts a work, or one of which a part was left, of the node whose output 0 has this name.
 * `reason` NULL: nobody said. Any thread. */
void lk_left_note(lk_left *left, const char *work, bool is_part, const char *reason,
                  const char *node);
/* Reason `index`, in the order in which they came up. False: there are no more. Any thread. */
bool lk_left_get(lk_left *left, uint32_t index, lk_engine_left_info *out_info);
