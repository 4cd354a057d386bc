/* Products of matrices of bytes, and convolutions of them. */
#include "ops/kernel/integer/product_integer.h"

#include <string.h>

#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/sizes.h"

enum {
  BLOCK_BYTES = 32 * 1024, /* of rows that tiles read again for each panel: in the first cache */
  TILES_BLOCK = 3 * BLOCK_BYTES, /* AMX wants twice 16 rows, of those in the second cache too */
  MANY_TURNS = 16,
  MOST_SLOTS = 64 /* blocks that are there at once: threads */
};

/* ---- sizes ---- */

/* Words of a matrix: groups of whole vectors, and a sum of each column. */
static int64_t vector_columns(const lk_product_integer *self) {
  return lk_div_up(self->columns, self->loops->lanes) * self->loops->lanes;
}

/* Columns of a panel. One vector beside panels of four would be the slowest of all: its few sums
 * wait for each other. */
static int64_t panel_of(const lk_product_integer *self) {
  enum { MANY = 4, FEW = 3 };
  const int64_t lanes = self->loops->lanes, vectors = lk_div_up(self->columns, lanes);
  const bool is_last_alone = self->loops->panel == MANY * lanes && vectors > 1 &&
                             vectors % MANY == 1 && vectors % FEW != 1;
  return is_last_alone && !self->loops->has_tiles ? FEW * lanes : self->loops->panel;
}

void lk_product_integer_plan(lk_product_integer *self) {
  const lk_integer_loops *loops = self->loops;
  self->batches = lk_matmul_count_batches(self->batch, self->batch_rank);
  self->groups = lk_div_up(self->k, loops->group);
  self->a_step = lk_max(1, lk_div_up(self->groups, loops->lanes)) * loops->lanes;
  const int64_t bytes = loops->has_tiles ? TILES_BLOCK : BLOCK_BYTES;
  const int64_t fitting = bytes / (self->a_step * (int64_t)sizeof(int32_t));
  const int64_t least = lk_max(loops->tile_rows, fitting / loops->tile_rows * loops->tile_rows);
  self->block_rows = lk_min(least, LK_INTEGER_ROWS / loops->tile_rows * loops->tile_rows);
  self->blocks = lk_div_up(self->rows, self->block_rows);
  self->panel = panel_of(self);
  self->panels = lk_div_up(self->columns, self->panel);
  const int64_t blocks = lk_max(1, self->batches * self->blocks);
  const int64_t chunks = lk_div_up(lk_sharing_tasks(MANY_TURNS), blocks);
  self->chunks = lk_max(1, lk_min(self->panels, chunks));
  self->slots = lk_min(lk_sharing_slots(MOST_SLOTS), self->batches * self->blocks * self->chunks);
  self->b_size = vector_columns(self) * (self->groups + 1);
}

/* What tiles may read behind the last matrix. */
static int64_t behind(const lk_product_integer *self) {
  return self->loops->has_tiles ? (LK_INTEGER_TILE_GROUPS - 1) * self->loops->panel : 0;
}

int64_t lk_product_integer_packed_size(const lk_product_integer *self) {
  return lk_max(1, self->b_matrices * self->b_size + behind(self));
}

const int32_t *lk_product_integer_sums(const lk_product_integer *self, const int32_t *matrix) {
  return matrix + vector_columns(self) * self->groups;
}

int64_t lk_product_integer_scratch_size(const lk_product_integer *self) {
  return lk_max(1, self->slots * self->block_rows * self->a_step);
}

double lk_product_integer_operations(const lk_product_integer *self) {
  const double part =
      self->b_group_k != 0 ? (double)self->b_group_k / (double)self->b_inner : 1; /* not 0 */
  return 2 * part * (double)self->batches * (double)self->rows * (double)self->columns *
         (double)self->k;
}

/* ---- the right operand ---- */

static void pack_panels(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_product_integer *self = loop->params;
  lk_integer_right right = {.is_signed = self->b_is_signed,
                            .k = self->k,
                            .columns = self->columns,
                            .panel = self->panel,
                            .inner = self->b_inner,
                            .step = self->b_step,
                            .outer = self->b_outer,
                            .column = self->b_column,
                            .group_k = self->b_group_k,
                            .group_columns = self->b_group_columns};
  for (int64_t i = begin; i < end; i++) {
    const int64_t matrix = i / self->panels, first = i % self->panels * self->panel;
    int32_t *packed = (int32_t *)loop->pointers[1] + matrix * self->b_size;
    right.from = (const uint8_t *)loop->pointers[0] + matrix * self->b_matrix;
    self->loops->pack(&right, first, packed + first * self->groups,
                      packed + vector_columns(self) * self->groups + first);
  }
}

