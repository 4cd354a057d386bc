/* Works of hosts on images: convolutions, poolings and Resize. The rules of sizes are those of the
 * operators of these names. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/host_work.h"
#include "ops/plan/conv_operands.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"

/* ---- windows ---- */

static lk_status check_spatial(const lk_host_work *self, const char *field, const int64_t *values,
                               int64_t least, lk_error *error) {
  for (uint32_t i = 0; i < self->given->work.window.rank; i++) {
    if (values[i] >= least && values[i] <= LK_WINDOW_MOST) continue;
    return lk_host_refuse(self, error,
                          "window.%s[%" PRIu32 "] is %" PRId64 ", %" PRId64 " to %" PRId64
                          " are allowed",
                          field, i, values[i], least, LK_WINDOW_MOST);
  }
  return LK_OK;
}

/* The window as attributes would say it, which is what the rules of operators take. */
static lk_status read_window(const lk_host_work *self, lk_window *out, lk_error *error) {
  const lk_window_shape *given = &self->given->work.window;
  const lk_tensor_desc *src = &self->task.work.tensors[LK_ROLE_SRC];
  if (src->rank < 3 || src->rank > 2 + LK_MAX_SPATIAL) {
    return lk_host_refuse_shape(self, LK_ROLE_SRC, "a rank of 3 to 5 is required", error);
  }
  if (given->rank != src->rank - 2) {
    return lk_host_refuse(
        self, error, "window.rank is %" PRIu32 ", a tensor of rank %" PRIu32 " requires %" PRIu32,
        given->rank, src->rank, src->rank - 2);
  }
  LK_RETURN_NOT_OK(check_spatial(self, "kernel", given->kernel, 1, error));
  LK_RETURN_NOT_OK(check_spatial(self, "strides", given->strides, 1, error));
  LK_RETURN_NOT_OK(check_spatial(self, "dilations", given->dilations, 1, error));
  LK_RETURN_NOT_OK(check_spatial(self, "begin", given->begin, 0, error));
  LK_RETURN_NOT_OK(check_spatial(self, "end", given->end, 0, error));
  const uint32_t rank = given->rank;
  const size_t size = rank * sizeof given->kernel[0];
  *out = (lk_window){
      .n_kernel = rank, .n_strides = rank, .n_dilations = rank, .n_pads = 2 * rank, .rank = rank};
  memcpy(out->kernel, given->kernel, size);
  memcpy(out->strides, given->strides, size);
  memcpy(out->dilations, given->dilations, size);
  memcpy(out->begin, given->begin, size);
  memcpy(out->end, given->end, size);
  return LK_OK;
}

/* Dst has `channels`, and an element for each position of the window. */
static lk_status take_window(lk_host_work *self, const char *what, int64_t channels,
                             const lk_window_shape *window, lk_error *error) {
  lk_tensor_desc made = self->task.work.tensors[LK_ROLE_SRC];
  made.dims[1] = channels;
  memcpy(made.dims + 2, window->out, window->rank * sizeof window->out[0]);
  self->task.work.window = *window;
  return lk_host_check_made(self, what, &made, error);
}

/* ---- convolutions ---- */

/* ONNX's output_padding, and what its output_shape adds, make a transposed convolution larger than
 * its windows reach. */
