/* Poolings of f32 in two stages. */
#include "ops/kernel/reduce/pool_staged.h"

#include <math.h>
#include <stddef.h>

#include "ops/kernel/reduce/pool_parts.h"
#include "ops/kernel/sizes.h"

/* Floats of the buffer, and behind it what a vector of every second one may read too much. */
enum { CAPACITY = 4096, SLACK = 64 };
/* With channels side by side, borders cost little, and only large windows gain. */
enum { LEAST_TAPS = 36, MOST_CHANNELS = 64 };

static int64_t extent_of(const lk_pool_geometry *g, uint32_t dim) {
  return (g->kernel[dim] - 1) * g->dilations[dim] + 1;
}

/* Columns of the input that `columns` windows take. */
static int64_t width_of(const lk_pool_geometry *g, int64_t columns) {
  return (columns - 1) * g->strides[2] + extent_of(g, 2);
}

void lk_pool_stage(lk_pool *self) {
  const lk_pool_geometry *g = &self->geometry;
  const bool is_plain = g->inner == 1;
  const int64_t channels = lk_min(g->inner, MOST_CHANNELS), room = CAPACITY / channels;
  const int64_t taps = lk_multiply_up_to_most(g->kernel[1], g->kernel[2]);
  const bool is_large =
      g->kernel[1] >= 2 && taps >= LEAST_TAPS && g->strides[2] == 1 && self->kind == LK_POOL_MAX;
  self->is_staged = self->dtype == LK_F32 && !self->positions && (is_plain || is_large) &&
                    extent_of(g, 2) <= room;
  if (!self->is_staged) return;
  const int64_t columns = lk_min(g->out[2], (room - extent_of(g, 2)) / g->strides[2] + 1);
  self->block_channels = (int32_t)channels;
  self->block_columns = (int32_t)columns;
  const int64_t lines = lk_min(g->out[1], lk_max(1, room / width_of(g, columns)));
  const bool is_flat = g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1;
  const bool is_whole = is_plain && is_flat && lines == g->out[1] && columns == g->out[2];
  const int64_t images = is_whole ? lk_max(1, room / (lines * width_of(g, columns))) : 1;
  self->block_lines = (int32_t)lines;
  self->block_images = (int32_t)lk_min(g->outer, images);
}

/* Divisions take longer than small blocks, and there is often one. */
static int64_t blocks(int64_t count, int64_t block) {
  return count <= block ? 1 : (count + block - 1) / block;
}
/* Takes the last digit from a number, which may have `n` values. */
static int64_t digit(int64_t *number, int64_t n) {
  if (n == 1) return 0;
  const int64_t last = *number % n;
  *number /= n;
  return last;
}

int64_t lk_pool_staged_turns(const lk_pool *self) {
  const lk_pool_geometry *g = &self->geometry;
  return blocks(g->outer, self->block_images) * g->out[0] * blocks(g->out[1], self->block_lines) *
         blocks(g->out[2], self->block_columns) * blocks(g->inner, self->block_channels);
}

/* ---- a block ---- */

typedef struct block {
  const lk_pool *pool;
  const float *from; /* the first plane of the windows, first channel */
  float *to;         /* the plane, first channel */
  float *buffer;
  const float *divisors;
  double divisor;             /* of the windows' planes */
  int64_t planes, plane_step; /* of the windows that lie in the input */
  int64_t channels, images;
  int64_t first_column, columns, first_line, lines;
  int64_t width;    /* of a line in the buffer, in places */
  lk_inside places; /* of it, that are not padding */
} block;

static void fill(float *to, int64_t count, float value) {
  for (int64_t i = 0; i < count; i++) to[i] = value;
}

static float start_of(const lk_pool *pool) {
  return pool->kind == LK_POOL_MAX ? -INFINITY : 0;
}

static void fill_padding(const block *self) {
  const float start = start_of(self->pool);
  const lk_inside *places = &self->places;
  const int64_t end = places->first + places->count;
  if (places->count == self->width) return;
  for (int64_t i = 0; i < self->images * self->lines; i++) {
    float *line = self->buffer + i * self->width * self->channels;
    fill(line, places->first * self->channels, start);
    fill(line + end * self->channels, (self->width - end) * self->channels, start);
  }
}

