/* Ticks: in which order entries were used. Inline, because every hit gives one. */
#pragma once

#include "base/clock.h"
#include "keys/cache/state.h"

/* Time in a unit shorter than a hit. */
static inline uint64_t lk_clock(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return lk_now_ns();
#endif
}

/* A tick for a use that is not a plain hit; later than all ticks given to this cache before. */
static inline uint64_t lk_cache_tick(lk_cache *cache) {
  const uint64_t clock = lk_clock();
  uint64_t now = atomic_load_explicit(&cache->now, memory_order_relaxed);
  uint64_t next = 0;
  do {
    next = clock > now ? clock : now + 1;
  } while (!atomic_compare_exchange_weak_explicit(&cache->now, &now, next, memory_order_relaxed,
                                                  memory_order_relaxed));
  return next;
}

/* How often a hit reads the clock, which costs more than the rest of it. In between, ticks count
 * up, and follow the misses of other threads. So a thread's own uses are ordered exactly, and those
 * of two threads up to this many hits of the slower one. */
#define LK_HITS_PER_CLOCK 16u

/* A tick for the `hits`th hit of its kind in this table, which the caller holds. */
static inline uint64_t lk_hit_tick(lk_thread_table *table, uint64_t hits) {
  uint64_t tick = atomic_load_explicit(&table->cache->now, memory_order_relaxed);
  if (table->clock > tick) tick = table->clock;
  tick++;
  if (hits % LK_HITS_PER_CLOCK == 0) {
    const uint64_t clock = lk_clock();
    if (clock > tick) tick = clock;
  }
  table->clock = tick;
  return tick;
}
