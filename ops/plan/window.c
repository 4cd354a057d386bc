/* Sliding windows: kernel, strides, dilations and padding of convolutions and poolings. */
#include "ops/plan/window.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"

/* Sizes beyond this are refused, so that sums of a few of them cannot overflow. */
#define MAX_SIZE ((int64_t)1 << 40)

/* ---- when an op is made: what the attributes say by themselves ---- */

static void check_values(lk_attrs *attrs, const char *name, const int64_t *values, uint32_t count,
                         int64_t least, int64_t most) {
  for (uint32_t i = 0; i < count; i++) {
    if (values[i] >= least && values[i] <= most) continue;
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute '%s' has the value %" PRId64 ", %" PRId64 " to %" PRId64
                  " are allowed",
                  name, values[i], least, most);
  }
}

/* Returns how many values there are; without any, `out` has the default. */
static uint32_t read_values(lk_attrs *attrs, const char *name, int64_t least, int64_t most,
                            int64_t fallback, int64_t out[LK_MAX_SPATIAL]) {
  const uint32_t count =
      lk_attrs_lists(attrs, name) ? lk_attrs_ints(attrs, name, out, LK_MAX_SPATIAL) : 0;
  check_values(attrs, name, out, count, least, most);
  for (uint32_t i = count; i < LK_MAX_SPATIAL; i++) out[i] = fallback;
  return count;
}

static void read_pads(lk_attrs *attrs, lk_window *out) {
  int64_t pads[2 * LK_MAX_SPATIAL] = {0};
  out->n_pads = lk_attrs_ints(attrs, "pads", pads, 2 * LK_MAX_SPATIAL);
  check_values(attrs, "pads", pads, out->n_pads, 0, LK_WINDOW_MOST);
  const uint32_t rank = out->n_pads / 2;
  memcpy(out->begin, pads, rank * sizeof pads[0]);
  memcpy(out->end, pads + rank, rank * sizeof pads[0]);
}

/* With so many values for each of `each` to a dimension; one more attribute's. */
static void add_rank(lk_window *window, uint32_t count, uint32_t each) {
  if (count == 0) return;
  const uint32_t rank = count % each == 0 ? count / each : LK_RANK_UNKNOWN;
  window->rank = window->rank == 0 || window->rank == rank ? rank : LK_RANK_UNKNOWN;
}

static void parse(lk_attrs *attrs, lk_window *out) {
  out->n_kernel = read_values(attrs, "kernel_shape", 1, LK_WINDOW_MOST, 1, out->kernel);
  out->n_strides = read_values(attrs, "strides", 1, LK_WINDOW_MOST, 1, out->strides);
  out->n_dilations = read_values(attrs, "dilations", 1, LK_WINDOW_MOST, 1, out->dilations);
  read_pads(attrs, out);
  out->auto_pad = lk_attrs_lists(attrs, "auto_pad") ? lk_attrs_choice(attrs, "auto_pad") : 0;
  out->ceil_mode = lk_attrs_lists(attrs, "ceil_mode") && lk_attrs_bool(attrs, "ceil_mode");
  add_rank(out, out->n_kernel, 1);
  add_rank(out, out->n_strides, 1);
  add_rank(out, out->n_dilations, 1);
  add_rank(out, out->n_pads, 2);
}

/* Of convolutions, where ONNX allows one of both. Zeroes, which exporters write, are left out. */
static void check_pads(lk_attrs *attrs, const lk_window *window) {
  if (window->auto_pad == LK_PAD_NOTSET) return;
  for (uint32_t i = 0; i < window->n_pads / 2; i++) {
    if (window->begin[i] == 0 && window->end[i] == 0) continue;
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attributes 'pads' and 'auto_pad' say different things, one of both is allowed");
    return;
  }
}

void lk_window_parse(lk_attrs *attrs, lk_window *out) {
  parse(attrs, out);
  check_pads(attrs, out);
}

void lk_window_parse_pooling(lk_attrs *attrs, lk_window *out) {
  parse(attrs, out);
  out->is_pooling = true;
}

void lk_window_parse_transposed(lk_attrs *attrs, lk_window *out) {
  lk_window_parse(attrs, out);
  out->n_output_padding =
      read_values(attrs, "output_padding", 0, LK_WINDOW_MOST, 0, out->output_padding);
  out->n_output_shape = read_values(attrs, "output_shape", 1, MAX_SIZE, 1, out->output_shape);
  add_rank(out, out->n_output_padding, 1);
  add_rank(out, out->n_output_shape, 1);
}

/* ---- for each size ---- */

static lk_status check_count(const char *name, uint32_t count, uint32_t wanted, lk_error *error) {
  if (count == 0 || count == wanted) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "attribute '%s' has %" PRIu32 " values, the rank of the input requires %" PRIu32,
                 name, count, wanted);
}

