/* Folds a scale and shift of each channel, y = a_c * x + b_c with constant a and b, into the
 * weights and the bias of the operator before: BatchNormalization, and Mul, Add and Sub with a
 * constant per channel, behind Conv, ConvTranspose or a BatchNormalization that stays.
 *
 * What becomes of roundings: each weight is rounded once more, and the shift is a term of the sum.
 * Both are as small, beside the terms of the sum, as its own roundings. That would not hold of two
 * sums, which may cancel each other (x + 12582912 - 12582912 rounds x), so that only one is folded,
 * and none that is large beside the weights; nor of factors that leave the range of f32 on the way.
 * A quotient is a product only where that rounds nothing. One number for all channels is left to
 * pass "activation", which rounds as the node says at no cost, unless BatchNormalization follows,
 * which could not be folded behind it.
 *
 * A whole chain is composed in double and applied once. For all three producers the new weights are
 * a_c * w and the new bias is a_c * bias + b_c (Jacob et al., CVPR 2018, section 3.2). */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/rewrite.h"

typedef struct scale_shift {
  size_t n_channels;
  int32_t rank; /* of the producer's output */
  /* Where the elements of the producer's weights belong: element i to channel
   * (i / outer) * per_outer + (i / inner) % per_outer. */
  size_t outer, inner, per_outer;
  double *a, *b; /* [n_channels] */
  double *sizes; /* [n_channels]: of the weights, without signs, summed; when has_sizes */
  bool has_sizes;
  const lk_value *weights;     /* of the producer */
  bool scales, shifts;         /* a is not all 1, b is not all 0 */
  bool has_sum;                /* a bias of the producer, or an Add or Sub that has been folded */
  uint64_t length;             /* nodes of the chain */
  int32_t last;                /* what the last of them makes */
  bool batch_norm, arithmetic; /* there is one among them */
} scale_shift;

static int32_t bias_of(const lk_node *node) {
  return node->n_inputs > 2 ? node->inputs[2] : LK_NO_VALUE;
}

static double number(const lk_graph *graph, int32_t value, size_t index) {
  return lk_constant_number(&graph->values[value], index);
}

/* A constant with `n` floats in one dimension. */
static bool is_vector(const lk_graph *graph, int32_t value, size_t n) {
  if (!lk_value_is_weight(graph, value)) return false;
  const lk_tensor_desc *desc = &graph->values[value].constant.desc;
  return desc->rank == 1 && (size_t)desc->dims[0] == n;
}

/* BatchNormalization at inference, per channel, with constant parameters for `n` channels. */
static bool is_constant_batch_norm(const lk_graph *graph, const lk_node *node, size_t n,
                                   lk_miss *miss) {
  if (!lk_node_is(node, "BatchNormalization") || node->n_inputs < 5) return false;
  if (node->opset < 9 && lk_node_attr_int(node, "spatial", 1) != 1) {
    return lk_miss_note(miss, "", "its attribute spatial is not 1");
  }
  if (lk_node_attr_int(node, "training_mode", 0) != 0 || lk_node_is_used(graph, node, 1)) {
    return lk_miss_note(miss, "export the model for inference", "it is one for training");
  }
  for (uint32_t i = 1; i < 5; i++) {
    if (is_vector(graph, node->inputs[i], n)) continue;
    return lk_miss_note(miss, LK_ADVICE_CONSTANT,
                        "its input %" PRIu32 " is not a constant of %zu numbers of type f32", i, n);
  }
  return true;
}

static void apply(scale_shift *f, size_t channel, double scale, double shift) {
  f->a[channel] *= scale;
  f->b[channel] = f->b[channel] * scale + shift;
  if (scale != 1.0) f->scales = true;
  if (shift != 0.0) f->shifts = true;
}

static bool compose_batch_norm(const lk_graph *graph, const lk_node *node, scale_shift *f,
                               lk_miss *miss) {
  if (!is_constant_batch_norm(graph, node, f->n_channels, miss)) return false;
  const double epsilon = (double)lk_node_attr_float(node, "epsilon", 1e-5f);
  for (size_t c = 0; c < f->n_channels; c++) {
    if (number(graph, node->inputs[4], c) + epsilon > 0.0) continue;
    return lk_miss_note(miss, "", "the variance of its channel %zu is not positive", c);
  }
  for (size_t c = 0; c < f->n_channels; c++) {
    const double scale =
        number(graph, node->inputs[1], c) / sqrt(number(graph, node->inputs[4], c) + epsilon);
    apply(f, c, scale,
          number(graph, node->inputs[2], c) - number(graph, node->inputs[3], c) * scale);
  }
  return true;
}

