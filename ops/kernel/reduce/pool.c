/* Poolings, line by line of the output: what of each window lies in the input, and where. */
#include "ops/kernel/reduce/pool.h"

#include <stddef.h>

#include "base/team/look.h"
#include "ops/kernel/reduce/pool_parts.h"
#include "ops/kernel/reduce/pool_rolling.h"
#include "ops/kernel/reduce/pool_staged.h"
#include "ops/kernel/sizes.h"

/* Elements of a window that fit the first-level cache, and channels at a time where they do not. */
enum { WINDOW = 8192, CHANNELS = 128 };
enum { TAP = 4 /* operations that it takes: its element is in a cache, for its neighbours */ };
/* Elements of windows between two looks at what may stop it. */
enum { AT_ONCE = 1 << 20 };

static lk_pool_type type_of(uint32_t dtype) {
  switch (dtype) {
  case LK_F64:
    return LK_POOL_F64;
  case LK_U8:
    return LK_POOL_U8;
  case LK_I8:
    return LK_POOL_I8;
  default:
    return LK_POOL_F32;
  }
}

void lk_pool_plan(lk_pool *self, lk_isa isa) {
  static const uint8_t sizes[] = {
      [LK_POOL_F32] = 4, [LK_POOL_F64] = 8, [LK_POOL_U8] = 1, [LK_POOL_I8] = 1};
  const lk_pool_geometry *g = &self->geometry;
  const lk_pool_type type = type_of(self->dtype);
  const lk_pool_loop loop = self->kind != LK_POOL_MAX ? LK_POOL_SUM
                            : self->positions         ? LK_POOL_LARGEST_AT
                                                      : LK_POOL_LARGEST;
  self->size = sizes[type];
  self->run = lk_row_loops_get(isa)->pool[type][loop];
  self->roll = lk_row_loops_get(isa)->pool_rolling[self->kind != LK_POOL_MAX];
  const int64_t reach = (g->kernel[2] - 1) * g->dilations[2];
  const lk_inside whole = lk_find_inside(-g->begin[2], g->strides[2], g->out[2], g->in[2] - reach);
  self->is_rolling = lk_pool_rolls(self);
  lk_pool_stage(self);
  self->whole_first = whole.first;
  self->whole_end = whole.first + whole.count;
}

/* ---- running ---- */

/* A line of outputs, along the last spatial dimension. */
typedef struct line {
  const lk_pool *pool;
  const char *from; /* where the first taps' line of the input begins */
  char *to;
  int32_t *positions;
  lk_pool_call call; /* what all windows of the line share */
  double divisor;    /* by the other dimensions */
} line;

/* Windows that are too large for the first-level cache, some channels after the other: neighbours
 * overlap. */
static void run_by_channels(const lk_pool *pool, const lk_pool_call *all) {
  const int64_t block = CHANNELS, taps = lk_pool_taps(all);
  lk_pool_call call = *all;
  for (int64_t i = 0, done = 0; i < all->length; i += block) {
    if (lk_look_more(&done, taps * block, AT_ONCE)) return;
    call.from = (const char *)all->from + i * pool->size;
    call.to = (char *)all->to + i * pool->size;
    if (all->positions != NULL) call.positions = all->positions + i;
    call.length = all->length - i < block ? all->length - i : block;
    lk_pool_run(pool, &call);
  }
}

/* The outputs `first` to `end` - 1, of whose windows `taps` taps from `tap` on lie in the input. */
static void pool_windows(line *self, int64_t first, int64_t end, int64_t tap, int64_t taps) {
  const lk_pool *pool = self->pool;
  const lk_pool_geometry *g = &pool->geometry;
  lk_pool_call *call = &self->call;
  const int64_t start = lk_pool_start(g, 2, first) + tap * g->dilations[2];
  const int64_t first_tap = call->first_tap, count = end - first;
  call->taps[2] = taps;
  call->first_tap += tap;
  call->from = self->from + start * g->inner * pool->size;
  call->to = self->to + first * g->inner * pool->size;
  call->positions = self->positions != NULL ? self->positions + first * g->inner : NULL;
  call->runs = 1;
  call->length = count * g->inner;
  call->stride = 1;
  if (pool->kind != LK_POOL_MAX) {
    call->divisor = self->divisor * (double)lk_pool_divisor(g, pool->kind, 2, first);
    call->is_exact = lk_pool_is_exact(call->divisor);
  }
  if (g->inner == 1 && count > 1) {
    call->stride = g->strides[2];
  } else if (g->strides[2] > 1 && count > 1) {
    call->runs = count;
    call->length = call->to_next = g->inner;
    call->from_next = g->strides[2] * g->inner;
  }
  if (call->runs == 1 || lk_pool_taps(call) * call->length <= WINDOW) {
    lk_pool_run(pool, call);
  } else {
    run_by_channels(pool, call);
  }
  call->first_tap = first_tap;
}

