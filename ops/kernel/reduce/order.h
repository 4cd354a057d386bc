/* The order of elements of any type, and of indices by a rule: heaps and sorting without memory of
 * their own. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>
#include <string.h>

#include "base/team/look.h"

/* Of any type but f32. */
uint64_t lk_order_key_of(uint32_t dtype, const void *data, int64_t at);

/* Floating-point numbers as numbers without a sign that have their order: both zeros are equal, and
 * NaN is larger than any number and equal to itself. `lk_order_*_of` gives an element of a key. */
#define LK_ORDER_REAL(s, real, bits_type, sign)                                                    \
  static inline bits_type lk_order_key_##s(real element) {                                         \
    const real value = element + 0; /* -0 becomes 0 */                                             \
    bits_type bits;                                                                                \
    memcpy(&bits, &value, sizeof bits);                                                            \
    /* negative numbers backwards, below the others */                                             \
    bits ^= (bits & (sign)) != 0 ? (bits_type)-1 : (sign);                                         \
    return value == value ? bits : (bits_type)-1;                                                  \
  }                                                                                                \
  static inline real lk_order_##s##_of(uint64_t key) {                                             \
    bits_type bits = (bits_type)key;                                                               \
    real value;                                                                                    \
    bits ^= (bits & (sign)) != 0 ? (sign) : (bits_type)-1;                                         \
    memcpy(&value, &bits, sizeof value);                                                           \
    return value;                                                                                  \
  }
LK_ORDER_REAL(f32, float, uint32_t, UINT32_C(1) << 31)
LK_ORDER_REAL(f64, double, uint64_t, UINT64_C(1) << 63)

/* Element `at` as a number that is compared in its place, with those of the same type. */
static inline uint64_t lk_order_key(uint32_t dtype, const void *data, int64_t at) {
  return dtype == LK_F32 ? lk_order_key_f32(((const float *)data)[at])
                         : lk_order_key_of(dtype, data, at);
}

/* Whether index a comes behind b: never both ways round. */
typedef bool lk_order_fn(const void *context, int64_t a, int64_t b);

/* Indices, `step` apart, as a heap: each comes behind those below it, so the last is the root. */
typedef struct lk_heap {
  int64_t *items;
  int64_t step, size;
  lk_order_fn *is_behind;
  const void *context;
} lk_heap;

/* Puts `index` at `place`, or below; `place` may be free. */
static inline void lk_heap_sink(const lk_heap *heap, int64_t place, int64_t index) {
  const int64_t step = heap->step;
  for (int64_t child = 2 * place + 1; child < heap->size; child = 2 * place + 1) {
    const int64_t other = child + 1;
    if (other < heap->size &&
        heap->is_behind(heap->context, heap->items[other * step], heap->items[child * step])) {
      child = other;
    }
    if (!heap->is_behind(heap->context, heap->items[child * step], index)) break;
    heap->items[place * step] = heap->items[child * step];
    place = child;
  }
  heap->items[place * step] = index;
}

/* Makes a heap of indices in any order. What is stopped leaves all of them, in some order. */
static inline void lk_heap_make(const lk_heap *heap) {
  for (int64_t i = heap->size / 2; i > 0 && !lk_look_after(i, LK_LOOK_FEW); i--) {
    lk_heap_sink(heap, i - 1, heap->items[(i - 1) * heap->step]);
  }
}

/* Takes the root out of a heap of two indices and more, and puts it behind the others. */
static inline void lk_heap_take(lk_heap *heap) {
  int64_t *last = &heap->items[--heap->size * heap->step];
  const int64_t root = heap->items[0];
  lk_heap_sink(heap, 0, *last);
  *last = root;
}

/* Puts the indices of a heap in order; what is stopped leaves all of them, in some order. */
static inline void lk_heap_sort(lk_heap heap) {
  while (heap.size > 1 && !lk_look_after(heap.size, LK_LOOK_FEW)) lk_heap_take(&heap);
}

/* ---- ranks: an f32 and its index in one number ---- */

/* By the element first, by the index among equal ones: a rank of the first of them is the largest.
 * The index is below 2^32 - 1. */
