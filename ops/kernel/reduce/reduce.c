/* Reductions over any dimensions: which elements belong to a result, row by row or by columns. */
#include "ops/kernel/reduce/reduce.h"

#include <math.h>
#include <string.h>

#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/element/element_program.h"
#include "ops/kernel/number.h"
#include "ops/kernel/sizes.h"
#include "ops/kernel/strides.h"

/* Blocks of columns are multiples of it. */
#define LANES 16
/* Elements that are brought to their class at a time; of columns, so many rows. */
enum { PIECE = 4096, PIECE_ROWS = PIECE / LK_REDUCE_COLUMNS };
/* Elements of rows that are transposed, at most: in any order, and in that of columns. */
enum { SHORT_ROW = 16, SHORTEST_ROW = LK_REDUCE_LANES - 1 };

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

/* Logical values, whose largest and smallest are asked for, are bytes. */
static uint32_t computed_as(uint32_t dtype) {
  return dtype == LK_BOOL ? LK_U8 : dtype;
}

/* Each result is that of one row, and all of them lie the same distance apart. */
static bool is_rows(const lk_reduce *self) {
  return self->is_row && self->n_reduced == 1 && self->n_kept == 1 &&
         (self->load == NULL || self->dims[1].size <= PIECE);
}

/* Rows that are transposed: where a total does not depend on the order of its elements, or the
 * loops of a row have the order of those of columns, which they have for rows shorter than their
 * lanes. A result shall not depend on how many rows there are. In f32, rows up to a vector are
 * turned in registers. */
static bool is_short(const lk_reduce *self) {
  const lk_element_class class_ = lk_element_class_of(self->dtype);
  const lk_reduce_kind kind = self->reduction.kind;
  const bool has_any_order = class_ > LK_ELEMENT_F64; /* of zeroes, maxima have none either */
  const bool is_turned = class_ == LK_ELEMENT_F32 && kind != LK_REDUCE_PRODUCT;
  const int64_t n = self->dims[1].size;
  return n > 1 && n <= (has_any_order ? SHORT_ROW : SHORTEST_ROW) && !is_turned &&
         self->dims[0].size > 1;
}

/* Loops that take bytes as they lie; NULL: there are none. */
static const lk_reduce_loops *loops_of_bytes(const lk_row_loops *loops, const lk_reduce *self) {
  const lk_reduce_kind kind = self->reduction.kind;
  const bool is_order = kind == LK_REDUCE_MAX || kind == LK_REDUCE_MIN;
  const int64_t n = self->dims[self->n_kept + self->n_reduced - 1].size;
  if (!is_order || !self->is_row || n < LK_REDUCE_BYTES) return NULL;
  return self->dtype == LK_U8   ? &loops->reduce_u8[kind - LK_REDUCE_MAX]
         : self->dtype == LK_I8 ? &loops->reduce_i8[kind - LK_REDUCE_MAX]
                                : NULL;
}

/* What brings elements of type `own` to the class of `dtype`; NULL: they lie as it does. */
static lk_element_fn *find_load(const lk_element_loops *loops, uint32_t own, uint32_t dtype) {
  if (own == dtype) return lk_element_is_of_class(own) ? NULL : loops->load[own];
  const lk_element_op cast = lk_element_cast_op(lk_element_class_of(dtype));
  return loops->ops[cast][lk_element_class_of(own)].all;
}

/* NULL: totals end as they are. */
static lk_element_fn *find_end(const lk_reduction *self, lk_isa isa) {
  const lk_element_op op = self->end == LK_REDUCE_ROOT ? LK_ELEMENT_SQRT : LK_ELEMENT_LOG;
  return self->end == LK_REDUCE_AS_IT_IS
             ? NULL
             : lk_element_loops_for((uint32_t)isa)->ops[op][LK_ELEMENT_F64].all;
}

