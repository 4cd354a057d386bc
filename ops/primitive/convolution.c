/* Convolution and deconvolution from a value key: SRC, WEIGHTS, BIAS (optional), DST; STRIDES, DILATIONS, PADS_BEGIN,
 * PADS_END; post-ops. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"
#include "plugin/base/status.h"

typedef struct operands {
  dnnl_memory_desc_t src, weights, bias, dst;
  dnnl_dims_t strides, dilations, begin, end;
} operands;

static lk_status read_operands(const lk_primitive_build *build, operands *out, lk_error *error) {
  lk_status status = LK_OK;
  LK_TRY(lk_build_tensor(build, LK_WORD_SRC, 0, &out->src, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_WEIGHTS, 0, &out->weights, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_BIAS, 0, &out->bias, error));
  LK_TRY(lk_build_tensor(build, LK_WORD_DST, 0, &out->dst, error));
  lk_build_dims(build, LK_WORD_STRIDES, out->strides);
  lk_build_dims(build, LK_WORD_DILATIONS, out->dilations);
  lk_build_dims(build, LK_WORD_PADS_BEGIN, out->begin);
  lk_build_dims(build, LK_WORD_PADS_END, out->end);
cleanup:
  return status;
}

static void release_operands(operands *self) {
  if (self->src != NULL) dnnl_memory_desc_destroy(self->src);
  if (self->weights != NULL) dnnl_memory_desc_destroy(self->weights);
  if (self->bias != NULL) dnnl_memory_desc_destroy(self->bias);
  if (self->dst != NULL) dnnl_memory_desc_destroy(self->dst);
}

lk_status lk_build_convolution(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                               lk_error *error) {
  operands o = {0};
  lk_status status = read_operands(build, &o, error);
  if (status == LK_OK) {
    status = lk_dnnl_check(error,
                           dnnl_convolution_forward_primitive_desc_create(
                               out_desc, build->env->engine, dnnl_forward_inference,
                               dnnl_convolution_direct, o.src, o.weights, o.bias, o.dst, o.strides,
                               o.dilations, o.begin, o.end, build->attr),
                           "describe a convolution");
  }
  release_operands(&o);
  return status;
}

lk_status lk_build_deconvolution(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                                 lk_error *error) {
  operands o = {0};
  lk_status status = read_operands(build, &o, error);
  if (status == LK_OK) {
    status = lk_dnnl_check(error,
                           dnnl_deconvolution_forward_primitive_desc_create(
                               out_desc, build->env->engine, dnnl_forward_inference,
                               dnnl_deconvolution_direct, o.src, o.weights, o.bias, o.dst,
                               o.strides, o.dilations, o.begin, o.end, build->attr),
                           "describe a deconvolution");
  }
  release_operands(&o);
  return status;
}
