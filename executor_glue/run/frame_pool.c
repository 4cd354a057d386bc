/* The pool of frames and arenas, the entries that the cache holds, and what runs borrow. Explored
 * in tests/promela/hot.pml. */
#include "executor_glue/run/frame_pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"

/* There are at most as many runs as the host has threads, and the kernel changes between them:
 * about so many for each processor are in the middle of a run at a time. */
enum { IDLE_PER_PROCESSOR = 4 };

struct lk_frame_pool {
  const lk_program *program; /* until the pool is destroyed */
  const lk_allocator *allocator;
  uint32_t max_idle;
  atomic_uint_least64_t n_frames_alive, arena_bytes_alive;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards everything below, and the lists of all entries */
  pthread_cond_t idle;   /* `ending` has become 0 */
  uint32_t references;   /* the executor's, and one for each entry */
  uint32_t ending;       /* entries being destroyed on other threads */
  bool closed;
  lk_plan_entry *entries;
  lk_arena *arenas;           /* idle */
  lk_execution_frame *frames; /* idle, of no run plan */
  uint32_t n_arenas, n_frames;
};

struct lk_plan_entry {
  lk_frame_pool *pool;
  lk_plan_entry *next, *previous;
  lk_run_plan *plan; /* NULL once the pool is destroyed */
  lk_execution_frame *idle;
  uint32_t n_idle;
  /* One more idle frame, for plans without an arena: taken and given without the lock. */
  _Atomic(lk_execution_frame *) hot;
  uint64_t frame_bytes; /* of all its frames, idle or lent */
  bool cached;
};

/* ---- frames and arenas; none of these is called with the lock ---- */

static lk_status make_frame(lk_frame_pool *pool, lk_execution_frame **out_frame, lk_error *error) {
  LK_RETURN_NOT_OK(lk_execution_frame_create(pool->program, out_frame, error));
  atomic_fetch_add_explicit(&pool->n_frames_alive, 1, memory_order_relaxed);
  return LK_OK;
}

static void free_frame(lk_frame_pool *pool, lk_execution_frame *frame) {
  if (frame == NULL) return;
  lk_execution_frame_destroy(pool->program, frame);
  atomic_fetch_sub_explicit(&pool->n_frames_alive, 1, memory_order_relaxed);
}

static lk_status make_arena(lk_frame_pool *pool, uint64_t bytes, lk_arena **out_arena,
                            lk_error *error) {
  *out_arena = NULL;
  lk_arena *arena = lk_calloc(pool->allocator, 1, sizeof *arena);
  void *data = arena != NULL ? lk_alloc_aligned(pool->allocator, bytes, LK_DATA_ALIGNMENT) : NULL;
  if (data == NULL) {
    lk_free(pool->allocator, arena);
    return lk_fail_memory(error, "an arena", bytes);
  }
  *arena = (lk_arena){.data = data, .bytes = bytes};
  *out_arena = arena;
  atomic_fetch_add_explicit(&pool->arena_bytes_alive, bytes, memory_order_relaxed);
  return LK_OK;
}

static void free_arenas(lk_frame_pool *pool, lk_arena *arenas) {
  while (arenas != NULL) {
    lk_arena *next = arenas->next;
    atomic_fetch_sub_explicit(&pool->arena_bytes_alive, arenas->bytes, memory_order_relaxed);
    lk_free(pool->allocator, arenas->data);
    lk_free(pool->allocator, arenas);
    arenas = next;
  }
}

/* Keeps the frame for the next run plan, if there is room. */
static void recycle_frame(lk_frame_pool *pool, lk_execution_frame *frame) {
  lk_execution_frame_detach(pool->program, frame);
  pthread_mutex_lock(&pool->mutex);
  const bool keep = pool->n_frames < pool->max_idle && !pool->closed;
  if (keep) {
    frame->next = pool->frames;
    pool->frames = frame;
    pool->n_frames++;
  }
  pthread_mutex_unlock(&pool->mutex);
  if (!keep) free_frame(pool, frame);
}

static void free_frames(lk_frame_pool *pool, lk_execution_frame *frames, bool recycle) {
  while (frames != NULL) {
    lk_execution_frame *next = frames->next;
    if (recycle) {
      recycle_frame(pool, frames);
    } else {
      free_frame(pool, frames);
    }
    frames = next;
  }
}

/* ---- the pool ---- */

/* A child of fork: what other threads ran stays with them, and nobody waits for it. */
static void forget_other_threads(void *object) {
  lk_frame_pool *pool = object;
  pool->ending = 0;
  (void)pthread_cond_init(&pool->idle, NULL);
}

