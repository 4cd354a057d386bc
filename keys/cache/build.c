/* Builds: calling them, telling a thread that would build what it is building already, and finding
 * circles of threads that wait for each other's builds.
 *
 * Who waits for whom is a graph with at most one edge out of each thread: thread -> flight -> its
 * builder. A circle can only be closed by the thread that is about to wait, so it looks then, under
 * one lock of the process: a circle may run through several caches. Explored in tests/promela/flight.pml.
 */
#include <stdio.h>
#include <time.h>

#include "base/status.h"
#include "keys/cache/internal.h"

pthread_mutex_t lk_waiting = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#define KEY_NAME_CAPACITY 128

static void word_text(const lk_cache *cache, uint32_t id, char *buffer, size_t capacity) {
  const char *text = cache->words != NULL ? lk_intern_text(cache->words, id) : NULL;
  if (text != NULL) {
    (void)snprintf(buffer, capacity, "%s", text);
  } else {
    (void)snprintf(buffer, capacity, "#%u", id);
  }
}

/* "convolution of 'out'" */
static const char *key_name(const lk_cache *cache, const lk_key *key,
                            char buffer[KEY_NAME_CAPACITY]) {
  char op[KEY_NAME_CAPACITY / 2 - 8];
  char out[KEY_NAME_CAPACITY / 2];
  word_text(cache, lk_key_get_head(key)->op, op, sizeof op);
  word_text(cache, lk_key_get_head(key)->out, out, sizeof out);
  (void)snprintf(buffer, KEY_NAME_CAPACITY, "%s of '%s'", op[0] != '\0' ? op : "value", out);
  return buffer;
}

lk_status lk_build(lk_cache *cache, lk_quota *quota, const lk_key *key, lk_build_fn build,
                   void *arg, lk_entry **out_entry, lk_error *error) {
  *out_entry = NULL;
  const uint32_t kind = lk_key_get_head(key)->kind;
  lk_thread *self = &lk_thread_self;
  lk_build_frame frame = {.outer = self->building, .cache = cache, .key = key};
  lk_built built = {0};
  char name[KEY_NAME_CAPACITY];

  if (error != NULL) {
    error->status = LK_OK;
    error->message[0] = '\0';
  }
  self->building = &frame;
  const uint64_t start = now_ns();
  lk_status status = build(arg, &built, error);
  const uint64_t build_ns = now_ns() - start;
  self->building = frame.outer;

  if (status != LK_OK) {
    if (error != NULL && error->message[0] == '\0') {
      status = lk_fail(error, status, "failed to build %s: %s", key_name(cache, key, name),
                       lk_status_text(status));
    }
    if (error != NULL) error->status = status;
  } else if (built.value == NULL) {
    status = lk_fail(error, LK_INTERNAL, "failed to build %s: no value, a build must give one",
                     key_name(cache, key, name));
  } else {
    status = lk_entry_create(cache, quota, key, &built, out_entry, error);
  }
  lk_count(cache, quota, kind, status == LK_OK ? LK_EVENT_BUILD : LK_EVENT_FAILED, build_ns);
  return status;
}

static lk_status cycle(const lk_cache *cache, const lk_key *key, const lk_cache *other_cache,
                       const lk_key *other, lk_error *error) {
  char name[KEY_NAME_CAPACITY];
  char other_name[KEY_NAME_CAPACITY];
  return lk_fail(error, LK_CYCLE,
                 "failed to build %s: its build asks for %s, which would wait for it",
                 key_name(other_cache, other, other_name), key_name(cache, key, name));
}

lk_status lk_build_check(const lk_cache *cache, const lk_key *key, lk_error *error) {
  const lk_build_frame *innermost = lk_thread_self.building;
  for (const lk_build_frame *frame = innermost; frame != NULL; frame = frame->outer) {
    if (frame->cache == cache && lk_key_equal(frame->key, key)) {
      return cycle(cache, key, innermost->cache, innermost->key, error);
    }
  }
  return LK_OK;
}

lk_status lk_wait_begin(lk_cache *cache, lk_flight *flight, const lk_key *key, lk_error *error) {
  lk_thread *self = &lk_thread_self;
  lk_status status = LK_OK;
  pthread_mutex_lock(&lk_waiting);
  /* A flight that is done lets its waiters go, whether they have noticed or not. */
  for (const lk_flight *next = flight; next != NULL && next->done == 0;
       next = next->builder->waiting) {
    if (next->builder == self) {
      status = cycle(cache, key, self->building->cache, self->building->key, error);
      break;
    }
  }
  if (status == LK_OK) self->waiting = flight;
  pthread_mutex_unlock(&lk_waiting);
  return status;
}

void lk_wait_done(lk_flight *flight) {
  /* After this, nobody follows the flight to its builder, which may end. */
  pthread_mutex_lock(&lk_waiting);
  flight->done = 1;
  pthread_mutex_unlock(&lk_waiting);
}

void lk_wait_end(void) {
  pthread_mutex_lock(&lk_waiting);
  lk_thread_self.waiting = NULL;
  pthread_mutex_unlock(&lk_waiting);
}
