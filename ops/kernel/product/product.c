/* Matrix products of any size, as tiles of microkernels. */
#include "ops/kernel/product/product.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/team/team.h"
#include "ops/kernel/sharing.h"
#include "ops/kernel/sizes.h"

/* How much of A is kept in the second-level cache beside B; the rest of it is for what streams
 * by. */
enum { A_BYTES = 256 << 10, ELEMENT = sizeof(float) };
/* As many tasks, if each has this many operations. */
enum { ROW_BLOCKS = 64, TASK_OPERATIONS = 1 << 18 };
/* No block has more, so that some milliseconds are the most between two looks at what may stop a
 * product: blocks are not cut where that would make them smaller than a tile. */
#define BLOCK_OPERATIONS 1e8
/* Rows of A or C that are so far apart share a set of the first-level cache, which has 8 to 12
 * places. */
enum { SET_BYTES = 4096 };
/* Of a block that reads weights from the second-level cache. */
enum { LEAST_ROWS = 24 };
/* A product whose weights do not fit the cache has FEW_TASKS, if it has the panels, and MANY_TASKS,
 * if it has the rows: so threads end at the same time. */
enum { FEW_TASKS = 8, MANY_TASKS = 24 };
/* Elements of a panel's columns that are made at a time: multiples of 16. */
enum { MADE_OF_FEW = 64, MADE = 256 };
/* Lines of so many tiles are not cut, nor those of which a block has one or more. */
enum { SHORT_LINE = 4 };

/* Vectors of a panel for tiles along lines, where others cost at least so much of it. Measured. */
enum { FEW_VECTORS = 3 };
static const double WORTH_MORE_ROWS = 1.04;

/* ---- sizes of blocks ---- */

/* What a row of all columns costs with panels of so many vectors. */
static double cost_of_panels(const lk_product *self, int64_t vectors) {
  const int64_t all = lk_div_up(self->columns, self->micro->lanes), whole = all / vectors;
  return (double)whole * self->micro->costs[vectors] + self->micro->costs[all % vectors];
}

/* The width of panels with which the columns cost least, the wider one of two equals. Tiles along
 * lines cannot be cut as is best for B, which they read from the second-level cache: for them, four
 * vectors leave room for too few rows. */
static int64_t panel_vectors(const lk_product *self) {
  const int64_t all = lk_div_up(self->columns, self->micro->lanes);
  double least = INFINITY;
  int64_t found = 1;
  for (int64_t v = lk_min(self->micro->vectors, all); v > 0; v--) {
    const double cost = cost_of_panels(self, v);
    if (cost >= least - 1e-9) continue;
    least = cost;
    found = v;
  }
  if (self->line == 0 || found <= FEW_VECTORS) return found;
  return cost_of_panels(self, FEW_VECTORS) <= WORTH_MORE_ROWS * least ? FEW_VECTORS : found;
}

/* Of about `rows`: equal blocks of whole tiles, and of whole lines where these are short. */
static int64_t row_block(const lk_product *self, int64_t rows) {
  const int64_t tile = self->tile_rows, line = self->line;
  const bool has_lines = line > 0 && (line <= SHORT_LINE * tile || line <= rows);
  const int64_t unit = has_lines ? lk_div_up(tile, line) * line : tile;
  const int64_t blocks = lk_max(1, lk_div_up(self->rows, rows));
  const int64_t each = lk_div_up(lk_div_up(self->rows, blocks), unit) * unit;
  return lk_max(1, lk_min(each, self->rows));
}

/* Equal blocks of at most as many panels as fit: so many blocks that threads can share them. */
static int64_t panel_block(const lk_product *self) {
  const int64_t row_blocks = lk_div_up(lk_max(1, self->rows), self->row_block);
  const int64_t blocks = lk_max(lk_div_up(self->panels, self->panel_block),
                                lk_div_up(lk_sharing_tasks(FEW_TASKS), row_blocks));
  return lk_div_up(self->panels, lk_min(blocks, self->panels));
}