/* Windows that reach into the padding. One of a hostile model's may take a millisecond. */
static void pool_border(line *self, int64_t first, int64_t end) {
  const lk_pool_geometry *g = &self->pool->geometry;
  for (int64_t o = first; o < end && !lk_team_is_stopped(); o++) {
    const lk_inside taps = lk_pool_find_inside(g, 2, o);
    pool_windows(self, o, o + 1, taps.first, taps.count);
  }
}

/* `self` is used for one line after the other: a new one would have to be cleared. */
static void pool_line(line *self, void *const *pointers, int64_t index) {
  const lk_pool *pool = self->pool;
  const lk_pool_geometry *g = &pool->geometry;
  const int64_t image = index / g->out[1];
  const int64_t out[] = {image % g->out[0], index % g->out[1]};
  int64_t from = image / g->out[0]; /* a line of the input */
  const int64_t steps[] = {g->in[1] * g->in[2] * g->inner, g->in[2] * g->inner};
  lk_pool_call *call = &self->call;
  call->first_tap = 0;
  self->divisor = 1;
  for (uint32_t i = 0; i < 2; i++) {
    const lk_inside taps = lk_pool_find_inside(g, i, out[i]);
    call->taps[i] = taps.count;
    call->steps[i] = g->dilations[i] * steps[i];
    call->first_tap = (call->first_tap + taps.first) * g->kernel[i + 1];
    from = from * g->in[i] + taps.at;
    if (pool->kind != LK_POOL_MAX) {
      self->divisor *= (double)lk_pool_divisor(g, pool->kind, i, out[i]);
    }
  }
  call->steps[2] = g->dilations[2] * g->inner;
  call->tap_next[0] = g->kernel[1] * g->kernel[2];
  call->tap_next[1] = g->kernel[2];
  const int64_t width = g->out[2] * g->inner;
  self->from = (const char *)pointers[0] + from * g->in[2] * g->inner * pool->size;
  self->to = (char *)pointers[1] + index * width * pool->size;
  self->positions = pool->positions ? (int32_t *)pointers[2] + index * width : NULL;
  pool_border(self, 0, pool->whole_first);
  const int64_t taps = lk_max(1, call->taps[0] * call->taps[1] * g->kernel[2] * g->inner);
  const int64_t most = lk_max(1, AT_ONCE / taps);
  for (int64_t first = pool->whole_first, end; first < pool->whole_end; first = end) {
    end = lk_look_part(first, pool->whole_end, most);
    pool_windows(self, first, end, 0, g->kernel[2]);
    if (end < pool->whole_end && lk_team_is_stopped()) return;
  }
  pool_border(self, pool->whole_end, g->out[2]);
}

static void pool_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_pool *self = loop->params;
  if (self->is_rolling) {
    lk_pool_rolling(self, loop->pointers[0], loop->pointers[1], begin, end);
    return;
  }
  if (self->is_staged) {
    lk_pool_staged(self, loop->pointers[0], loop->pointers[1], begin, end);
    return;
  }
  line work = {.pool = self};
  for (int64_t i = begin; i < end; i++) pool_line(&work, loop->pointers, i);
}

lk_status lk_pool_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_pool *self = params;
  const lk_pool_geometry *g = &self->geometry;
  const int64_t lines = g->outer * g->out[0] * g->out[1];
  const double taps = (double)(lines * g->out[2] * g->inner) *
                      (double)(g->kernel[0] * g->kernel[1]) * (double)g->kernel[2];
  const int64_t turns = self->is_rolling  ? lk_pool_rolling_turns(self)
                        : self->is_staged ? lk_pool_staged_turns(self)
                                          : lines;
  return lk_kernel_turns(turns, lk_sharing_pays(taps * TAP), pool_turns, self, pointers);
}