lk_status lk_product_integer_pack_kernel(const void *params, void *const *pointers,
                                         lk_error *error) {
  (void)error;
  const lk_product_integer *self = params;
  const int64_t words = self->b_matrices * self->b_size;
  memset((int32_t *)pointers[1] + words, 0, (size_t)behind(self) * sizeof(int32_t));
  return lk_kernel_turns(self->b_matrices * self->panels,
                         lk_sharing_pays_for(words, LK_SHARING_ELEMENT), pack_panels, self,
                         pointers);
}

/* ---- rows of the left operand ---- */

/* Elements of a left operand have so many bytes. */
static int64_t element_bytes(const lk_product_integer *self) {
  return self->loops->group == sizeof(int32_t) ? 1 : sizeof(int16_t);
}

static void take_strided(const lk_product_integer *self, const uint8_t *from, uint8_t *to) {
  uint8_t side_by_side[256];
  for (int64_t k = 0; k < self->k; k += (int64_t)sizeof side_by_side) {
    if (lk_look_after(k, LK_LOOK_EACH)) return;
    const int64_t count = lk_min(self->k - k, (int64_t)sizeof side_by_side);
    for (int64_t i = 0; i < count; i++) side_by_side[i] = from[(k + i) * self->a_k];
    self->loops->widen(to + k * element_bytes(self), side_by_side, count, self->a_is_signed);
  }
}

/* Elements side by side, of which there may be any number. */
static void take_line_of(const lk_product_integer *self, const uint8_t *from, int64_t count,
                         uint8_t *to) {
  for (int64_t i = 0; i < count && !(i > 0 && lk_team_is_stopped()); i += LK_LOOK_BYTES) {
    self->loops->widen(to + i * element_bytes(self), from + i, lk_min(count - i, LK_LOOK_BYTES),
                       self->a_is_signed);
  }
}

/* The zero point, or 0, for those of `count` taps that are not inside, of `tap` elements each. */
static void fill_outside(const lk_product_integer *self, lk_inside inside, int64_t count,
                         int64_t tap, const uint8_t *zero, uint8_t *to) {
  const int64_t end = inside.first + inside.count, behind = count - end;
  if (inside.first > 0) self->loops->fill(to, zero, inside.first * tap, self->a_is_signed);
  if (behind > 0) {
    self->loops->fill(to + end * tap * element_bytes(self), zero, behind * tap, self->a_is_signed);
  }
}

/* Whether the taps along a line lie side by side. */
static bool has_runs(const lk_conv_shape *conv) {
  return conv->groups == 1 && conv->dilation[2] == 1;
}

/* The taps of a window in a plane, of which each line is one run; `plane`: its column of a line. */
static void take_runs(const lk_product_integer *self, const uint8_t *plane, int64_t line,
                      const uint8_t *zero, uint8_t *to) {
  const lk_conv_shape *conv = &self->conv;
  const int64_t run = conv->kernel[2] * conv->in_channels, bytes = run * element_bytes(self);
  const int64_t step = conv->in[2] * conv->in_channels;
  const lk_inside inside = lk_conv_find_inside_from(conv, 1, line);
  const int64_t count = inside.count;
  fill_outside(self, inside, conv->kernel[1], run, zero, to);
  if (count == 0) return;
  self->loops->widen_runs(to + inside.first * bytes, run, plane + inside.at * step, run, count,
                          conv->dilation[1] * step, self->a_is_signed);
}

/* `count` taps of a line that lie side by side, `at` the first one's column. `line`: of the group's
 * channels, NULL outside the input. */
static void take_run(const lk_product_integer *self, const uint8_t *line, int64_t at, int64_t count,
                     const uint8_t *zero, uint8_t *to) {
  const int64_t channels = self->conv.in_channels;
  const lk_inside inside = lk_find_inside(at, 1, count, line != NULL ? self->conv.in[2] : 0);
  fill_outside(self, inside, count, channels, zero, to);
  if (inside.count == 0) return;
  take_line_of(self, line + inside.at * channels, inside.count * channels,
               to + inside.first * channels * element_bytes(self));
}

