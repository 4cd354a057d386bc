/* Slices that differ: sorted by their first elements, those that are equal there by the next ones,
 * and so on. Elements are keys (order.h), which are sorted by those of their bytes that differ. */
#include "ops/kernel/reduce/unique.h"

#include <string.h>

#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/copy_long.h"
#include "ops/kernel/reduce/order.h"
#include "ops/kernel/sizes.h"

enum { FEW = 32, DIGITS = 256 };

/* Slices in the order so far. Those that have been equal lie together, the first ones first; the
 * first of them is noted as ~slice. The other three are scratch. */
typedef struct slices {
  const lk_unique *self;
  const char *data;
  int64_t outer, count, inner;
  int64_t *order, *other_order;
  uint64_t *keys, *other_keys;
} slices;

/* ---- sorting ---- */

/* Those from `begin` on by their keys, of which few are to be moved. */
static void sort_few(const slices *all, int64_t begin, int64_t end) {
  for (int64_t i = begin + 1; i < end; i++) {
    const uint64_t key = all->keys[i];
    const int64_t slice = all->order[i];
    int64_t to = i;
    for (; to > begin && all->keys[to - 1] > key; to--) {
      all->keys[to] = all->keys[to - 1];
      all->order[to] = all->order[to - 1];
    }
    all->keys[to] = key;
    all->order[to] = slice;
  }
}

/* By one byte of the keys, into the scratch. */
static void sort_digit(const slices *all, int64_t begin, int64_t end, int shift) {
  int64_t at[DIGITS] = {0}, next = begin;
  for (int64_t i = begin; i < end && !lk_look_after(i - begin, LK_LOOK_EACH); i++) {
    at[all->keys[i] >> shift & (DIGITS - 1)]++;
  }
  for (int i = 0; i < DIGITS; i++) {
    const int64_t count = at[i];
    at[i] = next;
    next += count;
  }
  if (next != end) return; /* it is stopped */
  for (int64_t i = begin; i < end && !lk_look_after(i - begin, LK_LOOK_EACH); i++) {
    const int64_t to = at[all->keys[i] >> shift & (DIGITS - 1)]++;
    all->other_keys[to] = all->keys[i];
    all->other_order[to] = all->order[i];
  }
}

/* `differ`: the bits in which some keys differ. What is stopped leaves anything. */
static void sort_many(slices all, int64_t begin, int64_t end, uint64_t differ) {
  int64_t *const order = all.order;
  for (int shift = 0; shift < 64 && !lk_team_is_stopped(); shift += 8) {
    if ((differ >> shift & (DIGITS - 1)) == 0) continue;
    sort_digit(&all, begin, end, shift);
    const slices sorted = all;
    all.keys = sorted.other_keys;
    all.order = sorted.other_order;
    all.other_keys = sorted.keys;
    all.other_order = sorted.order;
  }
  if (all.order == order) return;
  for (int64_t i = begin; i < end && !lk_look_after(i - begin, LK_LOOK_EACH); i++) {
    all.other_keys[i] = all.keys[i];
    all.other_order[i] = all.order[i];
  }
}

/* Parts slices that have been equal by the elements at `at` of each. False: it is stopped. */
static bool part(const slices *all, int64_t begin, int64_t end, int64_t at) {
  const uint32_t dtype = all->self->dtype;
  uint64_t *keys = all->keys, differ = 0;
  all->order[begin] = ~all->order[begin];
  for (int64_t i = begin, next; i < end; i = next) {
    next = lk_look_part(i, end, LK_LOOK_FEW);
    for (; i < next; i++) {
      keys[i] = lk_order_key(dtype, all->data, all->order[i] * all->inner + at);
      differ |= keys[i] ^ keys[begin];
    }
    if (next < end && lk_team_is_stopped()) return false;
  }
  if (differ != 0 && end - begin <= FEW) {
    sort_few(all, begin, end);
  } else if (differ != 0) {
    sort_many(*all, begin, end, differ);
    if (lk_team_is_stopped()) return false;
  }
  for (int64_t i = end - 1; differ != 0 && i > begin; i--) {
    if (lk_look_after(end - i, LK_LOOK_EACH)) return false;
    if (keys[i] != keys[i - 1]) all->order[i] = ~all->order[i];
  }
  all->order[begin] = ~all->order[begin];
  return true;
}

