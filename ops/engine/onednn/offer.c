/* Which works oneDNN has primitives for that are worth having, in which layouts, with which
 * post-ops. Nothing is built here: where there is no implementation, the build says so. */
#include "ops/engine/onednn/bytes.h"
#include "ops/engine/onednn/elements.h"
#include "ops/engine/onednn/estimate.h"
#include "ops/engine/onednn/functions.h"
#include "ops/engine/onednn/limits.h"
#include "ops/engine/onednn/module.h"
#include "ops/engine/onednn/moves.h"
#include "ops/engine/onednn/recurrent.h"
#include "ops/engine/onednn/shapes.h"

/* ---- layouts ---- */

/* False, which is why. */
static bool leave(lk_offer *offer, const char *reason) {
  offer->reason = reason;
  return false;
}

/* Wants `role` in `layout`. False: it lies otherwise, and nobody can choose. */
static bool want(lk_offer *offer, uint32_t placed, uint32_t role, lk_layout layout) {
  if ((placed >> role & 1) == 0) offer->layouts[role] = layout;
  return offer->layouts[role] == layout ||
         leave(offer, "a tensor lies in a layout that nobody can choose");
}

static bool want_both(lk_offer *offer, uint32_t placed, lk_layout layout) {
  return want(offer, placed, LK_ROLE_SRC, layout) && want(offer, placed, LK_ROLE_DST, layout);
}

/* Src and dst as src lies, unless that is how heads lie. */
static bool keep_layout(lk_offer *offer, uint32_t placed) {
  const lk_layout layout = offer->layouts[LK_ROLE_SRC];
  return want_both(offer, placed, layout == LK_LAYOUT_CHANNELS_LAST ? layout : LK_LAYOUT_PLAIN);
}

static bool want_plain(const lk_work *work, lk_offer *offer, uint32_t placed, uint32_t role) {
  return !lk_onednn_has(work, role) || want(offer, placed, role, LK_LAYOUT_PLAIN);
}

/* ---- types ---- */

/* Of f32, or of the work's own type. */
static bool is_real(const lk_work *work, uint32_t role) {
  const uint32_t dtype = work->tensors[role].dtype;
  return dtype == LK_F32 || dtype == work->tensors[LK_ROLE_DST].dtype;
}

/* Src, weights and dst are of one type. What is of f16 or bf16 is computed in f32, and rounded
 * once. */
static bool takes_types(const lk_onednn *self, const lk_work *work, lk_offer *offer) {
  const uint32_t dtype = work->tensors[LK_ROLE_DST].dtype;
  const uint32_t of_src = work->tensors[LK_ROLE_SRC].dtype;
  if (of_src == LK_U8 || of_src == LK_I8) {
    const char *why = lk_bytes_left(self, work);
    return why == NULL || leave(offer, why);
  }
  if (of_src != dtype ||
      (lk_onednn_has(work, LK_ROLE_WEIGHTS) && work->tensors[LK_ROLE_WEIGHTS].dtype != dtype) ||
      (lk_onednn_has(work, LK_ROLE_BIAS) && !is_real(work, LK_ROLE_BIAS))) {
    return leave(offer, "its tensors are of several types");
  }
  if (dtype == LK_F32) return true;
  if (!lk_onednn_is_half(work)) return leave(offer, "it is not of f32, f16 or bf16");
  if (work->kind == LK_WORK_RECURRENT) return leave(offer, "f16 and bf16 of this kind are left");
  return (dtype == LK_BF16 ? self->has_bf16 : self->has_f16) ||
         leave(offer, "the processor has no instructions for the type");
}

/* ---- post-ops ---- */

/* Behind a primitive, where NaN and infinities are oneDNN's affair. Functions that are no post-ops
 * of nodes were not looked at. */
static bool takes_function(const lk_work_post_op *post_op) {
  return post_op->kind < LK_FUNCTION_ABS &&
         lk_onednn_function_of(post_op).kind != dnnl_alg_kind_undef;
}

/* Of transposed convolutions, oneDNN 3.14.1 reads operands beyond their ends. */
static bool takes_operand(const lk_work *work, uint32_t placed, uint32_t role, lk_offer *offer) {
  if (work->kind == LK_WORK_CONV_TRANSPOSED) return false;
  const lk_repeats repeats = lk_repeats_of(work, role);
  if (!is_real(work, role) || repeats == LK_REPEATS_OTHERWISE) return false;
  const lk_layout layout =
      repeats == LK_REPEATS_NOT ? offer->layouts[LK_ROLE_DST] : LK_LAYOUT_PLAIN;
  return want(offer, placed, role, layout);
}

