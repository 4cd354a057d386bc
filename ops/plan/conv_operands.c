/* Operands of convolutions: ranks, channels and groups. */
#include "ops/plan/conv_operands.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"

/* Ranks, and the bias; the rules are the same for both kinds. */
static lk_status check_operands(const lk_conv_operands *of, int64_t channels, lk_error *error) {
  const lk_tensor_desc *x = of->x, *w = of->w, *bias = of->bias;
  if (x->rank < 3 || x->rank > 2 + LK_MAX_SPATIAL || w->rank != x->rank) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input has rank %" PRIu32 " and the weights have %" PRIu32
                   ", both must have the same, of 3 to %d",
                   x->rank, w->rank, 2 + LK_MAX_SPATIAL);
  }
  if (bias == NULL || !lk_rank_is_known(bias)) return LK_OK;
  if (bias->rank != 1 || lk_dims_differ(bias->dims[0], channels)) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the bias is %s, it must have one value for each of %" PRId64 " channels",
                   lk_tensor_text(bias, text), channels);
  }
  return LK_OK;
}

static bool is_multiple(int64_t dim, int64_t divisor) {
  return divisor == 1 || dim < 0 || dim % divisor == 0;
}

static lk_status check_direct(const lk_conv_operands *of, int64_t groups, lk_dims *dims,
                              int64_t *out_channels, lk_error *error) {
  const lk_tensor_desc *x = of->x, *w = of->w;
  int64_t channels = 0;
  *out_channels = w->dims[0];
  LK_RETURN_NOT_OK(check_operands(of, w->dims[0], error));
  if (!lk_dims_multiply(dims, w->dims[1], groups, &channels) ||
      lk_dims_differ(channels, x->dims[1]) || !is_multiple(w->dims[0], groups)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input has %" PRId64 " channels, the weights are for %" PRId64
                   " in each of %" PRId64
                   " groups; group times the weights' channels must be the input's, "
                   "and group must divide the %" PRId64 " channels of the output",
                   x->dims[1], w->dims[1], groups, w->dims[0]);
  }
  return LK_OK;
}

static lk_status check_transposed(const lk_conv_operands *of, int64_t groups, lk_dims *dims,
                                  int64_t *out_channels, lk_error *error) {
  const lk_tensor_desc *x = of->x, *w = of->w;
  if (!lk_dims_multiply(dims, w->dims[1], groups, out_channels)) {
    return lk_fail(error, LK_OUT_OF_RANGE, "%" PRId64 " groups of %" PRId64 " channels overflow",
                   groups, w->dims[1]);
  }
  LK_RETURN_NOT_OK(check_operands(of, *out_channels, error));
  if (lk_dims_differ(w->dims[0], x->dims[1]) || !is_multiple(x->dims[1], groups)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input has %" PRId64 " channels and the weights have %" PRId64
                   ", they must be equal and a multiple of the %" PRId64 " groups",
                   x->dims[1], w->dims[0], groups);
  }
  return LK_OK;
}

lk_status lk_conv_channels(const lk_conv_operands *of, bool is_transposed, int64_t groups,
                           lk_dims *dims, int64_t *out_channels, lk_error *error) {
  return (is_transposed ? check_transposed : check_direct)(of, groups, dims, out_channels, error);
}

double lk_conv_flops(const lk_tensor_desc *from, const lk_tensor_desc *weights) {
  if (weights->dims[0] == 0) return 0;
  return 2 * (double)lk_elements(from) * ((double)lk_elements(weights) / (double)weights->dims[0]);
}
