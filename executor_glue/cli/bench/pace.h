/* When requests are due, with --rate: at equal distances, whether or not earlier ones are answered.
 *
 * A client that waits for its answer sends nothing while the process stalls, and sees the stall
 * once. Here all that were due meanwhile wait, and their latency says so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_pace {
  double interval_ns; /* between two requests; 0: each is due when a caller is free */
  uint64_t first;     /* the number of the request that is due at `begin_ns` */
  uint64_t begin_ns;  /* CLOCK_MONOTONIC, as the next two */
  uint64_t until_ns;  /* what is due, or without a rate would begin, at or after it is not sent */
  uint64_t last_ns;   /* what was due and has not begun by then is not either */
} bench_pace;

/* From now on, and for as long again behind `until_ns`. `rate`: in a second; 0: there is none.
 * `until_ns` may be UINT64_MAX. */
bench_pace bench_pace_begin(double rate, uint64_t first, uint64_t until_ns);
/* When a request is due, with a rate. */
uint64_t bench_pace_due(const bench_pace *pace, uint64_t number);
/* Whether a request may begin now, or with a rate when it is due. */
bool bench_pace_allows(const bench_pace *pace, uint64_t number);
/* How many of the requests from `first` to less than `end` were due until now; 0 without a rate. */
uint64_t bench_pace_count_due(const bench_pace *pace, uint64_t end);

#ifdef __cplusplus
}
#endif
