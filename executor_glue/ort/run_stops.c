/* The runs that are on in a thread: a stack. */
#include "executor_glue/ort/run_stops.h"

#include <stddef.h>

static _Thread_local struct {
  unsigned count;
  const volatile uint8_t *stops[LK_ORT_NESTED_RUNS];
} runs;

void lk_ort_run_enter(const volatile uint8_t *stop) {
  const unsigned at = runs.count++;
  if (at < LK_ORT_NESTED_RUNS) runs.stops[at] = stop;
}

void lk_ort_run_leave(void) {
  if (runs.count > 0) runs.count--;
}

const volatile uint8_t *lk_ort_run_stop(void) {
  const unsigned count = runs.count;
  return count > 0 && count <= LK_ORT_NESTED_RUNS ? runs.stops[count - 1] : NULL;
}