/* At most `rows`, and so many that a block has no more than BLOCK_OPERATIONS. */
static int64_t most_rows(const lk_product *self, int64_t rows) {
  const double of_row = 2.0 * (double)self->groups * (double)(self->panel_block * self->panel) *
                        (double)self->tap_block * (double)self->k_block;
  const double most = fmax(BLOCK_OPERATIONS / fmax(of_row, 1), 2 * self->tile_rows);
  return (double)rows > most ? (int64_t)most : rows;
}

void lk_product_plan(lk_product *self, int64_t row_bytes) {
  const int64_t vectors = panel_vectors(self);
  self->panel = (int32_t)(vectors * self->micro->lanes);
  self->panels = lk_div_up(self->columns, self->panel);
  self->tile_rows = self->micro->rows[vectors];
  if (row_bytes % SET_BYTES == 0 || self->c_step * ELEMENT % SET_BYTES == 0) {
    self->tile_rows = (int32_t)lk_min(self->tile_rows, LK_MICRO_LOOSE_ROWS);
  }
  const int64_t taps_of_sum = lk_max(1, LK_PRODUCT_LONGEST_SUM / lk_max(self->k, 1));
  self->k_block = (int32_t)lk_min(self->k, LK_PRODUCT_LONGEST_SUM);
  self->tap_block = (int32_t)lk_min(lk_min(self->taps, taps_of_sum), LK_MICRO_TAPS);
  const int64_t tile = self->tile_rows, panel_bytes = self->taps * self->k * self->panel * ELEMENT;
  int64_t rows = 0;
  if (panel_bytes * self->panels <= LK_PRODUCT_B_BYTES) {
    self->panel_block = self->panels;
    const int64_t of_row = 2 * lk_max(1, self->groups * self->columns * self->taps * self->k);
    rows = lk_max(lk_div_up(self->rows, lk_sharing_tasks(ROW_BLOCKS)), TASK_OPERATIONS / of_row);
    rows = lk_max(2 * tile, rows);
  } else {
    const int64_t block = self->tap_block * self->k_block * self->panel * ELEMENT;
    self->panel_block = lk_max(1, LK_PRODUCT_B_BYTES / block);
    /* a row that lies nowhere, since it is the only one, has no bytes */
    rows = lk_min(A_BYTES / lk_max(row_bytes, 1),
                  lk_div_up(self->rows, lk_div_up(lk_sharing_tasks(MANY_TASKS), self->panels)));
    rows = lk_max(LEAST_ROWS, rows);
  }
  self->row_block = row_block(self, most_rows(self, rows));
  if (self->panel_block < self->panels) self->panel_block = panel_block(self);
}

void lk_product_plan_made(lk_product *self) {
  /* a panel's block stays in the first-level cache where nothing else is large */
  const int64_t k_block = self->rows <= LK_MICRO_LOOSE_ROWS ? MADE_OF_FEW : MADE;
  self->k_block = (int32_t)lk_min(self->k, k_block);
  self->panel_block = 1;
  self->row_block = lk_max(1, self->rows);
}

int64_t lk_product_made_size(const lk_product *self) {
  return ((int64_t)self->k_block + LK_PRODUCT_MADE_BEHIND) * self->panel;
}

double lk_product_operations(const lk_product *self, int64_t products) {
  return 2.0 * (double)products * (double)self->rows *
         (double)(self->columns * self->taps * self->k);
}

static int64_t row_blocks(const lk_product *self) {
  return lk_div_up(self->rows, self->row_block);
}

int64_t lk_product_tasks(const lk_product *self) {
  return row_blocks(self) * lk_div_up(self->panels, self->panel_block);
}

