/* Softmax along an axis from a value key: SRC, DST; AXIS; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_softmax(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_softmax_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           dnnl_softmax_accurate, build->src, build->dst,
                           (int)lk_build_number(build, LK_WORD_AXIS, 0), build->attr),
                       "describe a softmax");
}
