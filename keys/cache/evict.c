/* Budgets: which entries go when there are too many, or too many bytes.
 *
 * Least recently used first among those that nobody uses. What a run plan refers to is in use by
 * it, so a cold run plan goes before its plans and primitives, and these before anything that was
 * used later; a hot run plan stays, and so does all that it needs. Ending a value releases what it
 * refers to, which is as cold and comes next: so eviction goes in rounds, choose, unlink, end, look
 * again. A run plan is a round of its own: before the next one goes, what it alone had needed does.
 * When nothing unused is left and it is still too much, entries in use are unlinked too, least recently
 * used first: they no longer count, and the last user frees them.
 *
 * Choosing needs no memory: a round keeps the coldest ones that it sees in a heap on the stack.
 */
#include "keys/cache/internal.h"

/* Most entries of a round: many, so that large caches are not walked often; 8 KiB of stack. */
#define ROUND 512u

/* Caches with more entries than this make room for a part more than is asked for: enough for a walk
 * through all of them to serve many, and little enough for nobody to wait long. */
#define BATCH_ABOVE 64u
#define BATCH_PART 64u

typedef struct candidate {
  uint64_t tick;
  lk_entry *entry;
} candidate;

typedef struct evict_round {
  const lk_quota *scope; /* only its entries; NULL: all */
  bool used;             /* also those in use */
  uint32_t count;
  candidate heap[ROUND]; /* the warmest on top */
} evict_round;

/* ---- choosing ---- */

static void sift_down(candidate *heap, uint32_t count, uint32_t at) {
  for (;;) {
    uint32_t largest = at;
    for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
      if (heap[child].tick > heap[largest].tick) largest = child;
    }
    if (largest == at) return;
    const candidate swap = heap[at];
    heap[at] = heap[largest];
    heap[largest] = swap;
    at = largest;
  }
}

static void sift_up(candidate *heap, uint32_t at) {
  while (at > 0 && heap[(at - 1) / 2].tick < heap[at].tick) {
    const candidate swap = heap[at];
    heap[at] = heap[(at - 1) / 2];
    heap[(at - 1) / 2] = swap;
    at = (at - 1) / 2;
  }
}

static void consider(void *arg, lk_entry *entry) {
  evict_round *round = arg;
  if (round->scope != NULL && entry->quota != round->scope) return;
  const candidate found = {lk_entry_tick(entry), entry};
  const bool is_full = round->count == ROUND;
  if (is_full && found.tick >= round->heap[0].tick) return;
  if (!round->used && lk_entry_users(entry) > 0) return;
  if (!is_full) {
    round->heap[round->count] = found;
    sift_up(round->heap, round->count++);
  } else {
    round->heap[0] = found;
    sift_down(round->heap, round->count, 0);
  }
}

/* Coldest first. */
static void sort_candidates(evict_round *round) {
  for (uint32_t count = round->count; count > 1; count--) {
    const candidate warmest = round->heap[0];
    round->heap[0] = round->heap[count - 1];
    round->heap[count - 1] = warmest;
    sift_down(round->heap, count - 1, 0);
  }
}

/* ---- limits ---- */

/* What must be free, and how much more is freed while at it. */
typedef struct need {
  uint64_t entries, bytes, slack_entries, slack_bytes;
} need;

static bool fits_alone(const lk_account *account, uint64_t entries, uint64_t bytes) {
  return entries <= atomic_load_explicit(&account->limit_entries, memory_order_relaxed) &&
         bytes <= atomic_load_explicit(&account->limit_bytes, memory_order_relaxed);
}

static bool account_over(lk_cache *cache, const lk_account *account, const need *wanted,
                         bool slack) {
  pthread_mutex_lock(&cache->accounts);
  const bool is_over =
      !lk_account_fits(account, wanted->entries + (slack ? wanted->slack_entries : 0),
                       wanted->bytes + (slack ? wanted->slack_bytes : 0));
  pthread_mutex_unlock(&cache->accounts);
  return is_over;
}

static void set_slack(lk_cache *cache, const lk_account *account, need *wanted) {
  pthread_mutex_lock(&cache->accounts);
  if (account->entries > BATCH_ABOVE) {
    /* Only the limit that is near is made room under. */
    if (!lk_account_fits(account, wanted->entries, 0)) {
      wanted->slack_entries = account->limit_entries / BATCH_PART;
    }
    if (!lk_account_fits(account, 0, wanted->bytes)) {
      wanted->slack_bytes = account->limit_bytes / BATCH_PART;
    }
  }
  pthread_mutex_unlock(&cache->accounts);
}

/* ---- rounds ---- */

/* True when the entry went. The caller holds `sweep`, and in per-thread mode `tables`. */
static bool unlink_candidate(lk_cache *cache, lk_entry *entry, bool used, lk_garbage *garbage) {
  bool unlinked = false;
  if (cache->mode == LK_CACHE_SHARED) {
    lk_shard *shard = lk_shard_of(cache, &entry->key);
    pthread_mutex_lock(&shard->lock);
    if (used || lk_entry_users(entry) == 0) {
      lk_shared_unlink(entry, true, garbage);
      unlinked = true;
    }
    pthread_mutex_unlock(&shard->lock);
  } else {
    lk_thread_table *table = entry->table;
    lk_table_enter(table);
    if (used || lk_entry_users(entry) == 0) {
      lk_thread_unlink(entry, true, garbage);
      unlinked = true;
    }
    lk_table_leave(table);
  }
  return unlinked;
}

