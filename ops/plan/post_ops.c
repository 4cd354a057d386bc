/* Post-op chains: from a value key into oneDNN's attribute. */
#include "ops/plan/post_ops.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "ops/plan/onednn.h"

/* By kind; undef, which is 0, where it is the other sort. */
static const dnnl_alg_kind_t eltwise_algorithms[] = {
    [LK_POST_RELU] = dnnl_eltwise_relu,           [LK_POST_CLIP] = dnnl_eltwise_clip,
    [LK_POST_SIGMOID] = dnnl_eltwise_logistic,    [LK_POST_HARDSIGMOID] = dnnl_eltwise_hardsigmoid,
    [LK_POST_HARDSWISH] = dnnl_eltwise_hardswish, [LK_POST_SWISH] = dnnl_eltwise_swish,
    [LK_POST_LINEAR] = dnnl_eltwise_linear};
static const dnnl_alg_kind_t binary_algorithms[] = {[LK_POST_ADD] = dnnl_binary_add,
                                                    [LK_POST_MUL] = dnnl_binary_mul,
                                                    [LK_POST_SUB] = dnnl_binary_sub,
                                                    [LK_POST_DIV] = dnnl_binary_div};

/* undef: a binary one. */
static dnnl_alg_kind_t eltwise_algorithm(const lk_post_op *post_op, float *out_alpha,
                                         float *out_beta) {
  /* ONNX HardSwish has no parameters */
  const bool is_fixed = post_op->kind == LK_POST_HARDSWISH;
  *out_alpha = is_fixed ? 1.0F / 6.0F : post_op->alpha;
  *out_beta = is_fixed ? 0.5F : post_op->beta;
  const size_t count = sizeof eltwise_algorithms / sizeof eltwise_algorithms[0];
  return post_op->kind < count ? eltwise_algorithms[post_op->kind] : dnnl_alg_kind_undef;
}

/* undef: an element-wise one. */
static dnnl_alg_kind_t binary_algorithm(uint32_t kind) {
  const size_t count = sizeof binary_algorithms / sizeof binary_algorithms[0];
  return kind < count ? binary_algorithms[kind] : dnnl_alg_kind_undef;
}

static lk_status append_binary(const lk_primitive_build *build, dnnl_alg_kind_t algorithm,
                               uint32_t index, dnnl_post_ops_t chain, lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t operand = NULL;
  LK_TRY(lk_build_tensor(build, LK_WORD_INPUT, index, &operand, error));
  LK_TRY(lk_dnnl_check(error, dnnl_post_ops_append_binary(chain, algorithm, operand),
                       "append a binary post-op"));
cleanup:
  if (operand != NULL) dnnl_memory_desc_destroy(operand);
  return status;
}

static lk_status append(const lk_primitive_build *build, const lk_key_post_op *record,
                        uint32_t index, dnnl_post_ops_t chain, lk_error *error) {
  const dnnl_alg_kind_t binary = binary_algorithm(record->kind);
  if (binary != dnnl_alg_kind_undef) return append_binary(build, binary, index, chain, error);
  lk_post_op post_op = {.kind = record->kind};
  memcpy(&post_op.alpha, &record->alpha, sizeof post_op.alpha);
  memcpy(&post_op.beta, &record->beta, sizeof post_op.beta);
  float alpha = 0, beta = 0;
  const dnnl_alg_kind_t eltwise = eltwise_algorithm(&post_op, &alpha, &beta);
  if (eltwise == dnnl_alg_kind_undef) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to append post-op %" PRIu32 ": kind %" PRIu32 " is unknown", index,
                   record->kind);
  }
  return lk_dnnl_check(error, dnnl_post_ops_append_eltwise(chain, eltwise, alpha, beta),
                       "append an element-wise post-op");
}

lk_status lk_post_ops_attr(const lk_primitive_build *build, dnnl_primitive_attr_t *out_attr,
                           lk_error *error) {
  *out_attr = NULL;
  lk_status status = LK_OK;
  dnnl_primitive_attr_t attr = NULL;
  dnnl_post_ops_t chain = NULL;
  LK_TRY(lk_dnnl_check(error, dnnl_primitive_attr_create(&attr), "make an attribute"));
  LK_TRY(lk_dnnl_check(error,
                       dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user),
                       "set the scratchpad mode"));
  LK_TRY(lk_dnnl_check(error,
                       dnnl_primitive_attr_set_fpmath_mode(
                           attr, (dnnl_fpmath_mode_t)lk_key_get_head(build->key)->math_mode),
                       "set the math mode"));
  LK_TRY(lk_dnnl_check(error, dnnl_post_ops_create(&chain), "make a post-op chain"));
  uint32_t index = 0;
  for (lk_key_reader reader = lk_key_read(build->key); lk_key_next(&reader);) {
    if (reader.type != LK_RECORD_POST_OP) continue;
    LK_TRY(append(build, reader.record, index, chain, error));
    index++;
  }
  if (index > 0) {
    LK_TRY(lk_dnnl_check(error, dnnl_primitive_attr_set_post_ops(attr, chain), "set post-ops"));
  }
  *out_attr = attr;
  attr = NULL;
cleanup:
  if (chain != NULL) dnnl_post_ops_destroy(chain);
  if (attr != NULL) dnnl_primitive_attr_destroy(attr);
  return status;
}
