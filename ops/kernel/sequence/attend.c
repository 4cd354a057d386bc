/* Scaled dot-product attention, a block of scores at a time. */
#include "ops/kernel/sequence/attend.h"

#include <math.h>
#include <string.h>

#include "base/team/look.h"
#include "ops/kernel/product/dots.h"
#include "ops/kernel/sizes.h"

enum {
  KEY_BLOCK = 256, /* keys, whose parts of K and V stay in the second-level cache */
  ROW_BLOCK = 48,  /* queries, whose scores of a block of keys do so too */
  FEW_ROWS = 8,    /* read K and V sooner than these are packed */
  ROWS_OF_V = 32,  /* read V sooner than it is packed */
  TASKS = 24,      /* that threads can share, if each has LEAST_ROWS */
  LEAST_ROWS = 256,
  MAX_SLOTS = 64
};

/* ---- sizes ---- */

static int64_t group_of(const lk_attend *self) {
  return self->heads / self->kv_heads;
}

/* Blocks of queries of a head of K and V. */
static int64_t blocks_of(const lk_attend *self) {
  return group_of(self) * lk_div_up(self->window.queries, self->row_block);
}

void lk_attend_plan(lk_attend *self) {
  const int64_t heads = self->batch * self->kv_heads;
  const int64_t rows = group_of(self) * self->window.queries;
  self->key_block = lk_min(KEY_BLOCK, self->window.keys);
  self->is_few = rows <= FEW_ROWS;
  self->row_block = self->is_few ? rows : lk_min(ROW_BLOCK, self->window.queries);
  self->scores = (lk_product){.micro = self->micro,
                              .rows = self->row_block,
                              .columns = self->key_block,
                              .taps = 1,
                              .k = self->size,
                              .c_step = self->key_block,
                              .c_rows = 1,
                              .groups = 1};
  self->values = self->scores;
  self->values.columns = self->v_size;
  self->values.k = self->key_block;
  self->values.c_step = self->y.row;
  lk_product_plan(&self->scores, self->q.row * (int64_t)sizeof(float));
  lk_product_plan(&self->values, self->key_block * (int64_t)sizeof(float));
  self->score_row = self->scores.panels * self->scores.panel;
  /* a panel that is not whole would be read beyond its rows */
  self->reads_v = rows <= ROWS_OF_V && self->v_size % self->values.panel == 0;
  self->chunks = 1;
  const int64_t tasks = lk_sharing_tasks(TASKS);
  if (!self->is_few && heads < tasks) {
    const int64_t wanted = lk_min(lk_div_up(tasks, heads), rows / LEAST_ROWS);
    self->chunks = lk_max(1, lk_min(wanted, blocks_of(self)));
  }
  self->slots = lk_min(heads * self->chunks, lk_sharing_slots(MAX_SLOTS));
}

/* Rows whose largest scores and sums a task keeps. */
static int64_t rows_of_task(const lk_attend *self) {
  if (self->is_few) return self->row_block;
  return lk_div_up(blocks_of(self), self->chunks) * self->row_block;
}

static int64_t slot_size(const lk_attend *self) {
  int64_t size = self->row_block * self->score_row + 2 * rows_of_task(self);
  if (!self->is_few) size += lk_product_packed_size(&self->scores);
  if (!self->reads_v && !self->is_few) size += lk_product_packed_size(&self->values);
  return lk_div_up(size, LK_MICRO_COLUMNS) * LK_MICRO_COLUMNS;
}

int64_t lk_attend_scratch_size(const lk_attend *self) {
  return self->slots * slot_size(self);
}

double lk_attend_operations(const lk_attend *self) {
  return 2 * (double)self->batch * (double)self->heads * (double)self->window.queries *
         (double)self->window.keys * (double)(self->size + self->v_size);
}

/* ---- operands ---- */

typedef struct operands {
  const float *q, *k, *v;
  float *y, *scratch;
  const float *masks[LK_ATTEND_MASKS];
  const int64_t *lengths;
  const float *sinks;
} operands;

