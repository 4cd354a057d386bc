/* Pooling from a value key: SRC, DST; ALGORITHM, KERNEL, STRIDES, DILATIONS, PADS_BEGIN, PADS_END,
 * FLAGS 1 (training: it also writes positions into its workspace); post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_pooling(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  const lk_build_window window = lk_build_get_window(build);
  const bool training = lk_build_number(build, LK_WORD_FLAGS, 0) != 0;
  return lk_dnnl_check(error,
                       dnnl_pooling_forward_primitive_desc_create(
                           out_desc, build->env->engine,
                           training ? dnnl_forward_training : dnnl_forward_inference,
                           lk_build_algorithm(build), build->src, build->dst, window.strides,
                           window.kernel, window.dilations, window.begin, window.end, build->attr),
                       "describe a pooling");
}
