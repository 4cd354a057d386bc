/* The clock of everything that is measured here: CLOCK_MONOTONIC in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

#define CLI_SECOND_NS UINT64_C(1000000000)

uint64_t cli_now_ns(void);
/* The same moment for the functions that wait until it. */
struct timespec cli_timespec(uint64_t ns);