/* The constant has one element, or one for each channel, and does not enlarge the output. */
static bool is_per_channel(const lk_graph *graph, int32_t value, const scale_shift *f) {
  if (!lk_value_is_weight(graph, value)) return false;
  const lk_tensor_desc *desc = &graph->values[value].constant.desc;
  if ((int32_t)desc->rank > f->rank) return false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    const bool is_channel = f->rank - (int32_t)desc->rank + (int32_t)i == 1;
    if (desc->dims[i] != 1 && !(is_channel && (size_t)desc->dims[i] == f->n_channels)) return false;
  }
  return true;
}

/* A factor that takes no sum near the ends of the range of f32. */
static bool is_moderate(double factor) {
  return factor == 0.0 || (fabs(factor) >= 0x1p-32 && fabs(factor) <= 0x1p32);
}

static size_t channel_of(const scale_shift *f, size_t element) {
  return element / f->outer * f->per_outer + element / f->inner % f->per_outer;
}

/* A float of a model's file, which lies at any address. */
typedef float file_float __attribute__((aligned(1), may_alias));

static void find_sizes(scale_shift *f) {
  const file_float *weights = f->weights->constant.data;
  const size_t n = (size_t)lk_elements(&f->weights->constant.desc);
  if (f->has_sizes) return;
  f->has_sizes = true;
  for (size_t i = 0; i < n; i += f->inner) {
    double *size = &f->sizes[channel_of(f, i)];
    for (size_t j = 0; j < f->inner; j++) *size += fabs((double)weights[i + j]);
  }
}

/* A shift that loses few digits of what the weights make of inputs about 1. */
static bool is_small_shift(const scale_shift *f, size_t channel, double shift) {
  const double size = f->sizes[channel] * fabs(f->a[channel]);
  return size == 0.0 || fabs(shift) <= 0x1p10 * size;
}

static bool compose_arithmetic(const lk_pass_env *env, const lk_graph *graph, const lk_node *node,
                               int32_t x, scale_shift *f, bool *out_for_all) {
  const uint32_t kind = lk_node_arithmetic(env, node);
  const bool add = kind == LK_POST_ADD, sub = kind == LK_POST_SUB;
  const bool mul = kind == LK_POST_MUL, div = kind == LK_POST_DIV;
  if (kind == 0) return false;
  const bool x_is_left = node->inputs[0] == x;
  const int32_t constant = node->inputs[x_is_left ? 1 : 0];
  if (!is_per_channel(graph, constant, f) || (div && !x_is_left)) return false;
  if ((add || sub) && f->has_sum) return false;
  const size_t n = (size_t)lk_elements(&graph->values[constant].constant.desc);
  for (size_t i = 0; i < n; i++) {
    const double k = number(graph, constant, i);
    if (div && !lk_has_exact_reciprocal((float)k)) return false;
    if ((mul || div) && !is_moderate(k)) return false;
  }
  if (add || sub) find_sizes(f);
  for (size_t c = 0; (add || sub) && c < f->n_channels; c++) {
    if (!is_small_shift(f, c, number(graph, constant, n == 1 ? 0 : c))) return false;
  }
  *out_for_all = n == 1;
  f->has_sum |= add || sub;
  for (size_t c = 0; c < f->n_channels; c++) {
    const double k = number(graph, constant, n == 1 ? 0 : c);
    if (add) apply(f, c, 1.0, k);
    if (sub) apply(f, c, x_is_left ? 1.0 : -1.0, x_is_left ? -k : k);
    if (mul) apply(f, c, k, 0.0);
    if (div) apply(f, c, 1.0 / k, 0.0);
  }
  return true;
}

