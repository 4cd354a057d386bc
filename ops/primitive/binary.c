/* Binary arithmetic with broadcasting from a value key: SRC, SRC_1, DST; ALGORITHM; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_binary(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                          lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_binary_primitive_desc_create(out_desc, build->env->engine,
                                                         lk_build_algorithm(build), build->src,
                                                         build->src1, build->dst, build->attr),
                       "describe a binary operation");
}
