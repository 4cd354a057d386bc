/* Sum of tensors of one shape from a value key: SRC 0 .. n-1, DST. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"
#include "plugin/base/status.h"

#define MAX_SUM_INPUTS 32

lk_status lk_build_sum(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                       lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t sources[MAX_SUM_INPUTS] = {NULL}, dst = NULL;
  float scales[MAX_SUM_INPUTS];
  uint32_t count = 0;
  for (; count < MAX_SUM_INPUTS; count++) {
    LK_TRY(lk_build_tensor(build, LK_WORD_SRC, count, &sources[count], error));
    if (sources[count] == NULL) break;
    scales[count] = 1.0F;
  }
  LK_TRY(lk_build_tensor(build, LK_WORD_DST, 0, &dst, error));
  LK_TRY(lk_dnnl_check(error,
                       dnnl_sum_primitive_desc_create(out_desc, build->env->engine, dst, (int)count,
                                                      scales, (const_dnnl_memory_desc_t *)sources,
                                                      build->attr),
                       "describe a sum"));
cleanup:
  for (uint32_t i = 0; i < count; i++) dnnl_memory_desc_destroy(sources[i]);
  if (dst != NULL) dnnl_memory_desc_destroy(dst);
  return status;
}