/* Distances from line to line and from image to image. */
typedef struct steps {
  int64_t from_line, from_image, to_line, to_image;
} steps;

/* In plain layout: `call`, which is for one line, for `lines` lines of each image, in as few calls
 * as possible. */
static void run_lines(const block *self, lk_pool_call *call, int64_t lines, const steps *by) {
  const bool is_one =
      by->from_image == lines * by->from_line && by->to_image == lines * by->to_line;
  const bool by_image = lines == 1 && !is_one;
  call->runs = by_image ? self->images : is_one ? lines * self->images : lines;
  call->from_next = by_image ? by->from_image : by->from_line;
  call->to_next = by_image ? by->to_image : by->to_line;
  const bool is_dense = call->from_next == call->length * call->stride &&
                        call->to_next == call->length && call->divisors == NULL;
  if (is_dense) {
    call->length *= call->runs;
    call->runs = 1;
  }
  const float *from = call->from;
  float *to = call->to;
  for (int64_t i = 0; i < (is_one || by_image ? 1 : self->images); i++) {
    call->from = from + i * by->from_image;
    call->to = to + i * by->to_image;
    lk_pool_run(self->pool, call);
  }
}

/* With channels side by side: `call`, which is for one line. */
static void run_each_line(const block *self, lk_pool_call *call, int64_t lines, const steps *by) {
  const float *from = call->from;
  float *to = call->to;
  for (int64_t i = 0; i < lines; i++) {
    call->from = from + i * by->from_line;
    call->to = to + i * by->to_line;
    lk_pool_run(self->pool, call);
  }
}

/* Into the buffer: `lines` lines from `line` on, all of whose windows have the taps of the first in
 * the input. */
static void first_stage(const block *self, int64_t line, int64_t lines) {
  const lk_pool_geometry *g = &self->pool->geometry;
  const int64_t line_step = g->in[2] * g->inner, places = self->places.count;
  const lk_inside taps = lk_pool_find_inside(g, 1, line);
  const int64_t buffer_line = self->width * self->channels;
  const steps by = {g->strides[1] * line_step, g->in[1] * line_step, buffer_line,
                    self->lines * buffer_line};
  lk_pool_call call = {.from = self->from + taps.at * line_step + self->places.at * g->inner,
                       .to = self->buffer + (line - self->first_line) * buffer_line +
                             self->places.first * self->channels,
                       .taps = {self->planes, taps.count, 1},
                       .steps = {self->plane_step, g->dilations[1] * line_step, 1},
                       .stride = 1,
                       .is_exact = true,
                       .divisor = 1};
  if (g->inner == 1) {
    call.length = places;
    run_lines(self, &call, lines, &by);
    return;
  }
  call.length = call.to_next = self->channels;
  call.runs = places;
  call.from_next = g->inner;
  run_each_line(self, &call, lines, &by);
}

static void second_stage(const block *self, int64_t line, int64_t lines, double divisor) {
  const lk_pool_geometry *g = &self->pool->geometry;
  const int64_t buffer_line = self->width * self->channels, to_line = g->out[2] * g->inner;
  const steps by = {buffer_line, self->lines * buffer_line, to_line, g->out[1] * to_line};
  lk_pool_call call = {.from = self->buffer + (line - self->first_line) * buffer_line,
                       .to = self->to + line * to_line + self->first_column * g->inner,
                       .taps = {1, 1, g->kernel[2]},
                       .steps = {0, 0, g->dilations[2] * self->channels},
                       .has_slack = true,
                       .is_exact = lk_pool_is_exact(divisor),
                       .divisor = divisor,
                       .divisors = self->divisors};
  if (g->inner == 1) {
    call.length = self->columns;
    call.stride = g->strides[2];
    run_lines(self, &call, lines, &by);
    return;
  }
  call.length = self->channels;
  call.stride = 1;
  call.runs = self->columns;
  call.from_next = g->strides[2] * self->channels;
  call.to_next = g->inner;
  run_each_line(self, &call, lines, &by);
}

