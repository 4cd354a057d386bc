/* Pools of frames and arenas, and the entries that the cache holds. Explored in tests/promela/hot.pml. */
#include "executor_glue/run/frame_pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"

/* What runs at once is at most as many as the host's threads, and the kernel changes between them: so many for
 * each processor are in the middle of a run at a time. */
enum { IDLE_PER_PROCESSOR = 4 };

struct lk_run_pool {
  const lk_program *program; /* until closed */
  const lk_api *api;
  const lk_allocator *allocator;
  uint32_t max_idle;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards everything below, and the lists of all entries */
  pthread_cond_t idle;   /* `ending` has become 0 */
  uint32_t references;   /* the executor's, and one for each entry */
  uint32_t ending;       /* entries being destroyed on other threads */
  bool closed;
  lk_run_entry *entries;
  lk_run_arena *arenas; /* idle */
  lk_run_frame *frames; /* idle, without slots: only `frame` is used */
  uint32_t n_arenas, n_frames;
  uint64_t frames_alive, arena_bytes_alive;
};

struct lk_run_entry {
  lk_run_pool *pool;
  lk_run_entry *next, *previous;
  lk_run_plan *plan; /* NULL once the pool is closed */
  lk_run_frame *idle;
  uint32_t n_idle;
  /* One more idle frame, for plans without an arena: taken and given without the lock. */
  _Atomic(lk_run_frame *) hot;
  uint64_t frame_bytes; /* of all its frames, idle or lent */
  bool cached;
};

/* ---- frames and arenas; none of these holds the lock ---- */

/* What a frame has for the steps of one plan. */
static void empty_frame(const lk_run_pool *pool, lk_run_frame *frame) {
  lk_ready_queue_destroy(frame->turns);
  lk_free(pool->allocator, frame->slots);
  lk_free(pool->allocator, frame->bases);
  lk_free(pool->allocator, frame->pointers);
  frame->turns = NULL;
  frame->slots = NULL;
  frame->bases = NULL;
  frame->pointers = NULL;
}

static void free_frame(lk_run_pool *pool, lk_run_frame *frame) {
  if (frame == NULL) return;
  if (frame->frame != NULL) {
    pool->api->frame_destroy(frame->frame);
    pthread_mutex_lock(&pool->mutex);
    pool->frames_alive--;
    pthread_mutex_unlock(&pool->mutex);
  }
  empty_frame(pool, frame);
  lk_free(pool->allocator, frame);
}

static void free_arena(lk_run_pool *pool, lk_run_arena *arena) {
  if (arena == NULL) return;
  pthread_mutex_lock(&pool->mutex);
  pool->arena_bytes_alive -= arena->bytes;
  pthread_mutex_unlock(&pool->mutex);
  lk_free(pool->allocator, arena->data);
  lk_free(pool->allocator, arena);
}

static void free_arenas(lk_run_pool *pool, lk_run_arena *arenas) {
  while (arenas != NULL) {
    lk_run_arena *next = arenas->next;
    free_arena(pool, arenas);
    arenas = next;
  }
}

/* Fills `frame`, whose lk_frame may be there from an earlier use, for the steps of `plan`. */
static lk_status fill_frame(lk_run_pool *pool, const lk_run_plan *plan, lk_run_frame *frame,
                            lk_error *error) {
  lk_status status = LK_OK;
  const lk_graph *graph = plan->program->graph;
  size_t n_bases = LK_RUN_FIRST_INPUT + graph->n_inputs + graph->n_outputs;
  frame->slots = lk_calloc(pool->allocator, plan->n_steps, sizeof *frame->slots);
  frame->bases = lk_calloc(pool->allocator, n_bases, sizeof *frame->bases);
  frame->pointers = lk_calloc(pool->allocator, plan->n_operands, sizeof *frame->pointers);
  if (frame->slots == NULL || frame->bases == NULL || frame->pointers == NULL) {
    return lk_fail_memory(error, "a frame", plan->n_operands * sizeof *frame->pointers);
  }
  if (frame->frame == NULL) {
    LK_TRY(pool->api->frame_create(plan->program->executor, &frame->frame, error));
    pthread_mutex_lock(&pool->mutex);
    pool->frames_alive++;
    pthread_mutex_unlock(&pool->mutex);
  }
  if (plan->schedule != NULL) {
    LK_TRY(pool->api->frame_lanes(frame->frame, plan->workers, error));
    LK_TRY(lk_ready_queue_create(pool->allocator, plan->schedule, &frame->turns, error));
  }
  for (uint32_t i = 0; i < plan->n_steps; i++) {
    LK_TRY(pool->api->frame_attach(frame->frame, plan->steps[i].plan, &frame->slots[i], error));
  }
  frame->bytes = pool->api->frame_bytes(frame->frame) + plan->n_steps * sizeof *frame->slots +
                 n_bases * sizeof *frame->bases + plan->n_operands * sizeof *frame->pointers +
                 (frame->turns != NULL ? lk_ready_queue_bytes(frame->turns) : 0);

cleanup:
  return status;
}

