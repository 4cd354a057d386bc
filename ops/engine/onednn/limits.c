/* Faults and limits of oneDNN 3.14.1. */
#include "ops/engine/onednn/limits.h"

#include "ops/engine/onednn/describe.h"

/* ---- windows ---- */

/* Some primitives look at each position of a window along a dimension while they are built. */
enum { MOST_POSITIONS = 1 << 20 };

bool lk_onednn_has_small_window(const lk_work *work) {
  const lk_window_shape *window = &work->window;
  for (uint32_t i = 0; i < window->rank; i++) {
    if (window->kernel[i] > LK_MOST_OF_WINDOW || window->strides[i] > LK_MOST_OF_WINDOW ||
        window->dilations[i] > LK_MOST_OF_WINDOW || window->begin[i] > LK_MOST_OF_WINDOW ||
        window->end[i] > LK_MOST_OF_WINDOW || window->out[i] > MOST_POSITIONS) {
      return false;
    }
  }
  return true;
}

/* oneDNN writes code for each element of the window of a transposed convolution: a thousand take
 * hundreds of megabytes. */
enum { MOST_OF_TRANSPOSED = 256 };

bool lk_onednn_has_small_kernel(const lk_work *work) {
  int64_t elements = 1;
  for (uint32_t i = 0; i < work->window.rank; i++) elements *= work->window.kernel[i];
  return work->kind != LK_WORK_CONV_TRANSPOSED || elements <= MOST_OF_TRANSPOSED;
}

/* Elements of src from the first one that a window reads to the last one. */
static int64_t reach_of(const lk_window_shape *window, uint32_t i) {
  return (window->kernel[i] - 1) * window->dilations[i] + 1;
}

bool lk_onednn_has_shifted_windows(const lk_work *work) {
  const lk_window_shape *window = &work->window;
  for (uint32_t i = 0; i < window->rank; i++) {
    const int64_t read = (window->out[i] - 1) * window->strides[i] + reach_of(window, i);
    if (window->begin[i] > window->out[i] && read == work->tensors[LK_ROLE_SRC].dims[2 + i]) {
      return true;
    }
  }
  return false;
}

bool lk_onednn_has_excess(const lk_work *work) {
  const lk_window_shape *window = &work->window;
  for (uint32_t i = 0; i < window->rank; i++) {
    const int64_t padded =
        work->tensors[LK_ROLE_SRC].dims[2 + i] + window->begin[i] + window->end[i];
    if ((window->out[i] - 1) * window->strides[i] + reach_of(window, i) > padded) return true;
  }
  return false;
}

/* oneDNN does the windows of a row in one piece, of volumes those of a plane, for some channels at
 * a time. It reads so many elements for them: some 10 ms. */
#define MOST_OF_ROW ((int64_t)1 << 25)
enum { LANES = 16, CHANNELS_AT_A_TIME = 384 };

bool lk_onednn_has_short_rows(const lk_work *work) {
  const lk_window_shape *window = &work->window;
  const int64_t channels = (work->tensors[LK_ROLE_SRC].dims[1] + LANES - 1) / LANES * LANES;
  int64_t elements = channels < CHANNELS_AT_A_TIME ? channels : CHANNELS_AT_A_TIME;
  for (uint32_t i = 0; i < window->rank; i++) {
    const bool is_along = i > 0 || window->rank == 1;
    elements *= window->kernel[i] * (is_along ? window->out[i] : 1);
    if (elements > MOST_OF_ROW) return false; /* each factor is small: nothing overflows */
  }
  return true;
}

/* Without AVX-512, oneDNN sums all products of a block of results in one piece, however many they
 * are: of so many elements some 20 ms. One rule for all processors, since products as long are so
 * rare that nobody waits for them. */
#define MOST_OF_SUMS ((int64_t)1 << 23)
enum { ROWS_OF_BLOCK = 64 };

bool lk_onednn_has_short_sums(const lk_work *work) {
  const lk_strided weights = lk_onednn_plain_weights(work);
  const int64_t k = weights.dims[weights.rank - 2], n = weights.dims[weights.rank - 1];
  const int64_t rows = lk_onednn_elements(&work->tensors[LK_ROLE_DST]) / n;
  const int64_t lines =
      (rows < ROWS_OF_BLOCK ? rows : ROWS_OF_BLOCK) + (n < ROWS_OF_BLOCK ? n : ROWS_OF_BLOCK);
  return k <= MOST_OF_SUMS / lines;
}

/* ---- lines ---- */

int64_t lk_onednn_line_of(const lk_work *work) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  int64_t length = 1;
  if (work->kind == LK_WORK_GROUP_NORM) {
    return lk_onednn_elements(src) / (src->dims[0] * work->groups);
  }
  for (uint32_t i = 0; i < src->rank; i++) {
    if ((work->axes >> i & 1) != 0) length *= src->dims[i];
  }
  return length;
}

/* Of lines whose elements do not lie side by side, oneDNN does so many at once as lie beside each
 * other. Of so many elements that takes some 5 ms. */
#define MOST_OF_LINES ((int64_t)1 << 21)
enum { LINES_AT_A_TIME = 64 };

bool lk_onednn_has_short_lines(const lk_work *work, lk_layout layout) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  const uint32_t axis = 31 - (uint32_t)__builtin_clz(work->axes); /* the last one */
  const bool are_channels_last = layout == LK_LAYOUT_CHANNELS_LAST;
  int64_t lines = 1; /* that lie beside each other: dimensions behind the axis */
  for (uint32_t i = 0; i < src->rank && lines < LINES_AT_A_TIME; i++) {
    const bool is_behind = are_channels_last ? axis != 1 && (i == 1 || i > axis) : i > axis;
    if (is_behind) lines *= src->dims[i];
  }
  if (lines > LINES_AT_A_TIME) lines = LINES_AT_A_TIME;
  const int64_t line = lk_onednn_line_of(work);
  return line <= LK_MOST_OF_LINE && line * lines <= MOST_OF_LINES;
}