static operands read_pointers(const lk_attend *self, void *const *pointers) {
  operands read = {.q = (const float *)pointers[0] + self->q.first,
                   .k = (const float *)pointers[1] + self->k.first,
                   .v = (const float *)pointers[2] + self->v.first,
                   .y = (float *)pointers[3] + self->y.first,
                   .scratch = pointers[4]};
  uint32_t n = 5;
  for (uint32_t m = 0; m < self->n_masks; m++) read.masks[m] = pointers[n++];
  if (self->has_lengths) read.lengths = pointers[n++];
  if (self->sink == LK_ATTEND_SINKS) read.sinks = pointers[n++];
  return read;
}

/* A head of K and V of a batch, and what a task keeps about it. */
typedef struct task {
  const lk_attend *self;
  const operands *of;
  int64_t batch, kv_head;
  const float *k, *v;
  const int64_t *length;               /* NULL: all */
  int64_t key, key_end;                /* the block of keys */
  float *packed_k, *packed_v, *scores; /* of the block */
  float *largest, *sums;               /* of each row: the shift of its powers, and their sum */
} task;

static int64_t head_of(const task *self, int64_t of_group) {
  return self->kv_head * group_of(self->self) + of_group;
}
static const float *q_at(const task *self, int64_t head, int64_t query) {
  const lk_attend_place *q = &self->self->q;
  return self->of->q + self->batch * q->batch + head * q->head + query * q->row;
}
static float *y_at(const task *self, int64_t head, int64_t query) {
  const lk_attend_place *y = &self->self->y;
  return self->of->y + self->batch * y->batch + head * y->head + query * y->row;
}

/* ---- rows ---- */

static void begin_row(const task *self, int64_t head, float *largest, float *sum) {
  *largest = -INFINITY;
  *sum = 0;
  if (self->self->sink == LK_ATTEND_NO_SINK) return;
  const float sink = self->of->sinks != NULL ? self->of->sinks[head] : 0;
  if (sink == -INFINITY) return;
  *largest = sink;
  *sum = 1;
}

#define LARGE_SCORE 0x1p20F /* floats are an eighth apart here */

static void multiply_row(const lk_attend *self, float *y, float factor) {
  for (int64_t i = 0; i < self->v_size && !(i > 0 && lk_team_is_stopped()); i += LK_LOOK_BYTES) {
    self->loops->multiply(y + i, lk_min(self->v_size - i, LK_LOOK_BYTES), factor);
  }
}

/* Scores of the keys up to `end` become powers of e; what Y has is corrected, where it has any. */
static void do_scores(const task *self, int64_t head, int64_t query, int64_t end, float *scores,
                      float *largest, float *sum, float *y) {
  const lk_attend *of = self->self;
  const lk_attend_loops *loops = of->loops;
  const lk_key_range range = lk_key_range_of(&of->window, self->length, query);
  const int64_t first = lk_max(range.begin, self->key), last = lk_min(range.end, end);
  const int64_t n = lk_max(0, last - first), keys = end - self->key;
  if (n == 0) {
    memset(scores, 0, (size_t)keys * sizeof *scores);
    return;
  }
  float *own = scores + (first - self->key);
  for (int64_t i = 0; i < first - self->key; i++) scores[i] = 0;
  for (int64_t i = last - self->key; i < keys; i++) scores[i] = 0;
  /* Then scores are scaled where their powers are made, in one rounding: from the largest score,
   * what this subtracts is not quite itself. Of large scores that is more than a power can hold. */
  bool is_plain = of->n_masks == 0 && of->cap == 0 && of->scale > 0;
  float most = 0;
  if (is_plain) {
    most = loops->largest(own, n) * of->scale;
    is_plain = fabsf(most) < LARGE_SCORE;
  }
  if (!is_plain) {
    lk_attend_row row = {
        .scores = own, .n = n, .fills = of->fills, .scale = of->scale, .cap = of->cap};
    for (uint32_t m = 0; m < of->n_masks; m++) {
      const int64_t *step = of->masks[m];
      row.masks[m] =
          self->of->masks[m] + self->batch * step[0] + head * step[1] + query * step[2] + first;
    }
    most = loops->prepare(&row);
  }
  const float before = *largest;
  if (most > before) *largest = most;
  const float shift = *largest == -INFINITY ? 0 : *largest; /* of minus infinities, powers are 0 */
  const float powers = loops->powers(own, n, is_plain ? of->scale : 1, shift);
  const float correction = before == -INFINITY || before == shift ? 1 : expf(before - shift);
  *sum = *sum * correction + powers;
  if (correction != 1 && y != NULL) multiply_row(of, y, correction);
}