/* The taps of a window along one line, `at` its first column. */
static void take_line(const lk_product_integer *self, const uint8_t *line, int64_t at,
                      const uint8_t *zero, uint8_t *to) {
  const lk_conv_shape *conv = &self->conv;
  const int64_t channels = conv->in_channels, pixel = channels * conv->groups;
  if (has_runs(conv)) {
    take_run(self, line, at, conv->kernel[2], zero, to);
    return;
  }
  const lk_inside inside =
      line != NULL ? lk_conv_find_inside_from(conv, 2, at) : (lk_inside){0, 0, 0};
  fill_outside(self, inside, conv->kernel[2], channels, zero, to);
  if (inside.count == 0) return;
  self->loops->widen_runs(to + inside.first * channels * element_bytes(self), channels,
                          line + inside.at * pixel, channels, inside.count,
                          conv->dilation[2] * pixel, self->a_is_signed);
}

/* An output, and where its window begins. */
typedef struct window {
  int64_t image, out[LK_CONV_DIMS];
} window;

static window find_window(const lk_conv_shape *conv, int64_t row) {
  window found;
  for (int d = LK_CONV_DIMS; d-- > 0; row /= conv->out[d]) found.out[d] = row % conv->out[d];
  found.image = row;
  return found;
}

static void next_window(const lk_conv_shape *conv, window *at) {
  for (int d = LK_CONV_DIMS; d-- > 0;) {
    if (++at->out[d] < conv->out[d]) return;
    at->out[d] = 0;
  }
  at->image++;
}

/* A line of an image, at its first column; NULL: outside. */
static const uint8_t *line_of(const lk_conv_shape *conv, const uint8_t *image, int64_t depth,
                              int64_t height) {
  const bool is_inside = depth >= 0 && depth < conv->in[0] && height >= 0 && height < conv->in[1];
  const int64_t bytes = conv->in[2] * conv->in_channels * conv->groups;
  return is_inside ? image + (depth * conv->in[1] + height) * bytes : NULL;
}

/* What all windows of a convolution have in common, in bytes. */
typedef struct window_sizes {
  int64_t pixel, line, image; /* of the input */
  int64_t run, plane;         /* of a window: its taps along a line, and those in a plane */
  bool has_planes;            /* each line of a plane is one run */
  bool is_long;
} window_sizes;

static window_sizes find_sizes(const lk_product_integer *self) {
  const lk_conv_shape *conv = &self->conv;
  window_sizes sizes = {.pixel = conv->in_channels * conv->groups,
                        .run = conv->kernel[2] * conv->in_channels,
                        .is_long = self->k > LK_LOOK_BYTES};
  sizes.line = conv->in[2] * sizes.pixel;
  sizes.image = conv->in[0] * conv->in[1] * sizes.line;
  sizes.plane = conv->kernel[1] * sizes.run;
  sizes.has_planes = has_runs(conv) && sizes.plane <= LK_LOOK_BYTES;
  return sizes;
}

/* `a`: of the group. */
static void take_window(const lk_product_integer *self, const window_sizes *sizes, const uint8_t *a,
                        const window *of, const uint8_t *zero, uint8_t *to) {
  const lk_conv_shape *conv = &self->conv;
  int64_t at[LK_CONV_DIMS];
  for (int d = 0; d < LK_CONV_DIMS; d++) at[d] = of->out[d] * conv->stride[d] - conv->pad[d];
  const uint8_t *image = a + of->image * sizes->image;
  const bool is_whole = sizes->has_planes && at[2] >= 0 && at[2] + conv->kernel[2] <= conv->in[2];
  for (int64_t i = 0, done = 0; i < conv->kernel[0]; i++) {
    if (sizes->is_long && lk_look_more(&done, sizes->plane, LK_LOOK_BYTES)) return;
    const int64_t depth = at[0] + i * conv->dilation[0];
    if (is_whole && depth >= 0 && depth < conv->in[0]) {
      const uint8_t *plane = image + depth * conv->in[1] * sizes->line + at[2] * sizes->pixel;
      take_runs(self, plane, at[1], zero, to);
      to += sizes->plane * element_bytes(self);
      continue;
    }
    for (int64_t j = 0; j < conv->kernel[1]; j++) {
      if (sizes->is_long && lk_look_more(&done, sizes->run, LK_LOOK_BYTES)) return;
      const uint8_t *line = line_of(conv, image, depth, at[1] + j * conv->dilation[1]);
      take_line(self, line, at[2], zero, to);
      to += sizes->run * element_bytes(self);
    }
  }
}

/* Whether the windows of a convolution are its pixels, one after the other. */
static bool is_pointwise(const lk_conv_shape *conv) {
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const bool is_same = conv->kernel[d] == 1 && conv->stride[d] == 1 && conv->pad[d] == 0;
    if (!is_same || conv->in[d] != conv->out[d]) return false;
  }
  return true;
}

