/* What went wrong with requests: sentences, and how often each. */
#pragma once

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sentences hold numbers and may all differ: no more than this many are kept. */
enum { BENCH_FAILURES_KEPT = 8 };

/* {0} is empty. Of one caller; those of several are merged. */
typedef struct bench_failures {
  uint64_t count; /* of all */
  uint32_t n_kept;
  uint64_t counts[BENCH_FAILURES_KEPT]; /* the rest of `count` had other sentences */
  char messages[BENCH_FAILURES_KEPT][LK_ERROR_CAPACITY]; /* in the order in which they came */
} bench_failures;

void bench_failures_note(bench_failures *self, const char *message);
void bench_failures_merge(bench_failures *self, const bench_failures *from);

#ifdef __cplusplus
}
#endif