/* The first ones, as far as they are oneDNN's. */
static void take_post_ops(const lk_work *work, uint32_t placed, lk_offer *offer) {
  uint32_t count = 0;
  if (lk_bytes_leaves_post_ops(work)) {
    if (offer->n_post_ops > 0) offer->reason = "a post-op is a function of integers";
    offer->n_post_ops = 0;
    return;
  }
  for (; count < offer->n_post_ops; count++) {
    const lk_work_post_op *post_op = &work->post_ops[count];
    if (!takes_function(post_op)) {
      offer->reason = "a post-op has a function that is left";
      break;
    }
    if (post_op->operand != 0 && !takes_operand(work, placed, post_op->operand, offer)) {
      offer->reason = "a post-op has an operand of a type or a shape that is left";
      break;
    }
  }
  offer->n_post_ops = count;
}

/* ---- kinds ---- */

#define LARGE_WINDOW "the window is too large"
#define LONG_LINE "its lines are longer than a run that is cancelled may wait for"
#define LONG_SUM "its sums are longer than a run that is cancelled may wait for"
#define LONG_ROW "a row of windows reads more than a run that is cancelled may wait for"

/* Volumes of one channel, or of groups of one, with several outputs: of bf16, oneDNN 3.14.1 makes
 * wrong numbers of some. */
static bool has_split_channels(const lk_work *work) {
  const int64_t *dims = work->tensors[LK_ROLE_WEIGHTS].dims;
  const uint32_t dtype = work->tensors[LK_ROLE_SRC].dtype;
  return work->kind == LK_WORK_CONV && (dtype == LK_BF16 || dtype == LK_F16) &&
         work->window.rank == 3 && dims[1] == 1 && dims[0] > work->groups;
}

/* Of bytes: zero points and scales. */
static bool want_numbers(const lk_work *work, lk_offer *offer, uint32_t placed) {
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_bytes_hides(work, role) && !want_plain(work, offer, placed, role)) return false;
  }
  return true;
}

/* Weights of a run would have to be brought into the primitive's layout in each: those are left. */
static bool offer_conv(const lk_work *work, uint32_t placed, lk_offer *offer) {
  if ((work->constants >> LK_ROLE_WEIGHTS & 1) == 0) {
    return leave(offer, "weights come with a run, or have their channels last");
  }
  if (!lk_onednn_has_small_window(work) || !lk_onednn_has_small_kernel(work))
    return leave(offer, LARGE_WINDOW);
  if (lk_bytes_has_window_outside(work)) {
    return leave(offer, "a window lies in the padding alone");
  }
  if (work->kind == LK_WORK_CONV && lk_onednn_has_shifted_windows(work)) {
    return leave(offer, "windows leave as much behind them as there is padding before");
  }
  if (has_split_channels(work)) return leave(offer, "volumes of one channel have several outputs");
  offer->layouts[LK_ROLE_WEIGHTS] = LK_LAYOUT_ANY;
  return want_both(offer, placed, LK_LAYOUT_CHANNELS_LAST) && want_numbers(work, offer, placed) &&
         want_plain(work, offer, placed, LK_ROLE_BIAS);
}

/* Heads that lie inside of rows are a stride of the batch. */
static lk_layout matrix_layout(const lk_offer *offer, uint32_t role) {
  return offer->layouts[role] == LK_LAYOUT_HEADS_INSIDE ? LK_LAYOUT_HEADS_INSIDE : LK_LAYOUT_PLAIN;
}

static bool offer_product(const lk_work *work, uint32_t placed, lk_offer *offer) {
  if (!lk_onednn_has_short_sums(work)) return leave(offer, LONG_SUM);
  const bool is_packed = (work->constants >> LK_ROLE_WEIGHTS & 1) != 0;
  const lk_layout weights = is_packed ? LK_LAYOUT_ANY : matrix_layout(offer, LK_ROLE_WEIGHTS);
  return want(offer, placed, LK_ROLE_SRC, matrix_layout(offer, LK_ROLE_SRC)) &&
         want(offer, placed, LK_ROLE_WEIGHTS, weights) && want_numbers(work, offer, placed) &&
         want_plain(work, offer, placed, LK_ROLE_DST);
}

