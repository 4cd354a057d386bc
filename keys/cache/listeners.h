/* Listeners: who else is told what leaves a cache, from when they enter to when they leave. Telling
 * them allocates nothing, and no lock is held while one is called. Any number of threads may call
 * these functions at the same time. */
#pragma once

#include "keys/cache/ref.h"

/* As listener_enter and listener_leave of lk_api. */
void lk_listener_enter(lk_cache *cache, lk_listener *listener);
void lk_listener_leave(lk_listener *listener);
/* Calls all of the cache. */
void lk_listeners_tell(lk_cache *cache, const lk_event_info *info);
