/* Fronts: the tables of threads in shared mode. Explored in tests/promela/front.pml. */
#include "keys/cache/front.h"

#include "base/alloc.h"
#include "keys/cache/entry.h"
#include "keys/cache/thread_table.h"
#include "keys/cache/tick.h"

#define FRONT_CAPACITY 4096u

/* A handle for this thread; NULL: no memory. */
static lk_ref *create_handle(lk_thread_table *front, lk_entry *entry) {
  lk_ref *handle = lk_calloc_lines(&front->cache->allocator, sizeof *handle);
  if (handle == NULL) return NULL;
  handle->value = entry->self.value;
  handle->entry = entry;
  handle->kind = entry->self.kind;
  handle->key_bytes = entry->key_bytes;
  handle->key_size = entry->key.size;
  atomic_init(&handle->front, front);
  atomic_init(&handle->refs, LK_REF_ONE);
  atomic_init(&handle->tick, lk_cold_tick(front));
  return handle;
}

/* The caller has locked the front. */
static void list(lk_thread_table *front, lk_ref *handle, lk_garbage *garbage) {
  lk_entry *entry = handle->entry;
  const size_t own = atomic_load_explicit(&front->own, memory_order_relaxed);
  if (lk_table_count(&front->table) - own >= FRONT_CAPACITY) {
    lk_thread_table_empty_front(front, garbage);
  }
  /* Who unlinks an entry does so before it looks into the fronts of its handles: either it finds
   * what is listed here now, or the entry is no longer linked here already. */
  if (lk_entry_is_linked(entry) && lk_table_find(&front->table, &entry->key) == NULL &&
      lk_table_insert(&front->table, &entry->key, &handle->node)) {
    atomic_fetch_add_explicit(&handle->refs, LK_REF_LISTED, memory_order_relaxed);
  }
}

lk_ref *lk_front_take(lk_thread_table *front, lk_entry *entry) {
  if (!lk_entry_is_linked(entry)) return &entry->self;
  lk_ref *handle = create_handle(front, entry);
  if (handle == NULL) return &entry->self;
  /* First among the entry's handles, then in the front: who unlinks the entry finds the front. */
  if (!lk_entry_add_handle(entry, handle)) {
    lk_free(&front->cache->allocator, handle);
    return &entry->self;
  }
  lk_garbage garbage = {NULL};
  if (lk_thread_table_try_lock(front)) {
    list(front, handle, &garbage);
    lk_thread_table_unlock(front);
  }
  if (!lk_ref_is_listed(handle)) atomic_store_explicit(&handle->front, NULL, memory_order_relaxed);
  lk_garbage_release(&garbage);
  return handle;
}

static void leave(lk_thread_table *front, const lk_entry *entry, lk_garbage *garbage) {
  lk_thread_table_lock(front);
  /* By key: the handle that led here may have left the front, and be gone. */
  lk_ref *listed = (lk_ref *)lk_table_find(&front->table, &entry->key);
  if (listed != NULL && listed->entry == entry) lk_thread_table_remove(front, listed, garbage);
  lk_thread_table_unlock(front);
}

void lk_fronts_leave(lk_entry *entry, lk_garbage *garbage) {
  for (;;) {
    lk_thread_table *front = lk_entry_next_front(entry);
    if (front == NULL) return;
    leave(front, entry, garbage);
  }
}
