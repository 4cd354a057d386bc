#include "executor_glue/run/reclaim.h"

#include "executor_glue/run/arena_store.h"
#include "executor_glue/run/trace.h"

bool lk_reclaim_idle(const lk_api *api, lk_context *context, lk_trace *trace) {
  lk_stats stats = {.struct_size = sizeof stats};
  lk_arena_store *arenas = NULL;
  if (api->cache_stats(context, NULL, &stats, NULL) != LK_OK || stats.memory_refusals == 0 ||
      stats.memory_refused_bytes > stats.memory_limit_bytes) {
    return false;
  }
  lk_trace_give_way(trace); /* first: then it has what is dropped now */
  /* Entries before arenas: their frames have arenas to give back. */
  if (api->cache_clear(context, NULL, NULL) != LK_OK) return false;
  if (lk_arena_store_open(api, context, &arenas, NULL) == LK_OK) {
    lk_arena_store_trim(arenas);
    lk_arena_store_close(arenas);
  }
  /* Else the next arenas take memory of the system's beside what the entries leave with malloc. */
  api->cache_trim(context);
  return true;
}