/* Tells how the weights of a node that may be the producer lie; false: it may not. */
static bool read_producer(const lk_graph *graph, const lk_symbolic_shapes *shapes,
                          const lk_node *node, scale_shift *f) {
  if (!lk_node_is_plain(node) || node->n_inputs < 2) return false;
  if (!lk_value_is_weight(graph, node->inputs[1])) return false;
  const lk_tensor_desc *desc = &graph->values[node->inputs[1]].constant.desc;
  const size_t elements = (size_t)lk_elements(desc);
  f->rank = (int32_t)desc->rank;
  if (lk_node_is(node, "Conv")) {
    if (desc->rank < 3) return false;
    f->n_channels = (size_t)desc->dims[0];
    f->outer = elements;
    f->inner = elements / f->n_channels;
    f->per_outer = f->n_channels;
    return true;
  }
  if (lk_node_is(node, "ConvTranspose")) { /* weights [C_in, C_out / group, ...] */
    const int64_t group = lk_node_attr_int(node, "group", 1);
    if (desc->rank < 3 || group < 1 || desc->dims[0] % group != 0) return false;
    f->per_outer = (size_t)desc->dims[1];
    f->n_channels = f->per_outer * (size_t)group;
    f->outer = elements / (size_t)group;
    f->inner = elements / (size_t)desc->dims[0] / f->per_outer;
    return true;
  }
  if (!is_constant_batch_norm(graph, node, elements, NULL)) return false;
  f->rank = lk_symbolic_shape_rank(shapes, node->inputs[0]);
  f->n_channels = f->outer = f->per_outer = elements;
  f->inner = 1;
  return f->rank >= 2;
}

/* Elements that follow each other, of one channel. Tells whether all stay finite; `to` may be
 * NULL, or `from`. */
static bool scale_run(const file_float *from, size_t n, double scale, float *to) {
  bool is_finite = true;
  for (size_t i = 0; i < n; i++) {
    const float scaled = (float)((double)from[i] * scale);
    is_finite &= fabsf(scaled) <= FLT_MAX;
    if (to != NULL) to[i] = scaled;
  }
  return is_finite;
}

/* All weights, which are floats; the same. */
static bool scale_weights(const lk_value *weights, const scale_shift *f, float *to) {
  const file_float *from = weights->constant.data;
  const size_t n = (size_t)lk_elements(&weights->constant.desc);
  bool is_finite = true;
  for (size_t i = 0; i < n; i += f->inner) {
    is_finite &= scale_run(from + i, f->inner, f->a[channel_of(f, i)], to != NULL ? to + i : NULL);
  }
  return is_finite;
}

/* Numbers beyond float's range would not be rounding any more: then nothing is folded. */
static bool stays_finite(const lk_graph *graph, const lk_node *node, const scale_shift *f) {
  const lk_value *weights = &graph->values[node->inputs[1]];
  const int32_t bias = bias_of(node);
  for (size_t c = 0; c < f->n_channels; c++) {
    const double old = bias == LK_NO_VALUE ? 0.0 : number(graph, bias, c);
    if (!isfinite(f->a[c]) || !isfinite((float)(old * f->a[c] + f->b[c]))) return false;
  }
  return !f->scales || scale_weights(weights, f, NULL);
}

static lk_status fold_weights(lk_graph *graph, int32_t node, const scale_shift *f,
                              lk_error *error) {
  const int32_t old = graph->nodes[node].inputs[1];
  lk_value *value = &graph->values[old];
  const lk_tensor_desc desc = value->constant.desc;
  const size_t n = (size_t)lk_elements(&desc);
  /* Weights that a pass has made for this node alone are changed where they are. */
  const bool in_place = value->constant_kind == LK_CONSTANT_OWNED && value->n_uses == 1;
  float *data = in_place ? value->constant.data
                         : lk_alloc_aligned(graph->allocator, n * sizeof *data, LK_DATA_ALIGNMENT);
  if (data == NULL) return lk_fail_memory(error, "folded weights", n * sizeof *data);
  (void)scale_weights(value, f, data);
  if (in_place) return LK_OK;
  int32_t fresh = LK_NO_VALUE;
  lk_status status = lk_graph_add_constant(graph, &desc, data, &fresh, error);
  if (status == LK_OK) lk_node_set_input(graph, node, 1, fresh);
  return status;
}

