/* Linear and cubic interpolation: turns, and the lines that they keep. */
#include "ops/kernel/sample/resize.h"

#include <string.h>

#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/sizes.h"

enum {
  TAP = 32, /* operations of an element that is gathered, with its weight */
  TURN_ELEMENTS = 8192,
  SMALL = 16384,        /* elements of a plane that stays in the caches */
  SMALL_WIDENED = 4096, /* the same of one that is brought to f32 first */
  LINE = 512,           /* elements of a line that is kept */
  LINES = 4,            /* that are kept */
  WIDENED = 2048,       /* elements of a row of the input that are brought to f32 at a time */
  LINE_ROWS = 32
};

static bool is_by_pixels(const lk_resize *self) {
  return self->is_f32 && self->inner > 1;
}

/* All rows of it are interpolated, also the few that may not be needed. */
static bool stays_in_cache(const lk_resize *self) {
  const int64_t small = self->is_f32 ? SMALL : SMALL_WIDENED;
  return !self->wide && self->inner == 1 && self->y.taps > 0 && self->x.taps > 0 &&
         self->y.in <= LK_RESIZE_STRIP_ROWS && 4 * self->y.in <= 5 * self->y.taps * self->y.out &&
         self->y.in * self->x.in <= small && self->y.out * self->x.out <= small;
}

/* Elements of a line: where an image shrinks, so few that what they are made of fits. */
static int64_t columns_of_lines(const lk_resize *self) {
  if (self->is_f32 || self->wide || self->x.taps == 0 || self->x.in <= self->x.out) return LINE;
  const int64_t fitting = (int64_t)(0.875 * WIDENED * (double)self->x.out / (double)self->x.in);
  return lk_max(16, lk_min(fitting, LINE));
}

void lk_resize_plan(lk_resize *self, lk_isa isa) {
  self->is_f32 = self->from_type == LK_F32 && self->to_type == LK_F32;
  self->loops = lk_resize_loops_get(isa);
  lk_resize_moves_plan(&self->in, self->from_type, isa);
  lk_resize_moves_plan(&self->out, self->to_type, isa);
  const int64_t taps =
      (self->y.taps > 0 ? self->y.taps : 1) * (self->x.taps > 0 ? self->x.taps : 1);
  int64_t width = self->x.out;
  self->is_small = stays_in_cache(self);
  if (self->is_small) {
    self->columns = width;
    self->rows = self->y.out;
  } else if (is_by_pixels(self)) {
    self->columns = lk_min(TURN_ELEMENTS / lk_min(self->inner, TURN_ELEMENTS), width);
    self->rows = 1;
  } else {
    width *= self->inner;
    self->columns = lk_min(columns_of_lines(self), width);
    self->rows = lk_min(LINE_ROWS, self->y.out);
  }
  self->column_turns = (width + self->columns - 1) / self->columns;
  self->row_turns = (self->y.out + self->rows - 1) / self->rows;
  self->shared =
      lk_sharing_pays_for(self->outer * self->y.out * self->x.out * self->inner * taps, TAP);
}

static const int32_t *indices_of(const char *table, const lk_resize_side *side) {
  return (const int32_t *)(const void *)(table + side->indices);
}

static const float *weights_of(const char *table, const lk_resize_side *side) {
  return (const float *)(const void *)(table + side->weights);
}

/* ---- pixels ---- */

static void do_pixels(const lk_resize *self, void *const *pointers, int64_t outer, int64_t y,
                      int64_t x) {
  static const int32_t zero = 0;
  static const float one = 1;
  const char *table = pointers[1];
  const lk_resize_side *of_y = &self->y, *of_x = &self->x;
  const int64_t row = of_x->in * self->inner;
  lk_resize_pixels call = {
      .from = (const float *)pointers[0] + outer * of_y->in * row,
      .row = row,
      .y = {indices_of(table, of_y) + y, weights_of(table, of_y) + y, of_y->taps, of_y->out},
      .x = {indices_of(table, of_x) + x, weights_of(table, of_x) + x, of_x->taps, of_x->out},
      .pixels = lk_min(self->columns, of_x->out - x),
      .inner = self->inner,
      .to = (float *)pointers[2] + ((outer * of_y->out + y) * of_x->out + x) * self->inner};
  if (of_x->taps == 0) call.x = (lk_resize_f32_taps){&zero, &one, 1, 0};
  self->loops->pixels(&call);
}

