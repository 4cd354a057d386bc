/* The arenas of each context, and the list of all contexts that have any. */
#include "executor_glue/run/arena_store.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"
#include "executor_glue/run/hot_slots.h"

/* There are at most as many runs as the host has threads, and the kernel changes between them:
 * about so many for each processor are in the middle of a run at a time. */
enum { IDLE_PER_PROCESSOR = 4 };

/* After so many uses of an arena, it and the idle ones are looked at. */
enum { USES_UNTIL_LOOK = 64 };

/* A run takes no idle arena of so many times what it needs while there may be a smaller one. */
enum { MUCH_TOO_LARGE = 4 };

enum { N_SLOTS = 8 };

struct lk_arena_store {
  lk_hot_slot slots[N_SLOTS]; /* arenas that threads gave back last */
  const lk_context *context;
  const lk_allocator *allocator;
  uint32_t max_idle;
  atomic_uint_least64_t bytes;
  atomic_uint n_idle; /* in `idle` */
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards `idle` */
  lk_arena *idle;
  /* guarded by `registry` */
  uint32_t references;
  lk_arena_store *next;
};

/* ---- arenas ---- */

static void free_arenas(lk_arena_store *store, lk_arena *arenas) {
  while (arenas != NULL) {
    lk_arena *next = arenas->next;
    atomic_fetch_sub_explicit(&store->bytes, arenas->bytes, memory_order_relaxed);
    lk_free(store->allocator, arenas->data);
    lk_free(store->allocator, arenas);
    arenas = next;
  }
}

static lk_status make_arena(lk_arena_store *store, uint64_t bytes, lk_arena **out_arena,
                            lk_error *error) {
  *out_arena = NULL;
  lk_arena *arena = lk_calloc_lines(store->allocator, sizeof *arena);
  void *data = arena != NULL ? lk_alloc_pages(store->allocator, bytes) : NULL;
  if (data == NULL) {
    lk_free(store->allocator, arena);
    return lk_fail_memory(error, "an arena", bytes);
  }
  arena->data = data;
  arena->bytes = bytes;
  *out_arena = arena;
  atomic_fetch_add_explicit(&store->bytes, bytes, memory_order_relaxed);
  return LK_OK;
}

/* ---- idle ones ---- */

/* With the mutex. */
static void push(lk_arena_store *store, lk_arena *arena) {
  arena->next = store->idle;
  store->idle = arena;
  atomic_fetch_add_explicit(&store->n_idle, 1, memory_order_relaxed);
}

/* With the mutex. `link` points to one. */
static lk_arena *unlink_at(lk_arena_store *store, lk_arena **link) {
  lk_arena *arena = *link;
  *link = arena->next;
  arena->next = NULL;
  atomic_fetch_sub_explicit(&store->n_idle, 1, memory_order_relaxed);
  return arena;
}

/* Whether `a` serves better than `b` where `bytes` are needed: the smaller one of two that are
 * large enough, else the larger one. */
static bool serves_better(const lk_arena *a, const lk_arena *b, uint64_t bytes) {
  const bool a_fits = a->bytes >= bytes, b_fits = b->bytes >= bytes;
  if (a_fits != b_fits) return a_fits;
  return a_fits ? a->bytes < b->bytes : a->bytes > b->bytes;
}

/* With the mutex. NULL: none is idle. It may be too small. */
static lk_arena *pop_best(lk_arena_store *store, uint64_t bytes) {
  lk_arena **best = &store->idle;
  if (*best == NULL) return NULL;
  for (lk_arena **at = &(*best)->next; *at != NULL; at = &(*at)->next) {
    if (serves_better(*at, *best, bytes)) best = at;
  }
  return unlink_at(store, best);
}

/* Takes out those that nobody has taken since the last look. With the mutex. */
static lk_arena *pop_untouched(lk_arena_store *store) {
  lk_arena *found = NULL;
  for (lk_arena **at = &store->idle; *at != NULL;) {
    if ((*at)->was_touched) {
      (*at)->was_touched = false;
      at = &(*at)->next;
    } else {
      lk_arena *arena = unlink_at(store, at);
      arena->next = found;
      found = arena;
    }
  }
  return found;
}

static bool fits_well(lk_arena_store *store, const lk_arena *arena, uint64_t bytes) {
  if (arena->bytes < bytes) return false;
  return arena->bytes / MUCH_TOO_LARGE <= bytes ||
         atomic_load_explicit(&store->n_idle, memory_order_relaxed) == 0;
}

/* For the next sizes, where they still grow: memory that no run has touched takes none of the
 * machine's, and a new arena has all its pages to be mapped again. */
static uint64_t with_room(uint64_t former, uint64_t bytes) {
  const uint64_t room = former + former / 2;
  return room > bytes ? room : bytes;
}

lk_status lk_arena_take(lk_arena_store *store, uint64_t bytes, lk_arena **out_arena,
                        lk_error *error) {
  lk_arena *arena = lk_hot_take(lk_hot_of_thread(store->slots, N_SLOTS));
  if (arena == NULL || !fits_well(store, arena, bytes)) {
    pthread_mutex_lock(&store->mutex);
    if (arena != NULL) push(store, arena);
    arena = pop_best(store, bytes);
    pthread_mutex_unlock(&store->mutex);
    if (arena == NULL) arena = lk_hot_take_any(store->slots, N_SLOTS);
  }
  *out_arena = NULL;
  uint64_t wanted = bytes;
  if (arena != NULL && arena->bytes < bytes) {
    /* A larger one takes the place of one that is too small: their number does not grow. */
    wanted = with_room(arena->bytes, bytes);
    free_arenas(store, arena);
    arena = NULL;
  }
  if (arena == NULL && (wanted == bytes || make_arena(store, wanted, &arena, NULL) != LK_OK)) {
    LK_RETURN_NOT_OK(make_arena(store, bytes, &arena, error));
  }
  if (bytes > arena->most) arena->most = bytes;
  arena->was_touched = true;
  *out_arena = arena;
  return LK_OK;
}

