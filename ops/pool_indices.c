/* MaxPool's Indices: from the position inside the kernel to the element's number in the input. */
#include "base/status.h"
#include "base/team/team_for.h"
#include "base/tensor.h"
#include "ops/plan/copy.h"
#include "ops/pool_kernel.h"

/* Fewer are done by one thread before others have woken up. */
#define LEAST_PARALLEL_OUTPUTS 8192
/* Kernels of up to so many elements have a table. */
#define MAX_OFFSETS 256

typedef struct indices_step {
  lk_pool_geometry geometry;
  int64_t batch, channels;
  int64_t factors[LK_MAX_SPATIAL]; /* what a step in the input adds to the index */
  /* in elements: batch, channel, and three spatial dimensions */
  int64_t from[2 + LK_MAX_SPATIAL], to[2 + LK_MAX_SPATIAL];
  bool narrow; /* positions are u8 */
} indices_step;

/* Where the element lies along one dimension, or -1: the whole window is padding. oneDNN leaves
 * position 0 where nothing exceeds its initial value (a window of minus infinity), also when that
 * position is padding; ONNX means the first element of the input then. */
static int64_t coordinate(const lk_pool_geometry *g, uint32_t dim, int64_t out, int64_t tap) {
  const int64_t start = out * g->strides[dim] - g->begin[dim];
  const int64_t first = lk_pool_first_tap(g, dim, start);
  if (tap < first) tap = first;
  return tap < lk_pool_end_tap(g, dim, start) ? start + tap * g->dilations[dim] : -1;
}

static int64_t index_of(const indices_step *step, const int64_t out[LK_MAX_SPATIAL],
                        int64_t position) {
  const lk_pool_geometry *g = &step->geometry;
  int64_t index = 0;
  for (uint32_t i = LK_MAX_SPATIAL; i-- > 0;) {
    const int64_t at = coordinate(g, i, out[i], position % g->kernel[i]);
    if (at < 0) return -1;
    index += at * step->factors[i];
    position /= g->kernel[i];
  }
  return index;
}

/* What a position adds to the index of the element at which the window starts. */
static void fill_offsets(const indices_step *step, int64_t offsets[MAX_OFFSETS]) {
  const lk_pool_geometry *g = &step->geometry;
  const int64_t taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
  for (int64_t i = 0; i < taps; i++) {
    const int64_t at[] = {i / g->kernel[2] / g->kernel[1], i / g->kernel[2] % g->kernel[1],
                          i % g->kernel[2]};
    offsets[i] = 0;
    for (uint32_t k = 0; k < LK_MAX_SPATIAL; k++) {
      offsets[i] += at[k] * g->dilations[k] * step->factors[k];
    }
  }
}

static bool starts_inside(const lk_pool_geometry *g, uint32_t dim, int64_t out) {
  const int64_t start = out * g->strides[dim] - g->begin[dim];
  return start >= 0 && start < g->in[dim];
}

/* All channels of a row of outputs (the last dimension). A window that starts inside the input has
 * its position 0 there as well, and needs no look at the border: `offsets` (or NULL) will do. */