/* Along one dimension in any layout, or along several that lie side by side. */
static bool offer_softmax(const lk_work *work, uint32_t placed, lk_offer *offer) {
  const bool is_one = (work->axes & (work->axes - 1)) == 0;
  if (work->axes == 0) return leave(offer, "it goes along no dimension");
  if (!(is_one ? keep_layout(offer, placed) : want_both(offer, placed, LK_LAYOUT_PLAIN))) {
    return false;
  }
  if (!lk_onednn_has_short_lines(work, offer->layouts[LK_ROLE_SRC])) return leave(offer, LONG_LINE);
  return true;
}

/* oneDNN has only reference implementations of those. */
static bool is_dilated(const lk_work *work) {
  for (uint32_t i = 0; i < work->window.rank; i++) {
    if (work->window.dilations[i] > 1) return true;
  }
  return false;
}

/* The largest of nothing, or of minus infinities, is the least number to oneDNN: so maxima, which
 * have none that is no number either, are left. */
static bool offer_pool(const lk_work *work, uint32_t placed, lk_offer *offer) {
  if (work->pooling != LK_POOLING_MEAN && work->pooling != LK_POOLING_MEAN_WITH_PADDING) {
    return leave(offer, "no mean: the largest of nothing is no infinity to oneDNN");
  }
  if (is_dilated(work)) return leave(offer, "windows are dilated");
  if (!lk_onednn_has_small_window(work)) return leave(offer, LARGE_WINDOW);
  if (lk_onednn_has_excess(work)) return leave(offer, "windows reach beyond the declared padding");
  if (!lk_onednn_has_short_rows(work)) return leave(offer, LONG_ROW);
  return want_both(offer, placed, LK_LAYOUT_CHANNELS_LAST);
}

/* Of f16 and bf16, oneDNN has reference implementations but for these. */
static bool has_half_lrn(const lk_work *work, const lk_offer *offer) {
  const lk_work_lrn *lrn = &work->lrn;
  return offer->layouts[LK_ROLE_SRC] == LK_LAYOUT_CHANNELS_LAST && lrn->size <= 16 &&
         (lrn->beta == 0.75F || lrn->beta == 1);
}

/* The windows of an even size lie otherwise. Of other ranks there are only reference
 * implementations. */
static bool offer_lrn(const lk_work *work, uint32_t placed, lk_offer *offer) {
  if (work->lrn.size % 2 != 1) return leave(offer, "windows have an even size");
  if (work->tensors[LK_ROLE_SRC].rank != 4) return leave(offer, "its rank is not 4");
  if (lk_onednn_is_half(work) && !has_half_lrn(work, offer)) {
    return leave(offer, "of f16 and bf16, its channels do not lie last, or its numbers are rare");
  }
  return keep_layout(offer, placed);
}

/* One number for each element of a row, along the dimensions of `axes`, or none at all. */
static bool is_row(const lk_work *work, uint32_t role) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC], *scale = &work->tensors[role];
  if (!lk_onednn_has(work, role)) return true;
  if (!is_real(work, role) || scale->rank > src->rank) return false;
  for (uint32_t i = 0; i < src->rank; i++) {
    const uint32_t added = src->rank - scale->rank;
    const int64_t size = i < added ? 1 : scale->dims[i - added];
    if (size != ((work->axes >> i & 1) != 0 ? src->dims[i] : 1)) return false;
  }
  return true;
}

static bool offer_layer_norm(const lk_work *work, uint32_t placed, lk_offer *offer) {
  if (lk_onednn_has(work, LK_ROLE_MEAN) || lk_onednn_has(work, LK_ROLE_DEVIATION)) {
    return leave(offer, "mean or deviation are wanted");
  }
  if (lk_onednn_line_of(work) > LK_MOST_OF_LINE) return leave(offer, LONG_LINE);
  if (!is_row(work, LK_ROLE_SCALE) || !is_row(work, LK_ROLE_SHIFT)) {
    return leave(offer, "scale or shift do not lie along rows");
  }
  return want_both(offer, placed, LK_LAYOUT_PLAIN) &&
         want_plain(work, offer, placed, LK_ROLE_SCALE) &&
         want_plain(work, offer, placed, LK_ROLE_SHIFT);
}

