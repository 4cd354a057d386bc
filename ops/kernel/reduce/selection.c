/* Kernels whose outputs are as large as the elements say. */
#include "ops/kernel/reduce/selection.h"

#include <string.h>

#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/copy_long.h"
#include "ops/kernel/reduce/order.h"
#include "ops/kernel/sizes.h"

/* Whether to leave the rest undone, which is looked at now and then. */
static bool is_stopped_at(int64_t index) {
  return index % LK_LOOK_FEW == 0 && lk_team_is_stopped();
}

/* ---- elements that are not 0 ---- */

/* By the size of an element. The bits of `mask` are those that matter: of floating-point types both
 * zeros are 0, and NaN is not. `find` writes the indices from `first` on. */
typedef struct set_loops {
  int64_t (*count)(const void *from, int64_t n, uint64_t mask);
  int64_t (*find)(const void *from, int64_t n, uint64_t mask, int64_t first, int64_t *to);
} set_loops;

#define SET_LOOPS(size, type)                                                                      \
  static int64_t count_##size(const void *from, int64_t n, uint64_t mask) {                        \
    const type *x = from, bits = (type)mask;                                                       \
    int64_t count = 0;                                                                             \
    for (int64_t i = 0; i < n; i++) count += (x[i] & bits) != 0;                                   \
    return count;                                                                                  \
  }                                                                                                \
  static int64_t find_##size(const void *from, int64_t n, uint64_t mask, int64_t first,            \
                             int64_t *to) {                                                        \
    const type *x = from, bits = (type)mask;                                                       \
    int64_t found = 0;                                                                             \
    for (int64_t i = 0; i < n; i++) {                                                              \
      if ((x[i] & bits) != 0) to[found++] = first + i;                                             \
    }                                                                                              \
    return found;                                                                                  \
  }
SET_LOOPS(1, uint8_t)
SET_LOOPS(2, uint16_t)
SET_LOOPS(4, uint32_t)
SET_LOOPS(8, uint64_t)
#undef SET_LOOPS

static set_loops set_loops_of(size_t size) {
  return size == 1   ? (set_loops){count_1, find_1}
         : size == 2 ? (set_loops){count_2, find_2}
         : size == 4 ? (set_loops){count_4, find_4}
                     : (set_loops){count_8, find_8};
}

static uint64_t mask_of(uint32_t dtype) {
  switch (dtype) {
  case LK_F16:
  case LK_BF16:
    return INT16_MAX;
  case LK_F32:
    return INT32_MAX;
  case LK_F64:
    return INT64_MAX;
  default:
    return UINT64_MAX;
  }
}

/* A row is along the last dimension; the places of those before are the same for all that it
 * has. */
lk_status lk_non_zero_kernel(const void *params, void *const *pointers, lk_error *error) {
  enum { PIECE = 4096 };
  (void)error;
  const lk_non_zero *self = params;
  const size_t size = lk_dtype_size(self->dtype);
  const set_loops loops = set_loops_of(size);
  const uint64_t mask = mask_of(self->dtype);
  const char *data = pointers[0];
  int64_t *to = pointers[1], *dims = pointers[2], count = 0, place = 0;
  const int64_t elements = lk_multiply_dims(self->dims, 0, self->rank);
  for (int64_t i = 0; i < elements && !lk_team_is_stopped(); i += PIECE) {
    count += loops.count(data + (size_t)i * size, lk_min(PIECE, elements - i), mask);
  }
  dims[0] = self->rank;
  dims[1] = count;
  if (self->rank == 0 || count == 0) return LK_OK;
  const uint32_t last = self->rank - 1;
  int64_t places[LK_MAX_RANK] = {0}, first = 0;
  while (place < count && !lk_team_is_stopped()) {
    const int64_t n = lk_min(PIECE, self->dims[last] - first);
    const int64_t found = loops.find(data, n, mask, first, to + last * count + place);
    for (uint32_t d = 0; d < last; d++) {
      for (int64_t i = 0; i < found; i++) to[d * count + place + i] = places[d];
    }
    place += found;
    data += (size_t)n * size;
    first += n;
    if (first < self->dims[last]) continue;
    first = 0;
    for (uint32_t d = last; d-- > 0 && ++places[d] == self->dims[d];) places[d] = 0;
  }
  return LK_OK;
}

/* ---- slices that a condition chooses ---- */

lk_status lk_compress_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_compress *self = params;
  const uint8_t *condition = pointers[1];
  const char *from = pointers[0];
  char *to = pointers[2];
  int64_t *dims = pointers[3];
  const int64_t outer = lk_multiply_dims(self->dims, 0, self->axis), n = self->dims[self->axis];
  const int64_t length = lk_min(n, self->length);
  int64_t runs = 0; /* of slices that are chosen, or not */
  memcpy(dims, self->dims, self->rank * sizeof dims[0]);
  dims[self->axis] = 0;
  for (int64_t i = 0; i < length && !lk_look_after(i, LK_LOOK_EACH); i++) {
    dims[self->axis] += condition[i] != 0;
  }
  if (self->block == 0 || dims[self->axis] == 0) return LK_OK;
  for (int64_t o = 0; o < outer; o++, from += (size_t)n * self->block) {
    for (int64_t i = 0, end; i < length && !is_stopped_at(runs); i = end, runs++) {
      for (end = i + 1; end < length && (condition[end] != 0) == (condition[i] != 0);) end++;
      if (condition[i] == 0) continue;
      const size_t bytes = (size_t)(end - i) * self->block;
      lk_copy_long(to, from + (size_t)i * self->block, bytes);
      to += bytes;
    }
  }
  return LK_OK;
}

