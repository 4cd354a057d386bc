/* Nearest neighbours, and the extrapolation value. */
#include "ops/kernel/sample/resize_nearest.h"

#include <string.h>

#include "ops/kernel/sizes.h"

static bool is_shared(uint32_t rank, const int64_t *dims, size_t block) {
  return lk_sharing_pays_for(lk_multiply_dims(dims, 0, rank) * (int64_t)block, LK_SHARING_BYTE);
}

/* ---- nearest ---- */

void lk_resize_nearest_plan(lk_resize_nearest_map *self, lk_isa isa) {
  self->rows = lk_multiply_dims(self->dims, 0, self->rank - 1);
  self->loops = lk_resize_loops_get(isa);
}

static int64_t offset_of(const lk_resize_nearest_map *self, const char *table, uint32_t dim,
                         int64_t at) {
  const int64_t indices = self->indices[dim];
  if (indices < 0) return at * self->steps[dim];
  return ((const int32_t *)(const void *)(table + indices))[at] * self->steps[dim];
}

/* Where plane `plane` comes from: one of the dimensions before the last two. */
static int64_t plane_offset(const lk_resize_nearest_map *self, const char *table, int64_t plane) {
  int64_t offset = 0;
  for (int64_t i = (int64_t)self->rank - 3; i >= 0; plane /= self->dims[i], i--) {
    offset += offset_of(self, table, (uint32_t)i, plane % self->dims[i]);
  }
  return offset;
}

static bool is_doubled(const int32_t *indices, int64_t count) {
  int32_t difference = 0;
  for (int64_t i = 0; i < count; i++) difference |= indices[i] ^ (int32_t)(i / 2);
  return difference == 0;
}

/* Rows of the output that are equal. */
typedef struct equal_rows {
  const char *from;
  char *to;
  const int32_t *indices;
  int64_t count, rows; /* count: elements */
  bool doubles;
} equal_rows;

static void write_rows(const lk_resize_nearest_map *self, const equal_rows *of) {
  const size_t bytes = (size_t)of->count * self->block;
  if (of->doubles) {
    self->loops->doubled((const float *)(const void *)of->from, of->count, (float *)(void *)of->to,
                         of->rows);
    return;
  }
  self->loops->nearest[lk_block_class_of(self->block)](of->from, of->to, of->indices, of->count,
                                                       self->block);
  for (int64_t r = 1; r < of->rows; r++) memcpy(of->to + (size_t)r * bytes, of->to, bytes);
}

/* Rows of one plane, from `row` of it on; `equal` has what does not change. */
static void copy_plane(const lk_resize_nearest_map *self, const char *table, const char *from,
                       int64_t row, int64_t end, equal_rows *equal) {
  const uint32_t last = self->rank - 1;
  while (row < end) {
    const int64_t offset = last > 0 ? offset_of(self, table, last - 1, row) : 0;
    equal->from = from + offset;
    equal->rows = 1;
    while (row + equal->rows < end &&
           offset_of(self, table, last - 1, row + equal->rows) == offset) {
      equal->rows++;
    }
    write_rows(self, equal);
    equal->to += (size_t)(equal->rows * equal->count) * self->block;
    row += equal->rows;
  }
}

static void copy_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_resize_nearest_map *self = loop->params;
  const char *from = loop->pointers[0], *table = loop->pointers[1];
  const uint32_t last = self->rank - 1;
  const int64_t of_plane = last > 0 ? self->dims[last - 1] : 1, count = self->dims[last];
  equal_rows equal = {.indices = (const int32_t *)(const void *)(table + self->indices[last]),
                      .to = (char *)loop->pointers[2] + (size_t)(begin * count) * self->block,
                      .count = count};
  equal.doubles = self->block == sizeof(float) && is_doubled(equal.indices, count);
  for (int64_t row = begin; row < end;) {
    const int64_t plane = row / of_plane, first = row % of_plane;
    const int64_t rows = lk_min(of_plane - first, end - row);
    copy_plane(self, table, from + plane_offset(self, table, plane), first, first + rows, &equal);
    row += rows;
  }
}

lk_status lk_resize_nearest_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_resize_nearest_map *self = params;
  return lk_kernel_turns(self->rows, is_shared(self->rank, self->dims, self->block), copy_rows,
                         params, pointers);
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
  return lk_kernel_turns(lk_multiply_dims(self->dims, 0, self->rank - 1),
                         is_shared(self->rank, self->dims, self->block), fill_rows, params,
                         pointers);
}
