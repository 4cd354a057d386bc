/* Single flight: one build that others wait for. */
#include "keys/cache/flight.h"

#include "base/alloc.h"
#include "keys/cache/build.h"
#include "keys/cache/thread_table.h"

pthread_mutex_t lk_waiting = PTHREAD_MUTEX_INITIALIZER;

static void free_flight(lk_cache *cache, lk_flight *flight) {
  pthread_cond_destroy(&flight->finished);
  lk_free(&cache->allocator, flight);
}

/* The shard is locked; it is unlocked when this returns. */
static void release(lk_cache *cache, lk_shard *shard, lk_flight *flight) {
  const bool last = --flight->users == 0;
  pthread_mutex_unlock(&shard->lock);
  if (last) free_flight(cache, flight);
}

lk_flight *lk_flight_create(lk_cache *cache, lk_quota *quota, const lk_key *key) {
  lk_flight *flight = lk_calloc(&cache->allocator, 1, sizeof *flight);
  if (flight == NULL) return NULL;
  flight->builder = &lk_thread_self;
  flight->users = 1;
  pthread_cond_init(&flight->finished, NULL);
  if (!lk_table_insert(&lk_shard_of(cache, key)->flights, key, &flight->node)) {
    free_flight(cache, flight);
    return NULL;
  }
  lk_pending_begin(&flight->pending, cache, quota, key, &flight->node);
  return flight;
}

void lk_flight_publish(lk_flight *flight, lk_ref *result) {
  if (result != NULL) {
    lk_ref_add(result, flight->users - 1);
    flight->result = result;
  }
  /* After this, nobody follows the flight to its builder, which may end. */
  pthread_mutex_lock(&lk_waiting);
  flight->done = 1;
  pthread_mutex_unlock(&lk_waiting);
  pthread_cond_broadcast(&flight->finished);
}

void lk_flight_finish(lk_cache *cache, lk_flight *flight) {
  lk_shard *shard = lk_shard_of(cache, flight->pending.key);
  lk_pending_end(&flight->pending);
  if (!lk_pending_is_dropped(&flight->pending)) lk_table_remove(&shard->flights, &flight->node);
  release(cache, shard, flight);
}

/* Notes that the calling thread is going to wait for `flight`, for `key`. */
static lk_status begin_waiting(lk_cache *cache, lk_flight *flight, const lk_key *key,
                               lk_error *error) {
  lk_thread *self = &lk_thread_self;
  lk_status status = LK_OK;
  pthread_mutex_lock(&lk_waiting);
  /* A flight that is done lets its waiters go, whether they have noticed or not. */
  for (const lk_flight *next = flight; status == LK_OK && next != NULL && next->done == 0;
       next = next->builder->waiting) {
    if (next->builder == self) status = lk_build_fail_cycle(cache, key, error);
  }
  if (status == LK_OK) self->waiting = flight;
  pthread_mutex_unlock(&lk_waiting);
  return status;
}

/* While still a user of the flight. */
static void end_waiting(void) {
  pthread_mutex_lock(&lk_waiting);
  lk_thread_self.waiting = NULL;
  pthread_mutex_unlock(&lk_waiting);
}

lk_status lk_flight_wait(lk_cache *cache, lk_flight *flight, const lk_key *key, lk_ref **out_result,
                         lk_error *error) {
  lk_shard *shard = lk_shard_of(cache, key);
  lk_status status = begin_waiting(cache, flight, key, error);
  *out_result = NULL;
  if (status != LK_OK) {
    pthread_mutex_unlock(&shard->lock);
    return status;
  }
  flight->users++;
  while (flight->done == 0) pthread_cond_wait(&flight->finished, &shard->lock);
  *out_result = flight->result;
  if (flight->result == NULL) {
    status = flight->error.status;
    if (error != NULL) *error = flight->error;
  }
  end_waiting();
  release(cache, shard, flight);
  return status;
}
