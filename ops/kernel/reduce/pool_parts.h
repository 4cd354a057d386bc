/* Windows of so many elements that what may stop them is looked at within: in parts, whose results
 * are put together. Sums are sums of the parts' sums. */
#pragma once

#include "base/team/look.h"
#include "ops/kernel/reduce/pool_window.h"

/* What pool->run(call) does, for a call without `divisors`. */
void lk_pool_run_parts(const lk_pool *pool, const lk_pool_call *call);

static inline int64_t lk_pool_taps(const lk_pool_call *call) {
  return call->taps[0] * call->taps[1] * call->taps[2];
}

/* pool->run(call), of windows of any size. */
static inline void lk_pool_run(const lk_pool *pool, const lk_pool_call *call) {
  if (lk_pool_taps(call) > LK_LOOK_EACH && call->divisors == NULL) {
    lk_pool_run_parts(pool, call);
  } else {
    pool->run(call);
  }
}
