/* From a work to oneDNN's descriptor of a primitive. */
#include "ops/engine/onednn/describe.h"

#include <string.h>

#include "ops/engine/onednn/bytes.h"
#include "ops/engine/onednn/elements.h"
#include "ops/engine/onednn/exceptions.h"
#include "ops/engine/onednn/functions.h"
#include "ops/engine/onednn/moves.h"
#include "ops/engine/onednn/recurrent.h"
#include "ops/engine/onednn/status.h"

/* Descriptors of tensors while one of a primitive is made. NULL: there is no such tensor. */
typedef struct description {
  const lk_work *work;
  dnnl_engine_t engine;
  dnnl_memory_desc_t of[LK_ROLES], numbers[LK_BYTES_NUMBERS];
  dnnl_primitive_attr_t attr;
  dnnl_post_ops_t post_ops;
} description;

/* The first function of an element-wise work is the primitive itself. */
static uint32_t first_post_op(const lk_work *work) {
  return work->kind == LK_WORK_ELEMENT ? 1 : 0;
}

/* Of what post-ops read. */
static int operand_arg(const lk_work *work, uint32_t role) {
  const uint32_t first = first_post_op(work);
  for (uint32_t i = first; i < work->n_post_ops; i++) {
    if (work->post_ops[i].operand == role) {
      const uint32_t at = i - first + lk_bytes_before(work);
      return DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)at) | DNNL_ARG_SRC_1;
    }
  }
  return DNNL_ARG_UNDEF;
}

static bool is_prelu(const lk_work *work) {
  return work->post_ops[0].kind == LK_FUNCTION_PRELU;
}

static int element_arg(const lk_work *work, uint32_t role) {
  const lk_elements of = lk_elements_of(work);
  const bool swaps = lk_elements_swaps(work, &of);
  if (is_prelu(work) && role >= LK_ROLE_OPERAND) return DNNL_ARG_WEIGHTS;
  if (role == LK_ROLE_SRC) return swaps ? DNNL_ARG_SRC_1 : DNNL_ARG_SRC_0;
  if (role == LK_ROLE_DST) return DNNL_ARG_DST;
  if (role == work->post_ops[0].operand) return swaps ? DNNL_ARG_SRC_0 : DNNL_ARG_SRC_1;
  return operand_arg(work, role);
}

int lk_onednn_arg(const lk_work *work, uint32_t role) {
  if (work->kind == LK_WORK_ELEMENT) return element_arg(work, role);
  if (work->kind == LK_WORK_CONCAT) return lk_concat_arg(role);
  switch (role) {
  case LK_ROLE_SRC:
    return DNNL_ARG_SRC;
  case LK_ROLE_WEIGHTS:
    return DNNL_ARG_WEIGHTS;
  case LK_ROLE_BIAS:
    return DNNL_ARG_BIAS;
  case LK_ROLE_DST:
    return DNNL_ARG_DST;
  case LK_ROLE_SCALE:
    return DNNL_ARG_SCALE;
  case LK_ROLE_SHIFT:
    return DNNL_ARG_SHIFT;
  case LK_ROLE_MEAN:
    return DNNL_ARG_MEAN;
  case LK_ROLE_VARIANCE:
    return DNNL_ARG_VARIANCE;
  case LK_ROLE_RECURRENT_WEIGHTS:
    return DNNL_ARG_WEIGHTS_ITER;
  case LK_ROLE_STATE:
    return DNNL_ARG_SRC_ITER;
  case LK_ROLE_CELL:
    return DNNL_ARG_SRC_ITER_C;
  case LK_ROLE_PEEPHOLES:
    return DNNL_ARG_WEIGHTS_PEEPHOLE;
  case LK_ROLE_DST_STATE:
    return DNNL_ARG_DST_ITER;
  case LK_ROLE_DST_CELL:
    return DNNL_ARG_DST_ITER_C;
  default:
    return operand_arg(work, role);
  }
}

/* ---- post-ops ---- */