/* All keys with the weight 0, which makes NaN of what is not finite in V. */
static void weigh_nothing(const task *self, float *y) {
  const lk_attend *of = self->self;
  memset(y, 0, (size_t)of->v_size * sizeof *y);
  for (int64_t key = 0; key < of->window.keys; key++) {
    const float *v = self->v + key * of->v.row;
    for (int64_t i = 0; i < of->v_size; i++) y[i] += 0 * v[i];
  }
}

static void end_row(const task *self, float sum, float *y) {
  const lk_attend *of = self->self;
  if (of->hides_nan && !(sum > 0)) {
    weigh_nothing(self, y);
  } else if (sum == 0) {
    for (int64_t i = 0; i < of->v_size; i++) y[i] = of->needs_score ? NAN : 0;
  } else {
    multiply_row(of, y, 1 / sum);
  }
}

/* ---- few rows of all heads of a group ---- */

/* Adds the block's rows of V, some columns of them after the others. */
static void weigh(const task *self, int64_t rows, float *const *y) {
  const lk_attend *of = self->self;
  const float *v = self->v + self->key * of->v.row;
  const int64_t keys = self->key_end - self->key;
  for (int64_t i = 0; i < of->v_size && !(i > 0 && lk_team_is_stopped()); i += LK_LOOK_EACH) {
    float *to[FEW_ROWS];
    for (int64_t r = 0; r < rows; r++) to[r] = y[r] + i;
    of->products->weigh(self->scores, of->score_row, rows, v + i, of->v.row, keys,
                        lk_min(of->v_size - i, LK_LOOK_EACH), to);
  }
}

static void do_few(task *self) {
  const lk_attend *of = self->self;
  const int64_t queries = of->window.queries, rows = of->row_block;
  const float *q[FEW_ROWS];
  float *y[FEW_ROWS];
  for (int64_t r = 0; r < rows; r++) {
    const int64_t head = head_of(self, r / queries);
    q[r] = q_at(self, head, r % queries);
    y[r] = y_at(self, head, r % queries);
    memset(y[r], 0, (size_t)of->v_size * sizeof(float));
    begin_row(self, head, &self->largest[r], &self->sums[r]);
  }
  const int64_t begin = lk_key_range_of(&of->window, self->length, 0).begin;
  const int64_t end = lk_key_range_of(&of->window, self->length, queries - 1).end;
  for (self->key = begin; self->key < end && !(self->key > begin && lk_team_is_stopped());
       self->key = self->key_end) {
    self->key_end = lk_min(self->key + of->key_block, end);
    const int64_t keys = self->key_end - self->key;
    lk_dots_run(of->products, q, rows, self->k + self->key * of->k.row, of->k.row, keys, of->size,
                self->scores, of->score_row);
    for (int64_t r = 0; r < rows; r++) {
      do_scores(self, head_of(self, r / queries), r % queries, self->key_end,
                self->scores + r * of->score_row, &self->largest[r], &self->sums[r], y[r]);
    }
    weigh(self, rows, y);
  }
  for (int64_t r = 0; r < rows; r++) end_row(self, self->sums[r], y[r]);
}

/* ---- blocks of queries ---- */

static const float zeros[LK_MICRO_COLUMNS];

/* C = A B, or C + A B: `rows` rows of `columns` columns that sum `k` elements. */
typedef struct product_call {
  const lk_product *product;
  const float *a, *b;
  int64_t a_row, rows, columns, k;
  int64_t b_step, b_panel; /* from one k, and from a panel, to the next */
  float *c;
  int64_t c_row;
  bool adds;
} product_call;