/* One number for each channel, or none at all. */
static bool has_channels(const lk_work *work, uint32_t role) {
  const int64_t channels = work->tensors[LK_ROLE_SRC].dims[1];
  return !lk_onednn_has(work, role) ||
         (is_real(work, role) && lk_onednn_elements(&work->tensors[role]) == channels);
}

/* Beyond rank 5, oneDNN 3.14.1 reads and writes other memory. Of f16 and bf16 that lie plain, it
 * has a loop that converts number by number. */
static bool offer_group_norm(const lk_work *work, uint32_t placed, lk_offer *offer) {
  const uint32_t rank = work->tensors[LK_ROLE_SRC].rank;
  if (work->is_centered == 0) return leave(offer, "the mean is not subtracted");
  if (rank < 3 || rank > 5) return leave(offer, "its rank is not 3 to 5");
  if (work->tensors[LK_ROLE_SRC].dims[1] > LK_MOST_CHANNELS) return leave(offer, "many channels");
  if (lk_onednn_line_of(work) > LK_MOST_OF_LINE) return leave(offer, LONG_LINE);
  if (lk_onednn_is_half(work) && offer->layouts[LK_ROLE_SRC] != LK_LAYOUT_CHANNELS_LAST) {
    return leave(offer, "of f16 and bf16, its channels do not lie last");
  }
  if (!has_channels(work, LK_ROLE_SCALE) || !has_channels(work, LK_ROLE_SHIFT)) {
    return leave(offer, "scale or shift are not one for each channel");
  }
  return keep_layout(offer, placed) && want_plain(work, offer, placed, LK_ROLE_SCALE) &&
         want_plain(work, offer, placed, LK_ROLE_SHIFT);
}

/* What oneDNN has behind it: native does any other function in the same pass over memory. */
static bool has_relu_alone(const lk_work *work) {
  const lk_work_post_op *first = &work->post_ops[0];
  return work->n_post_ops == 0 ||
         (work->n_post_ops == 1 && first->kind == LK_POST_RELU && first->alpha == 0);
}

/* But for whole vectors of channels that lie last, oneDNN has loops that are not compiled at run
 * time, and take 2 to 100 times as long as native. */
static bool offer_batch_norm(const lk_work *work, uint32_t placed, lk_offer *offer) {
  static const lk_role vectors[] = {LK_ROLE_SCALE, LK_ROLE_SHIFT, LK_ROLE_MEAN, LK_ROLE_VARIANCE};
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  const bool is_last = offer->layouts[LK_ROLE_SRC] == LK_LAYOUT_CHANNELS_LAST || src->rank == 2;
  if (src->rank < 2 || src->rank > 5) return leave(offer, "its rank is not 2 to 5");
  if (!has_relu_alone(work)) return leave(offer, "a function other than Relu follows");
  if (!is_last || src->dims[1] % 16 != 0) {
    return leave(offer, "its channels do not lie last, or are no multiple of 16");
  }
  if (src->dims[1] > LK_MOST_OF_LINE) return leave(offer, LONG_LINE);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    if (!has_channels(work, vectors[i])) {
      return leave(offer, "scale, shift, mean or variance are not one for each channel");
    }
    if (!want_plain(work, offer, placed, vectors[i])) return false;
  }
  return keep_layout(offer, placed);
}

/* Maxima and minima lose NaN, and are no infinities. Of norms, and of dimensions that do not lie
 * last, there are only reference implementations. Nothing is reordered, since native takes tensors
 * as they lie. */
