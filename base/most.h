/* The largest of the values that many threads note. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* `*most` begins with 0, and is atomic; not by its type, which C++ does not know. */
static inline void lk_most_note(uint64_t *most, uint64_t value) {
  uint64_t before = __atomic_load_n(most, __ATOMIC_RELAXED);
  while (value > before && !__atomic_compare_exchange_n(most, &before, value, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
