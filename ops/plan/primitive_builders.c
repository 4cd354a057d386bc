/* The builder of each kind of primitive: from a value key to oneDNN's descriptor. Each says which
 * tensors and attributes its keys have; what the key does not have is as in primitive.h. */
#include "ops/plan/primitive_builders.h"
#include "ops/plan/layout.h"

#include "base/status.h"

enum { MAX_SOURCES = 64 };

/* Convolution and deconvolution from a value key: SRC, WEIGHTS, BIAS (optional), DST; STRIDES, DILATIONS, PADS_BEGIN,
 * PADS_END; post-ops. */
lk_status lk_build_convolution(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                               lk_error *error) {
  const lk_build_window window = lk_build_get_window(build);
  return lk_dnnl_check(error,
                       dnnl_convolution_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           dnnl_convolution_direct, build->src, build->weights, build->bias,
                           build->dst, window.strides, window.dilations, window.begin, window.end,
                           build->attr),
                       "describe a convolution");
}

lk_status lk_build_deconvolution(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                                 lk_error *error) {
  const lk_build_window window = lk_build_get_window(build);
  return lk_dnnl_check(error,
                       dnnl_deconvolution_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           dnnl_deconvolution_direct, build->src, build->weights, build->bias,
                           build->dst, window.strides, window.dilations, window.begin, window.end,
                           build->attr),
                       "describe a deconvolution");
}

/* Matrix product from a value key: SRC, WEIGHTS, BIAS (optional), DST; post-ops. */
lk_status lk_build_matmul(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                          lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_matmul_primitive_desc_create(out_desc, build->env->engine, build->src,
                                                         build->weights, build->bias, build->dst,
                                                         build->attr),
                       "describe a matmul");
}

/* Element-wise function from a value key: SRC, DST; ALGORITHM, ALPHA, BETA. */
lk_status lk_build_eltwise(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_eltwise_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           lk_build_algorithm(build), build->src, build->dst,
                           lk_build_float(build, LK_WORD_ALPHA, 0),
                           lk_build_float(build, LK_WORD_BETA, 0), build->attr),
                       "describe an element-wise function");
}

/* Binary arithmetic with broadcasting from a value key: SRC, SRC_1, DST; ALGORITHM; post-ops. */
lk_status lk_build_binary(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                          lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_binary_primitive_desc_create(out_desc, build->env->engine,
                                                         lk_build_algorithm(build), build->src,
                                                         build->src1, build->dst, build->attr),
                       "describe a binary operation");
}

/* Pooling from a value key: SRC, DST; ALGORITHM, KERNEL, STRIDES, DILATIONS, PADS_BEGIN, PADS_END,
 * FLAGS 1 (training: it also writes positions into its workspace); post-ops. */
lk_status lk_build_pooling(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  const lk_build_window window = lk_build_get_window(build);
  const bool training = lk_build_number(build, LK_WORD_FLAGS, 0) != 0;
  return lk_dnnl_check(error,
                       dnnl_pooling_forward_primitive_desc_create(
                           out_desc, build->env->engine,
                           training ? dnnl_forward_training : dnnl_forward_inference,
                           lk_build_algorithm(build), build->src, build->dst, window.strides,
                           window.kernel, window.dilations, window.begin, window.end, build->attr),
                       "describe a pooling");
}

/* Local response normalization across channels from a value key: SRC, DST; SIZE, ALPHA, BETA, POWER (k). */
lk_status lk_build_lrn(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                       lk_error *error) {
  return lk_dnnl_check(
      error,
      dnnl_lrn_forward_primitive_desc_create(
          out_desc, build->env->engine, dnnl_forward_inference, dnnl_lrn_across_channels,
          build->src, build->dst, lk_build_number(build, LK_WORD_SIZE, 1),
          lk_build_float(build, LK_WORD_ALPHA, 0), lk_build_float(build, LK_WORD_BETA, 0),
          lk_build_float(build, LK_WORD_POWER, 1), build->attr),
      "describe a local response normalization");
}

/* Batch normalization with given statistics, scale and shift, from a value key: SRC, DST; EPSILON; post-ops. */
lk_status lk_build_batch_norm(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                              lk_error *error) {
  const unsigned flags =
      dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift; /* bound as arguments */
  return lk_dnnl_check(error,
                       dnnl_batch_normalization_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference, build->src,
                           build->dst, lk_build_float(build, LK_WORD_EPSILON, 0), flags,
                           build->attr),
                       "describe a batch normalization");
}

/* Softmax along an axis from a value key: SRC, DST; AXIS; post-ops. */
lk_status lk_build_softmax(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_softmax_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           dnnl_softmax_accurate, build->src, build->dst,
                           (int)lk_build_number(build, LK_WORD_AXIS, 0), build->attr),
                       "describe a softmax");
}

/* Reduction of the dimensions that are 1 in DST, from a value key: SRC, DST; ALGORITHM; post-ops. */
lk_status lk_build_reduction(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                             lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_reduction_primitive_desc_create(out_desc, build->env->engine,
                                                            lk_build_algorithm(build), build->src,
                                                            build->dst, 0, 0, build->attr),
                       "describe a reduction");
}

/* Resampling from a value key: SRC, DST; ALGORITHM. The factors are the ratios of the dimensions. */
lk_status lk_build_resampling(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                              lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_resampling_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           lk_build_algorithm(build), NULL, build->src, build->dst, build->attr),
                       "describe a resampling");
}

/* Concatenation from a value key: SRC 0 .. n-1, DST; AXIS. */
lk_status lk_build_concat(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                          lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t sources[MAX_SOURCES] = {NULL};
  const_dnnl_memory_desc_t lent[MAX_SOURCES];
  int count = 0;
  for (; count < MAX_SOURCES; count++) {
    LK_TRY(lk_build_tensor(build, LK_WORD_SRC, (uint32_t)count, &sources[count], error));
    if (sources[count] == NULL) break;
    lent[count] = sources[count];
  }
  LK_TRY(lk_dnnl_check(error,
                       dnnl_concat_primitive_desc_create(
                           out_desc, build->env->engine, build->dst, count,
                           (int)lk_build_number(build, LK_WORD_AXIS, 0), lent, build->attr),
                       "describe a concatenation"));
cleanup:
  for (int i = 0; i < MAX_SOURCES; i++) {
    if (sources[i] != NULL) dnnl_memory_desc_destroy(sources[i]);
  }
  return status;
}

/* Copy between two layouts or types, from a value key: SRC, DST. */
lk_status lk_build_reorder(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_reorder_primitive_desc_create(out_desc, build->src, build->env->engine,
                                                          build->dst, build->env->engine,
                                                          build->attr),
                       "describe a reorder");
}
