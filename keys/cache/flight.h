/* Single flight: one build that others wait for, and circles of threads that wait for each other's
 * builds.
 *
 * Who waits for whom is a graph with at most one edge out of each thread: thread -> flight -> its
 * builder. A circle can only be closed by the thread that is about to wait, so it looks then, under
 * one lock of the process: a circle may run through several caches. Explored in
 * tests/promela/flight.pml.
 */
#pragma once

#include "keys/cache/pending.h"

typedef struct lk_flight {
  lk_table_node node; /* in the shard's flights */
  lk_pending pending; /* the builder's; when it is dropped, the flight is in no shard any more */
  const struct lk_thread *builder;
  pthread_cond_t finished;
  uint32_t users; /* builder and waiters; guarded by the shard; the last one frees */
  uint32_t done;  /* written under the shard and `waiting`, read under either */
  lk_ref *result; /* a reference for each waiter; NULL: failed, or not done */
  lk_error error;
} lk_flight;

extern pthread_mutex_t lk_waiting; /* who waits for whom */

/* A flight of the calling thread for `key`, in the shard, which is locked. NULL: no memory. */
lk_flight *lk_flight_create(lk_cache *cache, lk_quota *quota, const lk_key *key);
/* Ends the waiting for a flight whose builder this is: `result`, of which the builder has a
 * reference, goes to all who wait, or with NULL the flight's error. The flight stays in its shard
 * for those who ask next. The key's shard is locked. */
void lk_flight_publish(lk_flight *flight, lk_ref *result);
/* Takes a flight that was published out of its shard, unless its key was dropped. The shard is
 * locked; it is unlocked when this returns. */
void lk_flight_finish(lk_cache *cache, lk_flight *flight);
/* Waits for another thread's build of `key`; LK_CYCLE: this would be for ever. The key's shard is
 * locked; it is unlocked when this returns. `*out_result` has a reference for the caller. */
lk_status lk_flight_wait(lk_cache *cache, lk_flight *flight, const lk_key *key, lk_ref **out_result,
                         lk_error *error);
