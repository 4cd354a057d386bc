/* Entries of the cache: their life, their handles, and references to them (explored in
 * tests/promela/refs.pml). */
#include "keys/cache/entry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/status.h"
#include "keys/cache/account.h"
#include "keys/cache/events.h"

/* What a value is charged that claims more than can be added up. */
#define HUGE_BYTES (LK_UNLIMITED / 4)

uint64_t lk_entry_charge_of(const lk_key *key, uint64_t value_bytes) {
  const uint64_t bytes = value_bytes < HUGE_BYTES ? value_bytes : HUGE_BYTES;
  return bytes + sizeof(lk_entry) + key->size;
}

lk_status lk_entry_create(lk_cache *cache, lk_quota *quota, const lk_key *key,
                          const lk_built *built, lk_entry **out_entry, lk_error *error) {
  *out_entry = NULL;
  const size_t size = sizeof(lk_entry) + key->size;
  lk_entry *entry = lk_alloc_aligned(&cache->allocator, size, LK_CACHE_LINE);
  if (entry == NULL) {
    if (built->destroy != NULL) built->destroy(built->value, built->user);
    return lk_fail_memory(error, "a cache entry", size);
  }
  memset(entry, 0, sizeof *entry);
  memcpy(entry->key_bytes, key->bytes, key->size);
  entry->key = (lk_key){.hash = key->hash, .size = key->size, .bytes = entry->key_bytes};
  lk_key_use_names(&entry->key, cache->words);
  entry->cache = cache;
  entry->built = *built;
  entry->bytes = lk_entry_charge_of(key, built->bytes);
  entry->self.value = built->value;
  entry->self.entry = entry;
  entry->self.key_bytes = entry->key_bytes;
  entry->self.key_size = key->size;
  entry->self.kind = lk_key_get_head(key)->kind;
  atomic_init(&entry->self.refs, LK_REF_ONE);
  if (quota != NULL) {
    entry->quota = quota;
    atomic_fetch_add_explicit(&quota->refs, 1, memory_order_relaxed);
  }
  lk_account_add(entry);
  *out_entry = entry;
  return LK_OK;
}

/* What a thread is destroying. A value may hold the last reference to the next one, and so on for
 * as many as a host likes: where they nest too deep, the next ones wait for the one that nests
 * deepest to be done. */
typedef struct lk_ending {
  uint32_t depth;
  lk_ref *later;           /* entries' own handles, linked by garbage_next */
  struct lk_ending *outer; /* within whose ends this one is; NULL: none */
} lk_ending;
enum { MOST_NESTED = 64 };
static _Thread_local lk_ending ending;

static void end_entry(lk_entry *entry) {
  lk_cache *cache = entry->cache;
  if (entry->built.destroy != NULL) entry->built.destroy(entry->built.value, entry->built.user);
  lk_account_remove(entry);
  if (entry->quota != NULL) lk_quota_release(entry->quota);
  lk_key_leave_names(&entry->key);
  lk_free(&cache->allocator, entry);
}

static void entry_destroy(lk_entry *entry) {
  if (ending.depth == MOST_NESTED) {
    entry->self.garbage_next = ending.later;
    ending.later = &entry->self;
    return;
  }
  ending.depth++;
  end_entry(entry);
  while (ending.depth == MOST_NESTED && ending.later != NULL) {
    lk_entry *next = ending.later->entry;
    ending.later = ending.later->garbage_next;
    end_entry(next);
  }
  ending.depth--;
}

/* Takes one that is of the cache, and of the quota unless that is NULL. NULL: there is none. */
static lk_entry *take_waiting(lk_ending *of, const lk_cache *cache, const lk_quota *quota) {
  for (lk_ref **at = &of->later; *at != NULL; at = &(*at)->garbage_next) {
    lk_entry *entry = (*at)->entry;
    if (entry->cache != cache || (quota != NULL && entry->quota != quota)) continue;
    *at = (*at)->garbage_next;
    return entry;
  }
  return NULL;
}

void lk_entries_end_waiting(const lk_cache *cache, const lk_quota *quota) {
  lk_ending *of = &ending;
  while (of != NULL) {
    lk_entry *entry = take_waiting(of, cache, quota);
    if (entry == NULL) {
      of = of->outer;
      continue;
    }
    end_entry(entry);
    of = &ending; /* what it referred to waits there */
  }
}