static lk_status infer_transposed(const lk_host_work *self, const lk_window *window,
                                  lk_window_shape *out, lk_error *error) {
  const lk_tensor_desc *tensors = self->task.work.tensors;
  const lk_tensor_desc *src = &tensors[LK_ROLE_SRC], *w = &tensors[LK_ROLE_WEIGHTS];
  lk_window whole = *window; /* without what padding cuts off */
  lk_error why;
  memset(whole.begin, 0, sizeof whole.begin);
  memset(whole.end, 0, sizeof whole.end);
  const lk_status status =
      lk_window_infer_transposed(&whole, window->rank, src->dims + 2, w->dims + 2, NULL, out, &why);
  LK_RETURN_NOT_OK(lk_host_refuse_as(self, "window: ", status, &why, error));
  for (uint32_t i = 0; i < window->rank; i++) {
    const int64_t least = out->out[i] - window->begin[i] - window->end[i];
    const int64_t given = self->given->work.window.out[i];
    if (given < least || given < 1) {
      return lk_host_refuse(
          self, error, "window.out[%" PRIu32 "] is %" PRId64 ", at least %" PRId64 " is required",
          i, given, least > 1 ? least : 1);
    }
    out->begin[i] = window->begin[i];
    out->end[i] = window->end[i];
    out->out[i] = given;
  }
  return LK_OK;
}

/* `most`: the same with ceil_mode, where that is allowed; else `made` again. */
static lk_status check_positions(const lk_host_work *self, const lk_window_shape *made,
                                 const lk_window_shape *most, lk_error *error) {
  const int64_t *given = self->given->work.window.out;
  for (uint32_t i = 0; i < made->rank; i++) {
    char other[32] = "";
    if (given[i] == made->out[i] || given[i] == most->out[i]) continue;
    if (most->out[i] != made->out[i]) {
      (void)snprintf(other, sizeof other, " or %" PRId64, most->out[i]);
    }
    return lk_host_refuse(self, error,
                          "window.out[%" PRIu32 "] is %" PRId64 ", %" PRId64 "%s is required", i,
                          given[i], made->out[i], other);
  }
  return LK_OK;
}

static lk_status infer_conv(const lk_host_work *self, const lk_window *window, lk_window_shape *out,
                            lk_error *error) {
  const lk_tensor_desc *tensors = self->task.work.tensors;
  lk_error why;
  const lk_status status = lk_window_infer(window, window->rank, tensors[LK_ROLE_SRC].dims + 2,
                                           tensors[LK_ROLE_WEIGHTS].dims + 2, NULL, out, &why);
  LK_RETURN_NOT_OK(lk_host_refuse_as(self, "window: ", status, &why, error));
  return check_positions(self, out, out, error);
}

lk_status lk_host_take_conv(lk_host_work *self, lk_error *error) {
  const lk_work *given = &self->given->work;
  lk_work *work = &self->task.work;
  const bool is_transposed = given->kind == LK_WORK_CONV_TRANSPOSED;
  const bool has_bias = lk_work_has(work, LK_ROLE_BIAS);
  const lk_tensor_desc *w = &work->tensors[LK_ROLE_WEIGHTS];
  const lk_conv_operands of = {&work->tensors[LK_ROLE_SRC], w,
                               has_bias ? &work->tensors[LK_ROLE_BIAS] : NULL};
  lk_window window = {.rank = 0};
  lk_window_shape shape;
  int64_t channels = 0;
  char of_groups[48], what[64];
  lk_error why;
  LK_RETURN_NOT_OK(lk_host_check_number(self, "groups", given->groups, 1, LK_HOST_MOST, error));
  LK_RETURN_NOT_OK(read_window(self, &window, error));
  (void)snprintf(of_groups, sizeof of_groups, "groups are %" PRId64 ": ", given->groups);
  const lk_status status =
      lk_conv_channels(&of, is_transposed, given->groups, NULL, &channels, &why);
  LK_RETURN_NOT_OK(lk_host_refuse_as(self, of_groups, status, &why, error));
  for (uint32_t i = 0; i < window.rank; i++) {
    if (window.kernel[i] == w->dims[2 + i]) continue;
    return lk_host_refuse(self, error,
                          "window.kernel[%" PRIu32 "] is %" PRId64 " and the weights have %" PRId64
                          ", they must be equal",
                          i, window.kernel[i], w->dims[2 + i]);
  }
  LK_RETURN_NOT_OK((is_transposed ? infer_transposed : infer_conv)(self, &window, &shape, error));
  work->groups = given->groups;
  (void)snprintf(what, sizeof what, "convolution of window.out and %" PRId64 " groups",
                 given->groups);
  return take_window(self, what, channels, &shape, error);
}

