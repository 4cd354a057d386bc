/* Tables of taps. */
#include "ops/kernel/sample/resize_table.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/team/look.h"

enum { ALIGNMENT = 64, TURN = 256 /* positions */ };
enum { TAP = 256 /* operations of a weight, in f64, one after the other */ };

/* Gives `count` elements of `size` bytes a place. False: the table is too large. */
static bool place(lk_resize_table *self, int64_t count, int64_t size, int64_t *out_at) {
  int64_t bytes = 0;
  *out_at = self->bytes;
  return !__builtin_mul_overflow(count, size, &bytes) &&
         !__builtin_add_overflow(bytes, ALIGNMENT - 1, &bytes) &&
         !__builtin_add_overflow(self->bytes, bytes / ALIGNMENT * ALIGNMENT, &self->bytes);
}

lk_status lk_resize_table_plan(lk_resize_table *self, lk_error *error) {
  const bool weighs = self->rule.mode != LK_RESIZE_NEAREST;
  const bool crops = self->rule.coordinates == LK_TF_CROP_AND_RESIZE;
  self->bytes = 0;
  for (uint32_t i = 0; i < self->count; i++) {
    lk_resize_axis *axis = &self->axes[i];
    const lk_stretch *s = &axis->stretch;
    int64_t count = 0;
    axis->taps = lk_resize_capacity(&self->rule, s);
    const bool fits = s->in <= INT32_MAX && s->out <= INT32_MAX &&
                      !__builtin_mul_overflow(axis->taps, s->out, &count) &&
                      place(self, count, sizeof(int32_t), &axis->indices) &&
                      place(self, weighs ? count : 0, self->wide ? 8 : 4, &axis->weights) &&
                      place(self, crops ? s->out : 0, 1, &axis->outside);
    if (fits) continue;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to resize %" PRId64 " to %" PRId64 ": tables of %" PRId64
                   " taps each, too large",
                   s->in, s->out, axis->taps);
  }
  return LK_OK;
}

static void fill(const lk_resize_table *self, const lk_resize_axis *axis, char *table,
                 int64_t begin, int64_t end) {
  const lk_resize_rule *rule = &self->rule;
  const lk_stretch *s = &axis->stretch;
  int32_t *indices = (int32_t *)(void *)(table + axis->indices);
  char *weights = table + axis->weights;
  const int64_t size = self->wide ? 8 : 4;
  for (int64_t x = begin, done = 0; x < end; x++) {
    if (lk_look_more(&done, axis->taps, LK_LOOK_FEW)) return;
    const lk_resize_taps taps = {indices + x, weights + x * size, s->out, self->wide};
    if (rule->mode == LK_RESIZE_NEAREST) {
      indices[x] = (int32_t)lk_resize_nearest(rule, s, x);
    } else {
      lk_resize_weigh(rule, s, axis->taps, x, &taps);
    }
  }
  for (int64_t x = begin; x < end && rule->coordinates == LK_TF_CROP_AND_RESIZE; x++) {
    table[axis->outside + x] = lk_resize_is_outside(rule, s, x) ? 1 : 0;
  }
}

static int64_t turns_of(const lk_resize_axis *axis) {
  return (axis->stretch.out + TURN - 1) / TURN;
}

static void fill_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_resize_table *self = loop->params;
  for (uint32_t i = 0; i < self->count; i++) {
    const lk_resize_axis *axis = &self->axes[i];
    const int64_t turns = turns_of(axis), out = axis->stretch.out;
    const int64_t first = begin > 0 ? begin : 0, last = end < turns ? end : turns;
    if (first < last) {
      fill(self, axis, loop->pointers[0], first * TURN, last * TURN < out ? last * TURN : out);
    }
    begin -= turns;
    end -= turns;
  }
}

lk_status lk_resize_table_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_resize_table *self = params;
  int64_t turns = 0, taps = 0;
  for (uint32_t i = 0; i < self->count; i++) {
    turns += turns_of(&self->axes[i]);
    taps += self->axes[i].taps * self->axes[i].stretch.out;
  }
  return lk_kernel_turns(turns, lk_sharing_pays_for(taps, TAP), fill_turns, params, pointers);
}
