/* References to memory that is lent. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

static inline void lk_owner_retain(const lk_owner *owner) {
  if (owner->retain != NULL) owner->retain(owner->object);
}
static inline void lk_owner_release(const lk_owner *owner) {
  if (owner->release != NULL) owner->release(owner->object);
}
/* Whether two owners have the same bytes, and see the same changes of them. */
static inline bool lk_owner_is_same_origin(const lk_owner *a, const lk_owner *b) {
  const bool is_known = a->origin[0] != 0 || a->origin[1] != 0;
  return is_known && a->origin[0] == b->origin[0] && a->origin[1] == b->origin[1];
}
