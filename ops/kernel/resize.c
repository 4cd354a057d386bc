/* Interpolation: one dimension at a time for linear and cubic, all at once for nearest. Threads
 * share the output. */
#include "ops/kernel/resize.h"

#include <string.h>

/* With less work than this, waking the threads costs more than they save. */
#define WORTH_THREADS 32768

/* ---- linear and cubic ---- */

/* Where the inner dimensions have several elements, rows of them are summed, a stretch at a time
 * that stays in the first-level cache. Else windows are summed along the row, in several rows at a
 * time, which have their weights in common. */
enum { STRETCH = 1024, ROWS = 4 };

static int64_t rows_of(const lk_resize_pass *pass) {
  return pass->inner == 1 ? ROWS : 1;
}

#define PASS(name, type)                                                                           \
  static void sum_rows_##name(const type *restrict from, type *restrict to, const type *weights,   \
                              int64_t count, int64_t inner) {                                      \
    for (int64_t begin = 0; begin < inner; begin += STRETCH) {                                     \
      const int64_t end = inner - begin < STRETCH ? inner : begin + STRETCH;                       \
      for (int64_t c = begin; c < end; c++) to[c] = weights[0] * from[c];                          \
      for (int64_t t = 1; t < count; t++) {                                                        \
        const type *row = from + t * inner;                                                        \
        const type weight = weights[t];                                                            \
        for (int64_t c = begin; c < end; c++) to[c] += weight * row[c];                            \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static void sum_windows_##name(const type *from, int64_t from_step, type *to, int64_t to_step,   \
                                 const type *weights, int64_t count, int64_t rows) {               \
    if (rows == ROWS) {                                                                            \
      type sums[ROWS] = {0};                                                                       \
      for (int64_t t = 0; t < count; t++) {                                                        \
        for (int64_t r = 0; r < ROWS; r++) sums[r] += weights[t] * from[r * from_step + t];        \
      }                                                                                            \
      for (int64_t r = 0; r < ROWS; r++) to[r * to_step] = sums[r];                                \
      return;                                                                                      \
    }                                                                                              \
    for (int64_t r = 0; r < rows; r++) {                                                           \
      type sum = 0;                                                                                \
      for (int64_t t = 0; t < count; t++) sum += weights[t] * from[r * from_step + t];             \
      to[r * to_step] = sum;                                                                       \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* Computes output positions `begin` to `end`, counted along all groups of rows. */              \
  static void pass_##name(const lk_resize_pass *pass, const void *from_data, void *to_data,        \
                          int64_t begin, int64_t end) {                                            \
    const type *table = (const type *)(const void *)(pass->windows + pass->out);                   \
    const int64_t in = pass->in, out = pass->out, inner = pass->inner, rows = rows_of(pass);       \
    int64_t row = begin / out * rows, x = begin % out;                                             \
    for (int64_t unit = begin; unit < end; unit++) {                                               \
      const lk_resize_window window = pass->windows[x];                                            \
      const type *from = (const type *)from_data + (row * in + window.first) * inner;              \
      const type *weights = table + x * pass->capacity;                                            \
      type *to = (type *)to_data + (row * out + x) * inner;                                        \
      if (inner == 1) {                                                                            \
        const int64_t left = pass->outer - row;                                                    \
        sum_windows_##name(from, in, to, out, weights, window.count, left < rows ? left : rows);   \
      } else {                                                                                     \
        sum_rows_##name(from, to, weights, window.count, inner);                                   \
      }                                                                                            \
      if (++x < out) continue;                                                                     \
      x = 0;                                                                                       \
      row += rows;                                                                                 \
    }                                                                                              \
  }
PASS(f32, float)
PASS(f64, double)
#undef PASS

static void pass_units(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_resize_pass *pass = loop->params;
  (pass->wide ? pass_f64 : pass_f32)(pass, loop->pointers[0], loop->pointers[1], begin, end);
}

lk_status lk_resize_pass_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_resize_pass *pass = params;
  const int64_t units = (pass->outer + rows_of(pass) - 1) / rows_of(pass) * pass->out;
  const int64_t elements = pass->outer * pass->out * pass->inner;
  return lk_kernel_turns(units, elements >= WORTH_THREADS / pass->capacity, pass_units, params,
                         pointers);
}

/* ---- nearest ---- */

static void copy_row(const lk_resize_gather *gather, const char *from, char *to) {
  const uint32_t last = gather->rank - 1;
  const size_t block = gather->block;
  const int64_t count = gather->dims[last];
  const int64_t *offsets = gather->offsets + gather->first[last];
/* memcpy of a constant size is one load and one store, at any alignment. */
#define COPY(size)                                                                                 \
  case size:                                                                                       \
    for (int64_t x = 0; x < count; x++) memcpy(to + x * (size), from + offsets[x], size);          \
    return;
  switch (block) {
    COPY(1)
    COPY(2)
    COPY(4)
    COPY(8)
#undef COPY
  default:
    for (int64_t x = 0; x < count; x++) memcpy(to + (size_t)x * block, from + offsets[x], block);
  }
}

static void gather_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_resize_gather *gather = loop->params;
  const char *from = loop->pointers[0];
  char *to = loop->pointers[1];
  const uint32_t last = gather->rank - 1;
  const size_t row_bytes = (size_t)gather->dims[last] * gather->block;
  for (int64_t row = begin; row < end; row++) {
    int64_t rest = row, offset = 0;
    for (uint32_t i = last; i-- > 0;) {
      const int64_t x = rest % gather->dims[i];
      rest /= gather->dims[i];
      offset += gather->first[i] < 0 ? x * gather->steps[i] : gather->offsets[gather->first[i] + x];
    }
    copy_row(gather, from + offset, to + (size_t)row * row_bytes);
  }
}

lk_status lk_resize_gather_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_resize_gather *gather = params;
  const uint32_t last = gather->rank - 1;
  int64_t rows = 1;
  for (uint32_t i = 0; i < last; i++) rows *= gather->dims[i];
  return lk_kernel_turns(rows, rows * gather->dims[last] >= WORTH_THREADS, gather_rows, params,
                         pointers);
}

/* ---- the extrapolation value ---- */

lk_status lk_resize_outside_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_resize_outside *step = params;
  char *to = pointers[0];
  const uint32_t last = step->rank - 1;
  const int64_t count = step->dims[last];
  const bool *columns = step->first[last] < 0 ? NULL : step->outside + step->first[last];
  int64_t rows = 1;
  for (uint32_t i = 0; i < last; i++) rows *= step->dims[i];
  for (int64_t row = 0; row < rows; row++, to += (size_t)count * step->block) {
    bool whole = false;
    int64_t rest = row;
    for (uint32_t i = last; i-- > 0;) {
      const int64_t x = rest % step->dims[i];
      rest /= step->dims[i];
      whole = whole || (step->first[i] >= 0 && step->outside[step->first[i] + x]);
    }
    for (int64_t x = 0; x < count; x++) {
      if (!whole && (columns == NULL || !columns[x])) continue;
      memcpy(to + (size_t)x * step->block, step->value, step->block);
    }
  }
  return LK_OK;
}