static bool offer_reduce(const lk_work *work, uint32_t placed, lk_offer *offer) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  const uint32_t what = work->reducing;
  if (what != LK_REDUCING_SUM && what != LK_REDUCING_MEAN && what != LK_REDUCING_PRODUCT) {
    return leave(offer, "no sum, mean or product: maxima lose NaN, and norms are slow in oneDNN");
  }
  for (uint32_t i = 0, is_behind = 0; i < src->rank; i++) {
    const uint32_t is_along = work->axes >> i & 1;
    if (is_behind > is_along && src->dims[i] != 1) {
      return leave(offer, "it does not go along the last dimensions");
    }
    if (src->dims[i] != 1) is_behind = is_along;
  }
  const lk_layout wish = offer->layouts[LK_ROLE_DST];
  if (offer->layouts[LK_ROLE_SRC] != LK_LAYOUT_PLAIN ||
      (wish != LK_LAYOUT_PLAIN && wish != LK_LAYOUT_ANY)) {
    return leave(offer, "its tensors do not lie plain");
  }
  if (lk_onednn_line_of(work) == 1) return leave(offer, "there is nothing to reduce");
  if (lk_onednn_line_of(work) > LK_MOST_OF_SUM) return leave(offer, "long sums lose digits");
  return want(offer, placed, LK_ROLE_DST, LK_LAYOUT_PLAIN);
}

/* How many times larger dimension `dim` becomes; 0: not a whole number of times, or by another
 * scale. oneDNN computes positions in f32, which is exact enough for small images. */
static int64_t times_larger(const lk_work *work, uint32_t dim) {
  const int64_t in = work->tensors[LK_ROLE_SRC].dims[dim];
  const int64_t out = work->tensors[LK_ROLE_DST].dims[dim];
  const bool is_small = out <= LK_MOST_OF_WINDOW && out / in <= 16;
  const bool is_scale = work->resize.up[dim] * (double)in == work->resize.down[dim] * (double)out;
  return is_small && is_scale && out % in == 0 ? out / in : 0;
}

/* oneDNN has half pixels. The nearest element by whole factors is the same in other coordinates,
 * where these are cut to it. */
static bool has_nearest(const lk_work_resize *of) {
  const bool is_half = of->coordinates == LK_COORDINATES_HALF_PIXEL ||
                       of->coordinates == LK_COORDINATES_PYTORCH_HALF_PIXEL;
  const bool is_cut =
      of->nearest == LK_NEAREST_FLOOR || of->nearest == LK_NEAREST_FLOOR_UP_CEIL_DOWN;
  return is_half ? of->nearest <= LK_NEAREST_ROUND_PREFER_CEIL
                 : of->coordinates == LK_COORDINATES_ASYMMETRIC && is_cut;
}

/* At even factors no position falls on an element, whose neighbour would count 0 times: of infinity
 * that is NaN. */
static bool has_linear(const lk_work *work) {
  const lk_work_resize *of = &work->resize;
  for (uint32_t i = 2; i < work->tensors[LK_ROLE_SRC].rank; i++) {
    if (times_larger(work, i) % 2 != 0) return false;
  }
  return of->antialias == 0 && (of->coordinates == LK_COORDINATES_HALF_PIXEL ||
                                of->coordinates == LK_COORDINATES_PYTORCH_HALF_PIXEL);
}

/* Of images, by whole factors. oneDNN does not know the layout of a single pixel. */
static bool offer_resize(const lk_work *work, uint32_t placed, lk_offer *offer) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC], *dst = &work->tensors[LK_ROLE_DST];
  const lk_work_resize *of = &work->resize;
  if (src->rank < 3 || src->rank > 5) return leave(offer, "its rank is not 3 to 5");
  int64_t pixels = 1; /* of src */
  int64_t plane = 1;  /* which oneDNN does in one piece, and of channels that lie last a row */
  const int64_t row = dst->dims[src->rank - 1] * dst->dims[1];
  for (uint32_t i = 0; i < src->rank; i++) {
    const int64_t times = times_larger(work, i);
    if (times == 0 || (i < 2 && times != 1)) {
      return leave(offer, "a factor is not whole, small and of an image's size");
    }
    if (i >= 2) pixels *= src->dims[i];
    if (i >= 2) plane *= dst->dims[i];
  }
  if (pixels == 1) return leave(offer, "it is of one pixel");
  if (plane > LK_MOST_OF_LINE || row > LK_MOST_OF_LINE) return leave(offer, LONG_LINE);
  const bool is_there = of->interpolation == LK_INTERPOLATION_NEAREST  ? has_nearest(of)
                        : of->interpolation == LK_INTERPOLATION_LINEAR ? has_linear(work)
                                                                       : false;
  if (!is_there) return leave(offer, "its interpolation or its positions are left");
  return keep_layout(offer, placed);
}