/* With as many dimensions as the primitive's dst has. */
static lk_strided operand_of(const lk_work *work, uint32_t role) {
  if (work->kind == LK_WORK_ELEMENT) {
    const lk_elements of = lk_elements_of(work);
    return lk_elements_strided(&of, role);
  }
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  const lk_repeats repeats = lk_repeats_of(work, role);
  const bool is_product = work->kind == LK_WORK_PRODUCT;
  lk_strided of_dst = is_product ? lk_matrices_of(work).dst : lk_strided_of(dst);
  if (repeats == LK_REPEATS_NOT) {
    of_dst.type = lk_onednn_type(work->tensors[role].dtype);
    return of_dst;
  }
  const int channel = is_product ? of_dst.rank - 1 : 1;
  int64_t dims[LK_MAX_RANK];
  for (int i = 0; i < of_dst.rank; i++) {
    dims[i] = i == channel && repeats == LK_REPEATS_CHANNELS ? of_dst.dims[i] : 1;
  }
  return lk_strided_plain(work->tensors[role].dtype, of_dst.rank, dims);
}

static dnnl_status_t append(description *self, const lk_work_post_op *post_op, dnnl_post_ops_t to) {
  const lk_onednn_function of = lk_onednn_function_of(post_op);
  if (post_op->operand == 0) return dnnl_post_ops_append_eltwise(to, of.kind, of.alpha, of.beta);
  dnnl_memory_desc_t *operand = &self->of[post_op->operand];
  const lk_strided strided = operand_of(self->work, post_op->operand);
  const dnnl_status_t status = lk_strided_describe(&strided, operand);
  if (status != dnnl_success) return status;
  return dnnl_post_ops_append_binary(to, of.kind, *operand);
}

/* And the scratchpad, which is the frame's, and arithmetic that is as the types say, whatever the
 * environment wants. */
static dnnl_status_t make_attr(description *self) {
  const uint32_t first = first_post_op(self->work);
  dnnl_status_t status = dnnl_primitive_attr_create(&self->attr);
  if (status == dnnl_success) {
    status = dnnl_primitive_attr_set_scratchpad_mode(self->attr, dnnl_scratchpad_mode_user);
  }
  if (status == dnnl_success) {
    status = dnnl_primitive_attr_set_fpmath_mode(self->attr, dnnl_fpmath_mode_strict);
  }
  if (status == dnnl_success) status = lk_bytes_set_attr(self->work, self->attr);
  const bool has_none = self->work->n_post_ops <= first && !lk_work_is_of_bytes(self->work);
  if (status != dnnl_success || has_none) return status;
  status = dnnl_post_ops_create(&self->post_ops);
  if (status == dnnl_success) {
    status = lk_bytes_append_before(self->work, self->numbers, self->post_ops);
  }
  for (uint32_t i = first; status == dnnl_success && i < self->work->n_post_ops; i++) {
    status = append(self, &self->work->post_ops[i], self->post_ops);
  }
  if (status == dnnl_success) {
    status = lk_bytes_append_behind(self->work, self->numbers, self->post_ops);
  }
  if (status != dnnl_success) return status;
  return dnnl_primitive_attr_set_post_ops(self->attr, self->post_ops);
}

/* ---- tensors ---- */

static dnnl_status_t describe(description *self, uint32_t role, const lk_strided *of) {
  return lk_strided_describe(of, &self->of[role]);
}

static dnnl_status_t describe_role(description *self, uint32_t role) {
  const lk_strided of = lk_strided_of(&self->work->tensors[role]);
  return describe(self, role, &of);
}

/* In whatever layout the primitive is quickest with. */
static dnnl_status_t describe_any(description *self, uint32_t role, const lk_strided *of) {
  return dnnl_memory_desc_create_with_tag(&self->of[role], of->rank, of->dims, of->type,
                                          dnnl_format_tag_any);
}

/* As a convolution has them: [groups][outputs of a group][inputs of a group][kernel]. Plain weights
 * of a transposed one have inputs before outputs. */
static lk_strided conv_weights(const lk_work *work) {
  const lk_tensor_desc *w = &work->tensors[LK_ROLE_WEIGHTS];
  const bool is_transposed = work->kind == LK_WORK_CONV_TRANSPOSED, has_groups = work->groups > 1;
  int64_t dims[LK_MAX_RANK + 1];
  dims[0] = work->groups;
  dims[1] = w->dims[0] / work->groups;
  memcpy(&dims[2], &w->dims[1], (w->rank - 1) * sizeof *dims);
  lk_strided of =
      lk_strided_plain(w->dtype, (int)w->rank + (has_groups ? 1 : 0), has_groups ? dims : w->dims);
  if (is_transposed) {
    const int at = has_groups ? 1 : 0;
    const int64_t size = of.dims[at], stride = of.strides[at];
    of.dims[at] = of.dims[at + 1];
    of.strides[at] = of.strides[at + 1];
    of.dims[at + 1] = size;
    of.strides[at + 1] = stride;
  }
  return of;
}

