/* Matrix products of any size, as tiles of microkernels. */
#include "ops/kernel/product.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "ops/kernel/sizes.h"

/* How much of B, and of A, is kept in the second-level cache, which has 1 MiB or more on the
 * processors that these blocks were measured on; the rest of it is for what streams by. */
enum { B_BYTES = 512 << 10, A_BYTES = 256 << 10, ELEMENT = sizeof(float) };
/* As many tasks, if each has this many operations. */
enum { ROW_BLOCKS = 64, TASK_OPERATIONS = 1 << 18 };

/* Fewer operations than this are done sooner than another thread wakes up. */
static const double LEAST_SHARED = 1e6;

/* ---- sizes of blocks ---- */

/* The width of panels with which the columns cost least, the wider one of two equals. */
static int64_t panel_vectors(const lk_product *self) {
  const int64_t all = lk_div_up(self->columns, self->micro->lanes);
  double least = INFINITY;
  int64_t found = 1;
  for (int64_t v = lk_min(self->micro->vectors, all); v > 0; v--) {
    const int64_t whole = all / v;
    const double cost = (double)whole * self->micro->costs[v] + self->micro->costs[all % v];
    if (cost >= least - 1e-9) continue;
    least = cost;
    found = v;
  }
  return found;
}

void lk_product_plan(lk_product *self, int64_t row_bytes) {
  const int64_t vectors = panel_vectors(self);
  self->panel = vectors * self->micro->lanes;
  self->panels = lk_div_up(self->columns, self->panel);
  self->tile_rows = self->micro->rows[vectors];
  self->k_block = lk_min(self->k, LK_PRODUCT_LONGEST_SUM);
  self->tap_block = lk_min(self->taps, lk_max(1, LK_PRODUCT_LONGEST_SUM / lk_max(self->k, 1)));
  self->tap_block = lk_min(self->tap_block, LK_MICRO_TAPS);
  const int64_t tile = self->tile_rows;
  const int64_t panel_bytes = self->taps * self->k * self->panel * ELEMENT;
  if (panel_bytes * self->panels <= B_BYTES) {
    self->panel_block = self->panels;
    const int64_t of_row = 2 * lk_max(1, self->columns * self->taps * self->k);
    const int64_t rows = lk_max(lk_div_up(self->rows, ROW_BLOCKS), TASK_OPERATIONS / of_row);
    self->row_block = lk_max(2 * tile, lk_div_up(rows, tile) * tile);
  } else {
    const int64_t block = self->tap_block * self->k_block * self->panel * ELEMENT;
    self->panel_block = lk_min(self->panels, lk_max(1, B_BYTES / block));
    self->row_block = lk_max(8 * tile, A_BYTES / row_bytes / tile * tile);
  }
  self->row_block = lk_max(1, lk_min(self->row_block, self->rows));
}

double lk_product_operations(const lk_product *self, int64_t products) {
  return 2.0 * (double)products * (double)self->rows *
         (double)(self->columns * self->taps * self->k);
}

bool lk_product_is_shared(double operations) {
  return operations >= LEAST_SHARED;
}

static int64_t row_blocks(const lk_product *self) {
  return lk_div_up(self->rows, self->row_block);
}

int64_t lk_product_tasks(const lk_product *self) {
  return row_blocks(self) * lk_div_up(self->panels, self->panel_block);
}

void lk_product_describe(const lk_product *self, char *text, size_t capacity) {
  (void)snprintf(text, capacity, "%" PRId32 "x%" PRId64 " in blocks of %" PRId64 "x%" PRId64,
                 self->tile_rows, self->panel, self->row_block, self->panel_block * self->panel);
}

/* ---- panels ---- */

static int64_t panel_elements(const lk_product *self) {
  return self->taps * self->k * self->panel;
}

int64_t lk_product_packed_size(const lk_product *self) {
  return self->panels * panel_elements(self);
}

/* ---- a task ---- */

typedef struct block {
  int64_t row, row_end, panel, panel_end;
  int64_t tap, tap_end, k, k_end;
  bool is_first, is_last; /* of the sums */
} block;

static const float zeros[LK_MICRO_COLUMNS];

/* What the sums of a tile begin and end with. The residual comes first: it may be C, which the
 * first block of a sum writes. */
