/* Bytes for real numbers, and back. */
#include "ops/kernel/integer/quantize.h"

#include <math.h>
#include <string.h>

#include "ops/kernel/copy_block.h"
#include "ops/kernel/repeat.h"
#include "ops/kernel/sizes.h"

/* Operations of an element, which is divided and rounded, or looked up. */
enum { ELEMENT = 64 };

lk_byte_type lk_byte_type_of(float least, float most) {
  const float scale = most == least ? 1 : (most - least) / (float)UINT8_MAX;
  const float zero = fminf(fmaxf(-(least / scale), 0), UINT8_MAX);
  return (lk_byte_type){scale, (int32_t)nearbyintf(zero), false};
}

void lk_quantize_plan(lk_quantize *self) {
  self->turns = lk_min(LK_QUANTIZE_TURNS, lk_max(1, lk_div_up(self->count, LK_QUANTIZE_TURN)));
}

int64_t lk_quantize_scratch_size(const lk_quantize *self) {
  return 2 * self->turns;
}

/* How many elements count. */
static int64_t find_count(const lk_quantize *self, void *const *pointers) {
  int64_t longest = 0;
  if (self->step == 0) return self->count;
  const int32_t *lengths = pointers[5];
  for (int64_t i = 0; i < self->batch; i++) longest = lk_max(longest, lengths[i]);
  return lk_min(self->count, longest * self->step);
}

typedef struct part {
  int64_t first, count;
} part;

static part find_part(const lk_quantize *self, int64_t count, int64_t turn) {
  const int64_t first = turn * count / self->turns;
  return (part){first, (turn + 1) * count / self->turns - first};
}

static void find_ranges(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_quantize *self = loop->params;
  const int64_t count = find_count(self, loop->pointers);
  float *ranges = loop->pointers[4];
  for (int64_t i = begin; i < end; i++) {
    const part of = find_part(self, count, i);
    ranges[2 * i] = ranges[2 * i + 1] = 0;
    self->loops->range((const float *)loop->pointers[0] + of.first, of.count, &ranges[2 * i],
                       &ranges[2 * i + 1]);
  }
}

static void write_bytes(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_quantize *self = loop->params;
  const int64_t count = find_count(self, loop->pointers);
  const lk_byte_type type = {*(const float *)loop->pointers[2], *(const uint8_t *)loop->pointers[3],
                             false};
  for (int64_t i = begin; i < end; i++) {
    const part of = find_part(self, count, i);
    self->loops->quantize((const float *)loop->pointers[0] + of.first,
                          (uint8_t *)loop->pointers[1] + of.first, of.count, &type);
  }
}

lk_status lk_quantize_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_quantize *self = params;
  float least = 0, most = 0;
  (void)error;
  const lk_kernel_loop loop = {params, pointers, {NULL, 0}};
  const bool is_shared = lk_sharing_pays_for(self->count, ELEMENT);
  lk_team_for(self->turns, is_shared, find_ranges, &loop);
  const float *ranges = pointers[4];
  for (int64_t i = 0; i < self->turns; i++) {
    least = fminf(least, ranges[2 * i]);
    most = fmaxf(most, ranges[2 * i + 1]);
  }
  const lk_byte_type found = lk_byte_type_of(least, most);
  *(float *)pointers[2] = found.scale;
  *(uint8_t *)pointers[3] = (uint8_t)found.zero;
  return lk_kernel_turns(self->turns, is_shared, write_bytes, params, pointers);
}

/* ---- by scales and zero points that are given ---- */

/* `zeros`: NULL: 0. */
static lk_byte_type read_type(const float *scales, const uint8_t *zeros, int64_t index,
                              bool is_signed) {
  const uint8_t zero = zeros != NULL ? zeros[index] : 0;
  return (lk_byte_type){scales[index], is_signed ? (int8_t)zero : zero, is_signed};
}

/* Of `count` that are bytes, from the pointers behind them on. */
static void read_types(uint32_t count, const bool *is_signed, const bool *has_zero,
                       void *const *next, lk_byte_type *out) {
  for (uint32_t i = 0; i < count; i++) {
    const float *scale = *next++;
    out[i] = read_type(scale, has_zero[i] ? *next++ : NULL, 0, is_signed[i]);
  }
}

/* What a pair has in common, and where it begins. */
typedef struct pair {
  const uint8_t *a, *b;
  uint8_t *y;
  const lk_byte_type *types;
} pair;

