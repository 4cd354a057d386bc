/* Batch normalization with given statistics, scale and shift, from a value key: SRC, DST; EPSILON; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"
#include "plugin/base/status.h"

lk_status lk_build_batch_norm(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                              lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t src = NULL;
  dnnl_memory_desc_t dst = NULL;
  LK_TRY(lk_build_tensor(build, LK_WORD_SRC, 0, &src, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_DST, 0, &dst, error));
  const unsigned flags =
      dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift; /* bound as arguments */
  LK_TRY(lk_dnnl_check(error,
                       dnnl_batch_normalization_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference, src, dst,
                           lk_build_float(build, LK_WORD_EPSILON, 0), flags, build->attr),
                       "describe a batch normalization"));
cleanup:
  if (src != NULL) dnnl_memory_desc_destroy(src);
  if (dst != NULL) dnnl_memory_desc_destroy(dst);
  return status;
}