lk_status lk_frame_pool_create(const lk_program *program, lk_frame_pool **out_pool,
                               lk_error *error) {
  *out_pool = NULL;
  lk_frame_pool *pool = lk_calloc(program->allocator, 1, sizeof *pool);
  if (pool == NULL) return lk_fail_memory(error, "a pool of frames", sizeof *pool);
  pool->program = program;
  pool->allocator = program->allocator;
  pool->max_idle = IDLE_PER_PROCESSOR * (uint32_t)program->api->processors_get();
  pool->references = 1;
  /* With default attributes these cannot fail on glibc. */
  (void)pthread_mutex_init(&pool->mutex, NULL);
  (void)pthread_cond_init(&pool->idle, NULL);
  pool->fork = (lk_fork_entry){
      .level = LK_FORK_LEAF, .mutex = &pool->mutex, .child = forget_other_threads, .object = pool};
  lk_fork_enter(&pool->fork);
  *out_pool = pool;
  return LK_OK;
}

static void release_pool(lk_frame_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  bool last = --pool->references == 0;
  pthread_mutex_unlock(&pool->mutex);
  if (!last) return;
  lk_fork_leave(&pool->fork);
  pthread_cond_destroy(&pool->idle);
  pthread_mutex_destroy(&pool->mutex);
  lk_free(pool->allocator, pool);
}

/* All idle frames of an entry that nobody runs. */
static lk_execution_frame *take_idle(lk_plan_entry *entry) {
  lk_execution_frame *frames = entry->idle;
  lk_execution_frame *hot = atomic_exchange(&entry->hot, NULL);
  entry->idle = NULL;
  if (hot == NULL) return frames;
  hot->next = frames;
  return hot;
}

static void unlink_entry(lk_plan_entry *entry) {
  if (entry->previous != NULL) {
    entry->previous->next = entry->next;
  } else {
    entry->pool->entries = entry->next;
  }
  if (entry->next != NULL) entry->next->previous = entry->previous;
}

void lk_frame_pool_destroy(lk_frame_pool *pool) {
  if (pool == NULL) return;
  pthread_mutex_lock(&pool->mutex);
  pool->closed = true;
  while (pool->entries != NULL) {
    lk_plan_entry *entry = pool->entries;
    unlink_entry(entry);
    lk_run_plan *plan = entry->plan;
    lk_execution_frame *frames = take_idle(entry);
    entry->plan = NULL;
    pthread_mutex_unlock(&pool->mutex);
    free_frames(pool, frames, false);
    lk_run_plan_destroy(plan);
    pthread_mutex_lock(&pool->mutex);
  }
  while (pool->ending > 0) pthread_cond_wait(&pool->idle, &pool->mutex);
  lk_execution_frame *frames = pool->frames;
  lk_arena *arenas = pool->arenas;
  pool->frames = NULL;
  pool->arenas = NULL;
  pthread_mutex_unlock(&pool->mutex);
  free_frames(pool, frames, false);
  free_arenas(pool, arenas);
  release_pool(pool);
}

void lk_frame_pool_stats(lk_frame_pool *pool, uint64_t *out_frames, uint64_t *out_arena_bytes) {
  *out_frames = atomic_load_explicit(&pool->n_frames_alive, memory_order_relaxed);
  *out_arena_bytes = atomic_load_explicit(&pool->arena_bytes_alive, memory_order_relaxed);
}

/* ---- entries ---- */

lk_status lk_plan_entry_create(lk_frame_pool *pool, lk_run_plan *plan, bool cached,
                               lk_plan_entry **out_entry, lk_error *error) {
  *out_entry = NULL;
  lk_plan_entry *entry = lk_calloc(pool->allocator, 1, sizeof *entry);
  if (entry == NULL) return lk_fail_memory(error, "a run plan's entry", sizeof *entry);
  entry->pool = pool;
  entry->plan = plan;
  entry->cached = cached;
  pthread_mutex_lock(&pool->mutex);
  pool->references++;
  entry->next = pool->entries;
  if (entry->next != NULL) entry->next->previous = entry;
  pool->entries = entry;
  pthread_mutex_unlock(&pool->mutex);
  *out_entry = entry;
  return LK_OK;
}

void lk_plan_entry_destroy(lk_plan_entry *entry) {
  if (entry == NULL) return;
  lk_frame_pool *pool = entry->pool;
  lk_arena *arenas = NULL;
  pthread_mutex_lock(&pool->mutex);
  lk_run_plan *plan = entry->plan;
  lk_execution_frame *frames = take_idle(entry);
  if (plan != NULL) {
    unlink_entry(entry);
    pool->ending++;
    /* Nothing is cached any more: memory of activations is not kept either. */
    if (entry->cached && pool->entries == NULL) {
      arenas = pool->arenas;
      pool->arenas = NULL;
      pool->n_arenas = 0;
    }
  }
  pthread_mutex_unlock(&pool->mutex);
  if (plan != NULL) {
    free_arenas(pool, arenas);
    free_frames(pool, frames, !entry->cached);
    lk_run_plan_destroy(plan);
    pthread_mutex_lock(&pool->mutex);
    if (--pool->ending == 0) pthread_cond_broadcast(&pool->idle);
    pthread_mutex_unlock(&pool->mutex);
  }
  lk_free(pool->allocator, entry);
  release_pool(pool);
}

const lk_run_plan *lk_plan_entry_plan(const lk_plan_entry *entry) {
  return entry->plan;
}

/* ---- leases ---- */