/* Keeps the lk_frame for the next run plan, if there is room. */
static void recycle_frame(lk_run_pool *pool, lk_run_frame *frame) {
  pool->api->frame_reset(frame->frame);
  empty_frame(pool, frame);
  pthread_mutex_lock(&pool->mutex);
  bool keep = pool->n_frames < pool->max_idle && !pool->closed;
  if (keep) {
    frame->next = pool->frames;
    pool->frames = frame;
    pool->n_frames++;
  }
  pthread_mutex_unlock(&pool->mutex);
  if (!keep) free_frame(pool, frame);
}

/* Takes out the smallest idle arena that is large enough. When none is, the largest is handed out as
 * `*out_small`, to be freed: a larger one takes its place, so their number does not grow. */
static lk_run_arena *find_arena(lk_run_pool *pool, uint64_t bytes, lk_run_arena **out_small) {
  lk_run_arena **best = NULL, **largest = NULL;
  for (lk_run_arena **at = &pool->arenas; *at != NULL; at = &(*at)->next) {
    if ((*at)->bytes >= bytes && (best == NULL || (*at)->bytes < (*best)->bytes)) best = at;
    if (largest == NULL || (*at)->bytes > (*largest)->bytes) largest = at;
  }
  lk_run_arena **chosen = best != NULL ? best : largest;
  if (chosen == NULL) return NULL;
  lk_run_arena *arena = *chosen;
  *chosen = arena->next;
  pool->n_arenas--;
  if (best != NULL) return arena;
  *out_small = arena;
  return NULL;
}

static lk_status make_arena(lk_run_pool *pool, uint64_t bytes, lk_run_arena **out_arena,
                            lk_error *error) {
  lk_run_arena *arena = lk_calloc(pool->allocator, 1, sizeof *arena);
  void *data = arena != NULL ? lk_alloc_aligned(pool->allocator, bytes, LK_DATA_ALIGNMENT) : NULL;
  if (data == NULL) {
    lk_free(pool->allocator, arena);
    return lk_fail_memory(error, "an arena", bytes);
  }
  arena->data = data;
  arena->bytes = bytes;
  pthread_mutex_lock(&pool->mutex);
  pool->arena_bytes_alive += bytes;
  pthread_mutex_unlock(&pool->mutex);
  *out_arena = arena;
  return LK_OK;
}

/* ---- the pool ---- */

/* A child of fork: what other threads ran stays with them, and nobody waits for it. */
static void forget_other_threads(void *object) {
  lk_run_pool *pool = object;
  pool->ending = 0;
  (void)pthread_cond_init(&pool->idle, NULL);
}

