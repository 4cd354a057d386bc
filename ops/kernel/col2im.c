/* Windows of images put back to where they came from. A turn is an image. */
#include "ops/kernel/col2im.h"

#include <stdbool.h>
#include <string.h>

#include "ops/kernel/sizes.h"

enum { SHARED_BYTES = 256 * 1024 };

/* Of a row of windows, those whose element `tap` is in the image. */
typedef struct row_part {
  int64_t begin, end;
  int64_t at; /* where the element of window 0 lies along the image */
} row_part;

static row_part find_part(const lk_col2im *self, int64_t tap) {
  const uint32_t last = self->rank - 1;
  const int64_t stride = self->strides[last];
  const int64_t first = tap * self->dilations[last] - self->pads[last];
  const int64_t room = self->image[last] - 1 - first;
  return (row_part){.begin = first < 0 ? lk_div_up(-first, stride) : 0,
                    .end = room < 0 ? 0 : lk_min(self->counts[last], room / stride + 1),
                    .at = first};
}

static void add_row(const lk_col2im *self, const char *from, char *to, const row_part *part) {
  const int64_t stride = self->strides[self->rank - 1];
  if (stride == 1 && part->end > part->begin) {
    self->add(to + (part->at + part->begin) * (int64_t)self->element,
              from + (size_t)part->begin * self->element, part->end - part->begin);
    return;
  }
  for (int64_t i = part->begin; i < part->end; i++) {
    self->add(to + (part->at + i * stride) * (int64_t)self->element,
              from + (size_t)i * self->element, 1);
  }
}

/* A row of windows, and the element of its windows that is meant: numbers of each along all
 * dimensions but the last. */
typedef struct row_place {
  int64_t window[LK_MAX_RANK], tap[LK_MAX_RANK];
} row_place;

/* The place of the row in the image, in elements; -1: it lies outside. */
static int64_t row_offset(const lk_col2im *self, const row_place *place) {
  int64_t offset = 0;
  for (uint32_t i = 0; i + 1 < self->rank; i++) {
    const int64_t at =
        place->window[i] * self->strides[i] + place->tap[i] * self->dilations[i] - self->pads[i];
    if (at < 0 || at >= self->image[i]) return -1;
    offset = (offset + at) * self->image[i + 1];
  }
  return offset;
}

/* The next one of `counts`, of which the last runs fastest. */
static void count_on(int64_t *at, const int64_t *counts, uint32_t n) {
  for (uint32_t i = n; i-- > 0; at[i] = 0) {
    if (++at[i] < counts[i]) return;
  }
}

static void add_plane(const lk_col2im *self, const char *from, char *to) {
  const uint32_t last = self->rank - 1;
  const int64_t count = self->counts[last], rows = count > 0 ? self->windows / count : 0;
  row_place place = {{0}, {0}};
  memset(to, 0, (size_t)self->plane * self->element);
  for (int64_t tap = 0; tap < self->taps; tap++) {
    const row_part part = find_part(self, tap % self->block[last]);
    for (int64_t row = 0; row < rows; row++, from += (size_t)count * self->element) {
      const int64_t offset = row_offset(self, &place);
      if (offset >= 0) add_row(self, from, to + offset * (int64_t)self->element, &part);
      count_on(place.window, self->counts, last);
    }
    if ((tap + 1) % self->block[last] == 0) count_on(place.tap, self->block, last);
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

lk_status lk_col2im_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_col2im *self = params;
  const double bytes =
      (double)self->planes * (double)self->taps * (double)self->windows * (double)self->element;
  return lk_kernel_turns(self->planes, bytes >= SHARED_BYTES, add_planes, params, pointers);
}
