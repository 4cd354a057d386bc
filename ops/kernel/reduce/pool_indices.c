/* The number of the largest element in the input, from its position inside the kernel. */
#include "ops/kernel/reduce/pool_indices.h"

#include <stddef.h>

#include "base/team/look.h"

/* Operations of an output, which compares and remembers where, one tap after the other. */
enum { OUTPUT = 128 };
/* Kernels with up to this many elements have a table of offsets. */
#define MAX_OFFSETS 256

/* Where the element lies along one dimension, or -1: the whole window is padding. Position 0 may be
 * padding, where nothing is larger than minus infinity; ONNX means the first element of the input
 * then. */
static int64_t coordinate(const lk_pool_geometry *g, uint32_t dim, int64_t out, int64_t tap) {
  const lk_inside taps = lk_pool_find_inside(g, dim, out);
  const int64_t behind = tap > taps.first ? tap - taps.first : 0; /* the first one inside */
  return behind < taps.count ? taps.at + behind * g->dilations[dim] : -1;
}

static int64_t index_of(const lk_pool_indices *step, const int64_t out[LK_POOL_DIMS],
                        int64_t position) {
  const lk_pool_geometry *g = &step->geometry;
  int64_t index = 0;
  for (uint32_t i = LK_POOL_DIMS; i-- > 0;) {
    const int64_t at = coordinate(g, i, out[i], position % g->kernel[i]);
    if (at < 0) return -1;
    index += at * step->factors[i];
    position /= g->kernel[i];
  }
  return index;
}

/* What a position adds to the index of the element at which the window starts. */
static void fill_offsets(const lk_pool_indices *step, int64_t offsets[MAX_OFFSETS]) {
  const lk_pool_geometry *g = &step->geometry;
  const int64_t taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
  for (int64_t i = 0; i < taps; i++) {
    const int64_t at[] = {i / g->kernel[2] / g->kernel[1], i / g->kernel[2] % g->kernel[1],
                          i % g->kernel[2]};
    offsets[i] = 0;
    for (uint32_t k = 0; k < LK_POOL_DIMS; k++) {
      offsets[i] += at[k] * g->dilations[k] * step->factors[k];
    }
  }
}

static bool starts_inside(const lk_pool_geometry *g, uint32_t dim, int64_t out) {
  const int64_t start = lk_pool_start(g, dim, out);
  return start >= 0 && start < g->in[dim];
}

/* All channels of a row of outputs (the last dimension). A window that starts inside the input has
 * its position 0 there as well, and needs no look at the border: `offsets` (or NULL) will do. */
static void index_row(const lk_pool_indices *step, const int64_t *offsets, const int32_t *from,
                      int64_t *to, int64_t row) {
  const lk_pool_geometry *g = &step->geometry;
  const int64_t n = row / g->out[1] / g->out[0], image = g->in[0] * g->in[1] * g->in[2];
  int64_t out[LK_POOL_DIMS] = {row / g->out[1] % g->out[0], row % g->out[1], 0};
  const bool inside = offsets != NULL && starts_inside(g, 0, out[0]) && starts_inside(g, 1, out[1]);
  int64_t start = 0;
  for (uint32_t i = 0; i < LK_POOL_DIMS; i++) {
    start += lk_pool_start(g, i, out[i]) * step->factors[i];
  }
  for (int64_t c = 0; c < step->channels; c++) {
    int64_t at =
        n * step->from[0] + c * step->from[1] + out[0] * step->from[2] + out[1] * step->from[3];
    int64_t put = n * step->to[0] + c * step->to[1] + out[0] * step->to[2] + out[1] * step->to[3];
    const int64_t base = (n * step->channels + c) * image;
    for (out[2] = 0; out[2] < g->out[2] && !lk_look_after(out[2], LK_LOOK_FEW);
         out[2]++, at += step->from[4], put += step->to[4]) {
      const int64_t position = from[at];
      if (inside && starts_inside(g, 2, out[2])) {
        to[put] = base + start + out[2] * g->strides[2] * step->factors[2] + offsets[position];
        continue;
      }
      const int64_t index = index_of(step, out, position);
      to[put] = index < 0 ? -1 : base + index;
    }
  }
}

static void index_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_pool_indices *step = loop->params;
  const lk_pool_geometry *g = &step->geometry;
  const bool few = g->kernel[0] * g->kernel[1] * g->kernel[2] <= MAX_OFFSETS;
  int64_t offsets[MAX_OFFSETS];
  if (few) fill_offsets(step, offsets);
  for (int64_t i = begin; i < end; i++) {
    index_row(step, few ? offsets : NULL, loop->pointers[0], loop->pointers[1], i);
  }
}

lk_status lk_pool_indices_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_pool_indices *step = params;
  const lk_pool_geometry *g = &step->geometry;
  const int64_t rows = step->batch * g->out[0] * g->out[1];
  return lk_kernel_turns(rows, lk_sharing_pays_for(rows * step->channels * g->out[2], OUTPUT),
                         index_rows, step, pointers);
}
