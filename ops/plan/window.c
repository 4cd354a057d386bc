/* Sliding windows: kernel, strides, dilations and padding of convolutions and poolings. */
#include "ops/plan/window.h"

#include <inttypes.h>

#include "base/status.h"

/* Sizes beyond this are refused, so that sums of a few of them cannot overflow. */
#define MAX_EXTENT ((int64_t)1 << 40)

void lk_window_parse(lk_attrs *attrs, lk_window *out) {
  static const char *const pads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  out->n_kernel = lk_attrs_ints(attrs, "kernel_shape", out->kernel, LK_MAX_SPATIAL);
  out->n_strides = lk_attrs_ints(attrs, "strides", out->strides, LK_MAX_SPATIAL);
  out->n_dilations = lk_attrs_ints(attrs, "dilations", out->dilations, LK_MAX_SPATIAL);
  out->n_pads = lk_attrs_ints(attrs, "pads", out->pads, 2 * LK_MAX_SPATIAL);
  out->auto_pad = lk_attrs_choice(attrs, "auto_pad", pads, 4, LK_PAD_NOTSET);
  out->ceil_mode = lk_attrs_int(attrs, "ceil_mode", 0) != 0;
}

static lk_status check_count(const char *name, uint32_t count, uint32_t wanted, lk_error *error) {
  if (count == 0 || count == wanted) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "attribute '%s' has %" PRIu32 " values, the input's spatial rank needs %" PRIu32,
                 name, count, wanted);
}

static lk_status check_range(const char *name, int64_t value, int64_t least, lk_error *error) {
  if (value >= least && value <= MAX_EXTENT) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "attribute '%s' has value %" PRId64 ", at least %" PRId64 " and at most 2^40",
                 name, value, least);
}

/* Everything that the attributes say by themselves, checked. */
static lk_status fill(const lk_window *window, uint32_t rank, const int64_t *kernel,
                      lk_window_shape *out, lk_error *error) {
  if (rank < 1 || rank > LK_MAX_SPATIAL) {
    return lk_fail(error, LK_UNSUPPORTED, "%" PRIu32 " spatial dimensions, 1 to %d are supported",
                   rank, LK_MAX_SPATIAL);
  }
  *out = (lk_window_shape){.rank = rank};
  LK_RETURN_NOT_OK(check_count("kernel_shape", window->n_kernel, rank, error));
  LK_RETURN_NOT_OK(check_count("strides", window->n_strides, rank, error));
  LK_RETURN_NOT_OK(check_count("dilations", window->n_dilations, rank, error));
  LK_RETURN_NOT_OK(check_count("pads", window->n_pads, 2 * rank, error));
  LK_RETURN_NOT_OK(check_count("output_padding", window->n_output_padding, rank, error));
  LK_RETURN_NOT_OK(check_count("output_shape", window->n_output_shape, rank, error));
  if (window->n_kernel == 0 && kernel == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "attribute 'kernel_shape' is missing, it is required");
  }
  for (uint32_t i = 0; i < rank; i++) {
    out->kernel[i] = window->n_kernel > 0 ? window->kernel[i] : kernel[i];
    out->strides[i] = window->n_strides > 0 ? window->strides[i] : 1;
    out->dilations[i] = window->n_dilations > 0 ? window->dilations[i] : 1;
    out->begin[i] = window->n_pads > 0 ? window->pads[i] : 0;
    out->end[i] = window->n_pads > 0 ? window->pads[rank + i] : 0;
    LK_RETURN_NOT_OK(check_range("strides", out->strides[i], 1, error));
    LK_RETURN_NOT_OK(check_range("dilations", out->dilations[i], 1, error));
    LK_RETURN_NOT_OK(check_range("pads", out->begin[i], 0, error));
    LK_RETURN_NOT_OK(check_range("pads", out->end[i], 0, error));
    if (out->kernel[i] < 0 && window->n_kernel == 0) continue; /* not known yet */
    LK_RETURN_NOT_OK(check_range("kernel_shape", out->kernel[i], 1, error));
    if (kernel != NULL && lk_dims_differ(kernel[i], out->kernel[i])) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "attribute 'kernel_shape' says %" PRId64 ", the weights have %" PRId64,
                     out->kernel[i], kernel[i]);
    }
    if (out->kernel[i] == 1) out->dilations[i] = 1; /* means the same */
    if (out->dilations[i] > MAX_EXTENT / out->kernel[i]) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "kernel %" PRId64 " with dilation %" PRId64 " is over 2^40", out->kernel[i],
                     out->dilations[i]);
    }
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
  LK_RETURN_NOT_OK(fill(window, rank, kernel, out, error));
  for (uint32_t i = 0; i < rank; i++) {
    const int64_t extent = (out->kernel[i] - 1) * out->dilations[i] + 1;
    const int64_t stride = out->strides[i];
    if (in[i] > MAX_EXTENT) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "spatial dimension %" PRIu32 " is %" PRId64 ", at most 2^40", i, in[i]);
    }
    if (window->auto_pad == LK_PAD_VALID) out->begin[i] = out->end[i] = 0;
    if (in[i] < 0 || (out->kernel[i] < 0 && !is_same(window->auto_pad))) {
      out->out[i] = open_output(window, out, i, in[i], dims);
      continue;
    }
    if (is_same(window->auto_pad)) {
      out->out[i] = (in[i] + stride - 1) / stride;
      split_padding((out->out[i] - 1) * stride + extent - in[i], window->auto_pad, &out->begin[i],
                    &out->end[i]);
      out->declared[i] = out->end[i];
      continue;
    }
    out->declared[i] = out->end[i];
    const int64_t room = in[i] + out->begin[i] + out->end[i] - extent;
    if (room < 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "spatial dimension %" PRIu32 " is %" PRId64 " with padding %" PRId64
                     " and %" PRId64 ", smaller than the window of %" PRId64,
                     i, in[i], out->begin[i], out->end[i], extent);
    }
    out->out[i] = room / stride + 1;
    if (window->ceil_mode && window->auto_pad == LK_PAD_NOTSET && room % stride != 0 &&
        out->out[i] * stride < in[i] + out->begin[i]) {
      out->out[i]++;
    }
    /* the padding with which the last window ends exactly at the border */
    out->end[i] = (out->out[i] - 1) * stride + extent - in[i] - out->begin[i];
  }
  return LK_OK;
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
  LK_RETURN_NOT_OK(fill(window, rank, kernel, out, error));
  for (uint32_t i = 0; i < rank; i++) {
    const int64_t extent = (out->kernel[i] - 1) * out->dilations[i] + 1;
    const int64_t extra = window->output_padding[i]; /* 0 where it is not given */
    if (in[i] > MAX_EXTENT || (in[i] > 1 && out->strides[i] > MAX_EXTENT / in[i])) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "spatial dimension %" PRIu32 " is %" PRId64 ", at most 2^40 with the stride",
                     i, in[i]);
    }
    LK_RETURN_NOT_OK(check_range("output_padding", extra, 0, error));
    if (output_shape != NULL) {
      LK_RETURN_NOT_OK(check_range("output_shape", output_shape[i], 1, error));
    }
    if (window->auto_pad == LK_PAD_VALID && output_shape == NULL) out->begin[i] = out->end[i] = 0;
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
                     "spatial dimension %" PRIu32 " of the output is %" PRId64
                     ", at least %" PRId64,
                     i, out->out[i], least);
    }
    /* output_padding is negative padding at the end */
    out->end[i] = (in[i] - 1) * out->strides[i] + extent - out->begin[i] - out->out[i];
  }
  return LK_OK;
}
