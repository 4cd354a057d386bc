/* Convolution and deconvolution from a value key: SRC, WEIGHTS, BIAS (optional), DST; STRIDES, DILATIONS, PADS_BEGIN,
 * PADS_END; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_convolution(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                               lk_error *error) {
  const lk_build_window window = lk_build_get_window(build);
  return lk_dnnl_check(error,
                       dnnl_convolution_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           dnnl_convolution_direct, build->src, build->weights, build->bias,
                           build->dst, window.strides, window.dilations, window.begin, window.end,
                           build->attr),
                       "describe a convolution");
}

lk_status lk_build_deconvolution(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                                 lk_error *error) {
  const lk_build_window window = lk_build_get_window(build);
  return lk_dnnl_check(error,
                       dnnl_deconvolution_forward_primitive_desc_create(
                           out_desc, build->env->engine, dnnl_forward_inference,
                           dnnl_deconvolution_direct, build->src, build->weights, build->bias,
                           build->dst, window.strides, window.dilations, window.begin, window.end,
                           build->attr),
                       "describe a deconvolution");
}
