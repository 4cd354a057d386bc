/* Works that only move elements: reorders and concatenations. Bits stay as they are. */
#pragma once

#include "ops/engine/onednn/shapes.h"

static inline bool lk_work_is_move(const lk_work *work) {
  return work->kind == LK_WORK_REORDER || work->kind == LK_WORK_CONCAT;
}

/* Why the work is left; NULL: there may be a primitive. */
const char *lk_moves_left(const lk_work *work);

/* Makes descriptors of the work's tensors in `of`, by role, which are the caller's to destroy, and
 * that of the primitive; also if it fails. */
dnnl_status_t lk_moves_describe(const lk_work *work, dnnl_engine_t engine,
                                const_dnnl_primitive_attr_t attr, dnnl_memory_desc_t of[LK_ROLES],
                                dnnl_primitive_desc_t *out_desc);
/* The argument that the tensor of `role` is, of a concatenation. */
int lk_concat_arg(uint32_t role);
