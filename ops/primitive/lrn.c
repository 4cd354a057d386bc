/* Local response normalization across channels from a value key: SRC, DST; SIZE, ALPHA, BETA, POWER (k). */
#include "ops/layout.h"
#include "ops/primitive/builders.h"
#include "plugin/base/status.h"

lk_status lk_build_lrn(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                       lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t src = NULL;
  dnnl_memory_desc_t dst = NULL;
  LK_TRY(lk_build_tensor(build, LK_WORD_SRC, 0, &src, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_DST, 0, &dst, error));
  LK_TRY(lk_dnnl_check(
      error,
      dnnl_lrn_forward_primitive_desc_create(
          out_desc, build->env->engine, dnnl_forward_inference, dnnl_lrn_across_channels, src, dst,
          lk_build_number(build, LK_WORD_SIZE, 1), lk_build_float(build, LK_WORD_ALPHA, 0),
          lk_build_float(build, LK_WORD_BETA, 0), lk_build_float(build, LK_WORD_POWER, 1),
          build->attr),
      "describe a local response normalization"));
cleanup:
  if (src != NULL) dnnl_memory_desc_destroy(src);
  if (dst != NULL) dnnl_memory_desc_destroy(dst);
  return status;
}
