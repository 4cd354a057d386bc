/* Ticks: in which order entries were used. Inline, because every hit gives one. */
#pragma once

#include "base/clock.h"
#include "keys/cache/state.h"

/* Time in a unit shorter than a hit. */
static inline uint64_t lk_tick_now(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return lk_now_ns();
#endif
}

/* A tick for a use that is not a plain hit; later than all that this table has given. Ticks come
 * from the clock and the calling thread's own table: threads write to nothing in common. */
static inline uint64_t lk_cold_tick(lk_thread_table *table) {
  const uint64_t now = lk_tick_now();
  table->clock = now > table->clock ? now : table->clock + 1;
  return table->clock;
}

/* How often a hit reads the clock, which costs more than the rest of it. In between, ticks count
 * up. So a thread's own uses are ordered exactly, and those of two threads up to this many hits of
 * the slower one. */
#define LK_HITS_PER_CLOCK 16u

/* A tick for the `hits`th hit of its kind in this table, which the caller holds. */
static inline uint64_t lk_hit_tick(lk_thread_table *table, uint64_t hits) {
  if (hits % LK_HITS_PER_CLOCK == 0) return lk_cold_tick(table);
  return ++table->clock;
}
