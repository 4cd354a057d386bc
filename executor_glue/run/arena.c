/* Arenas, and the choice of one. */
#include "executor_glue/run/arena.h"

#include "base/alloc.h"
#include "base/status.h"

lk_status lk_arena_create(const lk_allocator *allocator, uint64_t bytes, lk_arena **out_arena,
                          lk_error *error) {
  *out_arena = NULL;
  lk_arena *arena = lk_calloc(allocator, 1, sizeof *arena);
  void *data = arena != NULL ? lk_alloc_aligned(allocator, bytes, LK_DATA_ALIGNMENT) : NULL;
  if (data == NULL) {
    lk_free(allocator, arena);
    return lk_fail_memory(error, "an arena", bytes);
  }
  arena->data = data;
  arena->bytes = bytes;
  *out_arena = arena;
  return LK_OK;
}

void lk_arena_destroy(const lk_allocator *allocator, lk_arena *arena) {
  if (arena == NULL) return;
  lk_free(allocator, arena->data);
  lk_free(allocator, arena);
}

lk_arena *lk_arena_take(lk_arena **list, uint64_t bytes, lk_arena **out_small) {
  lk_arena **best = NULL, **largest = NULL;
  *out_small = NULL;
  for (lk_arena **at = list; *at != NULL; at = &(*at)->next) {
    if ((*at)->bytes >= bytes && (best == NULL || (*at)->bytes < (*best)->bytes)) best = at;
    if (largest == NULL || (*at)->bytes > (*largest)->bytes) largest = at;
  }
  lk_arena **chosen = best != NULL ? best : largest;
  if (chosen == NULL) return NULL;
  lk_arena *arena = *chosen;
  *chosen = arena->next;
  arena->next = NULL;
  if (best != NULL) return arena;
  *out_small = arena;
  return NULL;
}
