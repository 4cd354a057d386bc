/* The builder of each kind of primitive: from a value key to oneDNN's descriptor. Each says which
 * tensors and attributes its keys have, besides what lk_planner_key_begin adds. */
#include "ops/plan/primitive_kind.h"

#include "ops/plan/layout.h"

/* ---- what a key says ---- */

lk_status lk_build_tensor(const lk_primitive_build *build, lk_word role, uint32_t index,
                          dnnl_memory_desc_t *out_md, lk_error *error) {
  *out_md = NULL;
  lk_tensor_desc desc;
  if (!lk_key_find_tensor(build->key, role, index, &desc, NULL)) return LK_OK;
  return lk_layouts_memory_desc(build->env->layouts, &desc, out_md, error);
}

static void read_dims(const lk_primitive_build *build, lk_word name, dnnl_dims_t out) {
  uint32_t count = 0;
  const int64_t *values = lk_key_find_attr(build->key, name, &count);
  if (count > DNNL_MAX_NDIMS) count = DNNL_MAX_NDIMS;
  for (uint32_t i = 0; i < count; i++) out[i] = values[i];
}

/* How a window moves over the spatial dimensions; zeros where the key has none. */
typedef struct window_dims {
  dnnl_dims_t strides, dilations, begin, end;
} window_dims;

static window_dims get_window(const lk_primitive_build *build) {
  window_dims window = {.strides = {0}};
  read_dims(build, LK_WORD_STRIDES, window.strides);
  read_dims(build, LK_WORD_DILATIONS, window.dilations);
  read_dims(build, LK_WORD_PADS_BEGIN, window.begin);
  read_dims(build, LK_WORD_PADS_END, window.end);
  return window;
}

/* ---- builders ---- */

/* SRC, WEIGHTS, BIAS (optional), DST; STRIDES, DILATIONS, PADS_BEGIN, PADS_END. */
static dnnl_status_t build_convolution(const lk_primitive_build *build,
                                       dnnl_primitive_desc_t *out_desc) {
  const window_dims window = get_window(build);
  return dnnl_convolution_forward_primitive_desc_create(
      out_desc, build->env->engine, dnnl_forward_inference, dnnl_convolution_direct, build->src,
      build->weights, build->bias, build->dst, window.strides, window.dilations, window.begin,
      window.end, build->attr);
}

/* As a convolution. */
static dnnl_status_t build_deconvolution(const lk_primitive_build *build,
                                         dnnl_primitive_desc_t *out_desc) {
  const window_dims window = get_window(build);
  return dnnl_deconvolution_forward_primitive_desc_create(
      out_desc, build->env->engine, dnnl_forward_inference, dnnl_deconvolution_direct, build->src,
      build->weights, build->bias, build->dst, window.strides, window.dilations, window.begin,
      window.end, build->attr);
}

/* SRC, DST: types or layouts differ. */
static dnnl_status_t build_reorder(const lk_primitive_build *build,
                                   dnnl_primitive_desc_t *out_desc) {
  return dnnl_reorder_primitive_desc_create(out_desc, build->src, build->env->engine, build->dst,
                                            build->env->engine, build->attr);
}

const lk_primitive_kind_row lk_primitive_kinds[LK_N_WORDS] = {
#define K(symbol, name, bytes)                                                                     \
  [LK_PRIMITIVE_##symbol] = {#name, "describe " #name, "create " #name, build_##name, bytes},
#include "ops/plan/primitive_list.inc"
#undef K
};
