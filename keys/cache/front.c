/* Fronts: the tables of threads in shared mode. Explored in tests/promela/front.pml. */
#include "keys/cache/front.h"

#include <string.h>

#include "base/alloc.h"
#include "keys/cache/entry.h"
#include "keys/cache/thread_table.h"
#include "keys/cache/tick.h"

#define FRONT_CAPACITY 4096u

lk_ref *lk_front_take(lk_thread_table *front, lk_entry *entry) {
  lk_cache *cache = front->cache;
  if (atomic_load_explicit(&entry->linked, memory_order_relaxed) == 0) return &entry->self;
  lk_ref *handle = lk_alloc_aligned(&cache->allocator, sizeof *handle, LK_LINE);
  if (handle == NULL) return &entry->self;
  memset(handle, 0, sizeof *handle);
  handle->value = entry->self.value;
  handle->entry = entry;
  handle->kind = entry->self.kind;
  handle->key_bytes = entry->key_bytes;
  handle->key_size = entry->key.size;
  const uint64_t tick = lk_cache_tick(cache);
  atomic_init(&handle->refs, 1);
  atomic_init(&handle->tick, tick);

  lk_garbage garbage = {NULL};
  if (lk_thread_table_try_lock(front)) {
    front->clock = tick;
    if (lk_table_count(&front->table) >= FRONT_CAPACITY) lk_thread_table_empty(front, &garbage);
    /* Who unlinks an entry clears `linked` before it looks into the fronts, one by one: either it
     * finds what is listed here now, or `linked` is 0 here already. */
    if (atomic_load_explicit(&entry->linked, memory_order_relaxed) != 0 &&
        lk_table_find(&front->table, &entry->key) == NULL &&
        lk_table_insert(&front->table, &entry->key, &handle->node)) {
      atomic_fetch_add_explicit(&handle->refs, 1, memory_order_relaxed);
      atomic_store_explicit(&handle->listed, 1, memory_order_relaxed);
    }
    lk_thread_table_unlock(front);
  }
  /* Now that it is listed or not: lk_entry_users would count one too few if it saw `refs` from
   * before and `listed` from after. Until here, it counts the handle's reference to the entry. */
  lk_entry_add_handle(entry, handle);
  lk_garbage_release(&garbage);
  return handle;
}

void lk_fronts_sweep(lk_cache *cache, lk_garbage *garbage) {
  pthread_mutex_lock(&cache->tables_lock);
  for (lk_thread_table *front = cache->tables; front != NULL; front = front->cache_next) {
    lk_thread_table_lock(front);
    for (lk_table_node *node = lk_table_first(&front->table); node != NULL;) {
      lk_ref *ref = (lk_ref *)node;
      node = lk_table_next(node);
      if (atomic_load_explicit(&ref->entry->linked, memory_order_relaxed) == 0) {
        lk_thread_table_remove(front, ref, garbage);
      }
    }
    lk_thread_table_unlock(front);
  }
  pthread_mutex_unlock(&cache->tables_lock);
}