static void index_row(const indices_step *step, const int64_t *offsets, const void *from,
                      int64_t *to, int64_t row) {
  const lk_pool_geometry *g = &step->geometry;
  const int64_t n = row / g->out[1] / g->out[0], image = g->in[0] * g->in[1] * g->in[2];
  int64_t out[LK_MAX_SPATIAL] = {row / g->out[1] % g->out[0], row % g->out[1], 0};
  const bool inside = offsets != NULL && starts_inside(g, 0, out[0]) && starts_inside(g, 1, out[1]);
  int64_t start = 0;
  for (uint32_t i = 0; i < LK_MAX_SPATIAL; i++) {
    start += (out[i] * g->strides[i] - g->begin[i]) * step->factors[i];
  }
  for (int64_t c = 0; c < step->channels; c++) {
    int64_t at =
        n * step->from[0] + c * step->from[1] + out[0] * step->from[2] + out[1] * step->from[3];
    int64_t put = n * step->to[0] + c * step->to[1] + out[0] * step->to[2] + out[1] * step->to[3];
    const int64_t base = (n * step->channels + c) * image;
    for (out[2] = 0; out[2] < g->out[2]; out[2]++, at += step->from[4], put += step->to[4]) {
      const int64_t position =
          step->narrow ? ((const uint8_t *)from)[at] : ((const int32_t *)from)[at];
      if (inside && starts_inside(g, 2, out[2])) {
        to[put] = base + start + out[2] * g->strides[2] * step->factors[2] + offsets[position];
        continue;
      }
      const int64_t index = index_of(step, out, position);
      to[put] = index < 0 ? -1 : base + index;
    }
  }
}

typedef struct indices_loop {
  const indices_step *step;
  const int64_t *offsets;
  const void *from;
  int64_t *to;
} indices_loop;

static void index_rows(const void *arg, int64_t begin, int64_t end) {
  const indices_loop *loop = arg;
  for (int64_t i = begin; i < end; i++) {
    index_row(loop->step, loop->offsets, loop->from, loop->to, i);
  }
}

static lk_status indices_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const indices_step *step = params;
  const lk_pool_geometry *g = &step->geometry;
  const int64_t rows = step->batch * g->out[0] * g->out[1];
  const bool few = g->kernel[0] * g->kernel[1] * g->kernel[2] <= MAX_OFFSETS;
  int64_t offsets[MAX_OFFSETS];
  if (few) fill_offsets(step, offsets);
  const indices_loop loop = {step, few ? offsets : NULL, pointers[0], pointers[1]};
  lk_team_for(rows, rows * step->channels * g->out[2] >= LEAST_PARALLEL_OUTPUTS, index_rows, &loop);
  return LK_OK;
}

static void element_strides(const lk_tensor_desc *desc, int64_t strides[2 + LK_MAX_SPATIAL]) {
  int64_t bytes[LK_MAX_RANK];
  const int64_t size = (int64_t)lk_dtype_size(desc->dtype);
  const uint32_t missing = 2 + LK_MAX_SPATIAL - desc->rank;
  lk_copy_strides(desc, bytes);
  for (uint32_t i = 0; i < 2; i++) strides[i] = bytes[i] / size;
  for (uint32_t i = 2; i < desc->rank; i++) strides[missing + i] = bytes[i] / size;
}

lk_status lk_plan_pool_indices(lk_planner *planner, uint32_t index, const lk_window_shape *shape,
                               const lk_tensor_desc *x, const lk_operand *positions,
                               bool column_major, lk_error *error) {
  lk_operand operands[] = {*positions, *positions};
  indices_step step = {.geometry = lk_pool_geometry_make(shape, x),
                       .batch = x->dims[0],
                       .channels = x->dims[1],
                       .narrow = positions->desc.dtype == LK_U8};
  /* plain unless something else is wished for: oneDNN has no i64 and could not reorder it */
  lk_status status = lk_planner_output(
      planner, index, lk_planner_wish(planner, index, LK_LAYOUT_PLAIN), &operands[1], error);
  if (status != LK_OK) return status;
  const lk_pool_geometry *g = &step.geometry;
  /* storage_order 1: the first spatial dimension is the fastest one */
  int64_t factor = 1;
  for (uint32_t i = 0; i < LK_MAX_SPATIAL; i++) {
    const uint32_t dim = column_major ? i : LK_MAX_SPATIAL - 1 - i;
    step.factors[dim] = factor;
    factor *= g->in[dim];
  }
  element_strides(&positions->desc, step.from);
  element_strides(&operands[1].desc, step.to);
  return lk_planner_kernel(planner, indices_kernel, &step, sizeof step, operands, 2, error);
}
