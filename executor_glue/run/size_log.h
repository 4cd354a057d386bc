/* The sizes that an executor has built run plans for: shapes and types of the inputs, values that
 * shapes depend on, which outputs were wanted. For each, how often and how long it was built, and
 * how many runs it had.
 *
 * Only a build looks here, and a record is small beside what it builds. There are LK_SIZES_MAX at
 * the most: a further one takes the place of that which has been without a run plan for the longest
 * time. Where all have one, a size goes without a record.
 *
 * Threads: any number may call these functions at the same time, but for create and destroy.
 */
#pragma once

#include <latchkey/session.h>

#include <stdbool.h>

enum { LK_SIZES_MAX = 4096 };

typedef struct lk_size_log lk_size_log;
typedef struct lk_size_record lk_size_record;

/* `name`, of the part of the model, is copied. */
lk_status lk_size_log_create(const lk_allocator *allocator, const char *name, lk_size_log **out_log,
                             lk_error *error);
/* No record may be in use. NULL is allowed. */
void lk_size_log_destroy(lk_size_log *log);

/* What a run plan was built for, and what that took. */
typedef struct lk_size_build {
  const lk_tensor_desc *inputs; /* [n_inputs]: zeros beyond the rank */
  const lk_tensor *values;      /* [n_values] */
  uint32_t n_inputs, n_values;
  uint64_t begin_ns, end_ns;
  uint64_t bytes; /* of the run plan */
  bool recurs;    /* the plan is for a size that has come several times */
} lk_size_build;

/* Notes a build. The record is in use until it is released; NULL: the size has none. */
lk_status lk_size_log_add(lk_size_log *log, const lk_size_build *build, lk_size_record **out_record,
                          lk_error *error);
/* Whether a plan of this size was for one that recurs. It may be gone meanwhile. False where there
 * is no memory to look. */
bool lk_size_log_recurs(lk_size_log *log, const lk_size_build *size);
void lk_size_record_add_runs(lk_size_record *record, uint64_t count);
/* The run plan is gone. `record`: NULL is allowed. */
void lk_size_log_release(lk_size_log *log, lk_size_record *record);

/* Shows all records, those that were built first at first. `visit` runs without a lock. */
lk_status lk_size_log_visit(lk_size_log *log, lk_size_fn visit, void *arg, lk_error *error);
/* How many sizes have no record, or lost it. */
uint64_t lk_size_log_lost(lk_size_log *log);
