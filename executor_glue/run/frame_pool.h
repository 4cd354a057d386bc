/* What runs borrow: execution frames and arenas.
 *
 * An arena belongs to whichever run needs it, so that memory does not grow with the number of
 * shapes. A frame has the handles of one run plan's steps and stays with it; its bytes are charged
 * to the run plan's cache entry. Idle ones are kept, up to four for each processor. A run acquires
 * them before its first operator and releases them after the last.
 *
 * Entries are what the cache holds. The cache may destroy one at any time and on any thread, also
 * after the executor has gone. So each keeps the pool's shell alive, and destroying the pool takes
 * the run plan out of every entry that is left.
 */
#pragma once

#include "executor_glue/run/execution_frame.h"

typedef struct lk_frame_pool lk_frame_pool;
typedef struct lk_plan_entry lk_plan_entry; /* a run plan and its idle frames */

/* Memory for the activations of one run. */
typedef struct lk_arena {
  struct lk_arena *next;
  void *data;
  uint64_t bytes;
} lk_arena;

/* What one run has borrowed. */
typedef struct lk_lease {
  lk_execution_frame *frame;
  lk_arena *arena; /* NULL: the run plan needs none */
} lk_lease;

lk_status lk_frame_pool_create(const lk_program *program, lk_frame_pool **out_pool,
                               lk_error *error);
/* Frees everything but the shells of entries that the cache still holds. No run may be on. NULL is
 * allowed. */
void lk_frame_pool_destroy(lk_frame_pool *pool);
void lk_frame_pool_stats(lk_frame_pool *pool, uint64_t *out_frames, uint64_t *out_arena_bytes);

/* Takes over the run plan on success. Frames of an entry that is not cached go back to the pool
 * when it is destroyed, and serve the next one. */
lk_status lk_plan_entry_create(lk_frame_pool *pool, lk_run_plan *plan, bool cached,
                               lk_plan_entry **out_entry, lk_error *error);
void lk_plan_entry_destroy(lk_plan_entry *entry); /* NULL is allowed */
const lk_run_plan *lk_plan_entry_plan(const lk_plan_entry *entry);

/* Borrows a frame that is attached to the entry's run plan, and an arena. `*out_charge`: what the
 * entry should be charged from now on, or 0 when that has not changed. */
lk_status lk_lease_acquire(lk_plan_entry *entry, lk_lease *out_lease, uint64_t *out_charge,
                           lk_error *error);
void lk_lease_release(lk_plan_entry *entry, lk_lease *lease, uint64_t *out_charge);
