#include "ops/engine/onednn/shares.h"

#include "ops/engine/onednn/describe.h"
#include "ops/engine/onednn/recurrent.h"
#include "ops/engine/onednn/shapes.h"

/* A run that is to end looks between shares, so none may take long, also on a slow processor: in
 * arithmetic of about 20 ms, or in memory that is read and written in that time. */
#define MOST_FLOPS 4e8
#define MOST_BYTES 1e7
enum { MOST_SHARES = 1024 };

static double bytes_of(const lk_work *work) {
  double bytes = 0;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_onednn_has(work, role)) {
      bytes += (double)sizeof(float) * (double)lk_onednn_elements(&work->tensors[role]);
    }
  }
  return bytes;
}

/* Channels that oneDNN computes side by side, of a convolution in each group; but groups of one
 * channel are side by side themselves. */
static int64_t channels_of(const lk_work *work) {
  if (!lk_onednn_has(work, LK_ROLE_WEIGHTS)) return work->tensors[LK_ROLE_SRC].dims[1];
  const int64_t *dims = work->tensors[LK_ROLE_WEIGHTS].dims;
  const bool is_transposed = work->kind == LK_WORK_CONV_TRANSPOSED;
  const int64_t in = is_transposed ? dims[0] / work->groups : dims[1];
  const int64_t out = is_transposed ? dims[1] : dims[0] / work->groups;
  return in == 1 && out == 1 ? work->groups : out;
}

/* How many times as long windows take where fewer channels are there than a vector has lanes. */
static double waste_of(const lk_work *work) {
  enum { LANES = 16 };
  const int64_t channels = work->window.rank > 0 ? channels_of(work) : LANES;
  return channels < LANES ? (double)LANES / (double)channels : 1;
}

/* Of the window, for each element of dst. */
static double window_flops_of(const lk_work *work) {
  double flops = (double)lk_onednn_elements(&work->tensors[LK_ROLE_DST]);
  for (uint32_t i = 0; i < work->window.rank; i++) flops *= (double)work->window.kernel[i];
  return work->kind == LK_WORK_LRN ? flops * (double)work->lrn.size : flops;
}

/* Multiplications and additions: for each element of dst the weights of a channel or column. */
static double flops_of(const lk_work *work) {
  if (work->kind == LK_WORK_RECURRENT) return lk_onednn_recurrent_step_flops(work);
  if (!lk_onednn_has(work, LK_ROLE_WEIGHTS)) return window_flops_of(work);
  const lk_tensor_desc *weights = &work->tensors[LK_ROLE_WEIGHTS];
  const lk_strided of = lk_onednn_plain_weights(work);
  const bool is_product = work->kind == LK_WORK_PRODUCT;
  const bool is_transposed = work->kind == LK_WORK_CONV_TRANSPOSED;
  const double outputs =
      (double)lk_onednn_elements(&work->tensors[is_transposed ? LK_ROLE_SRC : LK_ROLE_DST]);
  const double each = is_product ? (double)of.dims[of.rank - 2]
                                 : (double)lk_onednn_elements(weights) / (double)weights->dims[0];
  return 2 * outputs * each;
}

/* Elements of these take several times as long, where lines or channels are few. */
static double slowness_of(const lk_work *work) {
  const bool is_slow = work->kind == LK_WORK_SOFTMAX || work->kind == LK_WORK_LOG_SOFTMAX ||
                       work->kind == LK_WORK_LRN;
  return is_slow ? 4 : 1;
}

int lk_onednn_shares(const lk_onednn *engine, const lk_work *work) {
  const double flops = flops_of(work) * waste_of(work) * (engine->has_avx2 ? 1 : 4) / MOST_FLOPS;
  const double bytes = bytes_of(work) * slowness_of(work) / MOST_BYTES;
  const double times = (flops > bytes ? flops : bytes) / engine->threads;
  double shares = engine->threads * (times > 1 ? (double)(int64_t)(times + 1) : 1);
  /* steps alone are no place to look: what is one share does not come to the pool */
  const bool is_long =
      work->kind == LK_WORK_RECURRENT && lk_onednn_recurrent_flops(work) > MOST_FLOPS;
  if (is_long && shares < 2) shares = 2;
  return shares < MOST_SHARES ? (int)shares : MOST_SHARES;
}