lk_strided lk_onednn_plain_weights(const lk_work *work) {
  return work->kind == LK_WORK_PRODUCT ? lk_matrices_of(work).weights : conv_weights(work);
}

/* ---- kinds ---- */

typedef struct window {
  dnnl_dims_t kernel, strides, dilations, begin, end;
} window;

/* `end` is what makes the sizes true, whatever the window leaves over. */
static window window_of(const lk_work *work) {
  const lk_window_shape *from = &work->window;
  window made = {.kernel = {0}};
  for (uint32_t i = 0; i < from->rank; i++) {
    const int64_t in = work->tensors[LK_ROLE_SRC].dims[2 + i];
    const int64_t out = work->tensors[LK_ROLE_DST].dims[2 + i];
    const int64_t reach = (from->kernel[i] - 1) * from->dilations[i] + 1;
    made.kernel[i] = from->kernel[i];
    made.strides[i] = from->strides[i];
    made.dilations[i] = from->dilations[i] - 1;
    made.begin[i] = from->begin[i];
    made.end[i] = work->kind == LK_WORK_CONV_TRANSPOSED
                      ? (in - 1) * from->strides[i] + reach - out - from->begin[i]
                      : (out - 1) * from->strides[i] + reach - in - from->begin[i];
  }
  return made;
}

static dnnl_status_t describe_conv(description *self, dnnl_primitive_desc_t *out) {
  const lk_strided weights = conv_weights(self->work);
  const window at = window_of(self->work);
  dnnl_status_t status = describe_role(self, LK_ROLE_SRC);
  if (status == dnnl_success) status = describe_any(self, LK_ROLE_WEIGHTS, &weights);
  if (status == dnnl_success && lk_onednn_has(self->work, LK_ROLE_BIAS)) {
    status = describe_role(self, LK_ROLE_BIAS);
  }
  if (status == dnnl_success) status = describe_role(self, LK_ROLE_DST);
  if (status != dnnl_success) return status;
  const dnnl_memory_desc_t *of = self->of;
  if (self->work->kind == LK_WORK_CONV_TRANSPOSED) {
    return dnnl_deconvolution_forward_primitive_desc_create(
        out, self->engine, dnnl_forward_inference, dnnl_deconvolution_direct, of[LK_ROLE_SRC],
        of[LK_ROLE_WEIGHTS], of[LK_ROLE_BIAS], of[LK_ROLE_DST], at.strides, at.dilations, at.begin,
        at.end, self->attr);
  }
  return dnnl_convolution_forward_primitive_desc_create(
      out, self->engine, dnnl_forward_inference, dnnl_convolution_direct, of[LK_ROLE_SRC],
      of[LK_ROLE_WEIGHTS], of[LK_ROLE_BIAS], of[LK_ROLE_DST], at.strides, at.dilations, at.begin,
      at.end, self->attr);
}

static dnnl_status_t describe_product(description *self, dnnl_primitive_desc_t *out) {
  const lk_matrices of = lk_matrices_of(self->work);
  const bool is_any = self->work->tensors[LK_ROLE_WEIGHTS].layout == LK_LAYOUT_ANY;
  dnnl_status_t status = describe(self, LK_ROLE_SRC, &of.src);
  if (status == dnnl_success) {
    status = (is_any ? describe_any : describe)(self, LK_ROLE_WEIGHTS, &of.weights);
  }
  if (status == dnnl_success && lk_onednn_has(self->work, LK_ROLE_BIAS)) {
    const lk_strided bias = lk_bytes_bias(self->work);
    status = describe(self, LK_ROLE_BIAS, &bias);
  }
  if (status == dnnl_success) status = describe(self, LK_ROLE_DST, &of.dst);
  if (status != dnnl_success) return status;
  return dnnl_matmul_primitive_desc_create(out, self->engine, self->of[LK_ROLE_SRC],
                                           self->of[LK_ROLE_WEIGHTS], self->of[LK_ROLE_BIAS],
                                           self->of[LK_ROLE_DST], self->attr);
}