/* Looks at the arena and at the idle ones, with those in slots, whose threads may have ended. True:
 * it is to be freed. */
static bool look(lk_arena_store *store, lk_arena *arena) {
  lk_arena *hot = NULL;
  pthread_mutex_lock(&store->mutex);
  while ((hot = lk_hot_take_any(store->slots, N_SLOTS)) != NULL) push(store, hot);
  lk_arena *untouched = pop_untouched(store);
  pthread_mutex_unlock(&store->mutex);
  free_arenas(store, untouched);
  const bool is_too_large = arena->bytes / 2 > arena->most;
  arena->most = 0;
  arena->uses = 0;
  return is_too_large;
}

void lk_arena_give(lk_arena_store *store, lk_arena *arena) {
  if (++arena->uses >= USES_UNTIL_LOOK && look(store, arena)) {
    free_arenas(store, arena);
    return;
  }
  if (lk_hot_give(lk_hot_of_thread(store->slots, N_SLOTS), arena)) return;
  pthread_mutex_lock(&store->mutex);
  if (atomic_load_explicit(&store->n_idle, memory_order_relaxed) < store->max_idle) {
    push(store, arena);
    arena = NULL;
  }
  pthread_mutex_unlock(&store->mutex);
  free_arenas(store, arena);
}

void lk_arena_store_trim(lk_arena_store *store) {
  lk_arena *hot = NULL;
  while ((hot = lk_hot_take_any(store->slots, N_SLOTS)) != NULL) free_arenas(store, hot);
  pthread_mutex_lock(&store->mutex);
  lk_arena *idle = store->idle;
  store->idle = NULL;
  atomic_store_explicit(&store->n_idle, 0, memory_order_relaxed);
  pthread_mutex_unlock(&store->mutex);
  free_arenas(store, idle);
}

uint64_t lk_arena_store_bytes(const lk_arena_store *store) {
  return atomic_load_explicit(&store->bytes, memory_order_relaxed);
}

/* ---- the stores of all contexts ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static lk_arena_store *stores;

static void start(void) {
  static lk_fork_entry entry = {.level = LK_FORK_LEAF, .mutex = &registry};
  lk_fork_enter(&entry);
}

/* With the registry. NULL: the context has none. */
static lk_arena_store *find(const lk_context *context) {
  lk_arena_store *store = stores;
  while (store != NULL && store->context != context) store = store->next;
  return store;
}

/* With the registry: one more reference to that of the context. */
static lk_arena_store *take(const lk_context *context) {
  lk_arena_store *store = find(context);
  if (store != NULL) store->references++;
  return store;
}

uint64_t lk_arena_store_bytes_of(const lk_context *context) {
  (void)pthread_once(&once, start);
  pthread_mutex_lock(&registry);
  const lk_arena_store *store = find(context);
  const uint64_t bytes = store != NULL ? lk_arena_store_bytes(store) : 0;
  pthread_mutex_unlock(&registry);
  return bytes;
}

static lk_arena_store *create(const lk_api *api, lk_context *context, lk_error *error) {
  const lk_allocator *allocator = api->context_allocator(context);
  lk_arena_store *store = lk_alloc_aligned(allocator, sizeof *store, alignof(lk_arena_store));
  if (store == NULL) {
    (void)lk_fail_memory(error, "a store of arenas", sizeof *store);
    return NULL;
  }
  memset(store, 0, sizeof *store);
  store->context = context;
  store->allocator = allocator;
  store->max_idle = IDLE_PER_PROCESSOR * (uint32_t)api->processors_get();
  store->references = 1;
  (void)pthread_mutex_init(&store->mutex, NULL); /* cannot fail on glibc */
  store->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &store->mutex};
  lk_fork_enter(&store->fork);
  return store;
}

static void destroy(lk_arena_store *store) {
  lk_arena_store_trim(store);
  lk_fork_leave(&store->fork);
  pthread_mutex_destroy(&store->mutex);
  lk_free(store->allocator, store);
}

lk_status lk_arena_store_open(const lk_api *api, lk_context *context, lk_arena_store **out_store,
                              lk_error *error) {
  (void)pthread_once(&once, start);
  pthread_mutex_lock(&registry);
  *out_store = take(context);
  pthread_mutex_unlock(&registry);
  if (*out_store != NULL) return LK_OK;
  lk_arena_store *made = create(api, context, error); /* without the lock: see base/fork.h */
  if (made == NULL) return LK_OUT_OF_MEMORY;
  pthread_mutex_lock(&registry);
  *out_store = take(context); /* another thread may have been faster */
  if (*out_store == NULL) {
    made->next = stores;
    stores = *out_store = made;
    made = NULL;
  }
  pthread_mutex_unlock(&registry);
  if (made != NULL) destroy(made);
  return LK_OK;
}

void lk_arena_store_close(lk_arena_store *store) {
  if (store == NULL) return;
  pthread_mutex_lock(&registry);
  const bool is_last = --store->references == 0;
  lk_arena_store **link = &stores;
  while (*link != store) link = &(*link)->next;
  if (is_last) *link = store->next;
  pthread_mutex_unlock(&registry);
  if (is_last) destroy(store);
}
