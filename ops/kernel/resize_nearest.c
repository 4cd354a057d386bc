/* Nearest neighbours, and the extrapolation value. */
#include "ops/kernel/resize_nearest.h"

#include <string.h>

enum { SHARED_BYTES = 256 * 1024 };

static int64_t count_rows(uint32_t rank, const int64_t *dims) {
  int64_t rows = 1;
  for (uint32_t i = 0; i + 1 < rank; i++) rows *= dims[i];
  return rows;
}

/* ---- nearest ---- */

void lk_resize_nearest_plan(lk_resize_nearest_map *self, lk_isa isa) {
  const double row_bytes = (double)self->dims[self->rank - 1] * (double)self->block;
  self->rows = count_rows(self->rank, self->dims);
  self->copy = lk_resize_loops_get(isa)->nearest[lk_block_class_of(self->block)];
  self->shared = (double)self->rows * row_bytes >= SHARED_BYTES;
}

/* A row of the output, and where its elements come from: what dimensions before it add. */
typedef struct row_place {
  int64_t at[LK_MAX_RANK], offsets[LK_MAX_RANK];
} row_place;

static int64_t offset_of(const lk_resize_nearest_map *self, const char *table, uint32_t dim,
                         int64_t at) {
  const int64_t indices = self->indices[dim];
  if (indices < 0) return at * self->steps[dim];
  return ((const int32_t *)(const void *)(table + indices))[at] * self->steps[dim];
}

/* The dimensions from `first` on are at their beginning, but for those that `at` says. */
static int64_t find_offset(const lk_resize_nearest_map *self, const char *table, uint32_t first,
                           row_place *place) {
  const uint32_t last = self->rank - 1;
  for (uint32_t i = first; i < last; i++) {
    const int64_t before = i > 0 ? place->offsets[i - 1] : 0;
    place->offsets[i] = before + offset_of(self, table, i, place->at[i]);
  }
  return last > 0 ? place->offsets[last - 1] : 0;
}

static row_place find_row(const lk_resize_nearest_map *self, int64_t row) {
  row_place found;
  for (uint32_t i = self->rank - 1; i-- > 0; row /= self->dims[i]) {
    found.at[i] = row % self->dims[i];
  }
  return found;
}

/* Returns the first dimension that changed. */
static uint32_t next_row(const lk_resize_nearest_map *self, row_place *place) {
  uint32_t i = self->rank - 1;
  while (i-- > 0) {
    if (++place->at[i] < self->dims[i]) return i;
    place->at[i] = 0;
  }
  return 0;
}

static void copy_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_resize_nearest_map *self = loop->params;
  const char *from = loop->pointers[0], *table = loop->pointers[1];
  const uint32_t last = self->rank - 1;
  const int64_t count = self->dims[last];
  const size_t row_bytes = (size_t)count * self->block;
  const int32_t *indices = (const int32_t *)(const void *)(table + self->indices[last]);
  char *to = (char *)loop->pointers[2] + (size_t)begin * row_bytes;
  row_place place = find_row(self, begin);
  uint32_t changed = 0;
  int64_t before = -1;
  for (int64_t row = begin; row < end; row++, to += row_bytes) {
    const int64_t offset = find_offset(self, table, changed, &place);
    if (offset == before) {
      memcpy(to, to - row_bytes, row_bytes); /* it is in the cache */
    } else {
      self->copy(from + offset, to, indices, count, self->block);
    }
    before = offset;
    changed = next_row(self, &place);
  }
}

lk_status lk_resize_nearest_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_resize_nearest_map *self = params;
  return lk_kernel_turns(self->rows, self->shared, copy_rows, params, pointers);
}

/* ---- the extrapolation value ---- */

static void fill_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_resize_outside *self = loop->params;
  const char *table = loop->pointers[0];
  const uint32_t last = self->rank - 1;
  const int64_t count = self->dims[last];
  const bool has_columns = self->outside[last] >= 0;
  const char *columns = table + (has_columns ? self->outside[last] : 0);
  char *to = (char *)loop->pointers[1] + (size_t)(begin * count) * self->block;
  for (int64_t row = begin; row < end; row++, to += (size_t)count * self->block) {
    bool whole = false;
    int64_t rest = row;
    for (uint32_t i = last; i-- > 0; rest /= self->dims[i]) {
      whole =
          whole || (self->outside[i] >= 0 && table[self->outside[i] + rest % self->dims[i]] != 0);
    }
    for (int64_t x = 0; x < count && (whole || has_columns); x++) {
      if (whole || columns[x] != 0) {
        memcpy(to + (size_t)x * self->block, self->value, self->block);
      }
    }
  }
}

lk_status lk_resize_outside_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_resize_outside *self = params;
  const int64_t rows = count_rows(self->rank, self->dims);
  const double bytes = (double)rows * (double)self->dims[self->rank - 1] * (double)self->block;
  return lk_kernel_turns(rows, bytes >= SHARED_BYTES, fill_rows, params, pointers);
}
