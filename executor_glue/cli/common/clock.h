/* The clock of everything that is measured here: CLOCK_MONOTONIC in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

#define CLI_SECOND_NS UINT64_C(1000000000)

static inline uint64_t cli_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * CLI_SECOND_NS + (uint64_t)now.tv_nsec;
}

/* The same moment for the functions that wait until it. */
static inline struct timespec cli_timespec(uint64_t ns) {
  return (struct timespec){.tv_sec = (time_t)(ns / CLI_SECOND_NS),
                           .tv_nsec = (long)(ns % CLI_SECOND_NS)};
}