static void set_ends(const lk_product *self, const lk_product_operands *operands, const block *at,
                     int64_t row, int64_t n, lk_micro_call *call) {
  const int64_t step = self->c_step * self->c_rows, corner = row * self->c_step + n;
  const float *bias = operands->bias != NULL ? operands->bias + n : NULL;
  call->c = operands->c + corner;
  call->c_step = step;
  call->add = NULL;
  call->add_step = 0;
  if (!at->is_first) {
    call->init = call->c;
    call->init_step = step;
  } else if (operands->residual != NULL) {
    call->init = operands->residual + corner;
    call->init_step = step;
  } else {
    call->init = bias != NULL ? bias : zeros;
    call->init_step = 0;
  }
  if (at->is_last && operands->residual != NULL) call->add = bias;
}

/* How many panels from `panel` on a tile of `rows` rows computes at a time. */
static int64_t panels_at_once(const lk_product *self, const lk_product_operands *operands,
                              const block *at, int64_t panel, int64_t rows) {
  const lk_micro *micro = self->micro;
  if (rows > LK_MICRO_WIDE_ROWS || micro->run_wide[rows] == NULL ||
      self->panel != 2 * micro->lanes) {
    return 1;
  }
  const int64_t end = panel + micro->wide_panels[rows], first_packed = operands->first_packed;
  const bool are_alike = panel >= first_packed || end <= first_packed;
  return are_alike && end <= at->panel_end && end * self->panel <= self->columns ? end - panel : 1;
}

static void run_tiles(const lk_product *self, const lk_product_operands *operands, const block *at,
                      lk_product_tiles *tiles, lk_micro_call *call) {
  const int64_t lanes = self->micro->lanes, tap_elements = self->k * self->panel;
  int64_t panels = 1;
  call->n_taps = tiles->n_taps;
  call->tiles = tiles->tiles;
  call->a_next = tiles->a_next;
  for (int64_t p = at->panel; p < at->panel_end; p += panels) {
    panels = panels_at_once(self, operands, at, p, tiles->rows);
    const int64_t n = p * self->panel, columns = lk_min(panels * self->panel, self->columns - n);
    const int64_t vectors = lk_div_up(columns, lanes);
    const bool is_plain = p < operands->first_packed;
    call->b_step = is_plain ? operands->plain_step : self->panel;
    call->b_next = is_plain ? self->panel : panel_elements(self);
    const float *b = is_plain ? operands->plain_b + n : operands->b + p * panel_elements(self);
    b += at->k * call->b_step;
    for (int64_t t = 0; t < tiles->n_taps; t++) {
      tiles->taps[t].b = b + tiles->tap[t] * tap_elements;
    }
    call->tail = columns - (vectors - 1) * lanes;
    set_ends(self, operands, at, tiles->place, n, call);
    (panels > 1 ? self->micro->run_wide[tiles->rows]
                : self->micro->run[vectors][tiles->rows])(call);
    if (at->is_last && operands->chain != NULL) {
      const lk_product_chain_tile tile = {.c = call->c,
                                          .c_step = call->c_step,
                                          .row = tiles->place,
                                          .row_step = self->c_rows,
                                          .rows = tiles->rows * tiles->tiles,
                                          .column = n,
                                          .columns = columns};
      lk_product_chain_apply(operands->chain, &operands->of_chain, &tile);
    }
  }
}

static void run_block(const lk_product *self, const lk_product_operands *operands,
                      lk_product_source *source, const block *at) {
  lk_product_tiles tiles;
  lk_micro_call call = {.taps = tiles.taps,
                        .k = at->k_end - at->k,
                        .a_step = source->a_step,
                        .low = at->is_last ? self->low : -INFINITY,
                        .high = at->is_last ? self->high : INFINITY};
  source->begin(source, at->row);
  for (int64_t row = at->row; row < at->row_end; row += tiles.rows * tiles.tiles) {
    tiles.place = row;
    source->next(source, at->row_end - row, at->tap, at->tap_end, at->k, &tiles);
    run_tiles(self, operands, at, &tiles, &call);
  }
}

void lk_product_run(const lk_product *self, const lk_product_operands *operands,
                    lk_product_source *source, int64_t task) {
  block at = {.row = task % row_blocks(self) * self->row_block,
              .panel = task / row_blocks(self) * self->panel_block};
  at.row_end = lk_min(at.row + self->row_block, self->rows);
  at.panel_end = lk_min(at.panel + self->panel_block, self->panels);
  /* at least once, so that C is written where the sums have no terms */
  do {
    at.k_end = lk_min(at.k + self->k_block, self->k);
    at.tap = 0;
    do {
      at.tap_end = lk_min(at.tap + self->tap_block, self->taps);
      at.is_first = at.k == 0 && at.tap == 0;
      at.is_last = at.k_end == self->k && at.tap_end == self->taps;
      run_block(self, operands, source, &at);
      at.tap = at.tap_end;
    } while (at.tap < self->taps);
    at.k = at.k_end;
  } while (at.k < self->k);
}