/* It has no post-ops, and but for its weights all tensors are as ONNX has them. */
static bool offer_recurrent(const lk_work *work, uint32_t placed, lk_offer *offer) {
  const char *why = lk_onednn_recurrent_left(work);
  if (why != NULL) return leave(offer, why);
  if (offer->n_post_ops > 0) offer->reason = "a recurrent layer takes no post-ops";
  offer->n_post_ops = 0;
  for (uint32_t role = 0; role < LK_ROLE_OPERAND; role++) {
    const bool is_packed = role == LK_ROLE_WEIGHTS || role == LK_ROLE_RECURRENT_WEIGHTS;
    if (is_packed) offer->layouts[role] = LK_LAYOUT_ANY;
    if (!is_packed && !want_plain(work, offer, placed, role)) return false;
  }
  return true;
}

/* ---- element-wise works ---- */

/* Dst as it is wanted, or as a tensor of its size lies. All others stay as they lie: a reorder
 * would be a pass over memory of its own, and native needs none. */
static bool choose_layout(const lk_work *work, lk_offer *offer) {
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  lk_layout *layout = &offer->layouts[LK_ROLE_DST];
  for (uint32_t role = 0; *layout == LK_LAYOUT_ANY && role < LK_ROLES; role++) {
    if (lk_onednn_has(work, role) && lk_onednn_same_dims(&work->tensors[role], dst)) {
      *layout = offer->layouts[role];
    }
  }
  if (*layout == LK_LAYOUT_ANY) *layout = LK_LAYOUT_PLAIN;
  return *layout == LK_LAYOUT_PLAIN || *layout == LK_LAYOUT_CHANNELS_LAST;
}

/* How the second tensor of a primitive may repeat: else there are only reference
 * implementations. */
static bool repeats_well(const lk_elements *of, uint32_t role) {
  const uint32_t repeats = of->repeats[role];
  if (repeats == 0 || lk_elements_is_number(of, role)) return true;
  return of->rank == 2 || (of->rank == 3 && repeats != 6);
}

/* What is done in one piece where a tensor is repeated along some dimensions. */
static int64_t element_line(const lk_elements *of) {
  int64_t length = 1;
  for (int i = of->rank == 2 ? 1 : 2; i < of->rank; i++) length *= of->dims[i];
  return length;
}

/* NULL: the function is as exact as ONNX, as lk_onednn_inexact says. Of f16 and bf16 that is within
 * a unit in the last place, where f32 has some that are within 1e-6 alone. But bf16 below 2^-120
 * may be 0: the processor's instruction makes no denormal numbers. */
static const char *inexact(const lk_work *work, const lk_work_post_op *function) {
  if (lk_onednn_is_half(work) && function->kind == LK_POST_GELU_TANH) {
    return "oneDNN loses digits of small results";
  }
  if (lk_onednn_is_half(work) && function->kind == LK_FUNCTION_ROUND)
    return "oneDNN rounds f32 alone";
  return lk_onednn_inexact(work, function);
}

/* A function behind the first one. Those of f16 and bf16 are the operator itself, all of them. */
static bool takes_post_op(const lk_work *work, const lk_elements *of,
                          const lk_work_post_op *post_op) {
  const uint32_t role = post_op->operand;
  if (!takes_function(post_op) || (lk_onednn_is_half(work) && inexact(work, post_op) != NULL))
    return false;
  if (role == 0) return true;
  return work->tensors[role].dtype == of->dtype &&
         (of->repeats[role] == 0 || lk_elements_is_number(of, role) ||
          (of->rank <= 3 && lk_elements_has_channels(of, role)));
}

/* PRelu is a primitive that takes no post-ops. */
static bool takes_slopes(const lk_work *work, const lk_elements *of, uint32_t slopes) {
  return work->n_post_ops == 1 && work->tensors[slopes].dtype == of->dtype &&
         of->repeats[LK_ROLE_SRC] == 0 && lk_elements_has_slopes(of, slopes) &&
         (of->rank == 1 || element_line(of) <= LK_MOST_OF_LINE);
}