static void run_part(const product_call *self) {
  const lk_product *product = self->product;
  const int64_t lanes = product->micro->lanes;
  lk_product_tiles tiles;
  lk_micro_tap tap;
  lk_micro_call call = {.taps = &tap,
                        .n_taps = 1,
                        .k = self->k,
                        .a_row = self->a_row,
                        .a_step = 1,
                        .b_step = self->b_step,
                        .init_step = self->adds ? self->c_row : 0,
                        .c_step = self->c_row,
                        .low = -INFINITY,
                        .high = INFINITY};
  int64_t done = 0;
  for (int64_t row = 0; row < self->rows; row += tiles.rows * tiles.tiles) {
    lk_product_split(product, self->rows - row, &tiles);
    lk_product_set_rows(self->a + row * self->a_row, self->a_row, tiles.rows, tap.a);
    call.tiles = tiles.tiles;
    call.a_next = tiles.rows * self->a_row;
    tap.b = self->b;
    for (int64_t n = 0; n < self->columns; n += product->panel, tap.b += self->b_panel) {
      const int64_t columns = lk_min(product->panel, self->columns - n);
      const int64_t vectors = lk_div_up(columns, lanes);
      if (lk_look_more(&done, tiles.rows * tiles.tiles * self->k, LK_LOOK_EACH)) return;
      call.c = self->c + row * self->c_row + n;
      call.init = self->adds ? call.c : zeros;
      call.tail = columns - (vectors - 1) * lanes;
      product->micro->run[vectors][tiles.rows](&call);
    }
  }
}

/* The same of any `k`, a part after the other. */
static void run_product(const product_call *self) {
  product_call part = *self;
  if (self->k <= LK_LOOK_EACH) {
    run_part(self);
    return;
  }
  for (int64_t k = 0; k < self->k && !lk_team_is_stopped(); k += part.k) {
    part.k = lk_min(self->k - k, LK_LOOK_EACH);
    part.a = self->a + k;
    part.b = self->b + k * self->b_step;
    part.adds = self->adds || k > 0;
    run_part(&part);
  }
}

static void pack(const task *self) {
  const lk_attend *of = self->self;
  const int64_t keys = self->key_end - self->key;
  lk_product scores = of->scores, values = of->values;
  scores.columns = keys;
  values.k = keys;
  lk_product_pack(&scores, self->k + self->key * of->k.row, of->k.row, 0, 1, 0,
                  lk_div_up(keys, scores.panel), self->packed_k);
  if (of->reads_v) return;
  lk_product_pack(&values, self->v + self->key * of->v.row, 1, 0, of->v.row, 0, values.panels,
                  self->packed_v);
}

/* Queries of one head: `rows` from `query` on. */
static void do_block(const task *self, int64_t head, int64_t query, int64_t rows, float *largest,
                     float *sums) {
  const lk_attend *of = self->self;
  const int64_t begin = lk_key_range_of(&of->window, self->length, query).begin;
  const int64_t last = lk_key_range_of(&of->window, self->length, query + rows - 1).end;
  const int64_t end = lk_min(last, self->key_end), keys = end - self->key;
  const bool is_first = self->key <= begin;
  if (keys <= 0 || begin >= self->key_end) return;
  const int64_t lanes = of->micro->lanes;
  float *y = y_at(self, head, query);
  const product_call scores = {.product = &of->scores,
                               .a = q_at(self, head, query),
                               .b = self->packed_k,
                               .a_row = of->q.row,
                               .rows = rows,
                               .columns = lk_div_up(keys, lanes) * lanes, /* zeros or keys */
                               .k = of->size,
                               .b_step = of->scores.panel,
                               .b_panel = of->size * of->scores.panel,
                               .c = self->scores,
                               .c_row = of->score_row};
  run_product(&scores);
  for (int64_t r = 0; r < rows; r++) {
    do_scores(self, head, query + r, end, self->scores + r * of->score_row, &largest[r], &sums[r],
              is_first ? NULL : y + r * of->y.row);
  }
  const int64_t packed_keys = self->key_end - self->key;
  const product_call values = {.product = &of->values,
                               .a = self->scores,
                               .b = of->reads_v ? self->v + self->key * of->v.row : self->packed_v,
                               .a_row = of->score_row,
                               .rows = rows,
                               .columns = of->v_size,
                               .k = keys,
                               .b_step = of->reads_v ? of->v.row : of->values.panel,
                               .b_panel = of->values.panel * (of->reads_v ? 1 : packed_keys),
                               .c = y,
                               .c_row = of->y.row,
                               .adds = !is_first};
  run_product(&values);
}

