/* Windows of images put back to where they came from. A turn is an image. */
#include "ops/kernel/reduce/col2im.h"

#include <math.h>
#include <stdbool.h>

#include "base/tensor.h"
#include "ops/kernel/copy_long.h"
#include "ops/kernel/element/element_program.h"
#include "ops/kernel/inside.h"

/* ---- rows of numbers that are added to others ---- */

/* `from` side by side, `to` some elements apart; both with rows. */
typedef struct rows {
  const char *from;
  const char *between; /* to the elements behind those of `to`, which are 2 apart; NULL: nothing */
  char *to;
  int64_t from_row, to_row; /* bytes */
  int64_t count, columns;
  int64_t apart; /* in `to`, in elements */
} rows;

/* Integers wrap around, so that those without a sign serve the others too. */
#define ADD_ROWS(name, type)                                                                       \
  static void name(const rows *r) {                                                                \
    for (int64_t row = 0; row < r->count; row++) {                                                 \
      type *restrict to = (type *)(void *)(r->to + row * r->to_row);                               \
      const type *restrict from = (const type *)(const void *)(r->from + row * r->from_row);       \
      const type *restrict between =                                                               \
          (const type *)(const void *)(r->between != NULL ? r->between + row * r->from_row         \
                                                          : NULL);                                 \
      for (int64_t i = 0; between != NULL && i < r->columns; i++) {                                \
        to[2 * i] = (type)(to[2 * i] + from[i]);                                                   \
        to[2 * i + 1] = (type)(to[2 * i + 1] + between[i]);                                        \
      }                                                                                            \
      for (int64_t i = 0; between == NULL && i < r->columns; i++) {                                \
        to[i * r->apart] = (type)(to[i * r->apart] + from[i]);                                     \
      }                                                                                            \
    }                                                                                              \
  }
ADD_ROWS(add_rows_f32, float)
ADD_ROWS(add_rows_f64, double)
ADD_ROWS(add_rows_1, uint8_t)
ADD_ROWS(add_rows_2, uint16_t)
ADD_ROWS(add_rows_4, uint32_t)
ADD_ROWS(add_rows_8, uint64_t)

static void add_any(const lk_col2im *self, const rows *r) {
  const int64_t element = (int64_t)self->element;
  for (int64_t row = 0; row < r->count; row++) {
    for (int64_t i = 0; i < r->columns; i++) {
      self->add(r->to + row * r->to_row + i * r->apart * element,
                r->from + row * r->from_row + i * element, 1);
    }
  }
}

/* Of few enough of them not to look within. */
static void add_part(const lk_col2im *self, const rows *r) {
  if (r->apart == 1 && self->side_by_side != NULL) {
    const lk_element_args args = {.to = {r->to, r->to_row},
                                  .a = {r->to, r->to_row},
                                  .b = {(char *)(uintptr_t)r->from, r->from_row},
                                  .rows = r->count,
                                  .cols = r->columns,
                                  .p = -INFINITY,
                                  .q = INFINITY};
    self->side_by_side(&args);
    return;
  }
  switch (self->dtype) {
  case LK_F32:
    add_rows_f32(r);
    break;
  case LK_F64:
    add_rows_f64(r);
    break;
  case LK_I8:
  case LK_U8:
    add_rows_1(r);
    break;
  case LK_I16:
  case LK_U16:
    add_rows_2(r);
    break;
  case LK_I32:
  case LK_U32:
    add_rows_4(r);
    break;
  case LK_I64:
  case LK_U64:
    add_rows_8(r);
    break;
  default:
    add_any(self, r);
    break;
  }
}

/* False: it is not wanted any more. */
static bool add_rows(const lk_col2im *self, const rows *all) {
  const int64_t element = (int64_t)self->element;
  if (all->columns <= 0) return true;
  const int64_t columns = lk_min(all->columns, LK_LOOK_EACH), rows_at_once = LK_LOOK_EACH / columns;
  for (int64_t row = 0; row < all->count; row += rows_at_once) {
    for (int64_t i = 0; i < all->columns; i += columns) {
      rows r = *all;
      r.from += row * r.from_row + i * element;
      if (r.between != NULL) r.between += row * r.from_row + i * element;
      r.to += row * r.to_row + i * r.apart * element;
      r.count = lk_min(rows_at_once, all->count - row);
      r.columns = lk_min(columns, all->columns - i);
      add_part(self, &r);
      if (r.count * r.columns >= LK_LOOK_EACH / 2 && lk_team_is_stopped()) return false;
    }
  }
  return true;
}

/* ---- windows ---- */

/* Along a dimension, the windows whose element `tap` is in the image. */
static lk_inside find_part(const lk_col2im *self, uint32_t dim, int64_t tap) {
  return lk_find_inside(tap * self->dilations[dim] - self->pads[dim], self->strides[dim],
                        self->counts[dim], self->image[dim]);
}