void lk_reduce_plan(const lk_tensor_desc *from, uint32_t mask, const int64_t *to,
                    const lk_reduction *reduction, lk_isa isa, lk_reduce *out) {
  lk_reduce_dim dims[LK_MAX_RANK];
  bool reduced[LK_MAX_RANK];
  const uint32_t count = order(from, mask, to, dims, reduced), own = computed_as(from->dtype);
  const uint32_t dtype = reduction->as != LK_DTYPE_NONE ? reduction->as : own;
  const lk_row_loops *loops = lk_row_loops_get(isa);
  const bool is_plain_f32 = dtype == LK_F32 && reduction->end == LK_REDUCE_AS_IT_IS;
  const lk_element_class class_ = lk_element_class_of(dtype);
  *out = (lk_reduce){.loops = &loops->reduce[class_][reduction->kind],
                     .wide = lk_element_class_bytes(class_),
                     .finish = is_plain_f32 ? loops->reduce_finish : NULL,
                     .load = find_load(lk_element_loops_for((uint32_t)isa), own, dtype),
                     .size = (int64_t)lk_dtype_size(own),
                     .end = find_end(reduction, isa),
                     .dtype = dtype,
                     .reduction = *reduction,
                     .factor = 1 / reduction->divisor,
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
  if (lk_element_class_of(dtype) == LK_ELEMENT_F32 && dtype != LK_F32) {
    out->narrow = loops->reduce_narrow;
    out->put = lk_element_loops_for((uint32_t)isa)->store[dtype];
  }
  const lk_reduce_loops *of_bytes = loops_of_bytes(loops, out);
  if (of_bytes != NULL) {
    out->loops = of_bytes;
    out->wide = 1;
    out->load = NULL;
  } else if (is_rows(out) && is_short(out)) {
    out->transpose = lk_copy_planes_get(isa)->transpose[out->wide == sizeof(int64_t) ? 3 : 2];
  }
  if (out->is_row) return;
  const int64_t columns = out->dims[out->n_kept - 1].size;
  out->blocks = (columns + LK_REDUCE_COLUMNS - 1) / LK_REDUCE_COLUMNS;
  out->block = (columns / out->blocks + LANES) / LANES * LANES;
  if (out->block > LK_REDUCE_COLUMNS) out->block = LK_REDUCE_COLUMNS;
  out->turns = out->turns / columns * out->blocks;
}

/* ---- results ---- */

static void end_numbers(lk_element_fn *end, double *numbers, int64_t count) {
  const lk_element_args args = {
      .to = {(char *)numbers, 0}, .a = {(char *)numbers, 0}, .rows = 1, .cols = count};
  end(&args);
}
static void end_reals(const lk_reduction *self, lk_element_fn *end, lk_reduce_total *totals,
                      int64_t count) {
  for (int64_t i = 0; self->divisor != 1 && i < count; i++) totals[i].real /= self->divisor;
  if (end != NULL) end_numbers(end, &totals->real, count);
}
static double real_of(int64_t total, bool is_unsigned) {
  return is_unsigned ? (double)(uint64_t)total : (double)total;
}
static void divide_wholes(double divisor, bool is_unsigned, lk_reduce_total *totals,
                          int64_t count) {
  const int64_t whole = (int64_t)divisor;
  for (int64_t i = 0; i < count; i++) {
    const int64_t total = totals[i].whole;
    const double real = real_of(total, is_unsigned);
    if (fabs(real) < 0x1p53) { /* its quotient is as exact, and found faster */
      totals[i].whole = (int64_t)(real / divisor);
      continue;
    }
    totals[i].whole = is_unsigned ? (int64_t)((uint64_t)total / (uint64_t)whole) : total / whole;
  }
}
static void end_wholes(const lk_reduction *self, lk_element_fn *end, bool is_unsigned,
                       lk_reduce_total *totals, int64_t count) {
  if (end == NULL) {
    if (self->divisor > 1) divide_wholes(self->divisor, is_unsigned, totals, count);
    return;
  }
  /* what has a root is a sum of squares, which may take all 64 bits */
  const bool has_all_bits = is_unsigned || self->end == LK_REDUCE_ROOT;
  for (int64_t i = 0; i < count; i++) totals[i].real = real_of(totals[i].whole, has_all_bits);
  end_numbers(end, &totals->real, count);
  for (int64_t i = 0; i < count; i++) totals[i].whole = lk_f64_to_i64(totals[i].real);
}

#define PUT(type, member)                                                                          \
  for (int64_t i = 0; i < count; i++, to += step) {                                                \
    const type value = (type)totals[i].member;                                                     \
    memcpy(to, &value, sizeof value);                                                              \
  }
/* Those of whole numbers have the low bits that fit. */
static void put(uint32_t dtype, const lk_reduce_total *totals, int64_t count, char *to,
                int64_t step) {
  const int64_t size = (int64_t)lk_dtype_size(dtype);
  if (size == sizeof *totals && step == size) { /* as they lie */
    memcpy(to, totals, (size_t)count * sizeof *totals);
  } else if (dtype == LK_F32) {
    PUT(float, real)
  } else if (dtype == LK_F16 || dtype == LK_BF16) {
    for (int64_t i = 0; i < count; i++, to += step) {
      const double value = totals[i].real;
      const uint16_t half = dtype == LK_F16 ? lk_f64_to_f16(value) : lk_f64_to_bf16(value);
      memcpy(to, &half, sizeof half);
    }
  } else if (size == sizeof(int64_t)) {
    PUT(int64_t, whole)
  } else if (size == sizeof(int32_t)) {
    PUT(int32_t, whole)
  } else if (size == sizeof(int16_t)) {
    PUT(int16_t, whole)
  } else {
    PUT(int8_t, whole)
  }
}

static void end_totals(const lk_reduction *self, lk_element_fn *end, uint32_t dtype,
                       lk_reduce_total *totals, int64_t count) {
  if (lk_element_class_of(dtype) <= LK_ELEMENT_F64) {
    end_reals(self, end, totals, count);
  } else {
    end_wholes(self, end, dtype == LK_U64, totals, count);
  }
}

/* `count` totals, which end here, as elements `step` bytes apart; up to LK_REDUCE_COLUMNS. */
static void store(const lk_reduce *self, lk_reduce_total *totals, int64_t count, char *to,
                  int64_t step) {
  float narrow[LK_REDUCE_COLUMNS];
  end_totals(&self->reduction, self->end, self->dtype, totals, count);
  if (self->narrow == NULL) {
    put(self->dtype, totals, count, to, step);
    return;
  }
  const lk_element_args args = {
      .to = {to, 0}, .a = {(char *)narrow, 0}, .rows = 1, .cols = count, .stride = step};
  self->narrow(totals, count, narrow);
  self->put(&args);
}

void lk_reduce_of_nothing(const lk_reduction *reduction, uint32_t dtype, void *out) {
  const lk_element_class class_ = lk_element_class_of(computed_as(dtype));
  lk_reduce_total total = lk_row_loops_get(lk_isa_get())->reduce[class_][reduction->kind].start;
  /* those of narrow types are within what they are computed in */
  const uint32_t bits = 8 * (uint32_t)lk_dtype_size(dtype);
  const bool is_signed = dtype == LK_I8 || dtype == LK_I16 || dtype == LK_I32 || dtype == LK_I64;
  const int64_t most = (int64_t)(UINT64_MAX >> (64 - bits + (is_signed ? 1 : 0)));
  if (class_ > LK_ELEMENT_F64 && reduction->kind == LK_REDUCE_MIN) total.whole = most;
  if (class_ > LK_ELEMENT_F64 && reduction->kind == LK_REDUCE_MAX) {
    total.whole = is_signed ? -most - 1 : 0;
  }
  if (dtype == LK_BOOL) total.whole = reduction->kind == LK_REDUCE_MIN;
  end_totals(reduction, find_end(reduction, lk_isa_get()), dtype, &total, 1);
  put(dtype, &total, 1, out, 0);
}

/* ---- running ---- */

/* Of `count` columns, which are one or more, up to the end of their last lanes. */
static void start_totals(const lk_reduce *self, lk_reduce_total *totals, int64_t count) {
  int64_t first = 0;
  do {
    for (int64_t i = 0; i < LANES; i++) totals[first + i] = self->loops->start;
    first += LANES;
  } while (first < count);
}

/* Takes `n` rows of `columns`, or `n` elements of a row, into totals. */
static void add_piece(const lk_reduce *self, const char *from, lk_reduce_total *totals,
                      int64_t columns, int64_t n, int64_t step) {
  if (self->is_row) {
    self->loops->row(totals, from, n);
  } else {
    self->loops->columns(totals, columns, from, n, step);
  }
}
static void add_loaded(const lk_reduce *self, const char *from, lk_reduce_total *totals,
                       int64_t columns, const lk_reduce_dim *last) {
  _Alignas(64) uint64_t piece[PIECE];
  const int64_t size = self->size;
  const int64_t most = self->is_row ? PIECE : PIECE_ROWS;
  for (int64_t i = 0; i < last->size && !(i > 0 && lk_team_is_stopped()); i += most) {
    const int64_t n = last->size - i < most ? last->size - i : most;
    const lk_element_args args = {
        .to = {(char *)piece, columns * self->wide},
        .a = {(char *)(uintptr_t)from + i * last->from * size, last->from * size},
        .rows = self->is_row ? 1 : n,
        .cols = self->is_row ? n : columns,
        .stride = size};
    self->load(&args);
    add_piece(self, (const char *)piece, totals, columns, n, columns);
  }
}

/* Takes all reduced elements from `from` on into `columns` totals. */
static void add_all(const lk_reduce *self, const char *from, lk_reduce_total *totals,
                    int64_t columns) {
  const lk_reduce_dim *outer = self->dims + self->n_kept, *last = outer + self->n_reduced - 1;
  const int64_t size = self->size;
  int64_t at[LK_MAX_RANK] = {0}, done = 0;
  for (;;) {
    if (lk_look_more(&done, last->size * columns, LK_LOOK_EACH)) return;
    if (self->load != NULL) {
      add_loaded(self, from, totals, columns, last);
    } else {
      add_piece(self, from, totals, columns, last->size, last->from);
    }
    int64_t i = last - outer;
    for (; i > 0; i--) {
      const lk_reduce_dim *dim = &outer[i - 1];
      from += dim->from * size;
      if (++at[i - 1] < dim->size) break;
      from -= dim->from * dim->size * size;
      at[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

static void reduce_turn(const lk_reduce *self, void *const *pointers, int64_t turn) {
  const int64_t size = self->size, to_size = (int64_t)lk_dtype_size(self->dtype);
  const char *from = pointers[0];
  char *to = pointers[1];
  int64_t count = 1, index = turn / self->blocks, to_step = 1;
  uint32_t n_outer = self->n_kept;
  if (!self->is_row) {
    const lk_reduce_dim *columns = &self->dims[--n_outer];
    const int64_t first = turn % self->blocks * self->block, left = columns->size - first;
    count = left < self->block ? left : self->block;
    to_step = columns->to;
    from += first * size;
    to += first * to_step * to_size;
  }
  for (uint32_t i = n_outer; i-- > 0; index /= self->dims[i].size) {
    const int64_t at = index % self->dims[i].size;
    from += at * self->dims[i].from * size;
    to += at * self->dims[i].to * to_size;
  }
  lk_reduce_total totals[LK_REDUCE_COLUMNS];
  start_totals(self, totals, count);
  add_all(self, from, totals, count);
  if (to_step == 1 && self->finish != NULL) {
    self->finish(totals, count, self->factor, (float *)(void *)to);
    return;
  }
  store(self, totals, count, to, to_step * to_size);
}

static void reduce_rows(const lk_reduce *self, void *const *pointers, int64_t begin, int64_t end) {
  const lk_reduce_dim *kept = &self->dims[0];
  const lk_reduce_rows rows = {.from = (const float *)pointers[0] + begin * kept->from,
                               .to = (float *)pointers[1] + begin * kept->to,
                               .n = self->dims[1].size,
                               .rows = end - begin,
                               .from_next = kept->from,
                               .to_next = kept->to,
                               .factor = self->factor};
  self->loops->rows(&rows);
}

/* Short rows of their class, `next` elements apart: up to a piece of them. */
static void reduce_as_columns(const lk_reduce *self, const void *from, int64_t rows, int64_t next,
                              lk_reduce_total *totals) {
  _Alignas(64) uint64_t turned[PIECE];
  const int64_t n = self->dims[1].size, wide = self->wide;
  const lk_copy_plane plane = {.from = from,
                               .to = (char *)turned,
                               .rows = n,
                               .cols = rows,
                               .from_row = wide,
                               .from_col = next * wide,
                               .to_row = rows * wide,
                               .to_col = wide,
                               .block = (size_t)wide};
  self->transpose(&plane);
  start_totals(self, totals, rows);
  self->loops->columns(totals, rows, turned, n, rows);
}

/* Rows that are brought to their class together, and whose results are stored together. */
static void reduce_some_rows(const lk_reduce *self, const char *from, char *to, int64_t rows) {
  _Alignas(64) uint64_t piece[PIECE];
  lk_reduce_total totals[LK_REDUCE_COLUMNS];
  const int64_t size = self->size, n = self->dims[1].size;
  const void *data = from;
  int64_t next = self->dims[0].from;
  if (self->load != NULL) {
    const bool is_dense = next == n;
    const lk_element_args args = {.to = {(char *)piece, n * self->wide},
                                  .a = {(char *)(uintptr_t)from, next * size},
                                  .rows = is_dense ? 1 : rows,
                                  .cols = is_dense ? rows * n : n,
                                  .stride = size};
    self->load(&args);
    data = piece;
    next = n;
  }
  if (self->transpose != NULL) {
    reduce_as_columns(self, data, rows, next, totals);
  } else {
    self->loops->many(totals, data, n, rows, next);
  }
  if (self->finish != NULL && self->dims[0].to == 1) {
    self->finish(totals, rows, self->factor, (float *)(void *)to);
    return;
  }
  store(self, totals, rows, to, self->dims[0].to * (int64_t)lk_dtype_size(self->dtype));
}

static void reduce_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_reduce *self = loop->params;
  if (is_rows(self) && self->finish != NULL && self->loops->rows != NULL) {
    reduce_rows(self, loop->pointers, begin, end);
    return;
  }
  if (is_rows(self)) {
    const int64_t size = self->size, to_size = (int64_t)lk_dtype_size(self->dtype);
    const int64_t n = self->dims[1].size;
    const int64_t most = n < PIECE / LK_REDUCE_COLUMNS ? LK_REDUCE_COLUMNS : lk_max(1, PIECE / n);
    for (int64_t i = begin, rows; i < end; i += rows) {
      rows = lk_min(most, end - i);
      reduce_some_rows(self, (const char *)loop->pointers[0] + i * self->dims[0].from * size,
                       (char *)loop->pointers[1] + i * self->dims[0].to * to_size, rows);
    }
    return;
  }
  for (int64_t i = begin; i < end; i++) reduce_turn(self, loop->pointers, i);
}

lk_status lk_reduce_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_reduce *self = params;
  return lk_kernel_turns(self->turns, lk_sharing_pays_for(self->work, LK_SHARING_ELEMENT),
                         reduce_turns, self, pointers);
}
