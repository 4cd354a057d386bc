/* The pool of frames, the entries that the cache holds, and what runs borrow. Explored
 * in tests/promela/hot.pml. */
#include "executor_glue/run/frame_pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"
#include "executor_glue/run/hot_slots.h"

/* How many frames are kept idle. There are at most as many runs as the host
 * has threads, and the kernel changes between them: about so many for each processor are in the
 * middle of a run at a time. */
enum { IDLE_PER_PROCESSOR = 4 };

/* Of each entry: with more, there are too many cache lines for each size. */
enum { N_SLOTS = 4 };

/* How often sizes come until they count as recurring. What is built for them then is used as often
 * again, if they go on like that. */
enum { RECURRING = 8, MOST_SHIFT = 15 };

struct lk_frame_pool {
  const lk_program *program; /* until the pool is destroyed */
  const lk_allocator *allocator;
  uint32_t max_idle;
  lk_size_log *sizes; /* until then too, as the next one */
  lk_arena_store *arenas;
  atomic_uint_least64_t n_frames_alive;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards everything below, and the lists of all entries */
  pthread_cond_t idle;   /* `ending` has become 0 */
  uint32_t references;   /* the executor's, and one for each entry */
  uint32_t ending;       /* entries being destroyed on other threads */
  bool closed;
  /* All entries: those that have frames, idle or on loan, in the order in which they were given one
   * last; and the others, so that nobody who looks for a frame walks past these. */
  lk_plan_entry *holders, *oldest_holder, *others;
  lk_execution_frame *frames; /* idle, of no run plan */
  uint32_t n_frames;
};

struct lk_plan_entry {
  lk_frame_pool *pool;
  lk_plan_entry *next, *previous;
  lk_run_plan *plan;      /* NULL once the pool is destroyed */
  lk_labels_place labels; /* of `plan`, as long as that */
  lk_size_record *size;
  lk_execution_frame *idle;
  uint32_t n_frames; /* attached to its plan: idle ones, and those on loan */
  bool cached;
  _Atomic uint32_t stage;     /* lk_plan_stage */
  _Atomic uint32_t uses;      /* of a stage in which they are counted */
  _Atomic uint32_t shift;     /* RECURRING << shift of them are needed */
  lk_hot_slot slots[N_SLOTS]; /* more idle frames, those that threads gave back last */
};

/* ---- frames; none of these is called with the lock ---- */

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

