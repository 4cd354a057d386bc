/* Reduction of the dimensions that are 1 in DST, from a value key: SRC, DST; ALGORITHM; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"
#include "plugin/base/status.h"

lk_status lk_build_reduction(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                             lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t src = NULL;
  dnnl_memory_desc_t dst = NULL;
  LK_TRY(lk_build_tensor(build, LK_WORD_SRC, 0, &src, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_DST, 0, &dst, error));
  const dnnl_alg_kind_t algorithm =
      (dnnl_alg_kind_t)lk_build_number(build, LK_WORD_ALGORITHM, dnnl_alg_kind_undef);
  LK_TRY(lk_dnnl_check(error,
                       dnnl_reduction_primitive_desc_create(out_desc, build->env->engine, algorithm,
                                                            src, dst, 0, 0, build->attr),
                       "describe a reduction"));
cleanup:
  if (src != NULL) dnnl_memory_desc_destroy(src);
  if (dst != NULL) dnnl_memory_desc_destroy(dst);
  return status;
}
