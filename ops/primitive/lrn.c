/* Local response normalization across channels from a value key: SRC, DST; SIZE, ALPHA, BETA, POWER (k). */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_lrn(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                       lk_error *error) {
  return lk_dnnl_check(
      error,
      dnnl_lrn_forward_primitive_desc_create(
          out_desc, build->env->engine, dnnl_forward_inference, dnnl_lrn_across_channels,
          build->src, build->dst, lk_build_number(build, LK_WORD_SIZE, 1),
          lk_build_float(build, LK_WORD_ALPHA, 0), lk_build_float(build, LK_WORD_BETA, 0),
          lk_build_float(build, LK_WORD_POWER, 1), build->attr),
      "describe a local response normalization");
}
