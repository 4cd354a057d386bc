/* What a session's configuration asks of the provider. */
#pragma once

#include "executor_glue/ort/ort.h"

/* In front of every option among a session's configuration entries. */
#define LK_ORT_OPTION_PREFIX "ep.latchkeyexecutionprovider."

enum { LK_ORT_MAX_DISABLED_PASSES = 32 };

typedef struct lk_ort_options {
  lk_context_options context; /* log and allocator unset */
  bool claims_all;            /* groups too that cost more than they gain */
  char *statistics_file;      /* NULL: none */
  char *trace_file;           /* the same */
  char *tuning_file, *engine; /* the same; what `context` points to */
  bool run_statistics;        /* a run may name a file that statistics are written to */
  bool clears, trims;         /* what its cache is to do at once, of a session that lives */
  char *pass_names;           /* what disabled_passes points into */
  const char *disabled_passes[LK_ORT_MAX_DISABLED_PASSES];
  uint32_t n_disabled_passes;
} lk_ort_options;

/* Reads them. The number of threads is the option's, else the session's for one operator, else
 * Latchkey's default. LK_INVALID_ARGUMENT: the sentence names an unknown option. LK_OUT_OF_RANGE:
 * it names an option, its value and what is allowed. Passes check their own names. */
lk_status lk_ort_options_read(const lk_ort *ort, const OrtSessionOptions *session,
                              lk_ort_options *out, lk_error *error);
/* The same for what may be changed while a session lives, with LK_UNSET for what is not given.
 * Nothing of it is to be destroyed. */
lk_status lk_ort_options_change(const char *const *keys, const char *const *values, size_t count,
                                lk_ort_options *out, lk_error *error);
void lk_ort_options_destroy(lk_ort_options *options); /* also of a zeroed one */
