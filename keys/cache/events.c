/* Events: the host's callback is told what the cache has counted, and listeners what leaves it. */
#include "keys/cache/events.h"

#include "keys/cache/listeners.h"

lk_key lk_key_shown(const lk_cache *cache, const lk_key *key) {
  lk_key shown = {.hash = key->hash, .size = key->size, .bytes = key->bytes};
  if (lk_key_get_head(key)->kind == LK_KIND_USER && cache->words != NULL) {
    shown.names = lk_intern_serial(cache->words);
  }
  return shown;
}

static void tell(const lk_cache *cache, lk_event event, const lk_key *key, uint64_t bytes,
                 uint64_t build_ns) {
  const lk_key shown = lk_key_shown(cache, key);
  const lk_event_info info = {.struct_size = sizeof info,
                              .key = &shown,
                              .bytes = bytes,
                              .build_ns = build_ns,
                              .event = event,
                              .kind = lk_key_get_head(key)->kind};
  cache->event(cache->event_user, &info);
}

void lk_tell_hit(const lk_ref *ref) {
  tell(ref->entry->cache, LK_EVENT_HIT, &ref->entry->key, 0, 0);
}

void lk_tell_looked(const lk_cache *cache, const lk_key *key, const lk_ref *ref,
                    const lk_looked *looked) {
  if (!lk_has_events(cache)) return;
  for (uint32_t event = LK_EVENT_HIT; event <= LK_EVENT_FAILED; event++) {
    if ((looked->events >> event & 1) == 0) continue;
    const bool is_built = event == LK_EVENT_BUILD;
    tell(cache, (lk_event)event, key, is_built ? lk_account_charged(ref->entry) : 0,
         is_built || event == LK_EVENT_FAILED ? looked->build_ns : 0);
  }
}

static bool has_listeners(const lk_cache *cache) {
  return atomic_load_explicit(&cache->n_listeners, memory_order_relaxed) != 0;
}

void lk_tell_unlinked(const lk_entry *entry) {
  lk_cache *cache = entry->cache;
  if (!lk_has_events(cache) && !has_listeners(cache)) return;
  const lk_key shown = lk_key_shown(cache, &entry->key);
  const lk_event_info info = {.struct_size = sizeof info,
                              .key = &shown,
                              .bytes = lk_account_charged(entry),
                              .event = entry->evicted != 0 ? LK_EVENT_EVICT : LK_EVENT_DROP,
                              .kind = lk_key_get_head(&entry->key)->kind};
  if (lk_has_events(cache)) cache->event(cache->event_user, &info);
  if (has_listeners(cache)) lk_listeners_tell(cache, &info);
}
