/* Copy between two layouts or types, from a value key: SRC, DST. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"
#include "plugin/base/status.h"

lk_status lk_build_reorder(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t src = NULL;
  dnnl_memory_desc_t dst = NULL;
  LK_TRY(lk_build_tensor(build, LK_WORD_SRC, 0, &src, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_DST, 0, &dst, error));
  LK_TRY(lk_dnnl_check(error,
                       dnnl_reorder_primitive_desc_create(out_desc, src, build->env->engine, dst,
                                                          build->env->engine, build->attr),
                       "describe a reorder"));
cleanup:
  if (src != NULL) dnnl_memory_desc_destroy(src);
  if (dst != NULL) dnnl_memory_desc_destroy(dst);
  return status;
}
