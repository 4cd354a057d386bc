/* A tensor with more elements around it, or fewer. A turn is a row of the output, which consists of
 * runs: of the constant, or of blocks that lie side by side in the source. */
#include "ops/kernel/pad.h"

#include <string.h>

#include "ops/kernel/copy_long.h"
#include "ops/kernel/sizes.h"

enum { SHARED_BYTES = 256 * 1024, OUTSIDE = -1 };

/* ---- plan ---- */

static bool is_whole(const lk_pad *self, uint32_t i) {
  return self->out[i] == self->dims[i] && self->in[i] == self->dims[i];
}

static void merge_dims(lk_pad *self) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < self->rank; i++) {
    const bool joins = rank > 0 && is_whole(self, i) && is_whole(self, rank - 1);
    const uint32_t to = joins ? rank - 1 : rank++;
    int64_t *const arrays[] = {self->dims, self->crop, self->in, self->begin, self->out};
    for (uint32_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) {
      const bool is_size = k % 2 == 0; /* the others are 0 where dimensions join */
      arrays[k][to] = joins && is_size ? arrays[k][to] * arrays[k][i] : arrays[k][i];
    }
  }
  self->rank = rank;
}

void lk_pad_plan(lk_pad *self) {
  merge_dims(self);
  self->block = self->element;
  /* behind the last dimension that changes, of which there is one */
  if (self->rank > 1 && is_whole(self, self->rank - 1)) {
    self->block *= (size_t)self->dims[--self->rank];
  }
  int64_t step = (int64_t)self->block;
  double bytes = (double)self->block;
  self->rows = 1;
  self->from_offset = 0;
  for (uint32_t i = self->rank; i-- > 0;) {
    self->steps[i] = step;
    self->from_offset += step * self->crop[i];
    step *= self->dims[i];
    bytes *= (double)self->out[i];
    if (i + 1 < self->rank) self->rows *= self->out[i];
  }
  self->shared = bytes >= SHARED_BYTES;
}

/* ---- running ---- */

/* The place among `in` that place `at` shows, counted from the first of them. */
static int64_t source_of(uint32_t mode, int64_t at, int64_t in) {
  if (at >= 0 && at < in) return at;
  if (mode == LK_PAD_CONSTANT) return OUTSIDE;
  if (mode == LK_PAD_EDGE || in == 1) return at < 0 ? 0 : in - 1;
  const int64_t period = mode == LK_PAD_WRAP ? in : 2 * in - 2;
  const int64_t place = (at % period + period) % period;
  return place < in ? place : period - place;
}

/* Rows are often short: a call of memcpy takes as long as they do. */
static inline void move_block(char *to, const char *from, size_t size) {
  switch (size) {
  case 4:
    memcpy(to, from, 4);
    break;
  case 8:
    memcpy(to, from, 8);
    break;
  default:
    memcpy(to, from, size);
    break;
  }
}

/* `bytes` of repetitions of a block. */
static void repeat(char *to, const char *block, size_t size, size_t bytes) {
  if (bytes == 0) return;
  move_block(to, block, size);
  for (size_t done = size; done < bytes;) { /* doubles what is there */
    const size_t more = done < bytes - done ? done : bytes - done;
    memcpy(to + done, to, more);
    done += more;
  }
}

/* Repetitions of an element, whose size is a power of two. */
typedef struct pattern {
  char bytes[64];
} pattern;

static inline void fill(char *to, const pattern *of, size_t bytes) {
  for (; bytes >= sizeof *of; bytes -= sizeof *of, to += sizeof *of) memcpy(to, of, sizeof *of);
#pragma GCC unroll 6
  for (size_t part = sizeof *of / 2; part > 0; part /= 2) {
    if ((bytes & part) == 0) continue;
    memcpy(to, of, part);
    to += part;
  }
}

static void fill_long(char *to, const pattern *of, size_t bytes) {
  for (; bytes > LK_LOOK_BYTES && !lk_team_is_stopped(); bytes -= LK_LOOK_BYTES) {
    fill(to, of, LK_LOOK_BYTES);
    to += LK_LOOK_BYTES;
  }
  if (bytes <= LK_LOOK_BYTES) fill(to, of, bytes);
}

static void pad_row(const lk_pad *self, const char *from, const pattern *value, char *to) {
  /* a run may be of one element, and many of them a long row */
  const int64_t most = lk_max(1, LK_LOOK_EACH * 4 / (int64_t)lk_max(1, (int64_t)self->block));
  int64_t done = 0;
  const uint32_t last = self->rank - 1;
  const int64_t in = self->in[last], out = self->out[last];
  for (int64_t i = 0, run; i < out; i += run, to += (size_t)run * self->block) {
    const int64_t at = i - self->begin[last], source = source_of(self->mode, at, in);
    const bool is_inside = at >= 0 && at < in;
    const int64_t behind = at < 0 ? lk_min(-at, out - i) : out - i; /* until it is inside again */
    if (source == OUTSIDE) {
      run = behind;
      fill_long(to, value, (size_t)run * self->block);
    } else if (is_inside || self->mode == LK_PAD_WRAP) {
      run = lk_min(in - source, out - i);
      lk_copy_long(to, from + source * self->steps[last], (size_t)run * self->block);
    } else {
      run = self->mode == LK_PAD_EDGE ? lk_min(behind, most) : 1;
      repeat(to, from + source * self->steps[last], self->block, (size_t)run * self->block);
    }
    if (lk_look_more(&done, run + 32, most)) return;
  }
}

/* Where a row's source lies; `places`: those of the row along all dimensions but the last one.
 * NULL: outside. */
static const char *find_row(const lk_pad *self, const char *from, const int64_t *places) {
  for (uint32_t i = self->rank - 1; i-- > 0;) {
    const int64_t source = source_of(self->mode, places[i] - self->begin[i], self->in[i]);
    if (source == OUTSIDE) return NULL;
    from += source * self->steps[i];
  }
  return from;
}

static void pad_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_pad *self = loop->params;
  const uint32_t last = self->rank - 1;
  const size_t bytes = (size_t)self->out[last] * self->block;
  const char *from = (const char *)loop->pointers[0] + self->from_offset;
  char *to = (char *)loop->pointers[1] + (size_t)begin * bytes;
  int64_t places[LK_MAX_RANK], rest = begin;
  pattern value;
  repeat(value.bytes, self->has_value ? loop->pointers[2] : (const void *)self->value,
         self->element, sizeof value);
  for (uint32_t i = last; i-- > 0; rest /= self->out[i]) places[i] = rest % self->out[i];
  for (int64_t row = begin; row < end; row++, to += bytes) {
    const char *source = find_row(self, from, places);
    if (source != NULL) {
      pad_row(self, source, &value, to);
    } else {
      fill_long(to, &value, bytes);
    }
    for (uint32_t i = last; i-- > 0 && ++places[i] == self->out[i];) places[i] = 0;
  }
}

lk_status lk_pad_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_pad *self = params;
  return lk_kernel_turns(self->rows, self->shared, pad_rows, params, pointers);
}
