/* Per-thread mode. */
#include "keys/cache/thread_mode.h"

#include "base/status.h"
#include "keys/cache/account.h"
#include "keys/cache/build.h"
#include "keys/cache/entry.h"
#include "keys/cache/evict.h"
#include "keys/cache/thread_table.h"

/* False: it does not fit now. */
static bool link_entry(lk_thread_table *table, lk_entry *entry) {
  lk_thread_table_lock(table);
  const bool fits = lk_entry_link(entry, &table->table);
  if (fits) table->clock = lk_entry_tick(entry);
  if (atomic_load_explicit(&entry->linked, memory_order_relaxed) != 0) {
    atomic_store_explicit(&entry->self.listed, 1, memory_order_relaxed);
    entry->table = table;
  }
  lk_thread_table_unlock(table);
  return fits;
}

lk_status lk_thread_mode_get(lk_thread_table *table, lk_quota *quota, const lk_key *key,
                             lk_build_fn build, void *arg, lk_ref **out_ref, lk_error *error) {
  lk_cache *cache = table->cache;
  lk_entry *entry = NULL;
  lk_count(cache, quota, lk_key_get_head(key)->kind, LK_EVENT_MISS, 0);
  LK_RETURN_NOT_OK(lk_build(cache, quota, key, build, arg, &entry, error));
  while (!link_entry(table, entry) && lk_make_room(cache, quota, 1, entry->bytes)) {
  }
  *out_ref = &entry->self;
  return LK_OK;
}
