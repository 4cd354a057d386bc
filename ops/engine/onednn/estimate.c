#include "ops/engine/onednn/estimate.h"

#include <stdbool.h>

#include "ops/engine/onednn/bytes.h"
#include "ops/engine/onednn/functions.h"

/* Rounded medians of what `latchkey tune` measured: works of f32 of 70 models and `benchmarks/run
 * halves`, on one thread of an AMD EPYC with AVX-512 and bf16. Where oneDNN needs more time, how
 * much more makes no difference: recurrent layers take 0.96 to 2.7 of native's time. */
#define OF_HALVES 0.6
#define OF_LARGE_NORM 0.85    /* 0.69 to 0.93 */
#define OF_LARGE_LRN 0.88     /* 0.84 to 0.95 */
#define OF_LARGE_WEIGHTS 0.8  /* 0.76 to 0.81 */
#define OF_LARGE_PRODUCT 1.03 /* 0.98 to 1.09, as convolutions */
#define OF_OTHERS 2.0         /* 1.2 to 16: what is small, or moves more than it computes */
#define BUILD_NS 400e3        /* 150 to 600 us */

enum { LARGE_NORM = 12 << 10, LARGE_LRN = 300 << 10, LARGE_WEIGHTS = 4 << 20 }; /* elements */

static bool is_half(uint32_t dtype) {
  return dtype == LK_F16 || dtype == LK_BF16;
}

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

/* An estimate gives oneDNN what has native's special numbers there, too: no Relu of NaN, and no NaN
 * that stays where it is in a line of Softmax. */
static bool is_exact(const lk_work *work, const lk_offer *offer) {
  if (work->kind != LK_WORK_CONV && work->kind != LK_WORK_PRODUCT) return false;
  for (uint32_t i = 0; i < offer->n_post_ops; i++) {
    if (lk_onednn_inexact(&work->post_ops[i]) != NULL) return false;
  }
  return true;
}

void lk_onednn_estimate(const lk_work *work, lk_offer *offer) {
  const bool is_of_halves = is_half(work->tensors[LK_ROLE_DST].dtype);
  const bool may_win = is_of_halves || lk_work_is_of_bytes(work);
  offer->run_ratio = may_win && !is_exact(work, offer) ? OF_OTHERS
                     : lk_work_is_of_bytes(work)       ? lk_bytes_estimate(work)
                     : is_of_halves                    ? OF_HALVES
                                                       : of_f32(work);
  offer->build_ns = BUILD_NS;
}
