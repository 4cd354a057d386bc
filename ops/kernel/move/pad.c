/* A tensor with more elements around it, or fewer. A turn is a row of the output, which consists of
 * runs: of the constant, or of blocks that lie side by side in the source. */
#include "ops/kernel/move/pad.h"

#include <string.h>

#include "ops/kernel/copy_long.h"
#include "ops/kernel/repeat.h"
#include "ops/kernel/sizes.h"

enum { ALIKE_BYTES = 16 * 1024, OUTSIDE = -1 };

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
  self->shared = lk_sharing_pays(bytes * LK_SHARING_BYTE);
  self->planes = lk_copy_planes_get(lk_isa_get());
}

/* ---- running ---- */

/* The place among `in` that place `at` shows, counted from the first of them. */
static inline int64_t source_of(uint32_t mode, int64_t at, int64_t in) {
  if (at >= 0 && at < in) return at;
  if (mode == LK_PAD_CONSTANT) return OUTSIDE;
  if (mode == LK_PAD_EDGE || in == 1) return at < 0 ? 0 : in - 1;
  if (mode == LK_PAD_REFLECT && at < 0 && -at < in) return -at; /* most are: no division */
  const int64_t period = mode == LK_PAD_WRAP ? in : 2 * in - 2;
  const int64_t place = (at % period + period) % period;
  return place < in ? place : period - place;
}

static void fill_long(char *to, const lk_pattern *of, size_t bytes) {
  for (; bytes > LK_LOOK_BYTES && !lk_team_is_stopped(); bytes -= LK_LOOK_BYTES) {
    lk_pattern_put(to, of, LK_LOOK_BYTES);
    to += LK_LOOK_BYTES;
  }
  if (bytes <= LK_LOOK_BYTES) lk_pattern_put(to, of, bytes);
}

/* `count` blocks, of which the last one in memory is at `last`: it comes first. */
#define BACKWARDS(size)                                                                            \
  case size:                                                                                       \
    for (int64_t i = 0; i < count; i++) memcpy(to + i * (size), last - i * (size), size);          \
    break
static void move_backwards(char *to, const char *last, int64_t count, size_t size) {
  switch (size) {
    BACKWARDS(1);
    BACKWARDS(2);
    BACKWARDS(4);
    BACKWARDS(8);
  default:
    for (int64_t i = 0; i < count; i++)
      memcpy(to + (size_t)i * size, last - (size_t)i * size, size);
    break;
  }
}

/* ---- runs: what a row consists of, which is the same for all of them ---- */

typedef enum run_kind { FORWARDS, BACKWARDS_FROM, REPEATED, OF_VALUE } run_kind;

typedef struct run {
  run_kind kind;
  int64_t count; /* blocks */
  int64_t from;  /* bytes from where the row's source begins to the first block that is shown */
} run;

/* A run may be of one block, and many of them a long row: so much is done between two looks. */
static int64_t most_of(const lk_pad *self) {
  return lk_max(1, LK_LOOK_EACH * 4 / (int64_t)lk_max(1, (int64_t)self->block));
}

/* The run that begins at block `i` of a row. */
static run find_run(const lk_pad *self, int64_t i, int64_t most) {
  const uint32_t last = self->rank - 1;
  const int64_t in = self->in[last], out = self->out[last], at = i - self->begin[last];
  const int64_t source = source_of(self->mode, at, in), from = source * self->steps[last];
  const bool is_inside = at >= 0 && at < in;
  const int64_t behind = at < 0 ? lk_min(-at, out - i) : out - i; /* until it is inside again */
  if (source == OUTSIDE) return (run){OF_VALUE, behind, 0};
  if (is_inside || (self->mode == LK_PAD_WRAP && in > 1)) {
    return (run){FORWARDS, lk_min(in - source, out - i), from};
  }
  if (behind == 1) return (run){FORWARDS, 1, from};
  if (self->mode == LK_PAD_EDGE || in == 1) return (run){REPEATED, lk_min(behind, most), from};
  /* back and forth, and so forth where the next one lies higher */
  const bool is_rising = source == 0 || source < source_of(self->mode, at + 1, in);
  return is_rising ? (run){FORWARDS, lk_min(in - source, behind), from}
                   : (run){BACKWARDS_FROM, lk_min(lk_min(source + 1, behind), most), from};
}

static void do_run(const lk_pad *self, const run *part, const char *from, const lk_pattern *value,
                   char *to) {
  const size_t bytes = (size_t)part->count * self->block;
  switch (part->kind) {
  case FORWARDS:
    if (bytes <= LK_SHORT_BYTES) {
      lk_move_short(to, from + part->from, bytes);
    } else {
      lk_copy_long(to, from + part->from, bytes);
    }
    break;
  case BACKWARDS_FROM:
    move_backwards(to, from + part->from, part->count, self->block);
    break;
  case REPEATED:
    lk_repeat(to, from + part->from, self->block, bytes);
    break;
  case OF_VALUE:
    fill_long(to, value, bytes);
    break;
  }
}