void lk_product_describe(const lk_product *self, char *text, size_t capacity) {
  (void)snprintf(text, capacity, "%" PRId32 "x%" PRId32 " in blocks of %" PRId64 "x%" PRId64,
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

void lk_product_split(const lk_product *self, int64_t left, lk_product_tiles *out) {
  const int64_t most = self->tile_rows, tiles = left / most;
  out->rows = most;
  out->tiles = tiles;
  if (left % most == 0) return;
  out->tiles = lk_max(1, tiles - 1);
  if (tiles < 2) out->rows = tiles == 0 ? left : lk_div_up(left, 2);
}

static void begin_rows(lk_product_source *source, int64_t row) {
  ((lk_product_rows *)source)->row = row;
}

static void next_rows(lk_product_source *source, int64_t left, int64_t first, int64_t last,
                      int64_t k, lk_product_tiles *out) {
  lk_product_rows *self = (lk_product_rows *)source;
  (void)first, (void)last; /* there is one tap */
  lk_product_split(self->product, left, out);
  out->a_row = self->a_row;
  out->a_next = out->rows * self->a_row;
  out->n_taps = 1;
  out->tap[0] = 0;
  lk_product_set_rows(self->a + self->row * self->a_row + k * source->a_step, self->a_row,
                      out->rows, out->taps[0].a);
  self->row += out->rows * out->tiles;
}

lk_product_rows lk_product_rows_make(const lk_product *product, const float *a, int64_t a_row,
                                     int64_t a_step) {
  return (lk_product_rows){{a_step, begin_rows, next_rows}, product, a, a_row, 0};
}

typedef struct block {
  int64_t row, row_end, panel, panel_end;
  int64_t tap, tap_end, k, k_end;
  bool is_first, is_last; /* of the sums */
  lk_kernel_ahead ahead;  /* what comes after the block, without what has been fetched of it */
} block;

/* Of panels in a block, where panel `panel` begins, for the elements of the block. */
static const float *panel_at(const lk_product *self, const lk_product_operands *operands,
                             const block *at, int64_t group, int64_t panel) {
  if (operands->maker != NULL) return operands->made;
  if (panel < operands->first_packed) {
    return operands->plain_b + panel * self->panel + at->k * operands->plain_step;
  }
  return operands->b + group * lk_product_packed_size(self) + panel * panel_elements(self) +
         at->k * self->panel;
}

/* ---- fetching ahead ----
 *
 * Tiles below each other read the same part of B, and the first one would wait for it where it
 * comes from memory. So the tiles before fetch it, which no processor does by itself. */

/* Of a panel, the taps and elements of the block. */
static lk_kernel_ahead part_of_panel(const lk_product *self, const lk_product_operands *operands,
                                     int64_t panel, const block *taps) {
  if (operands->maker != NULL || operands->groups > 1 || panel < operands->first_packed) {
    return (lk_kernel_ahead){0};
  }
  const float *first = panel_at(self, operands, taps, 0, panel) + taps->tap * self->k * self->panel;
  const int64_t count = (taps->tap_end - taps->tap - 1) * self->k + taps->k_end - taps->k;
  return (lk_kernel_ahead){(const char *)first, (size_t)(count * self->panel * ELEMENT)};
}

/* What is read after the block; nothing, where it has been read before. */
static lk_kernel_ahead find_ahead(const lk_product *self, const lk_product_operands *operands,
                                  const block *at) {
  block next = *at;
  if (at->tap_end < self->taps) {
    next.tap = at->tap_end;
    next.tap_end = lk_min(at->tap_end + self->tap_block, self->taps);
    return part_of_panel(self, operands, at->panel, &next);
  }
  next.tap = 0;
  next.tap_end = lk_min(self->tap_block, self->taps);
  next.k = at->k_end < self->k ? at->k_end : 0;
  next.k_end = lk_min(next.k + self->k_block, self->k);
  if (next.k > 0) return part_of_panel(self, operands, at->panel, &next);
  const bool ends_part = operands->ahead.at != NULL || at->row_end < self->rows;
  if (ends_part || at->panel_end == self->panels) return operands->ahead;
  return part_of_panel(self, operands, at->panel_end, &next);
}

/* What is left when a call has fetched so many lines. */
static lk_kernel_ahead go_ahead(lk_kernel_ahead ahead, int64_t lines) {
  const size_t bytes = (size_t)lines * LK_CACHE_LINE;
  if (bytes >= ahead.bytes) return (lk_kernel_ahead){0};
  return (lk_kernel_ahead){ahead.at + bytes, ahead.bytes - bytes};
}

/* What the tiles of a panel fetch: the next panel of the block, or what comes after it. */
static void set_fetch(const lk_product *self, const lk_product_operands *operands, int64_t panel,
                      const lk_product_tiles *tiles, block *at, lk_micro_call *call) {
  const bool ends_block = panel + 1 == at->panel_end;
  lk_kernel_ahead ahead = at->ahead;
  if (!ends_block) {
    ahead = tiles->place == 0 ? part_of_panel(self, operands, panel + 1, at) : (lk_kernel_ahead){0};
  }
  call->ahead = ahead;
  if (ends_block) at->ahead = go_ahead(ahead, tiles->tiles * tiles->n_taps * call->k);
}

/* ---- tiles ---- */

static const float zeros[LK_MICRO_COLUMNS];

/* A tile of C, and whether its sums begin or end. */
typedef struct tile_place {
  int64_t row, column;
  bool is_first, is_last;
} tile_place;

/* What the sums of a tile begin and end with. The residual comes first: it may be C, which the
 * first block of a sum writes. A bias that is a node of its own comes last, as that node rounds. */
static void set_ends(const lk_product *self, const lk_product_operands *operands, tile_place at,
                     lk_micro_call *call) {
  const int64_t step = self->c_step * self->c_rows, corner = at.row * self->c_step + at.column;
  const float *bias = operands->bias != NULL ? operands->bias + at.column : NULL;
  call->c = operands->c + corner;
  call->c_step = step;
  call->add = NULL;
  call->add_step = 0;
  call->low = at.is_last ? self->low : -INFINITY;
  call->high = at.is_last ? self->high : INFINITY;
  if (!at.is_first) {
    call->init = call->c;
    call->init_step = step;
  } else if (operands->residual != NULL) {
    call->init = operands->residual + corner;
    call->init_step = step;
  } else {
    call->init = bias != NULL && !operands->adds_bias ? bias : zeros;
    call->init_step = 0;
  }
  if (at.is_last && (operands->adds_bias || operands->residual != NULL)) call->add = bias;
}

/* Each part adds its taps to what those before it left in C. Where not all rows have the first or
 * the last tap, they all begin, or end, by themselves. */
static void run_parts(const lk_product *self, const lk_product_operands *operands, tile_place at,
                      const lk_product_tiles *tiles, const lk_micro_fn *run, lk_micro_call *call) {
  const lk_product_part *last = &tiles->parts[tiles->n_parts - 1];
  const int64_t top = at.row;
  const bool ends = at.is_last;
  call->taps = tiles->taps;
  at.is_last = false;
  call->n_taps = 0;
  if (at.is_first && tiles->parts[0].rows < tiles->rows) {
    set_ends(self, operands, at, call);
    run[tiles->rows](call);
    at.is_first = false;
  }
  for (const lk_product_part *part = tiles->parts; part <= last; part++, at.is_first = false) {
    call->n_taps = tiles->taps + part->tap_end - call->taps;
    at.row = top + part->row * self->c_rows;
    at.is_last = ends && part == last && part->rows == tiles->rows;
    set_ends(self, operands, at, call);
    run[part->rows](call);
    call->ahead = go_ahead(call->ahead, call->n_taps * call->k);
    call->taps += call->n_taps;
  }
  if (!ends || at.is_last) return;
  call->n_taps = 0;
  at.row = top;
  at.is_last = true;
  set_ends(self, operands, at, call);
  run[tiles->rows](call);
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

static void run_tiles_of_group(const lk_product *self, const lk_product_operands *operands,
                               block *at, int64_t group, lk_product_tiles *tiles,
                               lk_micro_call *call) {
  const int64_t lanes = self->micro->lanes, tap_elements = self->k * self->panel;
  const int64_t first_column = group * self->columns;
  int64_t panels = 1;
  for (int64_t p = at->panel; p < at->panel_end; p += panels) {
    panels = tiles->n_parts == 0 ? panels_at_once(self, operands, at, p, tiles->rows) : 1;
    const int64_t n = p * self->panel, columns = lk_min(panels * self->panel, self->columns - n);
    const int64_t vectors = lk_div_up(columns, lanes);
    const bool is_plain = p < operands->first_packed;
    call->b_step = is_plain ? operands->plain_step : self->panel;
    call->b_next = is_plain ? self->panel : panel_elements(self);
    const float *b = panel_at(self, operands, at, group, p);
    for (int64_t t = 0; t < tiles->n_taps; t++) {
      tiles->taps[t].b = b + tiles->tap[t] * tap_elements;
    }
    call->tail = columns - (vectors - 1) * lanes;
    set_fetch(self, operands, p, tiles, at, call);
    const lk_micro_fn *run = panels > 1 ? self->micro->run_wide : self->micro->run[vectors];
    const tile_place place = {tiles->place, first_column + n, at->is_first, at->is_last};
    if (tiles->n_parts > 0) {
      run_parts(self, operands, place, tiles, run, call);
    } else {
      const bool is_cut = is_plain && tiles->rows == 1 && columns < panels * self->panel;
      call->taps = tiles->taps;
      call->n_taps = tiles->n_taps;
      set_ends(self, operands, place, call);
      (is_cut ? self->micro->run_cut[vectors] : run[tiles->rows])(call);
    }
    if (at->is_last && operands->chain != NULL) {
      const lk_product_chain_tile tile = {.c = operands->c + tiles->place * self->c_step +
                                               place.column,
                                          .c_step = call->c_step,
                                          .row = tiles->place,
                                          .row_step = self->c_rows,
                                          .rows = tiles->rows * tiles->tiles,
                                          .column = place.column,
                                          .columns = columns};
      lk_product_chain_apply(operands->chain, &operands->of_chain, &tile);
    }
  }
}

static void run_tiles(const lk_product *self, const lk_product_operands *operands, block *at,
                      lk_product_tiles *tiles, lk_micro_call *call) {
  call->tiles = tiles->tiles;
  call->a_row = tiles->a_row;
  call->a_next = tiles->a_next;
  for (int64_t g = 0; g < operands->groups; g++) {
    call->a_first = g * operands->a_group;
    run_tiles_of_group(self, operands, at, g, tiles, call);
  }
}

static void run_block(const lk_product *self, const lk_product_operands *operands,
                      lk_product_source *source, block *at) {
  lk_product_tiles tiles;
  tiles.a_row = tiles.a_next = 0; /* a source that sets neither has them multiplied by 0 */
  lk_micro_call call = {.k = at->k_end - at->k, .a_step = source->a_step};
  source->begin(source, at->row);
  at->ahead = find_ahead(self, operands, at);
  for (int64_t row = at->row; row < at->row_end; row += tiles.rows * tiles.tiles) {
    tiles.place = row;
    tiles.n_parts = 0;
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
    if (operands->maker != NULL) {
      operands->maker->make(operands->maker->arg, at.panel, at.k, at.k_end, operands->made);
    }
    at.tap = 0;
    do {
      at.tap_end = lk_min(at.tap + self->tap_block, self->taps);
      at.is_first = at.k == 0 && at.tap == 0;
      at.is_last = at.k_end == self->k && at.tap_end == self->taps;
      run_block(self, operands, source, &at);
      at.tap = at.tap_end;
    } while (at.tap < self->taps && !lk_team_is_stopped());
    at.k = at.k_end;
  } while (at.k < self->k && !lk_team_is_stopped());
}
