/* Copy between two layouts or types, from a value key: SRC, DST. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"

lk_status lk_build_reorder(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                           lk_error *error) {
  return lk_dnnl_check(error,
                       dnnl_reorder_primitive_desc_create(out_desc, build->src, build->env->engine,
                                                          build->dst, build->env->engine,
                                                          build->attr),
                       "describe a reorder");
}
