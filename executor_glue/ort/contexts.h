/* Contexts that sessions with the same options share, with their cache and their packed weights. */
#ifndef LK_ORT_CONTEXTS_H
#define LK_ORT_CONTEXTS_H

#include <pthread.h>

#include "base/fork.h"
#include "executor_glue/ort/ort.h"

typedef struct lk_ort_context {
  struct lk_ort_context *next;
  lk_context_options options; /* what it was asked for with */
  lk_context *context;
  uint32_t users; /* guarded by the list's mutex */
} lk_ort_context;

typedef struct lk_ort_contexts {
  const lk_ort *ort;
  const OrtLogger *logger; /* for lines of contexts: lives as long as the registration */
  lk_fork_entry fork;
  pthread_mutex_t mutex;
  lk_ort_context *first; /* guarded by mutex */
} lk_ort_contexts;

void lk_ort_contexts_init(lk_ort_contexts *contexts, const lk_ort *ort, const OrtLogger *logger);
void lk_ort_contexts_end(lk_ort_contexts *contexts); /* nobody uses one any more */

/* The one with these options, or a new one. */
lk_status lk_ort_contexts_get(lk_ort_contexts *contexts, const lk_context_options *options,
                              lk_ort_context **out, lk_error *error);
/* The last user ends it. NULL is allowed. */
void lk_ort_contexts_release(lk_ort_contexts *contexts, lk_ort_context *context);

#endif