static inline uint64_t lk_rank_of(uint64_t key, int64_t index) {
  return key << 32 | (UINT32_MAX - (uint64_t)index);
}
static inline int64_t lk_rank_index(uint64_t rank) {
  return (int64_t)(UINT32_MAX - (rank & UINT32_MAX));
}

/* Ranks, `step` apart, as a heap with the least at its root. They lie in memory for indices. */
typedef struct lk_ranks {
  int64_t *items;
  int64_t step, size;
} lk_ranks;

static inline uint64_t lk_ranks_at(const lk_ranks *self, int64_t place) {
  return (uint64_t)self->items[place * self->step];
}
/* Puts `rank` at `place`, or below; `place` may be free. */
static inline void lk_ranks_sink(const lk_ranks *self, int64_t place, uint64_t rank) {
  for (int64_t child = 2 * place + 1; child < self->size; child = 2 * place + 1) {
    const int64_t other = child + 1;
    if (other < self->size && lk_ranks_at(self, other) < lk_ranks_at(self, child)) child = other;
    if (lk_ranks_at(self, child) >= rank) break;
    self->items[place * self->step] = self->items[child * self->step];
    place = child;
  }
  self->items[place * self->step] = (int64_t)rank;
}
/* What is stopped leaves all ranks, in some order. */
static inline void lk_ranks_make(const lk_ranks *self) {
  for (int64_t i = self->size / 2; i > 0 && !lk_look_after(i, LK_LOOK_FEW); i--) {
    lk_ranks_sink(self, i - 1, lk_ranks_at(self, i - 1));
  }
}
/* Takes the least away. */
static inline uint64_t lk_ranks_take(lk_ranks *self) {
  const uint64_t least = lk_ranks_at(self, 0);
  self->size--;
  if (self->size > 0) lk_ranks_sink(self, 0, lk_ranks_at(self, self->size));
  return least;
}

/* ---- pairs: a key of 64 bits and an index ---- */

/* Pairs, `step` apart, as a heap: at its root the least key, and of equal ones the last index. */
typedef struct lk_pairs {
  uint64_t *keys;
  int64_t *indices;
  int64_t step, size;
} lk_pairs;

static inline void lk_pairs_put(const lk_pairs *self, int64_t place, uint64_t key, int64_t index) {
  self->keys[place * self->step] = key;
  self->indices[place * self->step] = index;
}
static inline bool lk_pairs_are_less(uint64_t key, int64_t index, uint64_t other_key,
                                     int64_t other_index) {
  return (key < other_key) | ((key == other_key) & (index > other_index));
}
/* Puts a pair at `place`, or below; `place` may be free. */
static inline void lk_pairs_sink(const lk_pairs *self, int64_t place, uint64_t key, int64_t index) {
  const uint64_t *keys = self->keys;
  const int64_t *indices = self->indices, step = self->step;
  for (int64_t child = 2 * place + 1; child < self->size; child = 2 * place + 1) {
    const int64_t at = child * step, other = at + step;
    if (child + 1 < self->size &&
        lk_pairs_are_less(keys[other], indices[other], keys[at], indices[at])) {
      child++;
    }
    if (!lk_pairs_are_less(keys[child * step], indices[child * step], key, index)) break;
    lk_pairs_put(self, place, keys[child * step], indices[child * step]);
    place = child;
  }
  lk_pairs_put(self, place, key, index);
}
/* What is stopped leaves all pairs, in some order. */
static inline void lk_pairs_make(const lk_pairs *self) {
  for (int64_t i = self->size / 2; i > 0 && !lk_look_after(i, LK_LOOK_FEW); i--) {
    const int64_t at = (i - 1) * self->step;
    lk_pairs_sink(self, i - 1, self->keys[at], self->indices[at]);
  }
}
/* Takes the least away, and gives its index. */
static inline int64_t lk_pairs_take(lk_pairs *self) {
  const int64_t least = self->indices[0], last = --self->size * self->step;
  if (self->size > 0) lk_pairs_sink(self, 0, self->keys[last], self->indices[last]);
  return least;
}