static lk_status check_rank(const lk_window *window, uint32_t rank, lk_error *error) {
  if (rank < 1 || rank > LK_MAX_SPATIAL) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "the input has %" PRIu32 " spatial dimensions, 1 to %d are supported", rank,
                   LK_MAX_SPATIAL);
  }
  if (window->rank == rank || window->rank == 0) return LK_OK;
  LK_RETURN_NOT_OK(check_count("kernel_shape", window->n_kernel, rank, error));
  LK_RETURN_NOT_OK(check_count("strides", window->n_strides, rank, error));
  LK_RETURN_NOT_OK(check_count("dilations", window->n_dilations, rank, error));
  LK_RETURN_NOT_OK(check_count("pads", window->n_pads, 2 * rank, error));
  LK_RETURN_NOT_OK(check_count("output_padding", window->n_output_padding, rank, error));
  return check_count("output_shape", window->n_output_shape, rank, error);
}

/* A dimension of the kernel, of the attribute or of the weights: not known yet, or in range, also
 * with its dilation. */
static lk_status check_kernel(const lk_window *window, uint32_t i, const int64_t *weights,
                              int64_t kernel, lk_error *error) {
  if (kernel < 0 && window->n_kernel == 0) return LK_OK;
  if (kernel < 1 || kernel > LK_WINDOW_MOST) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "attribute 'kernel_shape' has the value %" PRId64 ", 1 to %" PRId64
                   " are allowed",
                   kernel, LK_WINDOW_MOST);
  }
  if (weights != NULL && lk_dims_differ(weights[i], kernel)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "attribute 'kernel_shape' has %" PRId64 " where the weights have %" PRId64
                   ", they must be equal",
                   kernel, weights[i]);
  }
  if (kernel > 1 && window->dilations[i] > 1 && window->dilations[i] > LK_WINDOW_MOST / kernel) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "a kernel of %" PRId64 " with dilation %" PRId64 " spans more than the %" PRId64
                   " that are allowed",
                   kernel, window->dilations[i], LK_WINDOW_MOST);
  }
  return LK_OK;
}

/* Everything but the output's size, as it is without auto_pad. */
static lk_status begin_shape(const lk_window *window, uint32_t rank, const int64_t *weights,
                             lk_window_shape *out, lk_error *error) {
  LK_RETURN_NOT_OK(check_rank(window, rank, error));
  if (window->n_kernel == 0 && weights == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "attribute 'kernel_shape' is missing, it is required");
  }
  *out = (lk_window_shape){.rank = rank}; /* a part of a work, in which the rest is 0 */
  for (uint32_t i = 0; i < rank; i++) {
    const int64_t kernel = window->n_kernel > 0 ? window->kernel[i] : weights[i];
    LK_RETURN_NOT_OK(check_kernel(window, i, weights, kernel, error));
    out->kernel[i] = kernel;
    out->strides[i] = window->strides[i];
    out->dilations[i] = kernel == 1 ? 1 : window->dilations[i]; /* means the same */
    out->begin[i] = window->auto_pad == LK_PAD_VALID ? 0 : window->begin[i];
    out->end[i] = window->auto_pad == LK_PAD_VALID ? 0 : window->end[i];
  }
  return LK_OK;
}

static void split_padding(int64_t total, uint32_t auto_pad, int64_t *begin, int64_t *end) {
  if (total < 0) total = 0;
  *begin = auto_pad == LK_PAD_SAME_LOWER ? total - total / 2 : total / 2;
  *end = total - *begin;
}

static bool is_same(uint32_t auto_pad) {
  return auto_pad == LK_PAD_SAME_UPPER || auto_pad == LK_PAD_SAME_LOWER;
}

/* Output size of dimension `i`, where input or kernel are not known yet. */
static int64_t open_output(const lk_window *window, const lk_window_shape *shape, uint32_t i,
                           int64_t in, lk_dims *dims) {
  const int64_t stride = shape->strides[i];
  if (is_same(window->auto_pad)) return lk_dims_window(dims, in, -1, stride); /* in / stride, up */
  const bool rounds_up =
      window->ceil_mode && window->auto_pad == LK_PAD_NOTSET && shape->strides[i] > 1;
  if (shape->kernel[i] < 0 || rounds_up) return LK_DIM_UNKNOWN;
  const int64_t extent = (shape->kernel[i] - 1) * shape->dilations[i] + 1;
  return lk_dims_window(dims, in, shape->begin[i] + shape->end[i] - extent, stride);
}

