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

/* ---- builders ---- */

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
