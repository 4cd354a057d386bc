/* Which entries go when there are too many, or too many bytes.
 *
 * Those go first that nobody uses, in about the order of their last use: a clock (clock.h), whose
 * hand looks at LOOKS entries at most, on average, before one goes. So the cost of an eviction does
 * not depend on how many entries there are.
 *
 * What a run plan refers to is in use by it. When the hand meets it, it is parked; when the last
 * user releases it, it is the next that the hand meets. So a cold run plan goes, and then what it
 * alone has needed, before the next run plan does. A hot run plan stays, and so does all that it
 * needs. An entry is parked once for each time that it gets a user, so parking costs its users and
 * not those who make room.
 *
 * Destroying a value releases what it refers to. So one entry goes at a time: unlink, destroy, look
 * again. When no candidate is left and there is still too much, entries in use are unlinked too:
 * they no longer count, and the last user frees them.
 */
#include "keys/cache/evict.h"

#include "keys/cache/account.h"
#include "keys/cache/entry.h"
#include "keys/cache/front.h"
#include "keys/cache/walk.h"

/* Entries that the hand looks at for one that goes. What is not needed is kept for the next, up to
 * MOST_LOOKS: after a run plan, what it alone has needed goes at one look each, and then the hand
 * can look at many run plans before it chooses one. If all that it looks at was hit since it came
 * along the last time, the one that was used least recently goes. */
#define LOOKS 8u
#define MOST_LOOKS 64u

/* ---- the hand ---- */

/* What was found: nothing, entries but none that may go yet, or one, and it went. */
typedef enum round_result { ROUND_NOTHING, ROUND_LOOKED, ROUND_EVICTED } round_result;

/* An account that must have room for more. */
typedef struct need {
  lk_cache *cache;
  lk_account *account;
  uint64_t entries, bytes;
} need;

static bool is_over(const need *wanted) {
  pthread_mutex_lock(&wanted->cache->accounts);
  const bool fits = lk_account_fits(wanted->account, wanted->entries, wanted->bytes);
  pthread_mutex_unlock(&wanted->cache->accounts);
  return !fits;
}

typedef enum look_result { LOOK_IN_USE, LOOK_WARM, LOOK_COLD } look_result;

static look_result look_at(lk_entry *entry, bool used) {
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  look_result result = LOOK_IN_USE;
  pthread_mutex_lock(&shard->lock);
  if (used || !lk_entry_park(entry)) {
    const uint64_t hits = lk_entry_hits(entry);
    result = hits == entry->seen_hits ? LOOK_COLD : LOOK_WARM;
    entry->seen_hits = hits;
    entry->seen_tick = lk_entry_tick(entry);
  }
  pthread_mutex_unlock(&shard->lock);
  return result;
}

/* What may go, coldest first. */
typedef struct candidates {
  lk_entry *entries[MOST_LOOKS];
  uint32_t count;
} candidates;

static void add_candidate(candidates *found, lk_entry *entry) {
  uint32_t at = found->count++;
  for (; at > 0 && found->entries[at - 1]->seen_tick > entry->seen_tick; at--) {
    found->entries[at] = found->entries[at - 1];
  }
  found->entries[at] = entry;
}

/* Who goes next, of those in use or of the others. NULL: none yet. The caller holds `tables`. */
static lk_entry *choose(const need *wanted, bool used, bool *out_any) {
  lk_clock *clock = &wanted->account->clock;
  const uint32_t most = clock->credit + LOOKS < MOST_LOOKS ? clock->credit + LOOKS : MOST_LOOKS;
  lk_entry *first = NULL, *cold = NULL;
  candidates found = {.count = 0};
  uint32_t looks = 0;
  while (looks < most && cold == NULL) {
    lk_entry *entry = lk_account_step(wanted->cache, wanted->account, used);
    if (entry == NULL || entry == first) break;
    looks++;
    const look_result result = look_at(entry, used);
    if (result == LOOK_IN_USE) continue;
    if (result == LOOK_COLD) cold = entry;
    if (first == NULL) first = entry;
    add_candidate(&found, entry);
  }
  clock->credit = most - looks;
  *out_any = looks > 0;
  if (!used) lk_account_leave(wanted->cache, wanted->account, found.entries, found.count);
  return cold == NULL && found.count > 0 ? found.entries[0] : cold;
}

/* Evicts one entry at most. The caller holds `tables`. */
static round_result run_round(const need *wanted, bool used, lk_garbage *garbage) {
  bool any = false;
  lk_entry *entry = choose(wanted, used, &any);
  if (entry == NULL) return any ? ROUND_LOOKED : ROUND_NOTHING;
  if (!lk_entry_evict(entry, used, garbage)) return ROUND_LOOKED;
  lk_fronts_leave(entry, garbage);
  return ROUND_EVICTED;
}

/* ---- limits ---- */

static void make_room(const need *wanted) {
  lk_cache *cache = wanted->cache;
  bool used = false;
  while (is_over(wanted)) {
    lk_garbage garbage = {NULL};
    round_result result = ROUND_LOOKED;
    pthread_mutex_lock(&cache->tables_lock);
    /* Once more: the thread that had the lock before may have made the room. */
    if (is_over(wanted)) result = run_round(wanted, used, &garbage);
    pthread_mutex_unlock(&cache->tables_lock);
    lk_garbage_release(&garbage);
    if (result == ROUND_NOTHING && used) return;
    if (result == ROUND_NOTHING) used = true;
    /* What an entry in use refers to may be unused now. */
    if (result == ROUND_EVICTED) used = false;
  }
}

bool lk_make_room(lk_cache *cache, lk_quota *quota, uint64_t entries, uint64_t bytes) {
  if (!lk_account_fits_alone(&cache->account, entries, bytes)) return false;
  if (quota != NULL) {
    if (!lk_account_fits_alone(&quota->account, entries, bytes)) return false;
    make_room(&(need){cache, &quota->account, entries, bytes});
  }
  make_room(&(need){cache, &cache->account, entries, bytes});
  return true;
}

/* ---- owners that go, or ask for it ---- */

typedef struct drop {
  const lk_quota *quota; /* NULL: of all */
  bool eviction;
  lk_garbage garbage;
} drop;

static void unlink_if_goes(void *arg, lk_entry *entry) {
  drop *of = arg;
  if (of->quota != NULL && entry->quota != of->quota) return;
  lk_entry_unlink(entry, of->eviction, &of->garbage);
}

static void leave_fronts(lk_garbage *unlinked, lk_garbage *garbage) {
  for (lk_ref *ref = unlinked->first; ref != NULL; ref = ref->garbage_next) {
    lk_fronts_leave(ref->entry, garbage);
  }
}

void lk_drop_all(lk_cache *cache, const lk_quota *quota, bool eviction) {
  drop of = {.quota = quota, .eviction = eviction};
  lk_garbage handles = {NULL};
  pthread_mutex_lock(&cache->tables_lock);
  lk_each_entry(cache, unlink_if_goes, &of);
  leave_fronts(&of.garbage, &handles);
  pthread_mutex_unlock(&cache->tables_lock);
  lk_garbage_release(&handles);
  lk_garbage_release(&of.garbage);
  lk_entries_end_waiting(cache, quota);
}