lk_status lk_window_infer(const lk_window *window, uint32_t rank, const int64_t *in,
                          const int64_t *kernel, lk_dims *dims, lk_window_shape *out,
                          lk_error *error) {
  LK_RETURN_NOT_OK(begin_shape(window, rank, kernel, out, error));
  for (uint32_t i = 0; i < rank; i++) {
    const int64_t extent = (out->kernel[i] - 1) * out->dilations[i] + 1;
    const int64_t stride = out->strides[i];
    if (in[i] > MAX_SIZE) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "spatial dimension %" PRIu32 " is %" PRId64 ", at most 2^40 is allowed", i,
                     in[i]);
    }
    if (in[i] < 0 || (out->kernel[i] < 0 && !is_same(window->auto_pad))) {
      out->out[i] = open_output(window, out, i, in[i], dims);
      continue;
    }
    if (is_same(window->auto_pad)) {
      out->out[i] = (in[i] + stride - 1) / stride;
      split_padding((out->out[i] - 1) * stride + extent - in[i], window->auto_pad, &out->begin[i],
                    &out->end[i]);
      continue;
    }
    const int64_t room = in[i] + out->begin[i] + out->end[i] - extent;
    if (room <= (window->is_pooling ? -2 * stride : -1)) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "spatial dimension %" PRIu32 " is %" PRId64 " with padding %" PRId64
                     " and %" PRId64 ", the window of %" PRId64 " must %s",
                     i, in[i], out->begin[i], out->end[i], extent,
                     window->is_pooling ? "exceed that by less than two strides"
                                        : "not exceed that");
    }
    out->out[i] = room / stride + 1;
    if (window->ceil_mode && window->auto_pad == LK_PAD_NOTSET && room % stride > 0 &&
        out->out[i] * stride < in[i] + out->begin[i]) {
      out->out[i]++;
    }
  }
  return LK_OK;
}

void lk_window_pad_excess(lk_window_shape *inout, const int64_t *in) {
  for (uint32_t i = 0; i < inout->rank; i++) {
    const int64_t extent = (inout->kernel[i] - 1) * inout->dilations[i] + 1;
    const int64_t from = (inout->out[i] - 1) * inout->strides[i] - inout->begin[i];
    if (in[i] >= 0 && inout->out[i] > 0 && from + extent - in[i] > inout->end[i]) {
      inout->end[i] = from + extent - in[i];
    }
  }
}

/* Output size of dimension `i` of a transposed convolution, where input or kernel are not known
 * yet. */
static int64_t open_transposed(const lk_window *window, const lk_window_shape *shape, uint32_t i,
                               int64_t in, int64_t extra, lk_dims *dims) {
  const int64_t stride = shape->strides[i];
  if (is_same(window->auto_pad)) return lk_dims_linear(dims, in, stride, 0);
  if (shape->kernel[i] < 0) return LK_DIM_UNKNOWN;
  const int64_t extent = (shape->kernel[i] - 1) * shape->dilations[i] + 1;
  return lk_dims_linear(dims, in, stride,
                        extent + extra - stride - shape->begin[i] - shape->end[i]);
}

lk_status lk_window_infer_transposed(const lk_window *window, uint32_t rank, const int64_t *in,
                                     const int64_t *kernel, lk_dims *dims, lk_window_shape *out,
                                     lk_error *error) {
  const int64_t *output_shape = window->n_output_shape > 0 ? window->output_shape : NULL;
  LK_RETURN_NOT_OK(begin_shape(window, rank, kernel, out, error));
  for (uint32_t i = 0; i < rank; i++) {
    const int64_t extent = (out->kernel[i] - 1) * out->dilations[i] + 1;
    const int64_t extra = window->output_padding[i];
    if (in[i] > MAX_SIZE || (in[i] > 1 && out->strides[i] > MAX_SIZE / in[i])) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "spatial dimension %" PRIu32 " is %" PRId64 ", at most 2^40 with the stride",
                     i, in[i]);
    }
    if (in[i] < 0 || out->kernel[i] < 0) {
      out->out[i] = output_shape != NULL ? output_shape[i]
                                         : open_transposed(window, out, i, in[i], extra, dims);
      continue;
    }
    const int64_t full = (in[i] - 1) * out->strides[i] + extent + extra;
    if (output_shape != NULL) {
      out->out[i] = output_shape[i];
      split_padding(full - out->out[i],
                    window->auto_pad == LK_PAD_SAME_UPPER ? LK_PAD_SAME_UPPER : LK_PAD_SAME_LOWER,
                    &out->begin[i], &out->end[i]);
    } else if (is_same(window->auto_pad)) {
      out->out[i] = in[i] * out->strides[i];
      split_padding(full - out->out[i], window->auto_pad, &out->begin[i], &out->end[i]);
    } else {
      out->out[i] = full - out->begin[i] - out->end[i];
    }
    const int64_t least = in[i] > 0 ? 1 : 0;
    if (out->out[i] < least) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "spatial dimension %" PRIu32 " of the output would be %" PRId64
                     ", it must be at least %" PRId64,
                     i, out->out[i], least);
    }
    if (out->begin[i] > LK_WINDOW_MOST) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "%" PRId64 " elements are cut off before spatial dimension %" PRIu32
                     " of the output, at most %" PRId64 " are allowed",
                     out->begin[i], i, LK_WINDOW_MOST);
    }
  }
  return LK_OK;
}
