/* What runs borrow: execution frames of the executor, and arenas of the context (arena_store.h).
 *
 * A frame is attached to the steps of one run plan, and stays with it until another run plan has
 * none. Up to four for each processor are kept idle, however many shapes there are. A run acquires
 * both before its first operator and releases them after the last.
 *
 * Entries are what the cache holds. The cache may destroy one at any time and on any thread, also
 * after the executor has gone. So each keeps the pool's shell alive, and destroying the pool takes
 * the run plan out of every entry that is left.
 */
#pragma once

#include "executor_glue/run/arena_store.h"
#include "executor_glue/run/execution_frame.h"
#include "executor_glue/run/labels.h"

typedef struct lk_frame_pool lk_frame_pool;
typedef struct lk_plan_entry lk_plan_entry; /* a run plan and its idle frames */

/* What one run has borrowed. */
typedef struct lk_lease {
  lk_execution_frame *frame;
  lk_arena *arena; /* NULL: the run plan needs none */
} lk_lease;

/* `sizes` gets back the records of entries that end; it must outlive the pool's destruction. */
lk_status lk_frame_pool_create(const lk_program *program, lk_size_log *sizes,
                               lk_frame_pool **out_pool, lk_error *error);
/* Frees everything but the shells of entries that the cache still holds. No run may be on. NULL is
 * allowed. */
void lk_frame_pool_destroy(lk_frame_pool *pool);
/* `*out_arena_bytes`: of the context. */
void lk_frame_pool_stats(lk_frame_pool *pool, uint64_t *out_frames, uint64_t *out_arena_bytes);

/* Hands over to the records of sizes what idle frames have counted. */
void lk_frame_pool_count_runs(lk_frame_pool *pool);

/* Takes over the run plan on success. Frames of an entry that is not cached go back to the pool
 * when it is destroyed, and serve the next one. */
lk_status lk_plan_entry_create(lk_frame_pool *pool, lk_run_plan *plan, bool cached,
                               lk_plan_entry **out_entry, lk_error *error);
void lk_plan_entry_destroy(lk_plan_entry *entry); /* NULL is allowed */
const lk_run_plan *lk_plan_entry_plan(const lk_plan_entry *entry);
/* Where the labels of its plan are, once somebody has asked for them. */
lk_labels_place *lk_plan_entry_labels(lk_plan_entry *entry);
/* Where the runs of its plan are counted; before the first one. NULL is allowed. */
void lk_plan_entry_set_size(lk_plan_entry *entry, lk_size_record *size);

/* How an entry stands to the sizes that recur, which another run plan may be better for. */
typedef enum lk_plan_stage {
  LK_PLAN_COUNTED = 0,  /* its uses are counted */
  LK_PLAN_CLAIMED = 1,  /* a run builds another one */
  LK_PLAN_REPLACED = 2, /* another one has taken its place: who keeps this one looks up anew */
  LK_PLAN_SETTLED = 3   /* it is for sizes that recur, or as good as one that is */
} lk_plan_stage;

lk_plan_stage lk_plan_entry_stage(const lk_plan_entry *entry);
void lk_plan_entry_settle(lk_plan_entry *entry);
/* Counts one more use. True for one caller alone: its sizes recur, and this caller builds another
 * one, and ends the claim. */
bool lk_plan_entry_claim(lk_plan_entry *entry);
/* Another one has taken its place, whoever has claimed it. */
void lk_plan_entry_replace(lk_plan_entry *entry);
/* Ends the caller's claim where no other one has taken its place. With `has_tried`, which is that
 * the caller could not build one, it is claimed again after eight times as many uses, else at the
 * next use. */
void lk_plan_entry_end_claim(lk_plan_entry *entry, bool has_tried);

/* Borrows a frame that is attached to the entry's run plan, and an arena. */
lk_status lk_lease_acquire(lk_plan_entry *entry, lk_lease *out_lease, lk_error *error);
void lk_lease_release(lk_plan_entry *entry, lk_lease *lease);
