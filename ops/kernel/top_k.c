/* The largest or smallest elements along an axis. A turn is a line along it. The best elements so
 * far are a heap, with the worst of them at its root, which lies in the output itself: so there is
 * no scratch memory, and most elements are compared with the root alone. The heap has indices, or
 * ranks. */
#include "ops/kernel/top_k.h"

#include <math.h>
#include <string.h>

#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/order.h"
#include "ops/kernel/row_loops.h"
#include "ops/kernel/sizes.h"

enum { SHARED_ELEMENTS = 16 * 1024 };

/* A line of the data. */
typedef struct axis_line {
  const lk_top_k *self;
  const char *data;
  size_t step; /* bytes */
} axis_line;

/* Larger is better. */
static uint64_t key_at(const axis_line *line, int64_t index) {
  const uint64_t key = lk_order_key(line->self->dtype, line->data + (size_t)index * line->step, 0);
  return line->self->smallest ? ~key : key;
}

static bool is_worse(const void *context, int64_t a, int64_t b) {
  const uint64_t key_a = key_at(context, a), key_b = key_at(context, b);
  return key_a != key_b ? key_a < key_b : a > b;
}

static void choose(const axis_line *line, int64_t *indices) {
  const int64_t k = line->self->k, step = line->self->inner;
  const lk_heap heap = {indices, step, k, is_worse, line};
  for (int64_t i = 0; i < k; i++) indices[i * step] = i;
  lk_heap_make(&heap);
  uint64_t worst = key_at(line, indices[0]);
  for (int64_t i = k, end; i < line->self->count; i = end) {
    end = lk_look_part(i, line->self->count, LK_LOOK_FEW);
    for (; i < end; i++) {
      if (key_at(line, i) <= worst) continue; /* of equal ones, the first stays */
      lk_heap_sink(&heap, 0, i);
      worst = key_at(line, indices[0]);
    }
    if (end < line->self->count && lk_team_is_stopped()) return;
  }
  lk_heap_sort(heap);
}

/* ---- with ranks ---- */

/* The larger the better. */
static uint64_t rank_at(const axis_line *line, int64_t index) {
  const uint64_t key = lk_order_key(LK_F32, line->data + (size_t)index * line->step, 0);
  return lk_rank_of(line->self->smallest ? key ^ UINT32_MAX : key, index);
}

/* Elements of a line, side by side, of which most are worse than all that were chosen. */
enum { AT_ONCE = 32 };

/* Whether one of AT_ONCE elements may be better than `worst`: without branches, so that the
 * compiler makes vectors of it. NaN in either may be. */
static bool may_be_better(const float *from, float worst, bool smallest) {
  int found = 0;
  if (smallest) {
    for (int i = 0; i < AT_ONCE; i++) found |= !(from[i] >= worst);
  } else {
    for (int i = 0; i < AT_ONCE; i++) found |= !(from[i] <= worst);
  }
  return found != 0;
}

/* One of a line side by side. False: what was found is NaN, which of the smallest is the last. */
static bool choose_one(const axis_line *line, int64_t *index) {
  const float *data = (const float *)(const void *)line->data;
  lk_largest_fn *largest = lk_row_loops_get(lk_isa_get())->largest[LK_ELEMENT_F32];
  largest(data, line->self->count, 1, 1, line->self->smallest, index);
  return !isnan(data[*index]);
}

/* Looks for better elements among those from `first` to `last` - 1. */
static void improve(const axis_line *line, lk_ranks *best, int64_t first, int64_t last) {
  const float *data = (const float *)(const void *)line->data;
  const bool is_dense = line->step == sizeof *data;
  for (int64_t i = first, end; i < last; i = end) {
    end = lk_min(i + AT_ONCE, last);
    if (is_dense && end - i == AT_ONCE &&
        !may_be_better(data + i, data[lk_rank_index(lk_ranks_at(best, 0))], line->self->smallest)) {
      continue;
    }
    for (; i < end; i++) {
      const uint64_t rank = rank_at(line, i);
      if (rank > lk_ranks_at(best, 0)) lk_ranks_sink(best, 0, rank);
    }
  }
}

/* Ranks become indices: the worst goes to the end. */
static void sort_ranks(lk_ranks *best) {
  while (best->size > 0) {
    const int64_t end = best->size > LK_LOOK_FEW ? best->size - LK_LOOK_FEW : 0;
    while (best->size > end) {
      const uint64_t worst = lk_ranks_take(best);
      best->items[best->size * best->step] = lk_rank_index(worst);
    }
    if (end > 0 && lk_team_is_stopped()) return;
  }
}

static void choose_by_rank(const axis_line *line, int64_t *indices) {
  const int64_t k = line->self->k, step = line->self->inner, count = line->self->count;
  if (k == 1 && line->step == sizeof(float) && choose_one(line, indices)) return;
  lk_ranks best = {indices, step, k};
  for (int64_t i = 0; i < k; i++) indices[i * step] = (int64_t)rank_at(line, i);
  lk_ranks_make(&best);
  for (int64_t i = k, end; i < count; i = end) {
    end = lk_look_part(i, count, LK_LOOK_FEW); /* each may be better than those before */
    improve(line, &best, i, end);
    if (end < count && lk_team_is_stopped()) return;
  }
  sort_ranks(&best);
}

static void choose_lines(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_top_k *self = loop->params;
  const size_t size = lk_dtype_size(self->dtype);
  const bool has_ranks = self->dtype == LK_F32 && self->count < UINT32_MAX;
  for (int64_t turn = begin; turn < end; turn++) {
    const int64_t outer = turn / self->inner, inner = turn % self->inner;
    const int64_t from = outer * self->count * self->inner + inner;
    const int64_t to = outer * self->k * self->inner + inner;
    const axis_line line = {.self = self,
                            .data = (const char *)loop->pointers[0] + (size_t)from * size,
                            .step = (size_t)self->inner * size};
    char *values = (char *)loop->pointers[1] + (size_t)to * size;
    int64_t *indices = (int64_t *)loop->pointers[2] + to;
    if (has_ranks) {
      choose_by_rank(&line, indices);
    } else {
      choose(&line, indices);
    }
    /* what is stopped, which only long lines are, may have left ranks in the place of indices */
    if (self->count > LK_LOOK_FEW && lk_team_is_stopped()) return;
    for (int64_t i = 0, next; i < self->k; i = next) {
      next = lk_look_part(i, self->k, LK_LOOK_FEW);
      for (int64_t j = i; j < next; j++) {
        memcpy(values + (size_t)j * line.step,
               line.data + (size_t)indices[j * self->inner] * line.step, size);
      }
      if (next < self->k && lk_team_is_stopped()) return;
    }
  }
}

lk_status lk_top_k_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_top_k *self = params;
  const int64_t lines = self->outer * self->inner;
  return lk_kernel_turns(lines, lines * self->count >= SHARED_ELEMENTS, choose_lines, params,
                         pointers);
}