static void do_blocks(task *self, int64_t first_block, int64_t end_block) {
  const lk_attend *of = self->self;
  const int64_t queries = of->window.queries, rows = of->row_block;
  const int64_t of_head = lk_div_up(queries, rows);
  int64_t begin = of->window.keys, end = 0;
  for (int64_t i = first_block; i < end_block; i++) {
    const int64_t query = i % of_head * rows, last = lk_min(query + rows, queries) - 1;
    begin = lk_min(begin, lk_key_range_of(&of->window, self->length, query).begin);
    end = lk_max(end, lk_key_range_of(&of->window, self->length, last).end);
    for (int64_t r = 0; r < rows; r++) {
      const int64_t at = (i - first_block) * rows + r;
      begin_row(self, head_of(self, i / of_head), &self->largest[at], &self->sums[at]);
    }
  }
  for (self->key = begin / of->key_block * of->key_block; self->key < end && !lk_team_is_stopped();
       self->key = self->key_end) {
    self->key_end = lk_min(self->key + of->key_block, end);
    pack(self);
    for (int64_t i = first_block; i < end_block; i++) {
      const int64_t query = i % of_head * rows, at = (i - first_block) * rows;
      do_block(self, head_of(self, i / of_head), query, lk_min(rows, queries - query),
               self->largest + at, self->sums + at);
    }
  }
  for (int64_t i = first_block; i < end_block; i++) {
    const int64_t query = i % of_head * rows;
    float *y = y_at(self, head_of(self, i / of_head), query);
    for (int64_t r = 0; r < lk_min(rows, queries - query); r++) {
      const lk_key_range range = lk_key_range_of(&of->window, self->length, query + r);
      const float sum = self->sums[(i - first_block) * rows + r];
      end_row(self, range.begin < range.end ? sum : 0, y + r * of->y.row);
    }
  }
}

/* ---- tasks ---- */

static void do_task(const lk_attend *self, const operands *of, int64_t index, float *scratch) {
  const int64_t chunk = index % self->chunks, head = index / self->chunks;
  const int64_t rows = rows_of_task(self), blocks = self->is_few ? 1 : blocks_of(self);
  task own = {.self = self,
              .of = of,
              .batch = head / self->kv_heads,
              .kv_head = head % self->kv_heads,
              .largest = scratch,
              .sums = scratch + rows,
              .scores = scratch + 2 * rows};
  own.k = of->k + own.batch * self->k.batch + own.kv_head * self->k.head;
  own.v = of->v + own.batch * self->v.batch + own.kv_head * self->v.head;
  own.length = of->lengths != NULL ? of->lengths + own.batch : NULL;
  own.packed_k = own.scores + self->row_block * self->score_row;
  if (self->is_few) {
    do_few(&own);
    return;
  }
  if (!self->reads_v) own.packed_v = own.packed_k + lk_product_packed_size(&self->scores);
  do_blocks(&own, chunk * blocks / self->chunks, (chunk + 1) * blocks / self->chunks);
}

/* A slot is what a thread does in one call at least: the scratch memory of the first serves all. */
static void do_slots(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_attend *self = loop->params;
  const operands of = read_pointers(self, loop->pointers);
  const int64_t tasks = self->batch * self->kv_heads * self->chunks;
  const int64_t first = begin * tasks / self->slots, last = end * tasks / self->slots;
  for (int64_t i = first; i < last && !lk_team_is_stopped(); i++) {
    do_task(self, &of, i, of.scratch + begin * slot_size(self));
  }
}

lk_status lk_attend_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_attend *self = params;
  const int64_t rows = self->window.queries * self->heads / self->kv_heads; /* that read a key */
  const bool is_shared = lk_sharing_of_rows_pays(lk_attend_operations(self), rows);
  return lk_kernel_turns_looking(self->slots, is_shared, do_slots, self, pointers);
}