bool lk_entry_link(lk_entry *entry, lk_table *table, uint64_t tick) {
  atomic_store_explicit(&entry->self.tick, tick, memory_order_relaxed);
  entry->seen_tick = tick;
  if (!lk_table_insert(table, &entry->key, &entry->self.node)) return true;
  atomic_fetch_add_explicit(&entry->self.refs, LK_REF_LISTED, memory_order_relaxed);
  /* Last: from here on, the hand of a clock may come to it. */
  if (lk_account_link(entry)) return true;
  atomic_fetch_sub_explicit(&entry->self.refs, LK_REF_LISTED, memory_order_relaxed);
  lk_table_remove(table, &entry->self.node);
  return false;
}

/* ---- who uses it ---- */

/* How many references there are besides the table's, when `refs` was read as this. What has been
 * released from it was taken before: with an acquire, `taken` is not older. */
static uint32_t users_in(const lk_ref *ref, uint32_t refs) {
  if ((refs & LK_REF_LISTED) != 0) {
    refs += atomic_load_explicit(&ref->taken, memory_order_relaxed) * LK_REF_ONE;
  }
  return refs / LK_REF_ONE;
}

static uint32_t users_of(const lk_ref *ref) {
  return users_in(ref, atomic_load_explicit(&ref->refs, memory_order_acquire));
}

static uint32_t count_handles(const lk_entry *entry) {
  uint32_t count = 0;
  for (const lk_ref *handle = entry->handles; handle != NULL; handle = handle->next) count++;
  return count;
}

uint32_t lk_entry_users(const lk_entry *entry) {
  /* A handle holds a reference to `self`, also while its last user releases it. */
  uint32_t users = users_of(&entry->self) - count_handles(entry);
  for (const lk_ref *handle = entry->handles; handle != NULL; handle = handle->next) {
    users += users_of(handle);
  }
  return users;
}

uint64_t lk_entry_tick(const lk_entry *entry) {
  uint64_t tick = atomic_load_explicit(&entry->self.tick, memory_order_relaxed);
  for (const lk_ref *handle = entry->handles; handle != NULL; handle = handle->next) {
    const uint64_t other = atomic_load_explicit(&handle->tick, memory_order_relaxed);
    if (other > tick) tick = other;
  }
  return tick;
}

uint64_t lk_entry_front_hits(const lk_entry *entry) {
  uint64_t hits = 0;
  for (const lk_ref *handle = entry->handles; handle != NULL; handle = handle->next) {
    /* The others have handed theirs over. */
    if (!lk_ref_is_listed(handle)) continue;
    hits += atomic_load_explicit(&handle->hits, memory_order_relaxed);
  }
  return hits;
}

uint64_t lk_entry_hits(const lk_entry *entry) {
  return atomic_load_explicit(&entry->self.hits, memory_order_relaxed) + lk_entry_front_hits(entry);
}

/* ---- parked: tests/promela/refs.pml ---- */

/* Marks `ref` if it has more users than `others`. One number has mark and users: whoever releases
 * the last one sees the mark. */
static bool mark(lk_ref *ref, uint32_t others) {
  const uint32_t refs = atomic_fetch_or_explicit(&ref->refs, LK_REF_PARKED, memory_order_acquire);
  if (users_in(ref, refs) > others) return true;
  atomic_fetch_and_explicit(&ref->refs, ~LK_REF_PARKED, memory_order_relaxed);
  return false;
}

static bool mark_a_used_one(lk_entry *entry) {
  if (mark(&entry->self, count_handles(entry))) return true;
  for (lk_ref *handle = entry->handles; handle != NULL; handle = handle->next) {
    if (mark(handle, 0)) return true;
  }
  return false;
}

bool lk_entry_park(lk_entry *entry) {
  if (lk_entry_users(entry) == 0 || !mark_a_used_one(entry)) return false;
  entry->parked = 1;
  lk_account_park(entry);
  return true;
}

static void clear_marks(lk_entry *entry) {
  atomic_fetch_and_explicit(&entry->self.refs, ~LK_REF_PARKED, memory_order_relaxed);
  for (lk_ref *handle = entry->handles; handle != NULL; handle = handle->next) {
    atomic_fetch_and_explicit(&handle->refs, ~LK_REF_PARKED, memory_order_relaxed);
  }
}

void lk_entry_leave_park(lk_entry *entry) {
  if (entry->parked == 0) return;
  entry->parked = 0;
  clear_marks(entry);
}

/* ---- handles of fronts ---- */

