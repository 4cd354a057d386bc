/* Matrix product from a value key: SRC, WEIGHTS, BIAS (optional), DST; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"
#include "plugin/base/status.h"

lk_status lk_build_matmul(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                          lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t src = NULL;
  dnnl_memory_desc_t weights = NULL;
  dnnl_memory_desc_t bias = NULL;
  dnnl_memory_desc_t dst = NULL;
  LK_TRY(lk_build_tensor(build, LK_WORD_SRC, 0, &src, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_WEIGHTS, 0, &weights, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_BIAS, 0, &bias, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_DST, 0, &dst, error));
  LK_TRY(lk_dnnl_check(error,
                       dnnl_matmul_primitive_desc_create(out_desc, build->env->engine, src, weights,
                                                         bias, dst, build->attr),
                       "describe a matmul"));
cleanup:
  if (src != NULL) dnnl_memory_desc_destroy(src);
  if (weights != NULL) dnnl_memory_desc_destroy(weights);
  if (bias != NULL) dnnl_memory_desc_destroy(bias);
  if (dst != NULL) dnnl_memory_desc_destroy(dst);
  return status;
}
