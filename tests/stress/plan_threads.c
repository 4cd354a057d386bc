/* What no public function tells. In C, as the library's own headers are. */
#include "tests/stress/plan_threads.h"

#include "plugin/internal.h"

int32_t stress_plan_threads(const lk_plan *plan) {
  const lk_plan_body *body = lk_plan_get_body(plan);
  for (uint32_t i = 0; i < body->n_primitives; i++) {
    lk_key_reader reader = lk_key_read(lk_ref_key(body->primitives[i]));
    while (lk_key_next(&reader)) {
      const lk_key_call *call = reader.record;
      if (reader.type != LK_RECORD_CALL || call->threads == 0) continue; /* 0: it does not say */
      if (call->threads != body->threads) return 0;
    }
  }
  return body->threads;
}
