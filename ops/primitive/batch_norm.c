/* Batch normalization with given statistics, scale and shift, from a value key: SRC, DST; EPSILON; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

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