/* ---- boxes that do not overlap better ones ---- */

/* A box by its least and largest coordinates. */
typedef struct box {
  float low[2], high[2];
} box;

static box box_at(const lk_non_max *self, const float *boxes, int64_t index) {
  const float *at = boxes + 4 * index;
  box result;
  for (int i = 0; i < 2; i++) {
    const float a = self->centered ? at[i] - at[i + 2] / 2 : at[i];
    const float b = self->centered ? at[i] + at[i + 2] / 2 : at[i + 2];
    result.low[i] = a < b ? a : b;
    result.high[i] = a < b ? b : a;
  }
  return result;
}

/* Boxes that were chosen, with their areas, each number in an array of its own. */
typedef struct chosen_boxes {
  float *low[2], *high[2], *area;
  int64_t count;
} chosen_boxes;

static float area_of(const box *a) {
  return (a->high[0] - a->low[0]) * (a->high[1] - a->low[1]);
}

static void choose_box(chosen_boxes *self, const box *next) {
  for (int d = 0; d < 2; d++) {
    self->low[d][self->count] = next->low[d];
    self->high[d][self->count] = next->high[d];
  }
  self->area[self->count++] = area_of(next);
}

/* Whether the intersection over the union with one of `n` boxes from `first` on, 0 where there is
 * none, is more than `overlap`: without branches, so that the compiler makes vectors of it. */
static inline __attribute__((always_inline)) bool
overlaps_some(const chosen_boxes *self, int64_t first, int64_t n, const box *a, float overlap) {
  const float *low[] = {self->low[0] + first, self->low[1] + first};
  const float *high[] = {self->high[0] + first, self->high[1] + first};
  const float *areas = self->area + first, area = area_of(a);
  int found = 0;
  for (int64_t i = 0; i < n; i++) {
    const float low_y = a->low[0] > low[0][i] ? a->low[0] : low[0][i];
    const float low_x = a->low[1] > low[1][i] ? a->low[1] : low[1][i];
    const float high_y = a->high[0] < high[0][i] ? a->high[0] : high[0][i];
    const float high_x = a->high[1] < high[1][i] ? a->high[1] : high[1][i];
    const float common = (high_y - low_y) * (high_x - low_x), all = area + areas[i] - common;
    const bool has_common = !(high_y <= low_y) & !(high_x <= low_x) & (all > 0);
    found |= (has_common ? common / all : 0) > overlap;
  }
  return found != 0;
}

static bool overlaps(const chosen_boxes *self, const box *a, float overlap) {
  enum { AT_ONCE = 8 };
  int64_t i = 0;
  for (; i + AT_ONCE <= self->count; i += AT_ONCE) {
    if (overlaps_some(self, i, AT_ONCE, a, overlap)) return true;
  }
  return overlaps_some(self, i, self->count - i, a, overlap);
}

/* Chooses of one class of one batch, and returns how many. */
static int64_t choose_boxes(const lk_non_max *self, const float *boxes, const float *scores,
                            int64_t most, float overlap, const float *least, int64_t *scratch,
                            int64_t *to) {
  int64_t candidates = 0, done = 0, *order = scratch;
  float *const numbers = (float *)(void *)(scratch + self->boxes);
  chosen_boxes chosen = {.low = {numbers, numbers + self->boxes},
                         .high = {numbers + 2 * self->boxes, numbers + 3 * self->boxes},
                         .area = numbers + 4 * self->boxes};
  for (int64_t i = 0; i < self->boxes && !lk_look_after(i, LK_LOOK_EACH); i++) {
    if (least == NULL ? scores[i] == scores[i] : scores[i] > *least) {
      /* turned round, so that the best is the least */
      order[candidates++] = (int64_t)~lk_rank_of(lk_order_key(LK_F32, scores, i), i);
    }
  }
  lk_ranks left = {order, 1, candidates};
  lk_ranks_make(&left);
  while (left.size > 0 && chosen.count < most) {
    if (lk_look_more(&done, 1 + chosen.count, LK_LOOK_FEW)) break;
    const int64_t index = lk_rank_index(~lk_ranks_take(&left));
    const box next = box_at(self, boxes, index);
    if (overlaps(&chosen, &next, overlap)) continue;
    to[3 * chosen.count + 2] = index;
    choose_box(&chosen, &next);
  }
  return chosen.count;
}

lk_status lk_non_max_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_non_max *self = params;
  const float *boxes = pointers[0], *scores = pointers[1];
  const int64_t most = self->has_most ? *(const int64_t *)pointers[2] : 0;
  const float overlap = self->has_overlap ? *(const float *)pointers[3] : 0;
  int64_t *to = pointers[5], *dims = pointers[7];
  dims[0] = 0;
  dims[1] = 3;
  for (int64_t b = 0; b < self->batches; b++, boxes += 4 * self->boxes) {
    for (int64_t c = 0; c < self->classes; c++, scores += self->boxes) {
      const int64_t chosen =
          choose_boxes(self, boxes, scores, most, overlap,
                       self->has_least_score ? pointers[4] : NULL, pointers[6], to);
      for (int64_t i = 0; i < chosen; i++, to += 3) {
        to[0] = b;
        to[1] = c;
      }
      dims[0] += chosen;
    }
  }
  return LK_OK;
}
