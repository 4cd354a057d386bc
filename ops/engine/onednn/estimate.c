#include "ops/engine/onednn/estimate.h"

#include <stdbool.h>

#include "ops/engine/onednn/bytes.h"
#include "ops/engine/onednn/functions.h"
#include "ops/engine/onednn/half_products.h"
#include "ops/engine/onednn/limits.h"

/* Rounded medians of what `latchkey tune` measured: works of f32 of 70 models, on one thread of an
 * AMD EPYC with AVX-512 and bf16. Where oneDNN needs more time, how much more makes no difference:
 * recurrent layers take 0.96 to 2.7 of native's time. */
#define OF_LARGE_NORM 0.85    /* 0.69 to 0.93 */
#define OF_LARGE_LRN 0.88     /* 0.84 to 0.95 */
#define OF_LARGE_WEIGHTS 0.8  /* 0.76 to 0.81 */
#define OF_LARGE_PRODUCT 1.03 /* 0.98 to 1.09, as convolutions */
#define OF_OTHERS 2.0         /* 1.2 to 16: what is small, or moves more than it computes */
#define BUILD_NS 400e3        /* 150 to 600 us */

enum { LARGE_NORM = 12 << 10, LARGE_LRN = 300 << 10, LARGE_WEIGHTS = 4 << 20 }; /* elements */

/* One row goes through the weights once: they come from memory, and nothing else counts. */
static double of_product(const lk_work *work) {
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  const bool is_row = dst->rank > 0 && lk_onednn_elements(dst) == dst->dims[dst->rank - 1];
  return is_row && lk_onednn_elements(&work->tensors[LK_ROLE_WEIGHTS]) >= LARGE_WEIGHTS
             ? OF_LARGE_WEIGHTS
             : OF_LARGE_PRODUCT;
}

static double of_f32(const lk_work *work) {
  const int64_t count = lk_onednn_elements(&work->tensors[LK_ROLE_SRC]);
  switch (work->kind) {
  case LK_WORK_LAYER_NORM:
    return count >= LARGE_NORM ? OF_LARGE_NORM : OF_OTHERS;
  case LK_WORK_LRN:
    return count >= LARGE_LRN ? OF_LARGE_LRN : OF_OTHERS;
  case LK_WORK_PRODUCT:
    return of_product(work);
  case LK_WORK_CONV:
    return OF_LARGE_PRODUCT;
  default:
    return OF_OTHERS;
  }
}

/* ---- bf16 but for convolutions and products ---- */

/* Rounded medians of `benchmarks/run half_nodes` on the same machine. Native goes through f32, a
 * piece at a time, which costs more than what is computed. Nothing was measured of f16, which wants
 * a processor with AVX-512 FP16. Of what is not here, oneDNN takes 0.65 to 13 of native's time:
 * what is small, Sigmoid, Tanh, HardSwish, nearest pixels. */
#define OF_NORM 0.63     /* 0.55 to 0.64 */
#define OF_RMS 0.55      /* 0.39 to 0.57 */
#define OF_CHANNELS 0.55 /* of instance and group norms, 0.33 to 0.64 */
#define OF_GIVEN 0.5     /* of batch norms, 0.36 to 0.57 */
#define OF_LRN 0.72      /* 0.52 to 0.76 */
#define OF_TWO 0.55      /* of sums, products and quotients, 0.41 to 0.57; PRelu, 0.20 to 0.58 */
#define OF_ONE 0.65      /* of cheap functions, 0.5 to 0.69 */
#define OF_LINES 0.62    /* 0.31 to 0.62 */
#define OF_IMAGES 0.55   /* 0.27 to 0.54 */

enum { KI = 1 << 10 };

static double of_layer_norm(const lk_work *work) {
  const int64_t count = lk_onednn_elements(&work->tensors[LK_ROLE_SRC]);
  if (count / lk_onednn_line_of(work) < 8) return OF_OTHERS; /* scale and shift count, too */
  if (work->is_centered == 0) return count >= 24 * KI ? OF_RMS : OF_OTHERS;
  return count >= 96 * KI ? OF_NORM : OF_OTHERS;
}

/* Of channels that lie last, as offers have them. */
static double of_group_norm(const lk_work *work) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  const int64_t channels = src->dims[1], count = lk_onednn_elements(src);
  const int64_t least = work->groups == channels ? 128 : 32 * work->groups;
  return channels >= least && count >= 768 * KI ? OF_CHANNELS : OF_OTHERS;
}