/* ---- small planes ---- */

static void do_strips(const lk_resize *self, const char *table, const float *from, float *to) {
  const lk_resize_side *of_y = &self->y, *of_x = &self->x;
  lk_resize_strip strip = {
      .from = from,
      .rows = of_y->in,
      .row = of_x->in,
      .y = {indices_of(table, of_y), weights_of(table, of_y), of_y->taps, of_y->out},
      .out_rows = of_y->out,
      .to_row = of_x->out};
  for (int64_t x = 0; x < of_x->out; x += strip.columns) {
    strip.x = (lk_resize_f32_taps){indices_of(table, of_x) + x, weights_of(table, of_x) + x,
                                   of_x->taps, of_x->out};
    strip.columns = lk_min(self->loops->strip_columns, of_x->out - x);
    strip.to = to + x;
    self->loops->strip(&strip);
  }
}

static void do_small(const lk_resize *self, void *const *pointers, int64_t outer, int64_t y,
                     int64_t x) {
  (void)y, (void)x;
  const int64_t in = self->y.in * self->x.in, out = self->y.out * self->x.out;
  do_strips(self, pointers[1], (const float *)pointers[0] + outer * in,
            (float *)pointers[2] + outer * out);
}

/* The same of other types, by way of f32. */
static void do_small_widened(const lk_resize *self, void *const *pointers, int64_t outer, int64_t y,
                             int64_t x) {
  (void)y, (void)x;
  float widened[SMALL_WIDENED], sums[SMALL_WIDENED];
  const int64_t in = self->y.in * self->x.in, out = self->y.out * self->x.out;
  const char *from = (const char *)pointers[0] + outer * in * self->in.size;
  char *to = (char *)pointers[2] + outer * out * self->out.size;
  const bool widens = self->from_type != LK_F32, narrows = self->to_type != LK_F32;
  if (widens) lk_resize_widen(&self->in, from, in, widened);
  do_strips(self, pointers[1], widens ? widened : (const float *)(const void *)from,
            narrows ? sums : (float *)(void *)to);
  if (narrows) lk_resize_narrow(&self->out, sums, out, to);
}

/* ---- lines ---- */

typedef union line {
  float f[LINE];
  double d[LINE];
} line;

/* Pixels of a row of the input. */
typedef struct span {
  int64_t first, count;
} span;

/* Elements `first` to `first` + `count` - 1 of the rows that are interpolated along x. */
typedef struct lines {
  const lk_resize *self;
  const char *from, *table; /* a plane of the input */
  int64_t first, count;
  span made_of;        /* what they are made of */
  int64_t kept[LINES]; /* which row each is; -1: none */
  line data[LINES];
  float widened[WIDENED];
} lines;

/* The pixels that `count` elements from `first` on are made of. */
static span span_of(const lk_resize *self, const char *table, int64_t first, int64_t count) {
  const lk_resize_side *x = &self->x;
  const int64_t begin = first / self->inner, end = (first + count - 1) / self->inner + 1;
  const int32_t *indices = indices_of(table, x);
  int32_t low = INT32_MAX, high = 0;
  for (int64_t t = 0, done = 0; t < x->taps; t++) {
    if (lk_look_more(&done, end - begin, LK_LOOK_EACH)) break;
    for (int64_t i = t * x->out + begin; i < t * x->out + end; i++) {
      low = indices[i] < low ? indices[i] : low;
      high = indices[i] > high ? indices[i] : high;
    }
  }
  return (span){low, (int64_t)high - low + 1};
}

static bool fits(const lk_resize *self, const span *of) {
  return self->from_type == LK_F32 || of->count <= WIDENED / self->inner;
}