lk_status lk_run_pool_create(const lk_program *program, lk_run_pool **out_pool, lk_error *error) {
  *out_pool = NULL;
  lk_run_pool *pool = lk_calloc(program->allocator, 1, sizeof *pool);
  if (pool == NULL) return lk_fail_memory(error, "a pool of frames", sizeof *pool);
  pool->program = program;
  pool->api = program->api;
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

static void release_pool(lk_run_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  bool last = --pool->references == 0;
  pthread_mutex_unlock(&pool->mutex);
  if (!last) return;
  lk_fork_leave(&pool->fork);
  pthread_cond_destroy(&pool->idle);
  pthread_mutex_destroy(&pool->mutex);
  lk_free(pool->allocator, pool);
}

/* Frees a run plan that was taken out of its entry, and its idle frames. */
static void free_contents(lk_run_pool *pool, lk_run_plan *plan, lk_run_frame *frames,
                          bool recycle) {
  while (frames != NULL) {
    lk_run_frame *next = frames->next;
    if (recycle) {
      recycle_frame(pool, frames);
    } else {
      free_frame(pool, frames);
    }
    frames = next;
  }
  lk_run_plan_destroy(plan);
}

/* All idle frames of an entry that nobody runs. */
static lk_run_frame *take_idle(lk_run_entry *entry) {
  lk_run_frame *frames = entry->idle;
  lk_run_frame *hot = atomic_exchange(&entry->hot, NULL);
  entry->idle = NULL;
  if (hot == NULL) return frames;
  hot->next = frames;
  return hot;
}

static void unlink_entry(lk_run_entry *entry) {
  if (entry->previous != NULL) {
    entry->previous->next = entry->next;
  } else {
    entry->pool->entries = entry->next;
  }
  if (entry->next != NULL) entry->next->previous = entry->previous;
}

void lk_run_pool_close(lk_run_pool *pool) {
  if (pool == NULL) return;
  pthread_mutex_lock(&pool->mutex);
  pool->closed = true;
  while (pool->entries != NULL) {
    lk_run_entry *entry = pool->entries;
    unlink_entry(entry);
    lk_run_plan *plan = entry->plan;
    lk_run_frame *frames = take_idle(entry);
    entry->plan = NULL;
    pthread_mutex_unlock(&pool->mutex);
    free_contents(pool, plan, frames, false);
    pthread_mutex_lock(&pool->mutex);
  }
  while (pool->ending > 0) pthread_cond_wait(&pool->idle, &pool->mutex);
  lk_run_frame *frames = pool->frames;
  lk_run_arena *arenas = pool->arenas;
  pool->frames = NULL;
  pool->arenas = NULL;
  pthread_mutex_unlock(&pool->mutex);
  free_contents(pool, NULL, frames, false);
  free_arenas(pool, arenas);
  release_pool(pool);
}

void lk_run_pool_stats(lk_run_pool *pool, uint64_t *out_frames, uint64_t *out_arena_bytes) {
  pthread_mutex_lock(&pool->mutex);
  *out_frames = pool->frames_alive;
  *out_arena_bytes = pool->arena_bytes_alive;
  pthread_mutex_unlock(&pool->mutex);
}

/* ---- entries ---- */

lk_status lk_run_entry_create(lk_run_pool *pool, lk_run_plan *plan, bool cached,
                              lk_run_entry **out_entry, lk_error *error) {
  *out_entry = NULL;
  lk_run_entry *entry = lk_calloc(pool->allocator, 1, sizeof *entry);
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

void lk_run_entry_destroy(lk_run_entry *entry) {
  if (entry == NULL) return;
  lk_run_pool *pool = entry->pool;
  lk_run_arena *arenas = NULL;
  pthread_mutex_lock(&pool->mutex);
  lk_run_plan *plan = entry->plan;
  lk_run_frame *frames = take_idle(entry);
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
    free_contents(pool, plan, frames, !entry->cached);
    pthread_mutex_lock(&pool->mutex);
    if (--pool->ending == 0) pthread_cond_broadcast(&pool->idle);
    pthread_mutex_unlock(&pool->mutex);
  }
  lk_free(pool->allocator, entry);
  release_pool(pool);
}

const lk_run_plan *lk_run_entry_plan(const lk_run_entry *entry) {
  return entry->plan;
}

/* ---- leases ---- */

lk_status lk_run_lease_take(lk_run_entry *entry, lk_run_lease *out_lease, uint64_t *out_charge,
                            lk_error *error) {
  lk_status status = LK_OK;
  lk_run_pool *pool = entry->pool;
  const lk_run_plan *plan = entry->plan;
  lk_run_lease lease = {0};
  lk_run_arena *small = NULL;
  bool ready = false;
  *out_lease = lease;
  *out_charge = 0;
  if (plan->arena_bytes == 0) {
    out_lease->frame = atomic_exchange_explicit(&entry->hot, NULL, memory_order_acquire);
    if (out_lease->frame != NULL) return LK_OK;
  }

  pthread_mutex_lock(&pool->mutex);
  if (entry->idle != NULL) {
    lease.frame = entry->idle;
    entry->idle = lease.frame->next;
    entry->n_idle--;
    ready = true;
  } else if (pool->frames != NULL) {
    lease.frame = pool->frames;
    pool->frames = lease.frame->next;
    pool->n_frames--;
  }
  if (plan->arena_bytes > 0) lease.arena = find_arena(pool, plan->arena_bytes, &small);
  pthread_mutex_unlock(&pool->mutex);

  free_arena(pool, small);
  if (plan->arena_bytes > 0 && lease.arena == NULL) {
    LK_TRY(make_arena(pool, plan->arena_bytes, &lease.arena, error));
  }
  if (lease.frame == NULL) {
    lease.frame = lk_calloc(pool->allocator, 1, sizeof *lease.frame);
    if (lease.frame == NULL) {
      status = lk_fail_memory(error, "a frame", sizeof *lease.frame);
      goto cleanup;
    }
  }
  if (!ready) {
    LK_TRY(fill_frame(pool, plan, lease.frame, error));
    pthread_mutex_lock(&pool->mutex);
    entry->frame_bytes += lease.frame->bytes;
    *out_charge = plan->bytes + entry->frame_bytes;
    pthread_mutex_unlock(&pool->mutex);
  }
  *out_lease = lease;

cleanup:
  if (status != LK_OK) {
    /* A frame that was ready has been charged to the entry, but then nothing can have failed
     * except the arena: it goes back as it came. */
    if (ready) {
      lk_run_lease back = {.frame = lease.frame};
      lk_run_lease_give(entry, &back, out_charge);
    } else {
      free_frame(pool, lease.frame);
    }
    free_arena(pool, lease.arena);
  }
  return status;
}

void lk_run_lease_give(lk_run_entry *entry, lk_run_lease *lease, uint64_t *out_charge) {
  lk_run_pool *pool = entry->pool;
  lk_run_frame *frame = lease->frame;
  lk_run_arena *arena = lease->arena;
  *lease = (lk_run_lease){0};
  *out_charge = 0;
  if (frame != NULL && entry->plan->arena_bytes == 0) {
    lk_run_frame *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&entry->hot, &none, frame, memory_order_release,
                                                memory_order_relaxed)) {
      return;
    }
  }
  pthread_mutex_lock(&pool->mutex);
  if (frame != NULL && entry->n_idle < pool->max_idle) {
    frame->next = entry->idle;
    entry->idle = frame;
    entry->n_idle++;
    frame = NULL;
  } else if (frame != NULL) {
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
  free_arena(pool, arena);
}