bool lk_entry_add_handle(lk_entry *entry, lk_ref *handle) {
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  pthread_mutex_lock(&shard->lock);
  const bool is_linked = lk_entry_is_linked(entry);
  if (is_linked) {
    /* Its user was one of `self` until now, whose mark does not hear of it any more. */
    if (entry->parked != 0) {
      atomic_fetch_or_explicit(&handle->refs, LK_REF_PARKED, memory_order_relaxed);
    }
    LK_LIST_ADD(entry->handles, handle, next, link);
  }
  pthread_mutex_unlock(&shard->lock);
  return is_linked;
}

lk_thread_table *lk_entry_next_front(lk_entry *entry) {
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  lk_thread_table *front = NULL;
  pthread_mutex_lock(&shard->lock);
  while (front == NULL && entry->handles != NULL) {
    lk_ref *handle = entry->handles;
    front = atomic_load_explicit(&handle->front, memory_order_relaxed);
    LK_LIST_REMOVE(handle, next, link);
    handle->next = NULL; /* so that it can leave its list, which is itself, once more */
    handle->link = &handle->next;
  }
  pthread_mutex_unlock(&shard->lock);
  return front;
}

static void remove_handle(lk_entry *entry, lk_ref *handle) {
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  pthread_mutex_lock(&shard->lock);
  LK_LIST_REMOVE(handle, next, link);
  pthread_mutex_unlock(&shard->lock);
}

/* ---- references ---- */

void *lk_ref_value(const lk_ref *ref) {
  return ref->value;
}

const lk_key *lk_ref_key(const lk_ref *ref) {
  return &ref->entry->key;
}

void lk_ref_retain(lk_ref *ref) {
  lk_ref_add(ref, 1);
}

/* Releases a reference with a mark, which may be the last use of an entry that is parked. Returns
 * what `refs` was. */
static uint32_t release_marked(lk_ref *ref) {
  lk_entry *entry = ref->entry;
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  pthread_mutex_lock(&shard->lock);
  const uint32_t refs = atomic_fetch_sub_explicit(&ref->refs, LK_REF_ONE, memory_order_acq_rel);
  /* While it is parked it is linked, so it is there although the reference is gone. */
  if (entry->parked != 0 && !mark_a_used_one(entry)) {
    lk_entry_leave_park(entry);
    lk_account_unpark(entry);
  }
  pthread_mutex_unlock(&shard->lock);
  return refs;
}

/* Among the users of an entry's own handle are those that its fronts' handles have. */
static bool may_be_last_use(const lk_ref *ref, uint32_t refs) {
  return users_in(ref, refs) == 1 ||
         (ref == &ref->entry->self && ref->entry->cache->mode == LK_CACHE_SHARED);
}

/* Whether it was the last one, the table's included. */
static inline bool is_last(lk_ref *ref) {
  uint32_t refs = atomic_load_explicit(&ref->refs, memory_order_acquire);
  do {
    if ((refs & LK_REF_PARKED) != 0 && may_be_last_use(ref, refs)) {
      refs = release_marked(ref);
      break;
    }
  } while (!atomic_compare_exchange_weak_explicit(&ref->refs, &refs, refs - LK_REF_ONE,
                                                  memory_order_acq_rel, memory_order_acquire));
  return (refs & ~LK_REF_PARKED) == LK_REF_ONE;
}

void lk_ref_release(lk_ref *ref) {
  if (ref == NULL || !is_last(ref)) return;
  lk_entry *entry = ref->entry;
  if (ref != &entry->self) {
    remove_handle(entry, ref);
    lk_free(&entry->cache->allocator, ref);
    if (!is_last(&entry->self)) return;
  }
  entry_destroy(entry);
}

void lk_garbage_take(lk_garbage *garbage, lk_ref *ref) {
  const uint32_t taken = atomic_load_explicit(&ref->taken, memory_order_relaxed);
  atomic_fetch_add_explicit(&ref->refs, (taken + 1) * LK_REF_ONE - LK_REF_LISTED,
                            memory_order_relaxed);
  ref->garbage_next = garbage->first;
  garbage->first = ref;
}

/* All that ends by this has ended when it returns, also within the end of a value: an executor, or
 * a whole context, may be what ends there. */
void lk_garbage_release(lk_garbage *garbage) {
  lk_ending outer = ending;
  ending = (lk_ending){.outer = &outer};
  while (garbage->first != NULL) {
    lk_ref *ref = garbage->first;
    garbage->first = ref->garbage_next;
    if (ref == &ref->entry->self) lk_tell_unlinked(ref->entry);
    lk_ref_release(ref);
  }
  ending = outer;
}
