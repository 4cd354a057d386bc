/* What a step of a plan runs, and how much work that is. A kernel's work is known where it is
 * planned; a primitive's is read from its descriptor here. */
#include "ops/plan/step_info.h"

/* ---- primitives ---- */

/* An operand of a primitive, as its descriptor has it. */
typedef struct shape {
  int rank;
  const dnnl_dim_t *dims;
  double elements;
} shape;

static shape shape_of(const_dnnl_memory_desc_t md) {
  shape it = {.elements = 1};
  dnnl_dims_t *dims = NULL;
  if (dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &it.rank) != dnnl_success) it.rank = 0;
  if (it.rank == 0 || dnnl_memory_desc_query(md, dnnl_query_dims, &dims) != dnnl_success) {
    return (shape){0};
  }
  it.dims = *dims;
  for (int i = 0; i < it.rank; i++) it.elements *= (double)it.dims[i];
  return it;
}

static shape operand(const lk_primitive *primitive, dnnl_query_t what) {
  return shape_of(dnnl_primitive_desc_query_md(primitive->desc, what, 0));
}

/* Of a convolution, each element of one side is multiplied with as many weights as there are for
 * one channel of that side: of `from` DST, and of a deconvolution SRC. */
static double convolution_flops(const lk_primitive *primitive, dnnl_query_t from) {
  const shape side = operand(primitive, from);
  const shape weights = operand(primitive, dnnl_query_weights_md);
  return side.rank < 2 ? 0 : 2 * side.elements * weights.elements / (double)side.dims[1];
}

static double flops_of(const lk_primitive *primitive, double most_elements) {
  dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
  (void)dnnl_primitive_desc_query(primitive->desc, dnnl_query_primitive_kind, 0, &kind);
  switch ((int)kind) {
  case dnnl_convolution:
    return convolution_flops(primitive, dnnl_query_dst_md);
  case dnnl_deconvolution:
    return convolution_flops(primitive, dnnl_query_src_md);
  case dnnl_reorder:
    return 0;
  default:
    return most_elements;
  }
}

static void count_primitive(const lk_plan_body *body, const lk_step *step, lk_step_info *info) {
  double most_elements = 0;
  for (uint32_t i = 0; i < step->n_args; i++) {
    const int arg = lk_plan_args(body)[step->first_arg + i].arg;
    const const_dnnl_memory_desc_t md =
        dnnl_primitive_desc_query_md(step->primitive->desc, dnnl_query_exec_arg_md, arg);
    const shape it = shape_of(md);
    info->bytes += (double)dnnl_memory_desc_get_size(md);
    if (it.elements > most_elements) most_elements = it.elements;
  }
  info->flops = flops_of(step->primitive, most_elements);
}

/* ---- both ---- */

lk_step_info lk_step_describe(const lk_plan_body *body, uint32_t index) {
  const lk_step *step = &lk_plan_steps(body)[index];
  static _Thread_local char tiles[128];
  lk_step_info info = {.struct_size = sizeof info, .tiles = ""};
  if (step->primitive != NULL) {
    info.kind = step->primitive->kind;
    info.implementation = step->primitive->implementation;
    count_primitive(body, step, &info);
  } else {
    info.kind = step->kind;
    info.implementation = "kernel";
    if (step->describe != NULL) {
      step->describe(step->params, tiles, sizeof tiles);
      info.tiles = tiles;
    }
    info.flops = step->flops;
    info.bytes = step->bytes;
  }
  return info;
}