/* Lines whose windows have the same lines in the input, together. */
static void do_lines(const block *self) {
  const lk_pool *pool = self->pool;
  const lk_pool_geometry *g = &pool->geometry;
  const int64_t extent = extent_of(g, 1), end = self->first_line + self->lines;
  const int64_t most = lk_max(1, LK_LOOK_EACH / (self->planes * g->kernel[1] + 1));
  for (int64_t line = self->first_line, lines; line < end; line += lines) {
    const int64_t start = lk_pool_start(g, 1, line), room = g->in[1] - extent - start;
    const bool is_whole = start >= 0 && room >= 0;
    lines = is_whole ? lk_min(lk_min(room / g->strides[1] + 1, end - line), most) : 1;
    if (most < self->lines && lk_team_is_stopped()) return;
    first_stage(self, line, lines);
    if (pool->kind == LK_POOL_MAX) continue;
    const double divisor = self->divisor * (double)lk_pool_divisor(g, pool->kind, 1, line);
    second_stage(self, line, lines, divisor);
  }
  if (pool->kind == LK_POOL_MAX) second_stage(self, self->first_line, self->lines, 1);
}

static void set_divisors(block *self, float *divisors) {
  const lk_pool *pool = self->pool;
  const int64_t whole = pool->kind == LK_POOL_TOTAL ? 1 : pool->geometry.kernel[2];
  const int64_t end = self->first_column + self->columns;
  if (self->first_column >= pool->whole_first && end <= pool->whole_end) {
    self->divisor *= (double)whole;
    return;
  }
  for (int64_t o = self->first_column; o < end; o++) {
    const bool is_whole = o >= pool->whole_first && o < pool->whole_end;
    divisors[o - self->first_column] =
        (float)(is_whole ? whole : lk_pool_divisor(&pool->geometry, pool->kind, 2, o));
  }
  self->divisors = divisors;
}

static void do_block(const lk_pool *pool, const float *from, float *to, int64_t turn) {
  const lk_pool_geometry *g = &pool->geometry;
  float buffer[CAPACITY + SLACK], divisors[CAPACITY];
  block self = {.pool = pool, .buffer = buffer, .divisor = 1};
  int64_t image = turn; /* after the other digits are gone */
  const int64_t channel =
      digit(&image, blocks(g->inner, pool->block_channels)) * pool->block_channels;
  self.first_column = digit(&image, blocks(g->out[2], pool->block_columns)) * pool->block_columns;
  self.first_line = digit(&image, blocks(g->out[1], pool->block_lines)) * pool->block_lines;
  const int64_t plane = digit(&image, g->out[0]);
  image *= pool->block_images;
  self.images = lk_min(pool->block_images, g->outer - image);
  self.to = to + (image * g->out[0] + plane) * g->out[1] * g->out[2] * g->inner + channel;
  self.channels = lk_min(pool->block_channels, g->inner - channel);
  self.columns = lk_min(pool->block_columns, g->out[2] - self.first_column);
  self.lines = lk_min(pool->block_lines, g->out[1] - self.first_line);
  self.width = width_of(g, self.columns);
  self.places = lk_find_inside(lk_pool_start(g, 2, self.first_column), 1, self.width, g->in[2]);
  const lk_inside planes = lk_pool_find_inside(g, 0, plane);
  const int64_t plane_size = g->in[1] * g->in[2] * g->inner;
  self.planes = planes.count;
  self.plane_step = g->dilations[0] * plane_size;
  self.from = from + (image * g->in[0] + planes.at) * plane_size + channel;
  if (pool->kind != LK_POOL_MAX) {
    self.divisor = (double)lk_pool_divisor(g, pool->kind, 0, plane);
    set_divisors(&self, divisors);
  }
  fill_padding(&self);
  do_lines(&self);
}

void lk_pool_staged(const lk_pool *self, const float *from, float *to, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) do_block(self, from, to, i);
}
