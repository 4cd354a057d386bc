/* Numbers of threads. */
#include "executor_glue/run/hot_slots.h"

unsigned lk_hot_number(void) {
  static atomic_uint threads;
  static _Thread_local unsigned number; /* from 1; 0: none yet */
  if (number == 0) number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
  return number;
}