/* Sets the last vector of a row to 0, or the whole row if it is shorter. What is behind the last
 * whole group lies in it. A memset of a constant size is no call. */
static void clear_end(const lk_product_integer *self, int32_t *row) {
  enum { MOST_LANES = 16 };
  if (self->a_step >= MOST_LANES) {
    memset(row + self->a_step - MOST_LANES, 0, MOST_LANES * sizeof *row);
  } else {
    memset(row, 0, (size_t)self->a_step * sizeof *row);
  }
}

/* `a` is the first row. Behind each there are zeros, up to whole vectors. */
static void take_rows(const lk_product_integer *self, const uint8_t *a, int64_t row_step,
                      int64_t count, int32_t *to) {
  const int64_t step = self->a_step * self->loops->group;
  const bool is_line = self->a_k == 1 || self->is_conv;
  for (int64_t i = 0; i < count && self->k < step; i++) clear_end(self, to + i * self->a_step);
  if (is_line && count * self->k <= LK_LOOK_BYTES) {
    self->loops->widen_runs(to, step, a, self->k, count, row_step, self->a_is_signed);
    return;
  }
  for (int64_t i = 0; i < count && !(i > 0 && lk_team_is_stopped()); i++) {
    uint8_t *row = (uint8_t *)(to + i * self->a_step);
    if (is_line) {
      take_line_of(self, a + i * row_step, self->k, row);
    } else {
      take_strided(self, a + i * row_step, row);
    }
  }
}

static void take_windows(const lk_product_integer *self, const uint8_t *a, int64_t first,
                         int64_t count, const uint8_t *zero, int32_t *to) {
  const window_sizes sizes = find_sizes(self);
  window at = find_window(&self->conv, first);
  for (int64_t i = 0, done = 0; i < count; i++, to += self->a_step) {
    if (lk_look_more(&done, self->k, LK_LOOK_BYTES)) return;
    clear_end(self, to);
    take_window(self, &sizes, a, &at, zero, (uint8_t *)to);
    next_window(&self->conv, &at);
  }
}

/* ---- rows where they are ---- */

/* The rows of a block that are not copied: [n_runs][LK_INTEGER_ROWS], as an lk_integer_block has
 * them. */
typedef struct block_runs {
  bool are_used;
  const int32_t *at[LK_INTEGER_RUNS * LK_INTEGER_ROWS];
} block_runs;

/* How many runs a row has, and the bytes of each. */
static int64_t count_runs(const lk_product_integer *self) {
  return self->is_conv ? self->conv.kernel[0] * self->conv.kernel[1] : 1;
}
static int64_t run_bytes(const lk_product_integer *self) {
  return self->is_conv ? self->conv.kernel[2] * self->conv.in_channels : self->k;
}

/* Whether tiles can read the bytes of `a` as they are, of groups that do not cross its rows. */
static bool reads_in_place(const lk_product_integer *self, const uint8_t *a) {
  const lk_integer_loops *loops = self->loops;
  const int64_t step = self->is_conv ? self->conv.in_channels : self->a_row;
  if (loops->group != sizeof(int32_t) || loops->has_tiles || self->a_is_signed) return false;
  if (self->is_conv ? !has_runs(&self->conv) : self->a_k != 1) return false;
  return count_runs(self) <= LK_INTEGER_RUNS && step % loops->group == 0 &&
         run_bytes(self) % loops->group == 0 && (uintptr_t)a % sizeof(int32_t) == 0;
}

void lk_integer_find_lines(const lk_conv_shape *conv, const uint8_t *image, int64_t depth,
                           int64_t height, const uint8_t *outside, const uint8_t **lines) {
  for (int64_t i = 0; i < conv->kernel[0]; i++) {
    for (int64_t j = 0; j < conv->kernel[1]; j++) {
      const uint8_t *line =
          line_of(conv, image, depth * conv->stride[0] - conv->pad[0] + i * conv->dilation[0],
                  height * conv->stride[1] - conv->pad[1] + j * conv->dilation[1]);
      *lines++ = line != NULL ? line : outside;
    }
  }
}

/* Windows of a line of the output, side by side. */
typedef struct line_windows {
  int64_t column, count; /* where the first begins, and how many there are */
  lk_inside inside;      /* those that are, as far as columns go */
  const uint8_t *zero;
  int32_t *rows; /* of the scratch memory */
} line_windows;