/* The dimensions before `axes`, these, and those behind: of a plain tensor. */
static lk_strided three_dims(const lk_tensor_desc *desc, uint32_t axes) {
  int64_t dims[3] = {1, 1, 1};
  bool is_behind = false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    const bool is_along = (axes >> i & 1) != 0;
    dims[is_along ? 1 : is_behind ? 2 : 0] *= desc->dims[i];
    is_behind = is_behind || is_along;
  }
  return lk_strided_plain(desc->dtype, 3, dims);
}

static dnnl_status_t describe_softmax(description *self, dnnl_primitive_desc_t *out) {
  const lk_work *work = self->work;
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  const bool is_plain = src->layout == LK_LAYOUT_PLAIN;
  const lk_strided of = is_plain ? three_dims(src, work->axes) : lk_strided_of(src);
  const int axis = is_plain ? 1 : __builtin_ctz(work->axes);
  dnnl_status_t status = describe(self, LK_ROLE_SRC, &of);
  if (status == dnnl_success) status = describe(self, LK_ROLE_DST, &of);
  if (status != dnnl_success) return status;
  return dnnl_softmax_forward_primitive_desc_create(
      out, self->engine, dnnl_forward_inference,
      work->kind == LK_WORK_SOFTMAX ? dnnl_softmax_accurate : dnnl_softmax_log,
      self->of[LK_ROLE_SRC], self->of[LK_ROLE_DST], axis, self->attr);
}

static dnnl_alg_kind_t pooling_of(uint32_t pooling) {
  return pooling == LK_POOLING_MEAN ? dnnl_pooling_avg_exclude_padding
                                    : dnnl_pooling_avg_include_padding;
}

static dnnl_status_t describe_both(description *self) {
  const dnnl_status_t status = describe_role(self, LK_ROLE_SRC);
  return status == dnnl_success ? describe_role(self, LK_ROLE_DST) : status;
}

static dnnl_status_t describe_pool(description *self, dnnl_primitive_desc_t *out) {
  const window at = window_of(self->work);
  const dnnl_status_t status = describe_both(self);
  if (status != dnnl_success) return status;
  return dnnl_pooling_forward_primitive_desc_create(
      out, self->engine, dnnl_forward_inference, pooling_of(self->work->pooling),
      self->of[LK_ROLE_SRC], self->of[LK_ROLE_DST], at.strides, at.kernel, at.dilations, at.begin,
      at.end, self->attr);
}

static dnnl_status_t describe_lrn(description *self, dnnl_primitive_desc_t *out) {
  const lk_work_lrn *lrn = &self->work->lrn;
  const dnnl_status_t status = describe_both(self);
  if (status != dnnl_success) return status;
  return dnnl_lrn_forward_primitive_desc_create(
      out, self->engine, dnnl_forward_inference, dnnl_lrn_across_channels, self->of[LK_ROLE_SRC],
      self->of[LK_ROLE_DST], lrn->size, lrn->alpha, lrn->beta, lrn->bias, self->attr);
}

static unsigned norm_flags(const lk_work *work) {
  unsigned flags = work->is_centered != 0 ? 0 : dnnl_rms_norm;
  if (lk_onednn_has(work, LK_ROLE_SCALE)) flags |= dnnl_use_scale;
  if (lk_onednn_has(work, LK_ROLE_SHIFT)) flags |= dnnl_use_shift;
  return flags;
}

/* Over the last of two dimensions. */
static dnnl_status_t describe_layer_norm(description *self, dnnl_primitive_desc_t *out) {
  const lk_work *work = self->work;
  const lk_strided three = three_dims(&work->tensors[LK_ROLE_SRC], work->axes);
  const int64_t dims[] = {three.dims[0], three.dims[1]};
  const lk_strided of = lk_strided_plain(work->tensors[LK_ROLE_SRC].dtype, 2, dims);
  dnnl_status_t status = describe(self, LK_ROLE_SRC, &of);
  if (status == dnnl_success) status = describe(self, LK_ROLE_DST, &of);
  if (status != dnnl_success) return status;
  return dnnl_layer_normalization_forward_primitive_desc_create(
      out, self->engine, dnnl_forward_inference, self->of[LK_ROLE_SRC], self->of[LK_ROLE_DST], NULL,
      work->epsilon, norm_flags(work), self->attr);
}

