/* Which entries go when there are too many, or too many bytes.
 *
 * The least recently used go first, among those that nobody uses. What a run plan refers to is in
 * use by it. So a cold run plan goes before its plans and primitives, and these go before anything
 * that was used later. A hot run plan stays, and so does all that it needs. Destroying a value
 * releases what it refers to, which is as cold and goes next. So eviction works in rounds: choose,
 * unlink, destroy, look again. A run plan is a round of its own, so that what it alone has needed
 * goes before the next run plan does. When nothing unused is left and there is still too much,
 * entries in use are unlinked too, least recently used first: they no longer count, and the last
 * user frees them.
 *
 * Choosing needs no memory: a round keeps the coldest entries that it sees in a heap on the stack.
 */
#include "keys/cache/evict.h"

#include "keys/cache/account.h"
#include "keys/cache/entry.h"
#include "keys/cache/front.h"
#include "keys/cache/walk.h"

/* Entries of a round at most: many, so that large caches are not walked often; 8 KiB of stack. */
#define ROUND 512u

/* A cache with more entries than BATCH_ABOVE makes room for 1/BATCH_PART of its limit more than is
 * asked for: enough for one walk through all entries to serve many calls, and little enough for
 * nobody to wait long. */
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

static void swap(candidate *a, candidate *b) {
  const candidate former = *a;
  *a = *b;
  *b = former;
}

static void sift_down(candidate *heap, uint32_t count, uint32_t at) {
  for (;;) {
    uint32_t largest = at;
    for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
      if (heap[child].tick > heap[largest].tick) largest = child;
    }
    if (largest == at) return;
    swap(&heap[at], &heap[largest]);
    at = largest;
  }
}

static void sift_up(candidate *heap, uint32_t at) {
  for (uint32_t up = 0; at > 0; at = up) {
    up = (at - 1) / 2;
    if (heap[up].tick >= heap[at].tick) return;
    swap(&heap[up], &heap[at]);
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
    swap(&round->heap[0], &round->heap[count - 1]);
    sift_down(round->heap, count - 1, 0);
  }
}

/* ---- limits ---- */

/* What must be free, and how much more is freed while at it. */
typedef struct need {
  uint64_t entries, bytes, slack_entries, slack_bytes;
} need;

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

/* Returns how many went. The caller holds `sweep`. */
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
    if (!lk_entry_evict(round->heap[i].entry, round->used, garbage)) continue;
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
    lk_garbage_release(&garbage);
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
  if (!lk_account_fits_alone(&cache->account, entries, bytes)) return false;
  if (quota != NULL) {
    if (!lk_account_fits_alone(&quota->account, entries, bytes)) return false;
    make_room(cache, quota, &quota->account, entries, bytes);
  }
  make_room(cache, NULL, &cache->account, entries, bytes);
  return true;
}

/* ---- owners that go, or ask for it ---- */

typedef struct drop {
  bool (*goes)(const lk_entry *entry, const lk_quota *quota);
  const lk_quota *quota;
  bool eviction;
  lk_garbage garbage;
} drop;

static void unlink_if_goes(void *arg, lk_entry *entry) {
  drop *of = arg;
  if (of->goes(entry, of->quota)) lk_entry_unlink(entry, of->eviction, &of->garbage);
}

static void run_drop(lk_cache *cache, drop *of) {
  pthread_mutex_lock(&cache->sweep);
  if (cache->mode == LK_CACHE_SHARED) {
    lk_each_entry(cache, unlink_if_goes, of);
    lk_fronts_sweep(cache, &of->garbage);
  } else {
    pthread_mutex_lock(&cache->tables_lock);
    lk_each_entry(cache, unlink_if_goes, of);
    pthread_mutex_unlock(&cache->tables_lock);
  }
  pthread_mutex_unlock(&cache->sweep);
  lk_garbage_release(&of->garbage);
}

static bool is_in(const lk_entry *entry, const lk_quota *quota) {
  return quota == NULL || entry->quota == quota;
}

void lk_drop_all(lk_cache *cache, const lk_quota *quota, bool eviction) {
  run_drop(cache, &(drop){.goes = is_in, .quota = quota, .eviction = eviction});
}

static void note_used_value(void *arg, lk_entry *entry) {
  if (entry->self.kind != LK_KIND_VALUE) return;
  entry->used_before = lk_entry_users(entry) > 0 ? *(const lk_quota **)arg : NULL;
}

static bool was_used(const lk_entry *entry, const lk_quota *quota) {
  return entry->used_before == quota && lk_entry_users(entry) == 0;
}

void lk_drop_executor(lk_cache *cache, const lk_quota *quota) {
  pthread_mutex_lock(&cache->sweep);
  pthread_mutex_lock(&cache->tables_lock);
  lk_each_entry(cache, note_used_value, &quota);
  pthread_mutex_unlock(&cache->tables_lock);
  pthread_mutex_unlock(&cache->sweep);
  lk_drop_all(cache, quota, false);
  run_drop(cache, &(drop){.goes = was_used, .quota = quota});
}
