/* Windows of images put back to where they came from. A turn is an image. */
#include "ops/kernel/col2im.h"

#include <stdbool.h>
#include <string.h>

#include "ops/kernel/sizes.h"

enum { SHARED_BYTES = 256 * 1024 };

/* One element of each window of a row of windows. */
static void add_row(const lk_col2im *self, const char *from, char *to, int64_t tap) {
  const uint32_t last = self->rank - 1;
  const int64_t stride = self->strides[last], count = self->counts[last];
  const int64_t first = tap * self->dilations[last] - self->pads[last];
  /* of the windows, those whose element is in the image */
  const int64_t begin = first < 0 ? lk_div_up(-first, stride) : 0;
  const int64_t room = self->image[last] - 1 - first;
  const int64_t end = room < 0 ? 0 : lk_min(count, room / stride + 1);
  if (stride == 1 && end > begin) {
    self->add(to + (size_t)(first + begin) * self->element, from + (size_t)begin * self->element,
              end - begin);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    self->add(to + (size_t)(first + i * stride) * self->element, from + (size_t)i * self->element,
              1);
  }
}

static void add_plane(const lk_col2im *self, const char *from, char *to) {
  const uint32_t last = self->rank - 1;
  const int64_t count = self->counts[last], rows = count > 0 ? self->windows / count : 0;
  memset(to, 0, (size_t)self->plane * self->element);
  for (int64_t tap = 0; tap < self->taps; tap++) {
    for (int64_t row = 0; row < rows; row++, from += (size_t)count * self->element) {
      int64_t rest = row, tap_rest = tap / self->block[last], offset = 0, step = 1;
      bool is_inside = true;
      for (uint32_t i = last; i-- > 0;) {
        step *= self->image[i + 1];
        const int64_t at = rest % self->counts[i] * self->strides[i] +
                           tap_rest % self->block[i] * self->dilations[i] - self->pads[i];
        rest /= self->counts[i];
        tap_rest /= self->block[i];
        is_inside = is_inside && at >= 0 && at < self->image[i];
        offset += at * step;
      }
      if (!is_inside) continue;
      add_row(self, from, to + offset * (int64_t)self->element, tap % self->block[last]);
    }
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