/* Pixels of several elements: the sum of its taps for each. `from` is where pixel 0 would lie. */
static void sum_pixels(const lines *all, const float *from, int64_t first, int64_t count,
                       float *to) {
  enum { AT_ONCE = 16 };
  const lk_resize *self = all->self;
  const lk_resize_side *x = &self->x;
  const int32_t *indices = indices_of(all->table, x);
  const float *weights = weights_of(all->table, x);
  const float *of[AT_ONCE];
  float each[AT_ONCE];
  int64_t at = first / self->inner, c = first % self->inner, done = 0;
  for (int64_t n; count > 0; count -= n, to += n, c = 0, at++) {
    int64_t taps = 0;
    n = lk_min(self->inner - c, count);
    for (int64_t t = 0; t < x->taps; t++) {
      if (lk_look_more(&done, n, LK_LOOK_EACH)) return;
      if (taps == AT_ONCE) { /* what is summed already counts as one */
        self->loops->blend(of, each, taps, n, to);
        of[0] = to;
        each[0] = 1;
        taps = 1;
      }
      of[taps] = from + indices[t * x->out + at] * self->inner + c;
      each[taps++] = weights[t * x->out + at];
    }
    self->loops->blend(of, each, taps, n, to);
  }
}

/* `count` elements from `first` on, made of `span`, which fits. */
static void interpolate_part(lines *all, const char *row, int64_t first, int64_t count,
                             const span *of, float *to) {
  const lk_resize *self = all->self;
  const lk_resize_side *x = &self->x;
  const float *from = (const float *)(const void *)row;
  if (self->from_type != LK_F32) {
    const int64_t before = of->first * self->inner;
    lk_resize_widen(&self->in, row + before * self->in.size, of->count * self->inner, all->widened);
    /* indices count from the first pixel of the row */
    from = (const float *)((uintptr_t)all->widened - (uintptr_t)before * sizeof *from);
  }
  if (self->inner > 1) {
    sum_pixels(all, from, first, count, to);
    return;
  }
  const lk_resize_f32_taps taps = {indices_of(all->table, x) + first,
                                   weights_of(all->table, x) + first, x->taps, x->out};
  self->loops->line(from, &taps, count, to);
}

static void interpolate_f32(lines *all, const char *row, float *to) {
  const lk_resize *self = all->self;
  if (self->x.taps == 0) {
    const char *from = row + all->first * self->in.size;
    if (self->from_type == LK_F32) {
      memcpy(to, from, (size_t)(all->count * self->in.size));
    } else {
      lk_resize_widen(&self->in, from, all->count, to);
    }
    return;
  }
  if (fits(self, &all->made_of)) {
    interpolate_part(all, row, all->first, all->count, &all->made_of, to);
    return;
  }
  /* it shrinks a lot: fewer elements at a time, or taps that are too far apart for that */
  for (int64_t i = 0, n; i < all->count; i += n) {
    n = all->count - i;
    span of = span_of(self, all->table, all->first + i, n);
    for (; n > 1 && !fits(self, &of); of = span_of(self, all->table, all->first + i, n)) n /= 2;
    if (fits(self, &of)) {
      interpolate_part(all, row, all->first + i, n, &of, to + i);
      continue;
    }
    const lk_resize_types_line sums = {.from = row,
                                       .indices = indices_of(all->table, &self->x),
                                       .weights = weights_of(all->table, &self->x),
                                       .taps = self->x.taps,
                                       .step = self->x.out,
                                       .inner = self->inner,
                                       .first = all->first + i,
                                       .count = n};
    lk_resize_types_sum(self->from_type, &sums, to + i);
  }
}

static void interpolate(lines *all, int64_t row, void *to) {
  const lk_resize *self = all->self;
  const lk_resize_side *x = &self->x;
  const char *from = all->from + row * x->in * self->inner * self->in.size;
  if (!self->wide) {
    interpolate_f32(all, from, to);
    return;
  }
  const lk_resize_types_line sums = {.from = from,
                                     .indices = indices_of(all->table, x),
                                     .weights = all->table + x->weights,
                                     .taps = x->taps,
                                     .step = x->out,
                                     .inner = self->inner,
                                     .first = all->first,
                                     .count = all->count};
  lk_resize_types_sum(self->from_type, &sums, to);
}

/* A row of the input, interpolated. It stays until another one comes that is a multiple of LINES
 * rows away. */
static const void *line_of(lines *all, int64_t row) {
  const int64_t at = row % LINES;
  if (all->kept[at] != row) {
    all->kept[at] = row;
    interpolate(all, row, &all->data[at]);
  }
  return &all->data[at];
}

