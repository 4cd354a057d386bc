/* Columns of a deformable convolution. A turn is a row of the output, for an element of the kernel
 * and the channels that have offsets together. */
#include "ops/kernel/sample/deform_columns.h"

#include <math.h>

#include "base/team/look.h"
#include "ops/kernel/sizes.h"

enum { CHUNK = 32, COLUMN = 64 /* operations of four neighbours anywhere, with weights */ };

/* Four neighbours; those outside are the first element, without weight. What they come to is
 * multiplied by the mask. */
typedef struct taps {
  int64_t index[4];
  double weight[4], mask;
  bool is_inside;
} taps;

static taps find_taps(const lk_deform_columns *self, double y, double x, double mask) {
  const int64_t height = self->image[0], width = self->image[1];
  taps out = {.mask = mask,
              .is_inside = y > -1 && y < (double)height && x > -1 && x < (double)width};
  if (!out.is_inside) return out;
  const int64_t top = (int64_t)floor(y), left = (int64_t)floor(x);
  const double down = y - (double)top, right = x - (double)left;
  for (int k = 0; k < 4; k++) {
    const int64_t row = top + k / 2, column = left + k % 2;
    if (row < 0 || row >= height || column < 0 || column >= width) continue;
    out.index[k] = row * width + column;
    out.weight[k] = (k / 2 == 1 ? down : 1 - down) * (k % 2 == 1 ? right : 1 - right);
  }
  return out;
}

/* A tap without weight is not read: an infinite element there would make NaN. A mask that is no
 * finite number makes NaN of what is outside, as of any 0. */
static float sum_taps(const taps *at, const float *image) {
  double sum = 0;
  for (int k = 0; at->is_inside && k < 4; k++) {
    if (at->weight[k] != 0) sum += at->weight[k] * (double)image[at->index[k]];
  }
  return (float)(at->mask * sum);
}

/* Which row it is. */
typedef struct line {
  int64_t batch, group, tap, row;
} line;

static void fill_chunk(const lk_deform_columns *self, void *const *pointers, const line *at,
                       int64_t first, int64_t count) {
  const int64_t n_taps = self->kernel[0] * self->kernel[1], plane = self->out[0] * self->out[1];
  const int64_t image = self->image[0] * self->image[1], place = at->row * self->out[1] + first;
  const int64_t block = (at->batch * self->groups + at->group) * n_taps + at->tap;
  const float *offsets = (const float *)pointers[1] + 2 * block * plane + place;
  const float *mask = self->has_mask ? (const float *)pointers[3] + block * plane + place : NULL;
  const int64_t y =
      at->row * self->strides[0] - self->pads[0] + at->tap / self->kernel[1] * self->dilations[0];
  const int64_t x =
      first * self->strides[1] - self->pads[1] + at->tap % self->kernel[1] * self->dilations[1];
  taps found[CHUNK];
  for (int64_t i = 0; i < count; i++) {
    found[i] = find_taps(self, (double)y + (double)offsets[i],
                         (double)(x + i * self->strides[1]) + (double)offsets[plane + i],
                         mask != NULL ? (double)mask[i] : 1);
  }
  const int64_t channels = self->channels / self->groups;
  const int64_t begin = at->batch * self->channels + at->group * channels;
  for (int64_t c = begin; c < begin + channels; c++) {
    const float *from = (const float *)pointers[0] + c * image;
    float *to = (float *)pointers[2] + (c * n_taps + at->tap) * plane + place;
    for (int64_t i = 0; i < count; i++) to[i] = sum_taps(&found[i], from);
  }
}

static void fill_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_deform_columns *self = loop->params;
  const int64_t n_taps = self->kernel[0] * self->kernel[1], rows = self->out[0];
  int64_t done = 0;
  for (int64_t i = begin; i < end; i++) {
    const int64_t block = i / rows / n_taps;
    const line at = {.batch = block / self->groups,
                     .group = block % self->groups,
                     .tap = i / rows % n_taps,
                     .row = i % rows};
    for (int64_t first = 0; first < self->out[1]; first += CHUNK) {
      if (lk_look_more(&done, CHUNK * self->channels, LK_LOOK_EACH)) return;
      fill_chunk(self, loop->pointers, &at, first, lk_min(CHUNK, self->out[1] - first));
    }
  }
}

lk_status lk_deform_columns_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_deform_columns *self = params;
  const int64_t turns =
      self->batches * self->groups * self->kernel[0] * self->kernel[1] * self->out[0];
  const int64_t columns = turns * self->out[1] * self->channels / self->groups;
  return lk_kernel_turns(turns, lk_sharing_pays_for(columns, COLUMN), fill_rows, params, pointers);
}
