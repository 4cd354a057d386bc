/* The largest elements of regions. A turn is a channel of a region. Bins are those of ONNX Runtime,
 * in the arithmetic of the type: ONNX does not say how regions are cut. */
#include "ops/kernel/sample/roi_pool.h"

#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/team/look.h"
#include "ops/kernel/sizes.h"

enum { COLUMNS = 5, BIN = 512 /* operations of all its elements */ };

static double narrow(const lk_roi_pool *self, double value) {
  return self->is_wide ? value : (double)(float)value;
}

static double number(const lk_roi_pool *self, const void *from, int64_t at) {
  return self->is_wide ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

/* The element at which a region begins, or ends, with it. */
static double corner(const lk_roi_pool *self, const void *regions, int64_t region, int64_t column) {
  return round(narrow(self, number(self, regions, region * COLUMNS + column) * self->scale));
}

/* Elements `range[0]` to `range[1]` - 1 along a dimension, of bin `bin`. */
static void cut(const lk_roi_pool *self, const void *regions, int64_t region, uint32_t d,
                int64_t bin, int64_t range[2]) {
  const double first = corner(self, regions, region, 2 - d);
  const double last = corner(self, regions, region, 4 - d);
  const double size = narrow(self, fmax(last - first + 1, 1)), count = (double)self->bins[d];
  const double step = narrow(self, size / count), length = (double)self->image[d];
  const double begin = floor(narrow(self, (double)bin * step));
  const double end = ceil(narrow(self, (double)(bin + 1) * step));
  range[0] = (int64_t)fmin(fmax(begin + first, 0), length);
  range[1] = (int64_t)fmin(fmax(end + first, 0), length);
}

static double largest(const lk_roi_pool *self, const void *images, int64_t from,
                      const int64_t rows[2], const int64_t columns[2]) {
  if (rows[0] >= rows[1] || columns[0] >= columns[1]) return 0;
  double value = -INFINITY;
  for (int64_t i = rows[0], done = 0; i < rows[1]; i++) {
    if (lk_look_more(&done, columns[1] - columns[0], LK_LOOK_EACH)) break;
    for (int64_t j = columns[0]; j < columns[1] && !lk_look_after(j + 1, LK_LOOK_EACH); j++) {
      const double more = number(self, images, from + i * self->image[1] + j);
      if (more > value) value = more;
    }
  }
  return value;
}

static void pool_regions(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_roi_pool *self = loop->params;
  const void *regions = loop->pointers[1];
  const int64_t plane = self->image[0] * self->image[1], bins = self->bins[0] * self->bins[1];
  for (int64_t turn = begin; turn < end; turn++) {
    const int64_t region = turn / self->channels, channel = turn % self->channels;
    const int64_t batch = (int64_t)number(self, regions, region * COLUMNS);
    for (int64_t bin = 0, done = 0; bin < bins; bin++) {
      if (lk_look_more(&done, 1, LK_LOOK_FEW)) return;
      int64_t rows[2], columns[2];
      cut(self, regions, region, 0, bin / self->bins[1], rows);
      cut(self, regions, region, 1, bin % self->bins[1], columns);
      const double value = largest(self, loop->pointers[0],
                                   (batch * self->channels + channel) * plane, rows, columns);
      if (self->is_wide) {
        ((double *)loop->pointers[2])[turn * bins + bin] = value;
      } else {
        ((float *)loop->pointers[2])[turn * bins + bin] = (float)value;
      }
    }
  }
}

static lk_status check_region(const lk_roi_pool *self, const void *regions, int64_t region,
                              lk_error *error) {
  const double batch = number(self, regions, region * COLUMNS);
  if (!(batch > -1 && batch < (double)self->batches)) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to pool region %" PRId64
                   ": its batch is %g, it must be 0 or more and less "
                   "than %" PRId64,
                   region, batch, self->batches);
  }
  for (int64_t column = 1; column < COLUMNS; column++) {
    const double at = corner(self, regions, region, column);
    if (fabs(at) <= 0x1p31) continue;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to pool region %" PRId64 ": a corner is at %g, it must be within 2^31",
                   region, at);
  }
  return LK_OK;
}

lk_status lk_roi_pool_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_roi_pool *self = params;
  for (int64_t i = 0; i < self->regions; i++) {
    LK_RETURN_NOT_OK(lk_look_check_after(i, LK_LOOK_FEW, "check regions", error));
    LK_RETURN_NOT_OK(check_region(self, pointers[1], i, error));
  }
  const int64_t turns = self->regions * self->channels;
  const int64_t bins = turns * self->bins[0] * self->bins[1];
  return lk_kernel_turns(turns, lk_sharing_pays_for(bins, BIN), pool_regions, params, pointers);
}