/* Copies run `run` of windows `first` to `end` - 1 to their rows, and stores where each begins.
 * Windows that overlap share their taps. */
static void copy_line_runs(const lk_product_integer *self, const line_windows *windows,
                           const uint8_t *line, int64_t run, int64_t first, int64_t end,
                           const int32_t **runs) {
  const lk_conv_shape *conv = &self->conv;
  const int64_t stride = conv->stride[2];
  const int64_t groups = conv->in_channels / (int64_t)sizeof(int32_t);
  const int64_t at_once = stride <= conv->kernel[2] ? end - first : 1;
  const int64_t taps = (at_once - 1) * stride + conv->kernel[2];
  for (int64_t i = first; i < end; i += at_once) {
    int32_t *to = windows->rows + i * self->a_step + run * taps * groups;
    take_run(self, line, windows->column + i * stride, taps, windows->zero, (uint8_t *)to);
    for (int64_t j = 0; j < at_once; j++) runs[i + j] = to + j * stride * groups;
  }
}

static void find_line_runs(const lk_product_integer *self, const line_windows *windows,
                           const uint8_t *line, int64_t run, const int32_t **runs) {
  const int64_t first = windows->inside.first, end = first + windows->inside.count;
  const int64_t column = windows->column, stride = self->conv.stride[2];
  if (first > 0) copy_line_runs(self, windows, line, run, 0, first, runs);
  if (end < windows->count) copy_line_runs(self, windows, line, run, end, windows->count, runs);
  if (line != NULL) {
    for (int64_t i = first; i < end; i++) {
      const uint8_t *inside = line + (column + i * stride) * self->conv.in_channels;
      runs[i] = (const int32_t *)(const void *)inside;
    }
  } else if (first < end) { /* they share one */
    copy_line_runs(self, windows, NULL, run, first, first + 1, runs);
    for (int64_t i = first + 1; i < end; i++) runs[i] = runs[first];
  }
}

static void find_runs(const lk_product_integer *self, const uint8_t *a, int64_t first,
                      int64_t count, const uint8_t *zero, int32_t *scratch, block_runs *out) {
  if (!self->is_conv) {
    for (int64_t i = 0; i < count; i++) {
      out->at[i] = (const int32_t *)(const void *)(a + (first + i) * self->a_row);
    }
    return;
  }
  const lk_conv_shape *conv = &self->conv;
  const int64_t n_runs = count_runs(self), bytes = find_sizes(self).image;
  const uint8_t *lines[LK_INTEGER_RUNS];
  window at = find_window(conv, first);
  for (int64_t i = 0, n; i < count; i += n) { /* windows of a line of the output */
    n = lk_min(count - i, conv->out[2] - at.out[2]);
    line_windows windows = {.column = at.out[2] * conv->stride[2] - conv->pad[2],
                            .count = n,
                            .zero = zero,
                            .rows = scratch + i * self->a_step};
    windows.inside =
        lk_find_inside(windows.column, conv->stride[2], n, conv->in[2] - conv->kernel[2] + 1);
    lk_integer_find_lines(conv, a + at.image * bytes, at.out[0], at.out[1], NULL, lines);
    for (int64_t j = 0; j < n_runs; j++) {
      find_line_runs(self, &windows, lines[j], j, out->at + j * LK_INTEGER_ROWS + i);
    }
    at.out[2] += n - 1;
    next_window(conv, &at);
  }
}

/* ---- a block ---- */

/* Rows `first` and so on of a block. */
static void take_block(const lk_product_integer *self, const uint8_t *a, int64_t first,
                       int64_t count, const uint8_t *zero, int32_t *to, block_runs *runs) {
  runs->are_used = reads_in_place(self, a);
  if (runs->are_used) {
    find_runs(self, a, first, count, zero, to, runs);
  } else if (!self->is_conv) {
    take_rows(self, a + first * self->a_row, self->a_row, count, to);
  } else if (is_pointwise(&self->conv)) {
    const int64_t pixel = self->conv.in_channels * self->conv.groups;
    take_rows(self, a + first * pixel, pixel, count, to);
  } else {
    take_windows(self, a, first, count, zero, to);
  }
}

/* ---- running ---- */

lk_integer_operands lk_integer_operands_of(uint32_t has, void *const *pointers) {
  lk_integer_operands read = {{NULL}};
  for (uint32_t role = 0, n = 0; role < LK_INTEGER_ROLES; role++) {
    if ((has >> role & 1) != 0) read.of[role] = pointers[n++];
  }
  return read;
}