static dnnl_status_t describe_group_norm(description *self, dnnl_primitive_desc_t *out) {
  const lk_work *work = self->work;
  const dnnl_status_t status = describe_both(self);
  if (status != dnnl_success) return status;
  return dnnl_group_normalization_forward_primitive_desc_create(
      out, self->engine, dnnl_forward_inference, self->of[LK_ROLE_SRC], self->of[LK_ROLE_DST],
      work->groups, work->epsilon, norm_flags(work), self->attr);
}

static dnnl_status_t describe_batch_norm(description *self, dnnl_primitive_desc_t *out) {
  const dnnl_status_t status = describe_both(self);
  if (status != dnnl_success) return status;
  return dnnl_batch_normalization_forward_primitive_desc_create(
      out, self->engine, dnnl_forward_inference, self->of[LK_ROLE_SRC], self->of[LK_ROLE_DST],
      self->work->epsilon, dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift, self->attr);
}

/* Over the last of two dimensions. */
static dnnl_status_t describe_reduce(description *self, dnnl_primitive_desc_t *out) {
  const lk_work *work = self->work;
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  const int64_t rows = lk_onednn_elements(&work->tensors[LK_ROLE_DST]);
  const int64_t from[] = {rows, lk_onednn_elements(src) / rows}, to[] = {rows, 1};
  const lk_strided of_src = lk_strided_plain(src->dtype, 2, from);
  const lk_strided of_dst = lk_strided_plain(src->dtype, 2, to);
  dnnl_status_t status = describe(self, LK_ROLE_SRC, &of_src);
  if (status == dnnl_success) status = describe(self, LK_ROLE_DST, &of_dst);
  if (status != dnnl_success) return status;
  return dnnl_reduction_primitive_desc_create(
      out, self->engine,
      work->reducing == LK_REDUCING_SUM    ? dnnl_reduction_sum
      : work->reducing == LK_REDUCING_MEAN ? dnnl_reduction_mean
                                           : dnnl_reduction_mul,
      self->of[LK_ROLE_SRC], self->of[LK_ROLE_DST], 0, 0, self->attr);
}

static dnnl_status_t describe_resize(description *self, dnnl_primitive_desc_t *out) {
  const dnnl_status_t status = describe_both(self);
  if (status != dnnl_success) return status;
  return dnnl_resampling_forward_primitive_desc_create(
      out, self->engine, dnnl_forward_inference,
      self->work->resize.interpolation == LK_INTERPOLATION_NEAREST ? dnnl_resampling_nearest
                                                                   : dnnl_resampling_linear,
      NULL, self->of[LK_ROLE_SRC], self->of[LK_ROLE_DST], self->attr);
}

/* A function of one tensor is a primitive that takes no post-ops. */
static dnnl_status_t describe_element(description *self, dnnl_primitive_desc_t *out) {
  const lk_work *work = self->work;
  const lk_onednn_function of = lk_onednn_function_of(&work->post_ops[0]);
  const uint32_t operand = work->post_ops[0].operand;
  lk_elements elements = lk_elements_of(work);
  if (is_prelu(work)) elements = lk_elements_of_slopes(&elements, operand);
  const uint32_t roles[] = {LK_ROLE_SRC, LK_ROLE_DST, operand};
  dnnl_status_t status = dnnl_success;
  for (uint32_t i = 0; status == dnnl_success && i < (operand != 0 ? 3 : 2); i++) {
    const lk_strided strided = lk_elements_strided(&elements, roles[i]);
    status = describe(self, roles[i], &strided);
  }
  if (status != dnnl_success) return status;
  if (operand == 0) {
    return dnnl_eltwise_forward_primitive_desc_create(
        out, self->engine, dnnl_forward_inference, of.kind, self->of[LK_ROLE_SRC],
        self->of[LK_ROLE_DST], of.alpha, of.beta, self->attr);
  }
  if (is_prelu(work)) {
    return dnnl_prelu_forward_primitive_desc_create(out, self->engine, dnnl_forward_inference,
                                                    self->of[LK_ROLE_SRC], self->of[operand],
                                                    self->of[LK_ROLE_DST], self->attr);
  }
  const bool swaps = lk_elements_swaps(work, &elements);
  return dnnl_binary_primitive_desc_create(
      out, self->engine, of.kind, self->of[swaps ? operand : LK_ROLE_SRC],
      self->of[swaps ? LK_ROLE_SRC : operand], self->of[LK_ROLE_DST], self->attr);
}

