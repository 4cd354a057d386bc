#include "keys/cache/listeners.h"

#include "base/callees.h"
#include "keys/cache/state.h"

_Static_assert(sizeof(lk_callee) <= sizeof(((lk_listener *)0)->opaque), "a callee has room");

static lk_callees list = LK_CALLEES(list); /* those of all caches */

void lk_listener_enter(lk_cache *cache, lk_listener *listener) {
  lk_callees_enter(&list, (lk_callee *)listener->opaque, cache);
  atomic_fetch_add_explicit(&cache->n_listeners, 1, memory_order_relaxed);
}

void lk_listener_leave(lk_listener *listener) {
  lk_cache *cache = lk_callees_leave(&list, (lk_callee *)listener->opaque);
  if (cache != NULL) atomic_fetch_sub_explicit(&cache->n_listeners, 1, memory_order_relaxed);
}

static void tell(lk_callee *callee, void *info) {
  const lk_listener *listener = LK_CALLEE_HOST(callee, lk_listener);
  listener->event(listener->user, info);
}

void lk_listeners_tell(lk_cache *cache, const lk_event_info *info) {
  lk_callees_call(&list, cache, tell, (void *)(uintptr_t)info);
}