static void combine(const lk_bytes *self, const pair *of, int64_t first, const uint8_t *b,
                    int64_t count) {
  self->loops->combine(of->a + first, b, of->y + first, count, of->types,
                       self->kind == LK_BYTES_MUL);
}

/* The first `count` bytes of a row of `n` that is repeated, from its byte `phase` on; there is room
 * for a whole row. Inlined, GCC 12 warns of bytes behind that room. */
static __attribute__((noinline)) void repeat_row(uint8_t *to, const uint8_t *row, int64_t n,
                                                 int64_t phase, int64_t count) {
  if (n == 1) {
    memset(to, row[0], (size_t)count);
    return;
  }
  memcpy(to, row + phase, (size_t)(n - phase));
  memcpy(to + n - phase, row, (size_t)phase);
  lk_repeat_first((char *)to, (size_t)n, (size_t)count);
}

/* Elements of one row of b, which is repeated in `room` where it is short. */
static void combine_repeated(const lk_bytes *self, const pair *of, const uint8_t *row,
                             int64_t phase, int64_t first, int64_t count) {
  enum { ROOM = 1024 };
  uint8_t room[ROOM];
  const int64_t whole = ROOM / self->row * self->row;
  repeat_row(room, row, self->row, phase, lk_min(count, whole));
  for (int64_t at = 0; at < count; at += whole) {
    combine(self, of, first + at, room, lk_min(count - at, whole));
  }
}

/* `first` and `count` are of a. */
static void combine_rows(const lk_bytes *self, const pair *of, int64_t first, int64_t count) {
  enum { LONG_ROW = 512 };
  const int64_t block = self->repeat * self->row;
  for (int64_t n; count > 0; first += n, count -= n) {
    const int64_t within = first % block, phase = within % self->row;
    const uint8_t *row = of->b + first / block * self->row;
    n = lk_min(count, block - within);
    if (self->row < LONG_ROW) {
      combine_repeated(self, of, row, phase, first, n);
    } else {
      n = lk_min(n, self->row - phase);
      combine(self, of, first, row + phase, n);
    }
  }
}

/* Numbers as bytes or back, by channels. */
static void convert_channels(const lk_bytes *self, void *const *pointers, int64_t first,
                             int64_t count) {
  const float *scales = pointers[2];
  const uint8_t *zeros = self->has_zero[0] ? pointers[3] : NULL;
  int64_t channel = first / self->inner % self->channels, within = first % self->inner;
  for (int64_t n; count > 0; first += n, count -= n, within = 0, channel++) {
    if (channel == self->channels) channel = 0;
    const lk_byte_type type = read_type(scales, zeros, channel, self->is_signed[0]);
    n = lk_min(count, self->inner - within);
    if (self->kind == LK_BYTES_QUANTIZE) {
      self->loops->quantize((const float *)pointers[0] + first, (uint8_t *)pointers[1] + first, n,
                            &type);
    } else {
      self->loops->dequantize((const uint8_t *)pointers[0] + first, (float *)pointers[1] + first, n,
                              &type);
    }
  }
}

static void do_bytes(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_bytes *self = loop->params;
  const int64_t first = begin * LK_QUANTIZE_TURN;
  const int64_t count = lk_min(self->count, end * LK_QUANTIZE_TURN) - first;
  void *const *pointers = loop->pointers;
  if (self->kind == LK_BYTES_QUANTIZE || self->kind == LK_BYTES_DEQUANTIZE) {
    convert_channels(self, pointers, first, count);
    return;
  }
  lk_byte_type types[3];
  read_types(3, self->is_signed, self->has_zero, pointers + 3, types);
  const pair of = {pointers[0], pointers[1], pointers[2], types};
  combine_rows(self, &of, first, count);
}

lk_status lk_bytes_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_bytes *self = params;
  (void)error;
  return lk_kernel_turns(lk_div_up(self->count, LK_QUANTIZE_TURN),
                         lk_sharing_pays_for(self->count, ELEMENT), do_bytes, self, pointers);
}

/* ---- rows ---- */

static bool is_same_type(const lk_byte_type types[2]) {
  return types[0].scale == types[1].scale && types[0].zero == types[1].zero &&
         types[0].is_signed == types[1].is_signed;
}

static void convert_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_byte_rows *self = loop->params;
  const uint8_t *from = (const uint8_t *)loop->pointers[0] + begin * self->count;
  uint8_t *to = (uint8_t *)loop->pointers[1] + self->to_first + begin * self->to_row;
  lk_byte_type types[2];
  read_types(2, self->is_signed, self->has_zero, loop->pointers + 2, types);
  if (!is_same_type(types)) {
    self->loops->convert(from, to, self->to_row, self->count, end - begin, types);
    return;
  }
  for (int64_t r = 0; r < end - begin; r++) {
    lk_copy_block(to + r * self->to_row, from + r * self->count, (size_t)self->count);
  }
}

