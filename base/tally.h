/* Counts that many threads add to in every run. Threads add by turns, each on a cache line of its
 * own: with one line for all, each would wait for the processor of the one before.
 *
 * Threads: any number may add and sum at the same time. */
#pragma once

#include <stdalign.h>
#include <stdint.h>

#include "base/alloc.h"

/* Of the calling thread: the same in each call, from 1. */
unsigned lk_thread_number(void);

enum { LK_TALLY_LINES = 8, LK_TALLY_COUNTS = LK_CACHE_LINE / sizeof(uint64_t) };

/* All zero at first. The counts are atomic; not by their type, which C++ does not know. */
typedef struct lk_tally {
  struct {
    alignas(LK_CACHE_LINE) uint64_t counts[LK_TALLY_COUNTS];
  } lines[LK_TALLY_LINES];
} lk_tally;

/* `which`: below LK_TALLY_COUNTS. */
static inline void lk_tally_add(lk_tally *tally, unsigned which) {
  uint64_t *mine = tally->lines[lk_thread_number() % LK_TALLY_LINES].counts;
  __atomic_fetch_add(&mine[which], 1, __ATOMIC_RELAXED);
}

/* Without what is added meanwhile, or with a part of it. */
uint64_t lk_tally_sum(const lk_tally *tally, unsigned which);
