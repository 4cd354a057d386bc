/* The right operand of a matrix product, into panels and back. */
#include <string.h>

#include "base/team/look.h"
#include "ops/kernel/copy_long.h"
#include "ops/kernel/move/copy_plane.h"
#include "ops/kernel/product/product.h"
#include "ops/kernel/sizes.h"

enum { ELEMENT = sizeof(float), LOG_ELEMENT = 2 };

/* B as one panel, or some, see it; steps are in elements. Constants lie in a model's file at any
 * address, so elements are read as bytes. */
typedef struct panel_source {
  const float *from;
  int64_t n_step, tap_step, k_step;
  int64_t columns; /* at most the panels'; zeros follow */
} panel_source;

/* So many bytes at a time, which the compiler moves without a call. */
static void copy_columns(float *to, const float *from, int64_t columns) {
  enum { AT_ONCE = 16 };
  int64_t n = 0;
  for (; n + AT_ONCE <= columns; n += AT_ONCE) memcpy(to + n, from + n, AT_ONCE * ELEMENT);
  for (; n < columns; n++) memcpy(to + n, from + n, ELEMENT);
}

static void pack_each(const lk_product *self, const panel_source *source, float *to) {
  int64_t done = 0;
  for (int64_t t = 0; t < self->taps; t++) {
    for (int64_t k = 0; k < self->k; k++, to += self->panel) {
      const float *at = source->from + t * source->tap_step + k * source->k_step;
      for (int64_t n = 0; n < source->columns; n++)
        memcpy(&to[n], at + n * source->n_step, ELEMENT);
      if (lk_look_more(&done, source->columns, LK_LOOK_EACH)) return;
    }
  }
}

/* Columns that lie side by side: the parts of a row for some panels, one row after the other. The
 * processor does not ask by itself for rows that are far apart. */
static void pack_rows(const lk_product *self, const panel_source *source, int64_t panels,
                      float *to) {
  enum { AHEAD = 8, LINE = 16 /* elements */ };
  const int64_t elements = self->taps * self->k * self->panel;
  int64_t done = 0;
  for (int64_t t = 0; t < self->taps; t++) {
    for (int64_t k = 0; k < self->k; k++, to += self->panel) {
      if (lk_look_more(&done, source->columns, LK_LOOK_EACH)) return;
      const float *at = source->from + t * source->tap_step + k * source->k_step;
      for (int64_t n = 0; k + AHEAD < self->k && n < source->columns; n += LINE) {
        __builtin_prefetch(at + AHEAD * source->k_step + n);
      }
      for (int64_t p = 0; p < panels; p++) {
        const int64_t first = p * self->panel;
        copy_columns(to + p * elements, at + first, lk_min(self->panel, source->columns - first));
      }
    }
  }
}

/* Planes in which a column's elements lie side by side: of one tap, or else of one k. */
static void pack_planes(const lk_product *self, const panel_source *source, float *to) {
  lk_copy_plane_fn *transpose = lk_copy_planes_get(lk_isa_get())->transpose[LOG_ELEMENT];
  const bool by_tap = source->k_step == 1;
  const int64_t planes = by_tap ? self->taps : self->k;
  const int64_t from_step = by_tap ? source->tap_step : source->k_step;
  const int64_t tap_elements = self->k * self->panel;
  const int64_t to_step = by_tap ? tap_elements : self->panel;
  const int64_t rows = by_tap ? self->k : self->taps;
  int64_t done = 0;
  for (int64_t i = 0; i < planes; i++) {
    lk_copy_plane plane = {.from = (const char *)(source->from + i * from_step),
                           .to = (char *)(to + i * to_step),
                           .cols = source->columns,
                           .from_row = ELEMENT,
                           .from_col = source->n_step * ELEMENT,
                           .to_row = (by_tap ? self->panel : tap_elements) * ELEMENT,
                           .to_col = ELEMENT,
                           .block = ELEMENT};
    for (int64_t row = 0; row < rows; row += plane.rows) {
      plane.rows = lk_min(rows - row, LK_LOOK_FEW);
      transpose(&plane);
      if (lk_look_more(&done, plane.rows * plane.cols, LK_LOOK_EACH)) return;
      plane.from += plane.rows * plane.from_row;
      plane.to += plane.rows * plane.to_row;
    }
  }
}

void lk_product_pack(const lk_product *self, const float *from, int64_t n_step, int64_t tap_step,
                     int64_t k_step, int64_t first_panel, int64_t last_panel, float *to) {
  enum { PANELS = 8 }; /* that are written at a time */
  const int64_t elements = self->taps * self->k * self->panel;
  const bool has_planes = n_step != 1 && (k_step == 1 || tap_step == 1);
  const int64_t at_once = n_step == 1 ? PANELS : 1;
  for (int64_t p = first_panel; p < last_panel; p += at_once) {
    const int64_t n = p * self->panel, panels = lk_min(at_once, last_panel - p);
    const panel_source source = {.from = from + n * n_step,
                                 .n_step = n_step,
                                 .tap_step = tap_step,
                                 .k_step = k_step,
                                 .columns = lk_min(panels * self->panel, self->columns - n)};
    float *panel = to + p * elements, *last = panel + (panels - 1) * elements;
    if (source.columns < panels * self->panel) {
      lk_fill_long(last, 0, (size_t)elements * sizeof *last);
    }
    if (n_step == 1) {
      pack_rows(self, &source, panels, panel);
    } else if (has_planes) {
      pack_planes(self, &source, panel);
    } else {
      pack_each(self, &source, panel);
    }
  }
}

void lk_product_unpack(const lk_product *self, const float *from, int64_t n_step, int64_t tap_step,
                       int64_t k_step, float *to) {
  for (int64_t p = 0; p < self->panels; p++) {
    const int64_t n0 = p * self->panel, columns = lk_min(self->panel, self->columns - n0);
    for (int64_t t = 0; t < self->taps; t++) {
      for (int64_t k = 0; k < self->k; k++, from += self->panel) {
        float *at = to + n0 * n_step + t * tap_step + k * k_step;
        for (int64_t n = 0; n < columns; n++) at[n * n_step] = from[n];
      }
    }
  }
}