/* Whether `a` serves better than `b` where `bytes` are needed: the smaller one of two that are
 * large enough, else the larger one. */
static bool serves_better(const lk_arena *a, const lk_arena *b, uint64_t bytes) {
  const bool a_fits = a->bytes >= bytes, b_fits = b->bytes >= bytes;
  if (a_fits != b_fits) return a_fits;
  return a_fits ? a->bytes < b->bytes : a->bytes > b->bytes;
}

/* With the mutex. NULL: none is idle. It may be too small. */
static lk_arena *take_arena(lk_frame_pool *pool, uint64_t bytes) {
  lk_arena **best = &pool->arenas;
  if (*best == NULL) return NULL;
  for (lk_arena **at = &(*best)->next; *at != NULL; at = &(*at)->next) {
    if (serves_better(*at, *best, bytes)) best = at;
  }
  lk_arena *arena = *best;
  *best = arena->next;
  arena->next = NULL;
  pool->n_arenas--;
  return arena;
}

/* Takes what is idle out of the entry and the pool. True: `lease->frame` is of the entry's run
 * plan; else it is of none, or NULL. */
static bool take_idle_lease(lk_plan_entry *entry, lk_lease *lease) {
  lk_frame_pool *pool = entry->pool;
  pthread_mutex_lock(&pool->mutex);
  const bool attached = entry->idle != NULL;
  if (attached) {
    lease->frame = entry->idle;
    entry->idle = lease->frame->next;
    entry->n_idle--;
  } else if (pool->frames != NULL) {
    lease->frame = pool->frames;
    pool->frames = lease->frame->next;
    pool->n_frames--;
  }
  if (entry->plan->arena_bytes > 0) lease->arena = take_arena(pool, entry->plan->arena_bytes);
  pthread_mutex_unlock(&pool->mutex);
  return attached;
}

static lk_status attach_frame(lk_plan_entry *entry, lk_execution_frame *frame, uint64_t *out_charge,
                              lk_error *error) {
  lk_frame_pool *pool = entry->pool;
  LK_RETURN_NOT_OK(lk_execution_frame_attach(frame, entry->plan, error));
  pthread_mutex_lock(&pool->mutex);
  entry->frame_bytes += frame->bytes;
  *out_charge = entry->plan->bytes + entry->frame_bytes;
  pthread_mutex_unlock(&pool->mutex);
  return LK_OK;
}

lk_status lk_lease_acquire(lk_plan_entry *entry, lk_lease *out_lease, uint64_t *out_charge,
                           lk_error *error) {
  lk_status status = LK_OK;
  lk_frame_pool *pool = entry->pool;
  const uint64_t arena_bytes = entry->plan->arena_bytes;
  lk_lease lease = {0};
  *out_lease = lease;
  *out_charge = 0;
  if (arena_bytes == 0) {
    out_lease->frame = atomic_exchange_explicit(&entry->hot, NULL, memory_order_acquire);
    if (out_lease->frame != NULL) return LK_OK;
  }

  bool attached = take_idle_lease(entry, &lease);
  if (arena_bytes > 0 && (lease.arena == NULL || lease.arena->bytes < arena_bytes)) {
    /* A larger one takes the place of one that is too small: their number does not grow. */
    free_arenas(pool, lease.arena);
    LK_TRY(make_arena(pool, arena_bytes, &lease.arena, error));
  }
  if (lease.frame == NULL) LK_TRY(make_frame(pool, &lease.frame, error));
  if (!attached) LK_TRY(attach_frame(entry, lease.frame, out_charge, error));
  *out_lease = lease;

cleanup:
  if (status != LK_OK && attached) {
    /* Only the arena can have failed. The frame, which is charged to the entry, goes back. */
    lk_lease_release(entry, &lease, out_charge);
  } else if (status != LK_OK) {
    free_frame(pool, lease.frame);
    free_arenas(pool, lease.arena);
  }
  return status;
}

void lk_lease_release(lk_plan_entry *entry, lk_lease *lease, uint64_t *out_charge) {
  lk_frame_pool *pool = entry->pool;
  lk_execution_frame *frame = lease->frame;
  lk_arena *arena = lease->arena;
  *lease = (lk_lease){0};
  *out_charge = 0;
  if (entry->plan->arena_bytes == 0) {
    lk_execution_frame *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&entry->hot, &none, frame, memory_order_release,
                                                memory_order_relaxed)) {
      return;
    }
  }
  pthread_mutex_lock(&pool->mutex);
  if (entry->n_idle < pool->max_idle) {
    frame->next = entry->idle;
    entry->idle = frame;
    entry->n_idle++;
    frame = NULL;
  } else {
    entry->frame_bytes -= frame->bytes;
    *out_charge = entry->plan->bytes + entry->frame_bytes;
  }
  if (arena != NULL && pool->n_arenas < pool->max_idle) {
    arena->next = pool->arenas;
    pool->arenas = arena;
    pool->n_arenas++;
    arena = NULL;
  }
  pthread_mutex_unlock(&pool->mutex);
  free_frame(pool, frame);
  free_arenas(pool, arena);
}