static lk_status fold_bias(lk_graph *graph, int32_t node, const scale_shift *f, lk_error *error) {
  const size_t n = f->n_channels;
  const int32_t old = bias_of(&graph->nodes[node]);
  if (old == LK_NO_VALUE && !f->shifts) return LK_OK;
  float *data = lk_alloc_aligned(graph->allocator, n * sizeof *data, LK_DATA_ALIGNMENT);
  if (data == NULL) return lk_fail_memory(error, "a folded bias", n * sizeof *data);
  for (size_t c = 0; c < n; c++) {
    data[c] = (float)((old == LK_NO_VALUE ? 0.0 : number(graph, old, c)) * f->a[c] + f->b[c]);
  }
  const int64_t dim = (int64_t)n;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &dim);
  int32_t fresh = LK_NO_VALUE;
  LK_RETURN_NOT_OK(lk_graph_add_constant(graph, &desc, data, &fresh, error));
  if (graph->nodes[node].n_inputs == 2) return lk_node_append_input(graph, node, fresh, error);
  lk_node_set_input(graph, node, 2, fresh);
  return LK_OK;
}

/* Why BatchNormalization `next` stays behind a convolution, whose output it reads. */
static void tell_batch_norm(const lk_graph *graph, const lk_node *producer, const lk_node *next,
                            lk_miss *miss) {
  const int32_t weights = producer->n_inputs > 1 ? producer->inputs[1] : LK_NO_VALUE;
  const int32_t bias = bias_of(producer);
  if (!lk_value_is_for_one(graph, next->inputs[0], miss) || weights == LK_NO_VALUE) return;
  if (!lk_value_is_weight(graph, weights) || bias != LK_NO_VALUE) {
    const int32_t input = lk_value_is_weight(graph, weights) ? bias : weights;
    if (lk_value_is_weight(graph, input)) return;
    (void)lk_miss_note(
        miss, LK_ADVICE_CONSTANT, "'%s', which %s '%s' reads, is not a constant of type f32",
        graph->values[input].name, producer->op_type, lk_node_label(graph, producer));
  }
}

/* Of the BatchNormalization that reads what convolution `node` makes, if one does and has stayed
 * for a reason. `noted` is what has been noted of it. */
static void note_left(const lk_pass_env *env, const lk_graph *graph, const int32_t *users,
                      int32_t node, lk_miss *noted) {
  const lk_node *producer = &graph->nodes[node];
  const int32_t last = producer->n_outputs > 0 ? producer->outputs[0] : LK_NO_VALUE;
  if (noted == NULL || last == LK_NO_VALUE) return;
  if (!lk_node_is(producer, "Conv") && !lk_node_is(producer, "ConvTranspose")) return;
  const lk_node *next = &graph->nodes[users[last]]; /* the first one, where nothing uses it */
  if (!lk_node_is(next, "BatchNormalization") || next->n_inputs == 0 || next->inputs[0] != last) {
    return;
  }
  tell_batch_norm(graph, producer, next, noted);
  lk_refusals_add(env->refusals, graph, users[last], noted);
}

/* Factors of channels: a, b and sizes, in one piece of memory that `a` stands for. */
static lk_status begin_factors(const lk_graph *graph, const lk_node *producer, scale_shift *f,
                               lk_error *error) {
  const size_t n = f->n_channels;
  f->a = lk_calloc(graph->allocator, n, 3 * sizeof *f->a);
  if (f->a == NULL) return lk_fail_memory(error, "factors of channels", 3 * n * sizeof *f->a);
  f->b = f->a + n;
  f->sizes = f->b + n;
  for (size_t c = 0; c < n; c++) f->a[c] = 1.0;
  f->last = producer->outputs[0];
  f->weights = &graph->values[producer->inputs[1]];
  return LK_OK;
}

/* What has been composed counts. */
static void keep(const scale_shift *from, scale_shift *to) {
  double *a = to->a, *b = to->b, *sizes = to->sizes;
  memcpy(a, from->a, from->n_channels * sizeof *a);
  memcpy(b, from->b, from->n_channels * sizeof *b);
  *to = *from;
  to->a = a;
  to->b = b;
  to->sizes = sizes;
}

/* Composes the chain behind the producer as far as it goes. `found` is as begin_factors leaves it,
 * and so is `tried`. */