/* ---- poolings ---- */

lk_status lk_host_take_pool(lk_host_work *self, lk_error *error) {
  const lk_work *given = &self->given->work;
  const lk_tensor_desc *src = &self->task.work.tensors[LK_ROLE_SRC];
  lk_window window = {.rank = 0};
  lk_window_shape shape, most;
  lk_error why;
  LK_RETURN_NOT_OK(
      lk_host_check_number(self, "pooling", given->pooling, 0, LK_POOLING_TOTAL, error));
  LK_RETURN_NOT_OK(read_window(self, &window, error));
  window.is_pooling = true;
  lk_status status = lk_window_infer(&window, window.rank, src->dims + 2, NULL, NULL, &shape, &why);
  LK_RETURN_NOT_OK(lk_host_refuse_as(self, "window: ", status, &why, error));
  window.ceil_mode = true;
  status = lk_window_infer(&window, window.rank, src->dims + 2, NULL, NULL, &most, &why);
  LK_RETURN_NOT_OK(lk_host_refuse_as(self, "window: ", status, &why, error));
  LK_RETURN_NOT_OK(check_positions(self, &shape, &most, error));
  memcpy(shape.out, given->window.out, shape.rank * sizeof shape.out[0]);
  self->task.work.pooling = given->pooling;
  return take_window(self, "pooling of window.out", src->dims[1], &shape, error);
}

lk_status lk_host_plan_pool(const lk_host_work *self, lk_error *error) {
  const lk_work *work = &self->task.work;
  if (lk_elements(&work->tensors[LK_ROLE_SRC]) == 0) {
    return lk_plan_pooling_of_nothing(self->planner, (lk_pooling)work->pooling, error);
  }
  return lk_plan_task(self->planner, &self->task, error);
}

/* ---- Resize ---- */

/* Scales may be off by a last bit of f32, which is what ONNX has them in, and sizes in f32 by
 * another one. Then the size of dst is what the scale gives, rounded down or to the nearest. */
static bool is_of_scale(double size, double out) {
  const double slack = ldexp(out, -22);
  return size >= out - fmax(0.5, slack) && size < out + 1 + slack;
}

/* Of these, no position of an element overflows. */
static bool is_factor(double value) {
  return value >= 0x1p-62 && value <= 0x1p62;
}

static lk_status take_scale(lk_host_work *self, uint32_t dim, lk_error *error) {
  const lk_work_resize *given = &self->given->work.resize;
  const double in = (double)self->task.work.tensors[LK_ROLE_SRC].dims[dim];
  const double out = (double)self->task.work.tensors[LK_ROLE_DST].dims[dim];
  const double up = given->up[dim], down = given->down[dim];
  if (!is_factor(up) || !is_factor(down)) {
    return lk_host_refuse(self, error,
                          "resize.up[%" PRIu32 "] is %g and resize.down[%" PRIu32
                          "] %g, numbers of 2^-62 to 2^62 are allowed",
                          dim, up, dim, down);
  }
  if (!is_of_scale(in * up / down, out)) {
    return lk_host_refuse(self, error,
                          "resize.up[%" PRIu32 "] is %g and resize.down[%" PRIu32
                          "] %g, which makes %g of %g elements, the output has %g: it must have "
                          "that, rounded down or to the nearest",
                          dim, up, dim, down, in * up / down, in, out);
  }
  const bool is_rounded = (given->rounded >> dim & 1) != 0;
  if (is_rounded && in * up == out * down) {
    return lk_host_refuse(self, error,
                          "resize.rounded has bit %" PRIu32 ", but up / down is exactly %g / %g",
                          dim, out, in);
  }
  self->task.work.resize.up[dim] = up;
  self->task.work.resize.down[dim] = down;
  return LK_OK;
}

