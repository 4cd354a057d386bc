#include "ops/engine/onednn/moves.h"

/* ---- what is left ---- */

static bool has_order(const lk_work *work) {
  for (uint32_t i = 0; i < work->tensors[LK_ROLE_SRC].rank; i++) {
    if (work->order[i] >= work->tensors[LK_ROLE_SRC].rank) return false;
  }
  return true;
}

static bool has_open_layout(const lk_work *work) {
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_onednn_has(work, role) && work->tensors[role].layout == LK_LAYOUT_ANY) return true;
  }
  return false;
}

const char *lk_moves_left(const lk_work *work) {
  if (has_open_layout(work)) return "a layout is open, which a move cannot choose";
  if (lk_onednn_type(work->tensors[LK_ROLE_DST].dtype) == dnnl_data_type_undef) {
    return "oneDNN does not have the type";
  }
  return work->kind == LK_WORK_CONCAT || has_order(work)
             ? NULL
             : "its order names a dimension that is not there";
}

/* ---- descriptors ---- */

/* Src with the order of dst's dimensions. */
static lk_strided ordered_src(const lk_work *work) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC];
  const lk_strided from = lk_strided_of(src);
  lk_strided made = from;
  for (uint32_t i = 0; i < src->rank; i++) {
    made.dims[i] = from.dims[work->order[i]];
    made.strides[i] = from.strides[work->order[i]];
  }
  return made;
}

static dnnl_status_t describe_reorder(const lk_work *work, dnnl_engine_t engine,
                                      const_dnnl_primitive_attr_t attr,
                                      dnnl_memory_desc_t of[LK_ROLES],
                                      dnnl_primitive_desc_t *out_desc) {
  const lk_strided src = ordered_src(work), dst = lk_strided_of(&work->tensors[LK_ROLE_DST]);
  dnnl_status_t status = lk_strided_describe(&src, &of[LK_ROLE_SRC]);
  if (status == dnnl_success) status = lk_strided_describe(&dst, &of[LK_ROLE_DST]);
  if (status != dnnl_success) return status;
  return dnnl_reorder_primitive_desc_create(out_desc, of[LK_ROLE_SRC], engine, of[LK_ROLE_DST],
                                            engine, attr);
}

int lk_concat_arg(uint32_t role) {
  if (role == LK_ROLE_DST) return DNNL_ARG_DST;
  return DNNL_ARG_MULTIPLE_SRC + (role == LK_ROLE_SRC ? 0 : (int)(role - LK_ROLE_OPERAND) + 1);
}

static dnnl_status_t describe_concat(const lk_work *work, dnnl_engine_t engine,
                                     const_dnnl_primitive_attr_t attr,
                                     dnnl_memory_desc_t of[LK_ROLES],
                                     dnnl_primitive_desc_t *out_desc) {
  const_dnnl_memory_desc_t from[1 + LK_WORK_OPERANDS];
  int count = 0;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!lk_onednn_has(work, role)) continue;
    const lk_strided strided = lk_strided_of(&work->tensors[role]);
    const dnnl_status_t status = lk_strided_describe(&strided, &of[role]);
    if (status != dnnl_success) return status;
    if (role != LK_ROLE_DST) from[count++] = of[role];
  }
  return dnnl_concat_primitive_desc_create(out_desc, engine, of[LK_ROLE_DST], count,
                                           __builtin_ctz(work->axes), from, attr);
}

dnnl_status_t lk_moves_describe(const lk_work *work, dnnl_engine_t engine,
                                const_dnnl_primitive_attr_t attr, dnnl_memory_desc_t of[LK_ROLES],
                                dnnl_primitive_desc_t *out_desc) {
  return work->kind == LK_WORK_REORDER ? describe_reorder(work, engine, attr, of, out_desc)
                                       : describe_concat(work, engine, attr, of, out_desc);
}
