/* What run plans borrow while they run: frames with handles and scratch memory, and arenas.
 *
 * An arena belongs to whichever run needs it, so that memory does not grow with the number of
 * shapes. A frame has the handles of one run plan's steps and stays with it; its bytes are charged
 * to the run plan's cache entry. Idle ones are kept up to four for each processor, the rest is
 * freed. Taken before the first operator of a run and given back after the last.
 *
 * Entries are what the cache holds. The cache may end one at any time and on any thread, even after
 * the executor has gone; so an entry keeps the pool's shell alive, and closing the pool takes the
 * run plan out of every entry that is left.
 */
#ifndef LK_RUN_FRAME_POOL_H
#define LK_RUN_FRAME_POOL_H

#include "executor_glue/run/ready_queue.h"
#include "executor_glue/run/run_plan.h"

typedef struct lk_run_pool lk_run_pool;
typedef struct lk_run_entry lk_run_entry; /* a run plan and its idle frames */

typedef struct lk_run_frame {
  struct lk_run_frame *next;
  lk_frame *frame;
  uint32_t *slots;       /* [n_steps] */
  uintptr_t *bases;      /* see lk_run_base */
  void **pointers;       /* [n_operands] */
  lk_ready_queue *turns; /* NULL: the plan has no schedule */
  uint64_t bytes;
} lk_run_frame;

typedef struct lk_run_arena {
  struct lk_run_arena *next;
  void *data;
  uint64_t bytes;
} lk_run_arena;

/* What one run has borrowed. */
typedef struct lk_run_lease {
  lk_run_frame *frame;
  lk_run_arena *arena; /* NULL: the run plan needs none */
} lk_run_lease;

lk_status lk_run_pool_create(const lk_program *program, lk_run_pool **out_pool, lk_error *error);
/* Frees everything but the shells of entries that the cache still holds. No run may be on. */
void lk_run_pool_close(lk_run_pool *pool); /* NULL is allowed */
void lk_run_pool_stats(lk_run_pool *pool, uint64_t *out_frames, uint64_t *out_arena_bytes);

/* Takes over the run plan on success. Frames of an entry that is not cached go back to the pool when
 * it ends, and serve the next one. */
lk_status lk_run_entry_create(lk_run_pool *pool, lk_run_plan *plan, bool cached,
                              lk_run_entry **out_entry, lk_error *error);
void lk_run_entry_destroy(lk_run_entry *entry);
const lk_run_plan *lk_run_entry_plan(const lk_run_entry *entry);

/* Borrows a frame, with the steps' plans attached, and an arena. `*out_charge`: what the entry
 * should be charged from now on, or 0 when that has not changed. */
lk_status lk_run_lease_take(lk_run_entry *entry, lk_run_lease *out_lease, uint64_t *out_charge,
                            lk_error *error);
void lk_run_lease_give(lk_run_entry *entry, lk_run_lease *lease, uint64_t *out_charge);

#endif
