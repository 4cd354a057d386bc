/* Pooling from a value key: SRC, DST; ALGORITHM, KERNEL, STRIDES, DILATIONS, PADS_BEGIN, PADS_END,
 * FLAGS 1 (training: it also writes positions into its workspace); post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"
#include "plugin/base/status.h"

lk_status lk_build_pooling(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t src = NULL;
  dnnl_memory_desc_t dst = NULL;
  LK_TRY(lk_build_tensor(build, LK_WORD_SRC, 0, &src, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_DST, 0, &dst, error));
  const dnnl_alg_kind_t algorithm =
      (dnnl_alg_kind_t)lk_build_number(build, LK_WORD_ALGORITHM, dnnl_alg_kind_undef);
  dnnl_dims_t kernel = {0}, strides = {0}, dilations = {0}, begin = {0}, end = {0};
  lk_build_dims(build, LK_WORD_KERNEL, kernel);
  lk_build_dims(build, LK_WORD_STRIDES, strides);
  lk_build_dims(build, LK_WORD_DILATIONS, dilations);
  lk_build_dims(build, LK_WORD_PADS_BEGIN, begin);
  lk_build_dims(build, LK_WORD_PADS_END, end);
  const bool training = lk_build_number(build, LK_WORD_FLAGS, 0) != 0;
  LK_TRY(lk_dnnl_check(error,
                       dnnl_pooling_forward_primitive_desc_create(
                           out_desc, build->env->engine,
                           training ? dnnl_forward_training : dnnl_forward_inference, algorithm,
                           src, dst, strides, kernel, dilations, begin, end, build->attr),
                       "describe a pooling"));
cleanup:
  if (src != NULL) dnnl_memory_desc_destroy(src);
  if (dst != NULL) dnnl_memory_desc_destroy(dst);
  return status;
}