/* The caller holds `sweep`, so that nobody else unlinks; except threads that end, which `tables`
 * holds up. Returns how many went. */
static uint32_t run_round(lk_cache *cache, const lk_account *account, const need *wanted,
                          evict_round *round, lk_garbage *garbage) {
  uint32_t unlinked = 0;
  round->count = 0;
  pthread_mutex_lock(&cache->tables_lock);
  lk_each_entry(cache, consider, round);
  sort_candidates(round);
  for (uint32_t i = 0; i < round->count; i++) {
    if (!account_over(cache, account, wanted, !round->used)) break;
    const bool run_plan = round->heap[i].entry->self.kind == LK_KIND_RUN;
    if (run_plan && unlinked > 0) break;
    if (!unlink_candidate(cache, round->heap[i].entry, round->used, garbage)) continue;
    unlinked++;
    if (run_plan) break;
  }
  pthread_mutex_unlock(&cache->tables_lock);
  if (unlinked > 0 && cache->mode == LK_CACHE_SHARED) lk_fronts_sweep(cache, garbage);
  return unlinked;
}

static void make_room(lk_cache *cache, const lk_quota *scope, const lk_account *account,
                      uint64_t entries, uint64_t bytes) {
  need wanted = {.entries = entries, .bytes = bytes};
  evict_round round;
  round.scope = scope;
  round.used = false;
  if (!account_over(cache, account, &wanted, false)) return;
  /* Only for a new entry: shrinking keeps all that fits. */
  if (entries > 0) set_slack(cache, account, &wanted);
  while (account_over(cache, account, &wanted, !round.used)) {
    lk_garbage garbage = {NULL};
    pthread_mutex_lock(&cache->sweep);
    const uint32_t unlinked = run_round(cache, account, &wanted, &round, &garbage);
    pthread_mutex_unlock(&cache->sweep);
    lk_garbage_drop(&garbage);
    if (unlinked > 0) {
      /* What entries in use refer to may be unused now. */
      round.used = false;
    } else if (!round.used && account_over(cache, account, &wanted, false)) {
      round.used = true;
    } else {
      return;
    }
  }
}

bool lk_make_room(lk_cache *cache, lk_quota *quota, uint64_t entries, uint64_t bytes) {
  if (!fits_alone(&cache->account, entries, bytes)) return false;
  if (quota != NULL) {
    if (!fits_alone(&quota->account, entries, bytes)) return false;
    make_room(cache, quota, &quota->account, entries, bytes);
  }
  make_room(cache, NULL, &cache->account, entries, bytes);
  return true;
}

/* ---- all of them ---- */

/* Whether an entry goes; its place is locked. */
typedef bool (*goes_fn)(const lk_entry *entry, const lk_quota *quota);

static bool is_in(const lk_entry *entry, const lk_quota *quota) {
  return quota == NULL || entry->quota == quota;
}

static void drop(lk_cache *cache, goes_fn goes, const lk_quota *quota, bool eviction) {
  lk_garbage garbage = {NULL};
  pthread_mutex_lock(&cache->sweep);
  if (cache->mode == LK_CACHE_SHARED) {
    for (size_t i = 0; i < LK_SHARDS; i++) {
      lk_shard *shard = &cache->shards[i];
      pthread_mutex_lock(&shard->lock);
      for (lk_table_node *node = lk_table_first(&shard->table); node != NULL;) {
        lk_entry *entry = (lk_entry *)node;
        node = lk_table_next(node);
        if (goes(entry, quota)) lk_shared_unlink(entry, eviction, &garbage);
      }
      pthread_mutex_unlock(&shard->lock);
    }
    lk_fronts_sweep(cache, &garbage);
  } else {
    pthread_mutex_lock(&cache->tables_lock);
    for (lk_thread_table *table = cache->tables; table != NULL; table = table->cache_next) {
      lk_table_enter(table);
      for (lk_table_node *node = lk_table_first(&table->table); node != NULL;) {
        lk_ref *ref = (lk_ref *)node;
        node = lk_table_next(node);
        if (goes(ref->entry, quota)) lk_thread_unlink(ref->entry, eviction, &garbage);
      }
      lk_table_leave(table);
    }
    pthread_mutex_unlock(&cache->tables_lock);
  }
  pthread_mutex_unlock(&cache->sweep);
  lk_garbage_drop(&garbage);
}

void lk_drop_all(lk_cache *cache, lk_quota *quota, bool eviction) {
  drop(cache, is_in, quota, eviction);
}

static void note_used_value(void *arg, lk_entry *entry) {
  if (entry->self.kind != LK_KIND_VALUE) return;
  entry->used_before = lk_entry_users(entry) > 0 ? arg : NULL;
}

static bool was_used(const lk_entry *entry, const lk_quota *quota) {
  return entry->used_before == quota && lk_entry_users(entry) == 0;
}

void lk_drop_executor(lk_cache *cache, lk_quota *quota) {
  pthread_mutex_lock(&cache->sweep);
  pthread_mutex_lock(&cache->tables_lock);
  lk_each_entry(cache, note_used_value, quota);
  pthread_mutex_unlock(&cache->tables_lock);
  pthread_mutex_unlock(&cache->sweep);
  drop(cache, is_in, quota, false);
  drop(cache, was_used, quota, false);
}
