/* What went wrong under load: sentences, and how often each. */
#pragma once

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sentences hold numbers and may all differ: no more than this many are kept. */
enum { LOAD_FAILURES_KEPT = 8 };

/* {0} is empty. Of one thread; those of several are merged. */
typedef struct load_failures {
  uint64_t count; /* of all */
  uint32_t n_kept;
  uint64_t counts[LOAD_FAILURES_KEPT]; /* the rest of `count` had other sentences */
  char messages[LOAD_FAILURES_KEPT][LK_ERROR_CAPACITY]; /* in the order in which they came */
} load_failures;

void load_failures_note(load_failures *self, const char *message);
void load_failures_merge(load_failures *self, const load_failures *from);

#ifdef __cplusplus
}
#endif
