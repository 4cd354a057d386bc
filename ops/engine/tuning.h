/* What works took by native and by an engine, as it was measured: found by value key or by size
 * class, noted, and kept as text for other processes (tuning_line.h has the lines). Any thread. */
#pragma once

#include "ops/engine/tuning_line.h"

typedef struct lk_tuning lk_tuning;

/* `allocator` and `intern` must outlive it. */
lk_status lk_tuning_create(const lk_allocator *allocator, lk_intern *intern, lk_tuning **out_tuning,
                           lk_error *error);
void lk_tuning_destroy(lk_tuning *tuning); /* NULL is allowed */

/* Whether nothing is known: one read, so that nobody makes a key for nothing. */
bool lk_tuning_is_empty(const lk_tuning *tuning);
uint64_t lk_tuning_works(const lk_tuning *tuning); /* of which times are known */
/* Lines that lk_tuning_read has skipped, and times of works that there was no place for: at most
 * 65,536 works are kept. */
uint64_t lk_tuning_skipped(const lk_tuning *tuning);
/* Of lk_tuning_works, those by this engine in this state. Looks at each. */
uint64_t lk_tuning_fitting(lk_tuning *tuning, const lk_key_engine *engine);

/* False: nothing is known of the work. `key`: a complete value key (lk_key_complete). */
bool lk_tuning_find(lk_tuning *tuning, const lk_key *key, lk_tuned *out_times);
/* The sums of the times of all works of a size class. They are of however many works: only the
 * ratio of both says something of another one. `key`: that of the class as a work (size_class.h),
 * of the same engine. False: nothing is known of any work of the class. */
bool lk_tuning_find_class(lk_tuning *tuning, const lk_key *key, lk_tuned *out_times);
/* LK_OUT_OF_RANGE: a time is not a finite number above 0. */
lk_status lk_tuning_check(const lk_tuned *times, lk_error *error);
/* Adds to what is known of the work, whose names the caller has uses of. LK_OUT_OF_RANGE: a time is
 * not a finite number above 0, or all times of the work together are over 1e300.
 * LK_OUT_OF_MEMORY. */
lk_status lk_tuning_note(lk_tuning *tuning, const lk_key *key, const lk_tuned *times,
                         lk_error *error);

/* Adds what lines of text [bytes] say, which need not end with a 0. Empty lines, and those that
 * begin with '#', say nothing; lines that are damaged or of another version are skipped, and
 * counted. What is read counts as saved. Fails only where there is no memory: what was read before
 * stays. */
lk_status lk_tuning_read(lk_tuning *tuning, const char *text, size_t bytes, lk_error *error);

/* What was noted and is not saved, as lines. */
typedef struct lk_tuning_lines {
  char *text; /* [bytes]; NULL: nothing was noted */
  size_t bytes;
  uint64_t works;                /* lines */
  struct lk_tuning_taken *taken; /* [works]: tuning.c's */
} lk_tuning_lines;

/* Takes out what is not saved. It is in these lines until lk_tuning_settle, and nobody else gets it
 * meanwhile, so that two who save at once save nothing twice; what is noted from now on is for the
 * next one. No lock is held between the two. A child of a fork has what is not saved as well as its
 * parent; what is in lines of the parent's is the parent's. LK_OUT_OF_MEMORY: nothing is taken. */
lk_status lk_tuning_write(lk_tuning *tuning, lk_tuning_lines *out_lines, lk_error *error);
/* Ends lines that lk_tuning_write gave: they are saved, or else all of them are not saved as
 * before. Cannot fail. */
void lk_tuning_settle(lk_tuning *tuning, lk_tuning_lines *lines, bool is_saved);
