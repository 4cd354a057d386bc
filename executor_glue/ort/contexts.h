/* Contexts that sessions with the same options share, with their cache and their packed weights. */
#pragma once

#include <pthread.h>

#include "base/fork.h"
#include "executor_glue/ort/ort.h"

typedef struct lk_ort_contexts lk_ort_contexts;

typedef struct lk_ort_context {
  const lk_ort *ort;
  lk_context *handle;
  lk_ort_contexts *owner;
  lk_context_options options; /* what it was asked for with */
  char *tuning, *engine;      /* NULL, or what `options` points to */
  struct lk_ort_context *next, **link;
  uint32_t users; /* guarded by the owner's mutex */
} lk_ort_context;

struct lk_ort_contexts {
  const lk_ort *ort;
  const OrtLogger *logger; /* for lines of contexts: lives as long as the registration */
  lk_fork_entry fork;
  pthread_mutex_t mutex;
  lk_ort_context *first; /* guarded by mutex */
};

void lk_ort_contexts_create(const lk_ort *ort, const OrtLogger *logger, lk_ort_contexts *out);
void lk_ort_contexts_destroy(lk_ort_contexts *contexts); /* when none is used any more */

/* The context with these options, which is made for its first user. */
lk_status lk_ort_context_retain(lk_ort_contexts *contexts, const lk_context_options *options,
                                lk_ort_context **out, lk_error *error);
/* The last user's release destroys it. NULL is allowed. */
void lk_ort_context_release(lk_ort_context *context);
