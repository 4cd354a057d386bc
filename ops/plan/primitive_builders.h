/* The builder of each kind of primitive: lk_build_<name>, one row each in primitive_list.inc. */
#ifndef LK_OPS_PLAN_PRIMITIVE_BUILDERS_H
#define LK_OPS_PLAN_PRIMITIVE_BUILDERS_H

#include "ops/plan/primitive.h"

#define K(symbol, name, bytes)                                                                     \
  lk_status lk_build_##name(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,      \
                            lk_error *error);
#include "ops/plan/primitive_list.inc"
#undef K

#endif
