/* The clock of all that is measured and waited for: CLOCK_MONOTONIC in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

#define LK_SECOND_NS UINT64_C(1000000000)

static inline uint64_t lk_now_ns(void) {
  struct timespec now = {0, 0}; /* where a sandbox forbids the clock, no deadline passes */
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * LK_SECOND_NS + (uint64_t)now.tv_nsec;
}

/* The same moment for the functions that wait until it. */
static inline struct timespec lk_timespec(uint64_t ns) {
  return (struct timespec){(time_t)(ns / LK_SECOND_NS), (long)(ns % LK_SECOND_NS)};
}