static double of_batch_norm(const lk_work *work) {
  return lk_onednn_elements(&work->tensors[LK_ROLE_SRC]) >= 48 * KI ? OF_GIVEN : OF_OTHERS;
}

static double of_lrn(const lk_work *work) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  return src->dims[1] >= 64 && lk_onednn_elements(src) >= 32 * KI ? OF_LRN : OF_OTHERS;
}

static double of_element(const lk_work *work) {
  const int64_t count = lk_onednn_elements(&work->tensors[LK_ROLE_DST]);
  if (work->n_post_ops > 1) return OF_OTHERS; /* chains were not measured */
  if (work->post_ops[0].operand != 0) return count >= 32 * KI ? OF_TWO : OF_OTHERS;
  switch (work->post_ops[0].kind) {
  case LK_FUNCTION_SQRT:
  case LK_FUNCTION_SQUARE:
  case LK_FUNCTION_RECIPROCAL:
  case LK_FUNCTION_LEAKY_RELU:
    return count >= 64 * KI ? OF_ONE : OF_OTHERS;
  default:
    return OF_OTHERS;
  }
}

static double of_reduce(const lk_work *work) {
  const int64_t line = lk_onednn_line_of(work);
  const int64_t least = work->reducing == LK_REDUCING_PRODUCT ? 1024 : 512;
  const bool is_large = lk_onednn_elements(&work->tensors[LK_ROLE_SRC]) >= 64 * KI;
  return line >= least && is_large ? OF_LINES : OF_OTHERS;
}

/* Of channels that lie last, twice as large. */
static double of_resize(const lk_work *work, const lk_offer *offer) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC], *dst = &work->tensors[LK_ROLE_DST];
  if (work->resize.interpolation != LK_INTERPOLATION_LINEAR || src->dims[1] < 16 ||
      offer->layouts[LK_ROLE_SRC] != LK_LAYOUT_CHANNELS_LAST || lk_onednn_elements(dst) < 16 * KI) {
    return OF_OTHERS;
  }
  for (uint32_t i = 2; i < src->rank; i++) {
    if (dst->dims[i] > 2 * src->dims[i]) return OF_OTHERS;
  }
  return OF_IMAGES;
}

static double of_bf16(const lk_work *work, const lk_offer *offer) {
  switch (work->kind) {
  case LK_WORK_LAYER_NORM:
    return of_layer_norm(work);
  case LK_WORK_GROUP_NORM:
    return of_group_norm(work);
  case LK_WORK_BATCH_NORM:
    return of_batch_norm(work);
  case LK_WORK_LRN:
    return of_lrn(work);
  case LK_WORK_ELEMENT:
    return of_element(work);
  case LK_WORK_REDUCE:
    return of_reduce(work);
  case LK_WORK_RESIZE:
    return of_resize(work, offer);
  default:
    return OF_OTHERS;
  }
}

/* Softmax is left: a NaN in a line stays where it is in oneDNN. */
static double of_halves(const lk_onednn *self, const lk_work *work, const lk_offer *offer) {
  if (work->kind == LK_WORK_CONV || work->kind == LK_WORK_PRODUCT) {
    return lk_onednn_of_half_product(work, self->is_bf16_twice);
  }
  return work->tensors[LK_ROLE_DST].dtype == LK_BF16 ? of_bf16(work, offer) : OF_OTHERS;
}

/* ---- all ---- */

/* An estimate gives oneDNN what has native's special numbers there, too: no Relu of NaN. */
static bool is_exact(const lk_work *work, const lk_offer *offer) {
  for (uint32_t i = 0; i < offer->n_post_ops; i++) {
    if (lk_onednn_inexact(work, &work->post_ops[i]) != NULL) return false;
  }
  return true;
}

void lk_onednn_estimate(const lk_onednn *self, const lk_work *work, lk_offer *offer) {
  const bool is_of_halves = lk_onednn_is_half(work);
  const bool may_win = is_of_halves || lk_work_is_of_bytes(work);
  offer->run_ratio = may_win && !is_exact(work, offer) ? OF_OTHERS
                     : lk_work_is_of_bytes(work)       ? lk_bytes_estimate(work)
                     : is_of_halves                    ? of_halves(self, work, offer)
                                                       : of_f32(work);
  offer->build_ns = BUILD_NS;
}