int32_t lk_integer_zero_of_c(uint8_t c_dtype, const lk_integer_operands *of) {
  const uint8_t *zero = of->of[LK_INTEGER_C_ZERO];
  if (zero == NULL) return 0;
  return c_dtype == LK_I8 ? (int8_t)*zero : *zero;
}

/* What does not depend on the rows. */
static lk_integer_block describe(const lk_product_integer *self, const lk_integer_operands *of,
                                 int64_t matrix) {
  const uint8_t *b_zero = of->of[LK_INTEGER_B_ZERO];
  const float *scale = of->of[LK_INTEGER_SCALE];
  const int32_t *bias = of->of[LK_INTEGER_BIAS];
  const int32_t *b = (const int32_t *)of->of[LK_INTEGER_B] + matrix * self->b_size;
  return (lk_integer_block){.a_step = self->a_step,
                            .b = b,
                            .b_sums = lk_product_integer_sums(self, b),
                            .k = self->k,
                            .columns = self->columns,
                            .panel = self->panel,
                            .a_is_signed = self->a_is_signed,
                            .b_is_signed = self->b_is_signed,
                            .a_zero_step = self->a_zero_step,
                            .b_zero = b_zero != NULL ? b_zero + matrix * self->b_zero_matrix : NULL,
                            .b_zero_step = self->b_zero_step,
                            .scale = scale != NULL ? scale + matrix * self->scale_matrix : NULL,
                            .scale_step = self->scale_step,
                            .bias = bias != NULL ? bias + matrix * self->bias_matrix : NULL,
                            .bias_row = self->bias_row,
                            .bias_column = self->bias_column,
                            .c_step = self->c_row,
                            .c_dtype = self->c_dtype,
                            .c_zero = lk_integer_zero_of_c(self->c_dtype, of)};
}

/* Some panels of a block of rows. `has_rows`: they are in `scratch` and `runs` already. */
static void run_block(const lk_product_integer *self, const lk_integer_operands *of, int64_t turn,
                      bool has_rows, int32_t *scratch, block_runs *runs) {
  const int64_t chunk = turn % self->chunks, block = turn / self->chunks % self->blocks;
  const int64_t batch = turn / self->chunks / self->blocks, first = block * self->block_rows;
  const lk_matmul_place at = lk_matmul_find_place(self->batch, self->batch_rank, batch);
  const uint8_t *a_zero = of->of[LK_INTEGER_A_ZERO];
  lk_integer_block call = describe(self, of, at.b);
  call.a = scratch;
  call.rows = lk_min(self->rows - first, self->block_rows);
  call.first_panel = chunk * self->panels / self->chunks;
  call.end_panel = (chunk + 1) * self->panels / self->chunks;
  call.c = (char *)of->of[LK_INTEGER_C] +
           (batch * self->c_batch + first * self->c_row) * (int64_t)lk_dtype_size(self->c_dtype);
  if (call.bias != NULL) call.bias += first * self->bias_row;
  if (a_zero != NULL) call.a_zero = a_zero + (at.a + first) * self->a_zero_step;
  if (!has_rows) {
    take_block(self, (const uint8_t *)of->of[LK_INTEGER_A] + at.a * self->a_row, first, call.rows,
               a_zero, scratch, runs);
  }
  if (runs->are_used) {
    call.runs = runs->at;
    call.n_runs = count_runs(self);
    call.run_groups = run_bytes(self) / self->loops->group;
  }
  self->loops->multiply(&call);
}

/* A slot is what a thread does in one call at least: the scratch memory of the first serves all. */
static void run_slots(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_product_integer *self = loop->params;
  const lk_integer_operands of = lk_integer_operands_of(self->has, loop->pointers);
  const int64_t turns = self->batches * self->blocks * self->chunks;
  const int64_t first = begin * turns / self->slots, last = end * turns / self->slots;
  int32_t *scratch = (int32_t *)of.of[LK_INTEGER_SCRATCH] + begin * self->block_rows * self->a_step;
  block_runs runs;
  for (int64_t turn = first; turn < last && !lk_team_is_stopped(); turn++) {
    run_block(self, &of, turn, turn > first && turn % self->chunks != 0, scratch, &runs);
  }
}

lk_status lk_product_integer_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_product_integer *self = params;
  const bool is_shared = lk_sharing_of_rows_pays(lk_product_integer_operations(self), self->rows);
  return lk_kernel_turns_looking(self->slots, is_shared, run_slots, self, pointers);
}