static void blend_f32(lines *all, int64_t y, float *to) {
  const lk_resize_side *side = &all->self->y;
  const int32_t *indices = indices_of(all->table, side) + y;
  const float *weights = weights_of(all->table, side) + y;
  const float *of[LINES];
  float each[LINES];
  int64_t taps = 0, first = 0, done = 0;
  for (int64_t t = 0; t < side->taps; t++) {
    if (lk_look_more(&done, all->count, LK_LOOK_EACH)) return;
    const int64_t row = indices[t * side->out]; /* they ascend */
    if (taps == LINES || (taps > 0 && row >= first + LINES)) {
      /* what is summed already counts as one */
      all->self->loops->blend(of, each, taps, all->count, to);
      of[0] = to;
      each[0] = 1;
      taps = 1;
      first = row;
    }
    if (t == 0) first = row;
    of[taps] = line_of(all, row);
    each[taps++] = weights[t * side->out];
  }
  all->self->loops->blend(of, each, taps, all->count, to);
}

static void blend_f64(lines *all, int64_t y, double *to) {
  const lk_resize_side *side = &all->self->y;
  const int32_t *indices = indices_of(all->table, side) + y;
  const double *weights = (const double *)(const void *)(all->table + side->weights) + y;
  for (int64_t t = 0, done = 0; t < side->taps; t++) {
    if (lk_look_more(&done, all->count, LK_LOOK_EACH)) return;
    const double *from = line_of(all, indices[t * side->out]);
    const double weight = weights[t * side->out];
    for (int64_t i = 0; i < all->count; i++) to[i] = (t > 0 ? to[i] : 0) + weight * from[i];
  }
}

static void do_lines(const lk_resize *self, void *const *pointers, int64_t outer, int64_t y,
                     int64_t first) {
  const lk_resize_side *of_y = &self->y, *of_x = &self->x;
  const int64_t in = of_y->in * of_x->in * self->inner, width = of_x->out * self->inner;
  const size_t from_size = lk_dtype_size(self->from_type), to_size = lk_dtype_size(self->to_type);
  const bool narrows = lk_resize_wide(self->to_type) != self->to_type;
  lines all;
  line sum;
  all.self = self;
  all.from = (const char *)pointers[0] + (size_t)(outer * in) * from_size;
  all.table = pointers[1];
  all.first = first;
  all.count = lk_min(self->columns, width - first);
  const bool is_widened = !self->wide && self->from_type != LK_F32 && of_x->taps > 0;
  all.made_of = is_widened ? span_of(self, all.table, first, all.count) : (span){0, 0};
  for (int i = 0; i < LINES; i++) all.kept[i] = -1;
  char *to = (char *)pointers[2] + (size_t)((outer * of_y->out + y) * width + first) * to_size;
  const int64_t end = lk_min(y + self->rows, of_y->out);
  for (; y < end; y++, to += (size_t)width * to_size) {
    void *row = narrows ? (void *)&sum : (void *)to;
    if (of_y->taps == 0) {
      interpolate(&all, y, row);
    } else if (self->wide) {
      blend_f64(&all, y, row);
    } else {
      blend_f32(&all, y, row);
    }
    if (!narrows) continue;
    if (self->wide) {
      lk_resize_types_narrow(self->to_type, row, to, all.count);
    } else {
      lk_resize_narrow(&self->out, row, all.count, to);
    }
  }
}

/* ---- turns ---- */

static void do_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_resize *self = loop->params;
  void (*do_turn)(const lk_resize *, void *const *, int64_t, int64_t, int64_t) =
      self->is_small       ? (self->is_f32 ? do_small : do_small_widened)
      : is_by_pixels(self) ? do_pixels
                           : do_lines;
  for (int64_t turn = begin; turn < end; turn++) {
    const int64_t column = turn % self->column_turns, rest = turn / self->column_turns;
    const int64_t row = rest % self->row_turns, outer = rest / self->row_turns;
    do_turn(self, loop->pointers, outer, row * self->rows, column * self->columns);
  }
}

lk_status lk_resize_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_resize *self = params;
  const int64_t turns = self->outer * self->row_turns * self->column_turns;
  return lk_kernel_turns(turns, self->shared, do_turns, params, pointers);
}
