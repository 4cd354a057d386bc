/* Slots for what runs borrow and give back: a pointer in each, which a thread takes and gives
 * without a lock. Threads have slots by turns, each on a cache line of its own: where the runs of
 * two threads write to one line, each waits for the other's processor.
 *
 * Threads: any number may take and give at the same time. What is taken has all that was written to
 * it before it was given. */
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/tally.h"

typedef struct lk_hot_slot {
  alignas(LK_CACHE_LINE) _Atomic(void *) hot; /* NULL: nothing */
} lk_hot_slot;

/* The calling thread's. */
static inline lk_hot_slot *lk_hot_of_thread(lk_hot_slot *slots, size_t n_slots) {
  return &slots[lk_thread_number() % n_slots];
}

static inline void *lk_hot_take(lk_hot_slot *from) {
  /* looked at first: an exchange would take the line from the thread that it is of */
  if (atomic_load_explicit(&from->hot, memory_order_relaxed) == NULL) return NULL;
  return atomic_exchange_explicit(&from->hot, NULL, memory_order_acquire);
}

/* Out of the first slot that has anything. */
static inline void *lk_hot_take_any(lk_hot_slot *slots, size_t n_slots) {
  void *taken = NULL;
  for (size_t i = 0; taken == NULL && i < n_slots; i++) taken = lk_hot_take(&slots[i]);
  return taken;
}

/* False: there is something in it. */
static inline bool lk_hot_give(lk_hot_slot *to, void *given) {
  void *none = NULL;
  return atomic_compare_exchange_strong_explicit(&to->hot, &none, given, memory_order_release,
                                                 memory_order_relaxed);
}
