/* Reductions over any dimensions: which elements belong to a result, row by row or by columns. */
#include "ops/kernel/reduce.h"

#include "base/tensor.h"
#include "ops/kernel/strides.h"

/* Elements that are worth a second thread. */
#define MAX_ALONE 65536
/* Blocks of columns are multiples of it. */
#define LANES 16

/* ---- planning ---- */

/* Bits must not depend on dimensions that are kept, so that a kept dimension of size 1 parts the
 * reduced ones beside it like any other. */
static bool merges(const lk_reduce_dim *outer, const lk_reduce_dim *inner, bool same_class) {
  return same_class && outer->from == inner->from * inner->size &&
         outer->to == inner->to * inner->size;
}

/* Dimensions in the order in which they lie in memory, neighbours of a class as one. */
static uint32_t order(const lk_tensor_desc *from, uint32_t mask, const int64_t *to,
                      lk_reduce_dim dims[LK_MAX_RANK], bool reduced[LK_MAX_RANK]) {
  int64_t strides[LK_MAX_RANK];
  const bool channels_last = from->layout == LK_LAYOUT_CHANNELS_LAST && from->rank >= 3;
  uint32_t count = 0;
  lk_strides(from, 1, strides);
  for (uint32_t i = 0; i < from->rank; i++) {
    const uint32_t d = !channels_last || i == 0 ? i : i + 1 < from->rank ? i + 1 : 1;
    const bool is_reduced = (mask >> d & 1) != 0;
    const lk_reduce_dim dim = {from->dims[d], strides[d], is_reduced ? 0 : to[d]};
    if (count > 0 && merges(&dims[count - 1], &dim, reduced[count - 1] == is_reduced)) {
      dims[count - 1].size *= dim.size;
      dims[count - 1].from = dim.from;
      dims[count - 1].to = dim.to;
      continue;
    }
    dims[count] = dim;
    reduced[count++] = is_reduced;
  }
  return count;
}

void lk_reduce_plan(const lk_tensor_desc *from, uint32_t mask, const int64_t *to,
                    lk_reduce_kind kind, double factor, lk_isa isa, lk_reduce *out) {
  lk_reduce_dim dims[LK_MAX_RANK];
  bool reduced[LK_MAX_RANK];
  const uint32_t count = order(from, mask, to, dims, reduced);
  *out = (lk_reduce){.loops = &lk_row_loops_get(isa)->reduce[kind],
                     .finish = lk_row_loops_get(isa)->reduce_finish,
                     .factor = factor,
                     .is_row = reduced[count - 1],
                     .turns = 1,
                     .work = lk_elements(from)};
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!reduced[i]) out->dims[n++] = dims[i];
  }
  out->n_kept = n;
  for (uint32_t i = 0; i < count; i++) {
    if (reduced[i]) out->dims[n++] = dims[i];
  }
  out->n_reduced = n - out->n_kept;
  for (uint32_t i = 0; i < out->n_kept; i++) out->turns *= out->dims[i].size;
  out->block = out->blocks = 1;
  if (out->is_row) return;
  const int64_t columns = out->dims[out->n_kept - 1].size;
  out->blocks = (columns + LK_REDUCE_COLUMNS - 1) / LK_REDUCE_COLUMNS;
  out->block = (columns / out->blocks + LANES) / LANES * LANES;
  if (out->block > LK_REDUCE_COLUMNS) out->block = LK_REDUCE_COLUMNS;
  out->turns = out->turns / columns * out->blocks;
}

/* ---- running ---- */

/* Adds all reduced elements from `from` on to `columns` totals. */
static void add_all(const lk_reduce *self, const float *from, double *totals, int64_t columns) {
  const lk_reduce_dim *outer = self->dims + self->n_kept, *last = outer + self->n_reduced - 1;
  int64_t at[LK_MAX_RANK] = {0};
  for (;;) {
    if (self->is_row) {
      *totals = self->loops->row(*totals, from, last->size);
    } else {
      self->loops->columns(totals, columns, from, last->size, last->from);
    }
    int64_t i = last - outer;
    for (; i > 0; i--) {
      const lk_reduce_dim *dim = &outer[i - 1];
      from += dim->from;
      if (++at[i - 1] < dim->size) break;
      from -= dim->from * dim->size;
      at[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

static void reduce_turn(const lk_reduce *self, void *const *pointers, int64_t turn) {
  const float *from = pointers[0];
  float *to = pointers[1];
  int64_t count = 1, index = turn / self->blocks, to_step = 1;
  uint32_t n_outer = self->n_kept;
  if (!self->is_row) {
    const lk_reduce_dim *columns = &self->dims[--n_outer];
    const int64_t first = turn % self->blocks * self->block, left = columns->size - first;
    count = left < self->block ? left : self->block;
    to_step = columns->to;
    from += first;
    to += first * to_step;
  }
  for (uint32_t i = n_outer; i-- > 0; index /= self->dims[i].size) {
    const int64_t at = index % self->dims[i].size;
    from += at * self->dims[i].from;
    to += at * self->dims[i].to;
  }
  double totals[LK_REDUCE_COLUMNS];
  for (int64_t i = 0; i < (count + LANES - 1) / LANES * LANES; i++) totals[i] = self->loops->start;
  add_all(self, from, totals, count);
  if (to_step == 1) {
    self->finish(totals, count, self->factor, to);
    return;
  }
  for (int64_t i = 0; i < count; i++) to[i * to_step] = (float)(totals[i] * self->factor);
}

/* Each result is that of one row, and all of them lie the same distance apart. */
static bool is_rows(const lk_reduce *self) {
  return self->is_row && self->n_reduced == 1 && self->n_kept == 1;
}

static void reduce_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_reduce *self = loop->params;
  if (is_rows(self)) {
    const lk_reduce_dim *kept = &self->dims[0];
    const lk_reduce_rows rows = {.from = (const float *)loop->pointers[0] + begin * kept->from,
                                 .to = (float *)loop->pointers[1] + begin * kept->to,
                                 .n = self->dims[1].size,
                                 .rows = end - begin,
                                 .from_next = kept->from,
                                 .to_next = kept->to,
                                 .factor = self->factor};
    self->loops->rows(&rows);
    return;
  }
  for (int64_t i = begin; i < end; i++) reduce_turn(self, loop->pointers, i);
}

lk_status lk_reduce_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_reduce *self = params;
  return lk_kernel_turns(self->turns, self->work > MAX_ALONE, reduce_turns, self, pointers);
}
