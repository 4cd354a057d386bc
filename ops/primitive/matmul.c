/* Matrix product from a value key: SRC, WEIGHTS, BIAS (optional), DST; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_matmul(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                          lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_matmul_primitive_desc_create(out_desc, build->env->engine, build->src,
                                                         build->weights, build->bias, build->dst,
                                                         build->attr),
                       "describe a matmul");
}