static void compose_chain(const lk_pass_env *env, const lk_graph *graph, const int32_t *users,
                          scale_shift *tried, scale_shift *found, lk_miss *miss) {
  bool is_open = false; /* behind a number for all channels */
  while (lk_value_is_private(graph, tried->last)) {
    const lk_node *next = &graph->nodes[users[tried->last]];
    bool for_all = false;
    if (!lk_node_is_plain(next)) return;
    if (next->inputs[0] == tried->last && compose_batch_norm(graph, next, tried, miss)) {
      tried->batch_norm = true;
      is_open = false;
    } else if (compose_arithmetic(env, graph, next, tried->last, tried, &for_all)) {
      tried->arithmetic = true;
      is_open |= for_all;
    } else {
      return;
    }
    tried->length++;
    tried->last = next->outputs[0];
    if (!is_open) keep(tried, found);
  }
}

/* Puts the chain into the producer. */
static lk_status fold(lk_graph *graph, const int32_t *users, int32_t node, const scale_shift *f,
                      lk_error *error) {
  if (f->scales) LK_RETURN_NOT_OK(fold_weights(graph, node, f, error));
  LK_RETURN_NOT_OK(fold_bias(graph, node, f, error));
  if (f->batch_norm) LK_RETURN_NOT_OK(lk_node_note_fused(graph, node, "batch_norm", error));
  if (f->arithmetic) LK_RETURN_NOT_OK(lk_node_note_fused(graph, node, "scale_shift", error));
  for (int32_t value = graph->nodes[node].outputs[0]; value != f->last;) {
    const int32_t removed = users[value];
    value = graph->nodes[removed].outputs[0];
    lk_graph_remove_node(graph, removed);
  }
  lk_node_set_output(graph, node, 0, f->last);
  return LK_OK;
}

/* Folds the chain behind `node` as far as it goes. `users` tells the user of a value used once. */
static lk_status fold_chain(const lk_pass_env *env, lk_graph *graph, const int32_t *users,
                            int32_t node, uint64_t *out_changes, lk_miss *miss, lk_error *error) {
  lk_status status = LK_OK;
  const lk_node *producer = &graph->nodes[node];
  scale_shift f = {0}, tried = {0};
  if (!read_producer(graph, env->shapes, producer, &f) ||
      !lk_value_is_private(graph, producer->outputs[0])) {
    return LK_OK;
  }
  const int32_t bias = bias_of(producer);
  f.has_sum = bias != LK_NO_VALUE && !lk_node_is(producer, "BatchNormalization");
  /* Not with a bias that comes at run time. */
  if (bias != LK_NO_VALUE && !is_vector(graph, bias, f.n_channels)) return LK_OK;
  tried = f;
  LK_TRY(begin_factors(graph, producer, &f, error));
  LK_TRY(begin_factors(graph, producer, &tried, error));
  compose_chain(env, graph, users, &tried, &f, miss);
  if (f.length == 0) goto cleanup;
  if (!stays_finite(graph, producer, &f)) {
    (void)lk_miss_note(miss, "", "weights or a bias with it would be beyond the range of f32");
    goto cleanup;
  }
  LK_TRY(fold(graph, users, node, &f, error));
  *out_changes += f.length;
cleanup:
  lk_free(graph->allocator, f.a);
  lk_free(graph->allocator, tried.a);
  return status;
}

lk_status lk_pass_scale_shift(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                              lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = graph->allocator;
  int32_t *users = lk_calloc(allocator, graph->n_values, sizeof *users);
  if (users == NULL) {
    return lk_fail_memory(error, "users of values", graph->n_values * sizeof *users);
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    for (uint32_t i = 0; i < graph->nodes[n].n_inputs; i++) {
      const int32_t input = graph->nodes[n].inputs[i];
      if (input != LK_NO_VALUE) users[input] = (int32_t)n;
    }
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    lk_miss room, *miss = lk_refusals_listen(env->refusals, &room);
    LK_TRY(lk_step(error));
    LK_TRY(fold_chain(env, graph, users, (int32_t)n, out_changes, miss, error));
    note_left(env, graph, users, (int32_t)n, miss);
  }
cleanup:
  lk_free(allocator, users);
  return status;
}