lk_status lk_frame_pool_create(const lk_program *program, lk_size_log *sizes,
                               lk_frame_pool **out_pool, lk_error *error) {
  *out_pool = NULL;
  lk_arena_store *arenas = NULL;
  LK_RETURN_NOT_OK(lk_arena_store_open(program->api, program->context, &arenas, error));
  lk_frame_pool *pool = lk_calloc(program->allocator, 1, sizeof *pool);
  if (pool == NULL) {
    lk_arena_store_close(arenas);
    return lk_fail_memory(error, "a pool of frames", sizeof *pool);
  }
  pool->sizes = sizes;
  pool->arenas = arenas;
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

/* All idle frames of an entry, which are still counted. With the mutex. */
static lk_execution_frame *take_idle(lk_plan_entry *entry) {
  lk_execution_frame *frames = entry->idle, *hot = NULL;
  entry->idle = NULL;
  while ((hot = lk_hot_take_any(entry->slots, N_SLOTS)) != NULL) {
    hot->next = frames;
    frames = hot;
  }
  return frames;
}

/* First in the list where it belongs. With the mutex, as the next three. */
static void link_entry(lk_plan_entry *entry) {
  lk_frame_pool *pool = entry->pool;
  const bool is_holder = entry->n_frames > 0;
  lk_plan_entry **first = is_holder ? &pool->holders : &pool->others;
  entry->previous = NULL;
  entry->next = *first;
  if (entry->next != NULL) {
    entry->next->previous = entry;
  } else if (is_holder) {
    pool->oldest_holder = entry;
  }
  *first = entry;
}

static void unlink_entry(lk_plan_entry *entry) {
  lk_frame_pool *pool = entry->pool;
  const bool is_holder = entry->n_frames > 0;
  lk_plan_entry **first = is_holder ? &pool->holders : &pool->others;
  *(entry->previous != NULL ? &entry->previous->next : first) = entry->next;
  if (entry->next != NULL) {
    entry->next->previous = entry->previous;
  } else if (is_holder) {
    pool->oldest_holder = entry->previous;
  }
}

/* It has been given a frame. */
static void count_frame(lk_plan_entry *entry) {
  unlink_entry(entry);
  entry->n_frames++;
  link_entry(entry);
}

/* It has lost one. */
static void uncount_frame(lk_plan_entry *entry) {
  const bool is_last = entry->n_frames == 1;
  if (is_last) unlink_entry(entry);
  entry->n_frames--;
  if (is_last) link_entry(entry);
}

void lk_frame_pool_destroy(lk_frame_pool *pool) {
  if (pool == NULL) return;
  pthread_mutex_lock(&pool->mutex);
  pool->closed = true;
  while (pool->holders != NULL || pool->others != NULL) {
    lk_plan_entry *entry = pool->holders != NULL ? pool->holders : pool->others;
    unlink_entry(entry);
    lk_run_plan *plan = entry->plan;
    lk_size_record *size = entry->size;
    lk_execution_frame *frames = take_idle(entry);
    lk_labels *labels = atomic_load(&entry->labels);
    entry->plan = NULL; /* the cache may free the entry as soon as the lock is given back */
    pthread_mutex_unlock(&pool->mutex);
    free_frames(pool, frames, false);
    lk_labels_release(labels);
    lk_size_log_release(pool->sizes, size);
    lk_run_plan_destroy(plan);
    pthread_mutex_lock(&pool->mutex);
  }
  while (pool->ending > 0) pthread_cond_wait(&pool->idle, &pool->mutex);
  lk_execution_frame *frames = pool->frames;
  pool->frames = NULL;
  pthread_mutex_unlock(&pool->mutex);
  free_frames(pool, frames, false);
  lk_arena_store_close(pool->arenas);
  release_pool(pool);
}

void lk_frame_pool_stats(lk_frame_pool *pool, uint64_t *out_frames, uint64_t *out_arena_bytes) {
  *out_frames = atomic_load_explicit(&pool->n_frames_alive, memory_order_relaxed);
  *out_arena_bytes = lk_arena_store_bytes(pool->arenas);
}

/* ---- entries ---- */

lk_status lk_plan_entry_create(lk_frame_pool *pool, lk_run_plan *plan, bool cached,
                               lk_plan_entry **out_entry, lk_error *error) {
  *out_entry = NULL;
  lk_plan_entry *entry = lk_calloc_lines(pool->allocator, sizeof *entry);
  if (entry == NULL) return lk_fail_memory(error, "a run plan's entry", sizeof *entry);
  entry->pool = pool;
  entry->plan = plan;
  entry->cached = cached;
  pthread_mutex_lock(&pool->mutex);
  pool->references++;
  link_entry(entry);
  pthread_mutex_unlock(&pool->mutex);
  *out_entry = entry;
  return LK_OK;
}

void lk_plan_entry_destroy(lk_plan_entry *entry) {
  if (entry == NULL) return;
  lk_frame_pool *pool = entry->pool;
  bool is_last = false; /* of the cached ones */
  pthread_mutex_lock(&pool->mutex);
  lk_run_plan *plan = entry->plan;
  lk_execution_frame *frames = take_idle(entry);
  if (plan != NULL) {
    unlink_entry(entry);
    pool->ending++;
    is_last = entry->cached && pool->holders == NULL && pool->others == NULL;
  }
  pthread_mutex_unlock(&pool->mutex);
  if (plan != NULL) {
    /* Nothing is cached any more: memory of activations is not kept either. */
    if (is_last) lk_arena_store_trim(pool->arenas);
    free_frames(pool, frames, !entry->cached);
    lk_size_log_release(pool->sizes, entry->size);
    lk_labels_release(atomic_load(&entry->labels));
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

lk_labels_place *lk_plan_entry_labels(lk_plan_entry *entry) {
  return &entry->labels;
}

lk_plan_stage lk_plan_entry_stage(const lk_plan_entry *entry) {
  return (lk_plan_stage)atomic_load_explicit(&entry->stage, memory_order_acquire);
}

void lk_plan_entry_settle(lk_plan_entry *entry) {
  uint32_t stage = atomic_load(&entry->stage);
  while (stage != LK_PLAN_REPLACED &&
         !atomic_compare_exchange_weak(&entry->stage, &stage, LK_PLAN_SETTLED)) {
  }
}

bool lk_plan_entry_claim(lk_plan_entry *entry) {
  uint32_t expected = LK_PLAN_COUNTED;
  if (lk_plan_entry_stage(entry) != LK_PLAN_COUNTED) return false;
  const uint32_t uses = atomic_fetch_add_explicit(&entry->uses, 1, memory_order_relaxed) + 1;
  const uint32_t shift = atomic_load_explicit(&entry->shift, memory_order_relaxed);
  if (uses < (uint32_t)RECURRING << shift) return false;
  return atomic_compare_exchange_strong(&entry->stage, &expected, LK_PLAN_CLAIMED);
}

void lk_plan_entry_replace(lk_plan_entry *entry) {
  atomic_store(&entry->stage, LK_PLAN_REPLACED);
}

void lk_plan_entry_end_claim(lk_plan_entry *entry, bool has_tried) {
  uint32_t expected = LK_PLAN_CLAIMED; /* else somebody who did not claim it has replaced it */
  if (has_tried) {
    const uint32_t shift = atomic_load(&entry->shift);
    atomic_store(&entry->uses, 0);
    atomic_store(&entry->shift, shift < MOST_SHIFT ? shift + 3 : shift);
  }
  (void)atomic_compare_exchange_strong(&entry->stage, &expected, LK_PLAN_COUNTED);
}

void lk_plan_entry_set_size(lk_plan_entry *entry, lk_size_record *size) {
  entry->size = size;
}

void lk_frame_pool_count_runs(lk_frame_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  for (lk_plan_entry *entry = pool->holders; entry != NULL; entry = entry->next) {
    entry->idle = take_idle(entry);
    for (lk_execution_frame *frame = entry->idle; frame != NULL; frame = frame->next) {
      lk_execution_frame_count_runs(frame);
    }
  }
  pthread_mutex_unlock(&pool->mutex);
}

/* ---- leases ---- */

/* An idle frame of the entry that was given one the longest time ago, so that frames do not grow in
 * number with the shapes; NULL: there is none to spare. It is still attached to the steps, whose
 * plans it keeps alive. What else it had of the entry it loses here: once the mutex is given back,
 * the entry may end, and the record of its size with it. With the mutex. */
static lk_execution_frame *take_from_another(lk_frame_pool *pool) {
  const uint64_t alive = atomic_load_explicit(&pool->n_frames_alive, memory_order_relaxed);
  if (alive < pool->max_idle) return NULL;
  lk_plan_entry *entry = pool->oldest_holder;
  lk_execution_frame *frame = NULL;
  while (entry != NULL && (frame = take_idle(entry)) == NULL) entry = entry->previous;
  if (frame == NULL) return NULL;
  entry->idle = frame->next;
  frame->next = NULL;
  lk_execution_frame_leave_size(frame);
  uncount_frame(entry);
  return frame;
}

/* What was found idle for a lease. */
typedef enum found {
  FOUND_ATTACHED, /* a frame of the entry's run plan */
  FOUND_OTHER,    /* one of another run plan */
  FOUND_FREE      /* one of none, or no frame */
} found;

static found take_idle_lease(lk_plan_entry *entry, lk_lease *lease) {
  lk_frame_pool *pool = entry->pool;
  found what = FOUND_FREE;
  pthread_mutex_lock(&pool->mutex);
  if (entry->idle != NULL) {
    what = FOUND_ATTACHED;
    lease->frame = entry->idle;
    entry->idle = lease->frame->next;
  } else if ((lease->frame = lk_hot_take_any(entry->slots, N_SLOTS)) != NULL) {
    what = FOUND_ATTACHED;
  } else if (pool->frames != NULL) {
    lease->frame = pool->frames;
    pool->frames = lease->frame->next;
    pool->n_frames--;
  } else {
    lease->frame = take_from_another(pool);
    if (lease->frame != NULL) what = FOUND_OTHER;
  }
  if (what != FOUND_ATTACHED) count_frame(entry); /* it has one, or is about to make it */
  pthread_mutex_unlock(&pool->mutex);
  return what;
}

lk_status lk_lease_acquire(lk_plan_entry *entry, lk_lease *out_lease, lk_error *error) {
  lk_status status = LK_OK;
  lk_frame_pool *pool = entry->pool;
  const uint64_t arena_bytes = entry->plan->arena_bytes;
  lk_lease lease = {.frame = lk_hot_take(lk_hot_of_thread(entry->slots, N_SLOTS))};
  *out_lease = (lk_lease){0};
  const found what = lease.frame != NULL ? FOUND_ATTACHED : take_idle_lease(entry, &lease);
  if (arena_bytes > 0) LK_TRY(lk_arena_take(pool->arenas, arena_bytes, &lease.arena, error));
  if (what == FOUND_OTHER) lk_execution_frame_detach(pool->program, lease.frame);
  if (lease.frame == NULL) LK_TRY(make_frame(pool, &lease.frame, error));
  if (what != FOUND_ATTACHED) {
    LK_TRY(lk_execution_frame_attach(lease.frame, entry->plan, error));
    lease.frame->size = entry->size;
  }
  *out_lease = lease;

cleanup:
  if (status != LK_OK && what == FOUND_ATTACHED) {
    lk_lease_release(entry, &lease); /* only the arena can have failed */
  } else if (status != LK_OK) {
    pthread_mutex_lock(&pool->mutex);
    uncount_frame(entry);
    pthread_mutex_unlock(&pool->mutex);
    free_frame(pool, lease.frame);
    if (lease.arena != NULL) lk_arena_give(pool->arenas, lease.arena);
  }
  return status;
}

void lk_lease_release(lk_plan_entry *entry, lk_lease *lease) {
  lk_frame_pool *pool = entry->pool;
  lk_execution_frame *frame = lease->frame;
  lk_arena *arena = lease->arena;
  *lease = (lk_lease){0};
  if (arena != NULL) lk_arena_give(pool->arenas, arena);
  if (lk_hot_give(lk_hot_of_thread(entry->slots, N_SLOTS), frame)) return;
  pthread_mutex_lock(&pool->mutex);
  const uint64_t alive = atomic_load_explicit(&pool->n_frames_alive, memory_order_relaxed);
  if (alive <= pool->max_idle) {
    frame->next = entry->idle;
    entry->idle = frame;
    frame = NULL;
  } else {
    uncount_frame(entry);
  }
  pthread_mutex_unlock(&pool->mutex);
  free_frame(pool, frame);
}