/* Whether there is a primitive for the whole work. */
static bool takes_elements(const lk_work *work) {
  const lk_elements of = lk_elements_of(work);
  const uint32_t second = work->post_ops[0].operand;
  if (!of.is_ordered) return false;
  if (work->post_ops[0].kind == LK_FUNCTION_PRELU) return takes_slopes(work, &of, second);
  if (second == 0) return work->n_post_ops == 1 && of.repeats[LK_ROLE_SRC] == 0;
  const bool swaps = lk_elements_swaps(work, &of);
  if (work->tensors[second].dtype != of.dtype || (of.repeats[LK_ROLE_SRC] != 0 && !swaps)) {
    return false;
  }
  if (!repeats_well(&of, swaps ? (uint32_t)LK_ROLE_SRC : second)) return false;
  for (uint32_t i = 1; i < work->n_post_ops; i++) {
    /* BiasGelu's own function, which is NaN of infinity to oneDNN */
    if (work->post_ops[i].kind == LK_POST_GELU) return false;
    if (!takes_post_op(work, &of, &work->post_ops[i])) return false;
  }
  return of.rank == 1 || element_line(&of) <= LK_MOST_OF_LINE;
}

/* Without its last function. */
static void leave_last(lk_work *work) {
  const uint32_t operand = work->post_ops[--work->n_post_ops].operand;
  if (operand != 0) work->roles &= ~(1U << operand);
}

/* A function of one tensor comes alone, and so does PRelu: with others behind it, native does all
 * of them in one pass over memory, and a primitive would take one of its own. */
static bool offer_element(const lk_work *work, uint32_t placed, lk_offer *offer) {
  (void)placed; /* nothing but dst is chosen, if that is open */
  const char *why = work->n_post_ops == 0 ? "it is a copy" : inexact(work, &work->post_ops[0]);
  if (why != NULL) return leave(offer, why);
  const bool is_alone =
      work->post_ops[0].operand == 0 || work->post_ops[0].kind == LK_FUNCTION_PRELU;
  if (is_alone && work->n_post_ops > 1) {
    return leave(offer, "several functions are one pass over memory without it");
  }
  if (!choose_layout(work, offer)) {
    return leave(offer, "a tensor lies in a layout that nobody can choose");
  }
  lk_work taken = *work;
  taken.tensors[LK_ROLE_DST].layout = offer->layouts[LK_ROLE_DST];
  while (taken.n_post_ops > 0 && !takes_elements(&taken)) leave_last(&taken);
  offer->n_post_ops = taken.n_post_ops;
  if (taken.n_post_ops < work->n_post_ops) {
    offer->reason = "a function is left, or a tensor that is repeated in some way";
  }
  return taken.n_post_ops > 0;
}

/* All lie as they must. */
static bool offer_move(const lk_work *work, uint32_t placed, lk_offer *offer) {
  (void)placed;
  const char *why = lk_moves_left(work);
  return why == NULL || leave(offer, why);
}

typedef bool (*offer_fn)(const lk_work *work, uint32_t placed, lk_offer *offer);
static const offer_fn offers[LK_WORK_KINDS] = {
    [LK_WORK_CONV] = offer_conv,
    [LK_WORK_CONV_TRANSPOSED] = offer_conv,
    [LK_WORK_PRODUCT] = offer_product,
    [LK_WORK_SOFTMAX] = offer_softmax,
    [LK_WORK_LOG_SOFTMAX] = offer_softmax,
    [LK_WORK_POOL] = offer_pool,
    [LK_WORK_LRN] = offer_lrn,
    [LK_WORK_LAYER_NORM] = offer_layer_norm,
    [LK_WORK_GROUP_NORM] = offer_group_norm,
    [LK_WORK_ELEMENT] = offer_element,
    [LK_WORK_REDUCE] = offer_reduce,
    [LK_WORK_RESIZE] = offer_resize,
    [LK_WORK_RECURRENT] = offer_recurrent,
    [LK_WORK_REORDER] = offer_move,
    [LK_WORK_CONCAT] = offer_move,
    [LK_WORK_BATCH_NORM] = offer_batch_norm,
};

int lk_onednn_offer(void *self, const lk_work *work, uint32_t placed, lk_offer *offer) {
  if (work->kind >= LK_WORK_KINDS || offers[work->kind] == NULL) {
    return leave(offer, "there is no primitive for works of this kind");
  }
  if (!lk_work_is_move(work) && !takes_types(self, work, offer)) return 0;
  if (!offers[work->kind](work, placed, offer)) return 0;
  if (work->kind != LK_WORK_ELEMENT) take_post_ops(work, placed, offer);
  lk_onednn_estimate(self, work, offer);
  return 1;
}