/* Parts all of them by one element. `done`: as of lk_look_more. False: it is stopped. */
static bool part_all(const slices *all, int64_t at, bool *out_any, int64_t *done) {
  *out_any = false;
  for (int64_t begin = 0, end; begin < all->count; begin = end) {
    end = begin + 1;
    while (end < all->count && all->order[end] >= 0) {
      end++;
      if (lk_look_after(end - begin, LK_LOOK_EACH)) return false;
    }
    if (lk_look_more(done, end - begin, LK_LOOK_FEW)) return false;
    if (end == begin + 1) continue;
    *out_any = true;
    if (!part(all, begin, end, at)) return false;
  }
  return true;
}

static bool sort_all(const slices *all) {
  bool is_any = true; /* slices that were equal */
  int64_t done = 0;
  for (int64_t i = 0; i < all->count && !lk_look_after(i, LK_LOOK_EACH); i++) all->order[i] = i;
  if (lk_team_is_stopped()) return false; /* not all are there */
  if (all->count > 0) all->order[0] = ~all->order[0];
  for (int64_t o = 0; o < all->outer && is_any; o++) {
    for (int64_t i = 0; i < all->inner && is_any; i++) {
      if (!part_all(all, o * all->count * all->inner + i, &is_any, &done)) return false;
    }
  }
  return true;
}

/* ---- groups of equal slices ---- */

/* Numbers them as they are sorted: the first slice of each, and the number of each slice. */
static int64_t number_groups(const slices *all, int64_t *first, int64_t *inverse) {
  int64_t groups = 0;
  for (int64_t i = 0; i < all->count && !lk_look_after(i, LK_LOOK_EACH); i++) {
    const int64_t noted = all->order[i], slice = noted < 0 ? ~noted : noted;
    if (noted < 0) first[groups++] = slice;
    inverse[slice] = groups - 1;
  }
  return groups;
}

/* Numbers them again, as they come first. `numbers` and `places` are scratch. */
static void number_by_place(int64_t count, int64_t *first, int64_t *inverse, int64_t *numbers,
                            int64_t *places) {
  int64_t next = 0;
  for (int64_t i = 0; i < count && !lk_look_after(i, LK_LOOK_EACH); i++) {
    const int64_t group = inverse[i];
    if (first[group] == i) {
      numbers[group] = next;
      places[next++] = i;
    }
    inverse[i] = numbers[group];
  }
  if (next > 0) memcpy(first, places, (size_t)next * sizeof *first);
}

lk_status lk_unique_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_unique *self = params;
  int64_t *first = pointers[2], *inverse = pointers[3], *counts = pointers[4];
  int64_t *order = pointers[5], *dims = pointers[6], copied = 0;
  const slices all = {.self = self,
                      .data = pointers[0],
                      .outer = lk_multiply_dims(self->dims, 0, self->axis),
                      .count = self->dims[self->axis],
                      .inner = lk_multiply_dims(self->dims, self->axis + 1, self->rank),
                      .order = order,
                      .other_order = counts,
                      .keys = (uint64_t *)first,
                      .other_keys = (uint64_t *)inverse};
  if (!sort_all(&all)) return LK_OK;
  const int64_t groups = number_groups(&all, first, inverse);
  if (lk_team_is_stopped()) return LK_OK; /* not all have a group */
  if (!self->sorted) number_by_place(all.count, first, inverse, counts, order);
  if (lk_team_is_stopped()) return LK_OK;
  for (int64_t g = 0; g < groups && !lk_look_after(g, LK_LOOK_EACH); g++) counts[g] = 0;
  for (int64_t i = 0; i < all.count && !lk_look_after(i, LK_LOOK_EACH); i++) counts[inverse[i]]++;
  memcpy(dims, self->dims, self->rank * sizeof dims[0]);
  dims[self->axis] = groups;
  if (self->n_outputs > 1) dims[LK_MAX_RANK] = groups;
  if (self->n_outputs > 3) dims[3 * LK_MAX_RANK] = groups;
  const size_t block = (size_t)all.inner * lk_dtype_size(self->dtype);
  char *to = pointers[1];
  for (int64_t o = 0; o < all.outer && block > 0; o++) {
    for (int64_t g = 0; g < groups; g++, to += block) {
      if (lk_look_more(&copied, 1, LK_LOOK_FEW)) return LK_OK;
      lk_copy_long(to, all.data + (size_t)(o * all.count + first[g]) * block, block);
    }
  }
  return LK_OK;
}
