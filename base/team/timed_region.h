/* A region whose shares are timed: what stands in for its function and argument. So a region that
 * nobody measures has nothing to ask in its shares. */
#pragma once

#include "base/clock.h"

typedef struct lk_timed_region {
  void (*fn)(void *);
  void *arg;
  uint64_t *share_ns; /* the sum */
} lk_timed_region;

static inline void lk_timed_share(void *arg) {
  const lk_timed_region *region = arg;
  const uint64_t begin = lk_now_ns();
  region->fn(region->arg);
  __atomic_fetch_add(region->share_ns, lk_now_ns() - begin, __ATOMIC_RELAXED);
}