/* A plane of windows, along the last two dimensions, and the element of them that is meant: numbers
 * of each along the dimensions before. */
typedef struct place {
  int64_t window[LK_MAX_RANK], tap[LK_MAX_RANK];
} place;

/* Where the plane lies in the image, in elements; -1: outside. */
static int64_t offset_of(const lk_col2im *self, const place *of, uint32_t outer) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < outer; i++) {
    const int64_t at =
        of->window[i] * self->strides[i] + of->tap[i] * self->dilations[i] - self->pads[i];
    if (at < 0 || at >= self->image[i]) return -1;
    offset = (offset + at) * self->image[i + 1];
  }
  return outer + 1 < self->rank ? offset * self->image[self->rank - 1] : offset;
}

/* The next one of `counts`, of which the last runs fastest. */
static void count_on(int64_t *at, const int64_t *counts, uint32_t n) {
  for (uint32_t i = n; i-- > 0; at[i] = 0) {
    if (++at[i] < counts[i]) return;
  }
}

/* Whether the next tap along the last dimension has the same windows in the image, so that what
 * both add lies side by side. */
static bool has_pair(const lk_col2im *self, int64_t tap, const lk_inside *of_x) {
  const uint32_t last = self->rank - 1;
  const int64_t next = tap % self->block[last] + 1;
  if (!self->has_pairs || next == self->block[last]) return false;
  const lk_inside of_next = find_part(self, last, next);
  return of_next.first == of_x->first && of_next.count == of_x->count;
}

static void add_plane(const lk_col2im *self, const char *from, char *to) {
  const uint32_t last = self->rank - 1, outer = self->rank > 1 ? self->rank - 2 : 0;
  const int64_t element = (int64_t)self->element, count = self->counts[last];
  const int64_t high = self->rank > 1 ? self->counts[last - 1] : 1;
  const int64_t planes = count > 0 && high > 0 ? self->windows / count / high : 0;
  place now = {{0}, {0}};
  lk_fill_long(to, 0, (size_t)self->plane * self->element);
  for (int64_t tap = 0, done = 0; tap < self->taps; tap++) {
    if (lk_look_more(&done, 32 + high, LK_LOOK_FEW)) return;
    const lk_inside of_x = find_part(self, last, tap % self->block[last]);
    const bool is_pair = has_pair(self, tap, &of_x);
    const lk_inside of_y =
        self->rank > 1 ? find_part(self, last - 1, now.tap[last - 1]) : (lk_inside){.count = 1};
    const int64_t stride_y = self->rank > 1 ? self->strides[last - 1] : 0;
    const int64_t line = self->image[last] * element;
    for (int64_t i = 0; i < planes; i++, from += count * high * element) {
      const int64_t offset = offset_of(self, &now, outer);
      const char *first = from + (of_y.first * count + of_x.first) * element;
      const rows r = {.from = first,
                      .between = is_pair ? first + self->windows * element : NULL,
                      .to = to + (offset + of_x.at) * element + of_y.at * line,
                      .from_row = count * element,
                      .to_row = stride_y * line,
                      .count = of_y.count,
                      .columns = of_x.count,
                      .apart = self->strides[last]};
      if (offset >= 0 && !add_rows(self, &r)) return;
      count_on(now.window, self->counts, outer);
      if (lk_look_more(&done, 1 + of_y.count, LK_LOOK_FEW)) return;
    }
    if (is_pair) {
      tap++;
      from += self->windows * element;
    }
    if ((tap + 1) % self->block[last] == 0) count_on(now.tap, self->block, last);
  }
}

static void add_planes(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_col2im *self = loop->params;
  for (int64_t i = begin; i < end; i++) {
    add_plane(self,
              (const char *)loop->pointers[0] +
                  (size_t)(i * self->taps * self->windows) * self->element,
              (char *)loop->pointers[1] + (size_t)(i * self->plane) * self->element);
  }
}

void lk_col2im_plan(lk_col2im *self) {
  const lk_element_class class_ = lk_element_class_of(self->dtype);
  const bool is_half = self->dtype == LK_F16 || self->dtype == LK_BF16;
  const uint32_t last = self->rank - 1;
  self->element = lk_dtype_size(self->dtype);
  self->has_pairs =
      self->strides[last] == 2 && self->dilations[last] == 1 && !is_half && self->dtype != LK_BOOL;
  self->add = lk_combine_find(self->dtype, LK_COMBINE_ADD);
  self->side_by_side = lk_element_is_of_class(self->dtype)
                           ? lk_element_loops_for(lk_isa_get())->ops[LK_ELEMENT_ADD][class_].all
                           : NULL;
}

lk_status lk_col2im_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_col2im *self = params;
  const int64_t bytes = self->planes * self->taps * self->windows * (int64_t)self->element;
  return lk_kernel_turns(self->planes, lk_sharing_pays_for(bytes, LK_SHARING_BYTE), add_planes,
                         params, pointers);
}
