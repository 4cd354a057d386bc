/* Reduction of the dimensions that are 1 in DST, from a value key: SRC, DST; ALGORITHM; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_reduction(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                             lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_reduction_primitive_desc_create(out_desc, build->env->engine,
                                                            lk_build_algorithm(build), build->src,
                                                            build->dst, 0, 0, build->attr),
                       "describe a reduction");
}
