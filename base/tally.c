/* Numbers of threads, and the sums of what they counted. */
#include "base/tally.h"

#include <stdatomic.h>

unsigned lk_thread_number(void) {
  static atomic_uint threads;
  /* its memory is found without a call, see team.c */
  static _Thread_local unsigned number __attribute__((tls_model("initial-exec"))); /* 0: none yet */
  if (number == 0) number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
  return number;
}

uint64_t lk_tally_sum(const lk_tally *tally, unsigned which) {
  uint64_t sum = 0;
  for (int i = 0; i < LK_TALLY_LINES; i++) {
    sum += __atomic_load_n(&tally->lines[i].counts[which], __ATOMIC_RELAXED);
  }
  return sum;
}