/* The first runs of a row, which are found once for many rows. */
enum { RUNS = 16 };
typedef struct runs {
  uint32_t count;
  bool is_whole; /* there are no others */
  run parts[RUNS];
} runs;

static runs find_runs(const lk_pad *self) {
  runs first = {.count = 0};
  const int64_t out = self->out[self->rank - 1], most = most_of(self);
  int64_t i = 0;
  while (i < out && first.count < RUNS) {
    first.parts[first.count] = find_run(self, i, most);
    i += first.parts[first.count++].count;
  }
  first.is_whole = i == out;
  return first;
}

static void pad_row(const lk_pad *self, const runs *first, const char *from,
                    const lk_pattern *value, char *to) {
  const int64_t most = most_of(self), out = self->out[self->rank - 1];
  int64_t done = 0, i = 0;
  for (uint32_t k = 0; k < first->count; k++) {
    const run *part = &first->parts[k];
    do_run(self, part, from, value, to);
    i += part->count;
    to += (size_t)part->count * self->block;
    if (lk_look_more(&done, part->count + 32, most)) return;
  }
  while (i < out) {
    const run part = find_run(self, i, most);
    do_run(self, &part, from, value, to);
    i += part.count;
    to += (size_t)part.count * self->block;
    if (lk_look_more(&done, part.count + 32, most)) return;
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

/* ---- rows side by side, whose sources lie so too ---- */

/* How many rows from `places` on, at most `most`, are inside along the dimension before the last,
 * so that their sources follow each other. */
static int64_t count_alike(const lk_pad *self, const int64_t *places, int64_t most) {
  if (self->rank < 2) return 1;
  const uint32_t i = self->rank - 2;
  const int64_t at = places[i] - self->begin[i];
  return at >= 0 && at < self->in[i] ? lk_min(most, self->in[i] - at) : 1;
}

/* The same run of `count` rows. */
static void do_run_of_rows(const lk_pad *self, const run *part, const char *from, int64_t count,
                           const lk_pattern *value, char *to) {
  const int64_t of_row = self->steps[self->rank - 2];
  const int64_t to_row = self->out[self->rank - 1] * (int64_t)self->block;
  const size_t bytes = (size_t)part->count * self->block;
  lk_copy_plane plane = {.from = from + part->from,
                         .to = to,
                         .rows = count,
                         .cols = 1,
                         .from_row = of_row,
                         .to_row = to_row,
                         .to_col = (int64_t)self->block,
                         .block = bytes};
  if (part->kind == FORWARDS) {
    self->planes->blocks[lk_block_class_of(bytes)](&plane);
    return;
  }
  if (part->kind == OF_VALUE && bytes <= sizeof *value) {
    plane.from = value->bytes;
    plane.from_row = 0;
    self->planes->blocks[lk_block_class_of(bytes)](&plane);
    return;
  }
  if (part->kind == REPEATED && lk_is_pattern(self->block)) {
    plane.cols = part->count;
    self->planes->repeat[lk_log_up(self->block)](&plane);
    return;
  }
  for (int64_t row = 0; row < count; row++) {
    do_run(self, part, from + row * of_row, value, to + row * to_row);
  }
}

static void pad_alike(const lk_pad *self, const runs *first, const char *from, int64_t count,
                      const lk_pattern *value, char *to) {
  for (uint32_t k = 0; k < first->count; k++) {
    do_run_of_rows(self, &first->parts[k], from, count, value, to);
    to += (size_t)first->parts[k].count * self->block;
  }
}

/* ---- turns ---- */

static void pad_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_pad *self = loop->params;
  const uint32_t last = self->rank - 1;
  const size_t bytes = (size_t)self->out[last] * self->block;
  const char *from = (const char *)loop->pointers[0] + self->from_offset;
  char *to = (char *)loop->pointers[1] + (size_t)begin * bytes;
  int64_t places[LK_MAX_RANK], rest = begin;
  const runs first = find_runs(self);
  const void *given = self->has_value ? loop->pointers[2] : self->value;
  const lk_pattern value = lk_pattern_of(given, self->element);
  for (uint32_t i = last; i-- > 0; rest /= self->out[i]) places[i] = rest % self->out[i];
  const int64_t most = first.is_whole ? lk_max(1, (int64_t)(ALIKE_BYTES / bytes)) : 1;
  for (int64_t row = begin, count; row < end; row += count, to += (size_t)count * bytes) {
    const char *source = find_row(self, from, places);
    count = most > 1 ? count_alike(self, places, lk_min(most, end - row)) : 1;
    if (source == NULL) {
      count = 1;
      fill_long(to, &value, bytes);
    } else if (count > 1) {
      pad_alike(self, &first, source, count, &value, to);
    } else {
      pad_row(self, &first, source, &value, to);
    }
    if (last == 0) continue;
    places[last - 1] += count;
    for (uint32_t i = last - 1; i > 0 && places[i] == self->out[i]; i--) {
      places[i] = 0;
      places[i - 1]++;
    }
  }
}

lk_status lk_pad_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_pad *self = params;
  return lk_kernel_turns(self->rows, self->shared, pad_rows, params, pointers);
}
