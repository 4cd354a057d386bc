/* Resampling from a value key: SRC, DST; ALGORITHM. The factors are the ratios of the dimensions. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_resampling(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                              lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_resampling_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           lk_build_algorithm(build), NULL, build->src, build->dst, build->attr),
                       "describe a resampling");
}