static dnnl_status_t describe_recurrent(description *self, dnnl_primitive_desc_t *out) {
  return lk_onednn_recurrent_describe(self->work, self->engine, self->attr, self->of, out);
}

static dnnl_status_t describe_move(description *self, dnnl_primitive_desc_t *out) {
  return lk_moves_describe(self->work, self->engine, self->attr, self->of, out);
}

typedef dnnl_status_t (*describe_fn)(description *self, dnnl_primitive_desc_t *out);
static const struct {
  describe_fn describe;
  const char *what;
} kinds[LK_WORK_KINDS] = {
    [LK_WORK_CONV] = {describe_conv, "describe a convolution"},
    [LK_WORK_CONV_TRANSPOSED] = {describe_conv, "describe a deconvolution"},
    [LK_WORK_PRODUCT] = {describe_product, "describe a product of matrices"},
    [LK_WORK_SOFTMAX] = {describe_softmax, "describe a softmax"},
    [LK_WORK_LOG_SOFTMAX] = {describe_softmax, "describe a logarithm of softmax"},
    [LK_WORK_POOL] = {describe_pool, "describe a pooling"},
    [LK_WORK_LRN] = {describe_lrn, "describe a local response normalization"},
    [LK_WORK_LAYER_NORM] = {describe_layer_norm, "describe a layer normalization"},
    [LK_WORK_GROUP_NORM] = {describe_group_norm, "describe a group normalization"},
    [LK_WORK_ELEMENT] = {describe_element, "describe an element-wise function"},
    [LK_WORK_REDUCE] = {describe_reduce, "describe a reduction"},
    [LK_WORK_RESIZE] = {describe_resize, "describe a resampling"},
    [LK_WORK_RECURRENT] = {describe_recurrent, "describe a recurrent layer"},
    [LK_WORK_REORDER] = {describe_move, "describe a reorder"},
    [LK_WORK_CONCAT] = {describe_move, "describe a concatenation"},
    [LK_WORK_BATCH_NORM] = {describe_batch_norm, "describe a batch normalization"},
};

typedef struct describe_call {
  description *of;
  dnnl_primitive_desc_t *out;
  lk_error *error;
} describe_call;

static lk_status describe_work(void *arg) {
  const describe_call *call = arg;
  const uint32_t kind = call->of->work->kind;
  dnnl_status_t status = make_attr(call->of);
  if (status == dnnl_success) status = kinds[kind].describe(call->of, call->out);
  return lk_onednn_check(call->error, status, kinds[kind].what);
}

lk_status lk_onednn_describe(const lk_onednn *self, const lk_work *work,
                             dnnl_primitive_desc_t *out_desc, lk_error *error) {
  description of = {.work = work, .engine = self->engine};
  describe_call call = {&of, out_desc, error};
  *out_desc = NULL;
  if (work->kind >= LK_WORK_KINDS || kinds[work->kind].describe == NULL) {
    return lk_onednn_fail(error, LK_UNSUPPORTED, "oneDNN has no primitive for works of kind %u",
                          work->kind);
  }
  const lk_status status = lk_onednn_try(describe_work, &call, kinds[work->kind].what, error);
  for (uint32_t i = 0; i < LK_ROLES; i++) {
    if (of.of[i] != NULL) (void)dnnl_memory_desc_destroy(of.of[i]);
  }
  for (uint32_t i = 0; i < LK_BYTES_NUMBERS; i++) {
    if (of.numbers[i] != NULL) (void)dnnl_memory_desc_destroy(of.numbers[i]);
  }
  if (of.post_ops != NULL) (void)dnnl_post_ops_destroy(of.post_ops);
  if (of.attr != NULL) (void)dnnl_primitive_attr_destroy(of.attr);
  return status;
}
