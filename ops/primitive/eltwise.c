/* Element-wise function from a value key: SRC, DST; ALGORITHM, ALPHA, BETA. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_eltwise(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_eltwise_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           lk_build_algorithm(build), build->src, build->dst,
                           lk_build_float(build, LK_WORD_ALPHA, 0),
                           lk_build_float(build, LK_WORD_BETA, 0), build->attr),
                       "describe an element-wise function");
}
