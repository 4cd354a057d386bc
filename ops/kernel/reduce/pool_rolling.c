/* Poolings whose windows of 3 x 3 lie one element apart. */
#include "ops/kernel/reduce/pool_rolling.h"

#include <stddef.h>

#include "ops/kernel/sizes.h"

/* Elements of a turn, which fit the first-level cache with their results; lines of it at the least,
 * since two more are read for each turn; and lines or columns at the most. */
enum { TURN = 4096, LEAST_LINES = 8, LONGEST = 2048 };

bool lk_pool_rolls(const lk_pool *self) {
  const lk_pool_geometry *g = &self->geometry;
  const bool is_flat = g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1;
  bool is_three = true;
  for (uint32_t i = 1; i < LK_POOL_DIMS; i++) {
    is_three = is_three && g->kernel[i] == 3 && g->strides[i] == 1 && g->dilations[i] == 1 &&
               g->out[i] <= LONGEST;
  }
  return self->dtype == LK_F32 && !self->positions && g->inner == 1 && is_flat && is_three;
}

static int64_t lines_of_turn(const lk_pool *self) {
  const lk_pool_geometry *g = &self->geometry;
  return lk_min(lk_max(TURN / g->out[2], LEAST_LINES), g->out[1]);
}
static int64_t turns_of_plane(const lk_pool *self) {
  const int64_t lines = lines_of_turn(self);
  return (self->geometry.out[1] + lines - 1) / lines;
}

int64_t lk_pool_rolling_turns(const lk_pool *self) {
  return self->geometry.outer * turns_of_plane(self);
}

static void set_divisors(const lk_pool *self, uint32_t dim, float *divisors) {
  const lk_pool_geometry *g = &self->geometry;
  for (int64_t o = 0; o < g->out[dim]; o++) {
    divisors[o] = (float)lk_pool_divisor(g, self->kind, dim, o);
  }
}

void lk_pool_rolling(const lk_pool *self, const float *from, float *to, int64_t begin,
                     int64_t end) {
  const lk_pool_geometry *g = &self->geometry;
  const int64_t lines = lines_of_turn(self), turns = turns_of_plane(self);
  float line_divisors[LONGEST], column_divisors[LONGEST];
  lk_pool_plane plane = {.in = {g->in[1], g->in[2]},
                         .out = {g->out[1], g->out[2]},
                         .begin = {g->begin[1], g->begin[2]},
                         .line_divisors = line_divisors,
                         .column_divisors = column_divisors};
  if (self->kind != LK_POOL_MAX) {
    set_divisors(self, 1, line_divisors);
    set_divisors(self, 2, column_divisors);
  }
  for (int64_t i = begin; i < end; i++) {
    const int64_t image = i / turns;
    plane.from = from + image * g->in[1] * g->in[2];
    plane.to = to + image * g->out[1] * g->out[2];
    plane.first = i % turns * lines;
    plane.end = lk_min(plane.first + lines, g->out[1]);
    self->roll(&plane);
  }
}