lk_status lk_byte_rows_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_byte_rows *self = params;
  const bool is_shared = lk_sharing_pays_for(self->rows * self->count, ELEMENT);
  (void)error;
  return lk_kernel_turns(self->rows, is_shared, convert_rows, self, pointers);
}

/* ---- functions of bytes ---- */

enum { TABLE = 256 };

/* `count` bytes, up to TABLE. */
static void compute_bytes(const lk_byte_table *self, void *const *pointers, const uint8_t *from,
                          uint8_t *to, int64_t count) {
  float numbers[TABLE];
  lk_byte_type types[2];
  read_types(2, self->is_signed, self->has_zero, pointers + 2, types);
  self->loops->dequantize(from, numbers, count, &types[0]);
  const lk_element_ref at = {(char *)numbers, 0};
  self->function(&(lk_element_args){.to = at, .a = at, .rows = 1, .cols = count, .p = self->p});
  self->loops->quantize(numbers, to, count, &types[1]);
}

static void look_up_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg; /* its pointers: from, to, table */
  const lk_byte_table *self = loop->params;
  const int64_t first = begin * LK_QUANTIZE_TURN;
  const int64_t count = lk_min(self->count, end * LK_QUANTIZE_TURN) - first;
  self->loops->look_up(loop->pointers[2], (const uint8_t *)loop->pointers[0] + first,
                       (uint8_t *)loop->pointers[1] + first, count);
}

lk_status lk_byte_table_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_byte_table *self = params;
  (void)error;
  if (self->count <= TABLE) {
    compute_bytes(self, pointers, pointers[0], pointers[1], self->count);
    return LK_OK;
  }
  uint8_t all[TABLE], table[TABLE];
  for (int i = 0; i < TABLE; i++) all[i] = (uint8_t)i;
  compute_bytes(self, pointers, all, table, TABLE);
  void *const with_table[] = {pointers[0], pointers[1], table};
  return lk_kernel_turns(lk_div_up(self->count, LK_QUANTIZE_TURN),
                         lk_sharing_pays_for(self->count, ELEMENT), look_up_turns, self,
                         with_table);
}

/* ---- means ---- */

enum { MEANS = 64 /* results of a turn */ };

/* Those of `n` channels from `channel` on, or of so many rows. */
static void find_sums(const lk_byte_means *self, const uint8_t *x, int64_t outer, int64_t channel,
                      int64_t n, int32_t *sums) {
  if (self->channels > 1) {
    x += outer * self->count * self->channels + channel;
    self->loops->sum_byte_columns(x, self->count, self->channels, n, self->is_signed[0], sums);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const uint8_t *row = x + (outer + i) * self->count;
    sums[i] = self->loops->sum_bytes(row, self->count, self->is_signed[0]);
  }
}

static void find_means(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_byte_means *self = loop->params;
  /* results side by side: channels, or rows */
  const int64_t width = self->channels > 1 ? self->channels : self->outer;
  const int64_t turns = lk_div_up(width, MEANS);
  lk_byte_type types[2];
  read_types(2, self->is_signed, self->has_zero, loop->pointers + 2, types);
  for (int64_t turn = begin; turn < end; turn++) {
    const int64_t first = turn % turns * MEANS, n = lk_min(MEANS, width - first);
    const int64_t outer = self->channels > 1 ? turn / turns : first;
    int32_t sums[MEANS];
    float means[MEANS];
    find_sums(self, loop->pointers[0], outer, first, n, sums);
    for (int64_t i = 0; i < n; i++) {
      const int64_t moved = sums[i] - self->count * types[0].zero;
      means[i] = (float)((double)moved / (double)self->count) * types[0].scale;
    }
    self->loops->quantize(means, (uint8_t *)loop->pointers[1] + turn / turns * width + first, n,
                          &types[1]);
  }
}

lk_status lk_byte_means_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_byte_means *self = params;
  const int64_t turns = self->channels > 1 ? self->outer * lk_div_up(self->channels, MEANS)
                                           : lk_div_up(self->outer, MEANS);
  const int64_t elements = self->outer * self->count * self->channels;
  (void)error;
  return lk_kernel_turns(turns, lk_sharing_pays_for(elements, LK_SHARING_ELEMENT), find_means, self,
                         pointers);
}
