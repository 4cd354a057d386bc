/* The builder of each kind of primitive: lk_build_<name>, one row each in list.inc. */
#ifndef LK_OPS_PRIMITIVE_BUILDERS_H
#define LK_OPS_PRIMITIVE_BUILDERS_H

#include "ops/primitive.h"

#define K(symbol, name, bytes)                                                                     \
  lk_status lk_build_##name(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,      \
                            lk_error *error);
#include "ops/primitive/list.inc"
#undef K

#endif