/* All of src but where it is cropped. */
static lk_status take_region(lk_host_work *self, uint32_t dim, lk_error *error) {
  const lk_work_resize *given = &self->given->work.resize;
  lk_work_resize *to = &self->task.work.resize;
  to->start[dim] = 0;
  to->end[dim] = 1;
  if (given->coordinates != LK_COORDINATES_TF_CROP_AND_RESIZE) return LK_OK;
  if (!isfinite(given->start[dim]) || !isfinite(given->end[dim])) {
    return lk_host_refuse(self, error,
                          "resize.start[%" PRIu32 "] is %g and resize.end[%" PRIu32
                          "] %g, finite numbers are required",
                          dim, given->start[dim], dim, given->end[dim]);
  }
  to->start[dim] = given->start[dim];
  to->end[dim] = given->end[dim];
  return LK_OK;
}

static lk_status take_rule(lk_host_work *self, lk_error *error) {
  const lk_work_resize *given = &self->given->work.resize;
  const struct {
    const char *field;
    uint32_t value, most;
  } choices[] = {
      {"resize.interpolation", given->interpolation, LK_INTERPOLATION_CUBIC},
      {"resize.coordinates", given->coordinates, LK_COORDINATES_TF_HALF_PIXEL_FOR_NN},
      {"resize.nearest", given->nearest, LK_NEAREST_FLOOR_UP_CEIL_DOWN},
      {"resize.antialias", given->antialias, 1},
      {"resize.exclude_outside", given->exclude_outside, 1},
  };
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
    LK_RETURN_NOT_OK(
        lk_host_check_number(self, choices[i].field, choices[i].value, 0, choices[i].most, error));
  }
  LK_RETURN_NOT_OK(lk_host_check_finite(self, "resize.cubic", (double)given->cubic, error));
  self->task.work.resize = (lk_work_resize){.interpolation = given->interpolation,
                                            .coordinates = given->coordinates,
                                            .nearest = given->nearest,
                                            .antialias = given->antialias,
                                            .exclude_outside = given->exclude_outside,
                                            .rounded = given->rounded,
                                            .cubic = given->cubic,
                                            .extrapolation = given->extrapolation};
  return LK_OK;
}

lk_status lk_host_take_resize(lk_host_work *self, lk_error *error) {
  const lk_tensor_desc *tensors = self->task.work.tensors;
  const uint32_t rank = tensors[LK_ROLE_SRC].rank, rounded = self->given->work.resize.rounded;
  if (tensors[LK_ROLE_DST].rank != rank) {
    return lk_host_refuse_shape(self, LK_ROLE_SRC, "they must have one rank", error);
  }
  if (rounded >> rank != 0) {
    return lk_host_refuse(self, error,
                          "resize.rounded is 0x%" PRIx32
                          ", a bit for each dimension of a tensor of rank %" PRIu32 " is allowed",
                          rounded, rank);
  }
  LK_RETURN_NOT_OK(take_rule(self, error));
  for (uint32_t i = 0; i < rank; i++) {
    LK_RETURN_NOT_OK(take_scale(self, i, error));
    LK_RETURN_NOT_OK(take_region(self, i, error));
  }
  return LK_OK;
}

/* Engines resize at least one dimension. */
lk_status lk_host_plan_resize(const lk_host_work *self, lk_error *error) {
  const lk_work *work = &self->task.work;
  const lk_work_resize *of = &work->resize;
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  bool is_same = lk_shape_equal(src, &work->tensors[LK_ROLE_DST]);
  for (uint32_t i = 0; i < src->rank; i++) {
    is_same = is_same && of->up[i] == of->down[i] && of->start[i] == 0 && of->end[i] == 1;
  }
  return is_same ? lk_plan_same(self->planner, 0, error)
                 : lk_plan_task(self->planner, &self->task, error);
}
