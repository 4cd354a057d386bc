/* Element-wise works as oneDNN sees them. */
#include "ops/engine/onednn/elements.h"

#include <string.h>

static bool is_operand(uint32_t role) {
  return role == LK_ROLE_SRC || role >= LK_ROLE_OPERAND;
}

/* Along dimension `dim` of dst, to which the tensor is broadcast. */
static int64_t size_along(const lk_work *work, uint32_t role, uint32_t dim) {
  const lk_tensor_desc *desc = &work->tensors[role];
  const uint32_t added = work->tensors[LK_ROLE_DST].rank - desc->rank;
  return dim < added ? 1 : desc->dims[dim - added];
}

/* Whether the dimensions of the tensor, but those of size 1, lie in this order of dst's. */
static bool lies_in_order(const lk_work *work, uint32_t role, const uint32_t *order) {
  const lk_tensor_desc *desc = &work->tensors[role];
  const uint32_t rank = work->tensors[LK_ROLE_DST].rank, added = rank - desc->rank;
  uint32_t own[LK_MAX_RANK], next = 0;
  lk_onednn_order(desc, own);
  for (uint32_t i = 0; i < rank; i++) {
    if (size_along(work, role, order[i]) == 1) continue;
    while (desc->dims[own[next]] == 1) next++;
    if (own[next++] + added != order[i]) return false;
  }
  return true;
}

/* Adds dimension `dim` of dst, or joins it to the last one. */
static void add_dim(lk_elements *made, const lk_work *work, uint32_t dim) {
  const int64_t size = work->tensors[LK_ROLE_DST].dims[dim];
  bool joins = made->rank > 0;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!lk_onednn_has(work, role) || !is_operand(role)) continue;
    const bool repeats = size_along(work, role, dim) != size;
    if (repeats) made->repeats[role] |= 1U << made->rank;
    if (made->rank > 0 && repeats != (made->repeats[role] >> (made->rank - 1) & 1)) joins = false;
  }
  if (joins) {
    made->dims[made->rank - 1] *= size;
    for (uint32_t role = 0; role < LK_ROLES; role++) made->repeats[role] &= (1U << made->rank) - 1;
  } else {
    made->dims[made->rank++] = size;
  }
}

lk_elements lk_elements_of(const lk_work *work) {
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  lk_elements made = {.dtype = dst->dtype, .is_ordered = true};
  uint32_t order[LK_MAX_RANK];
  lk_onednn_order(dst, order);
  for (uint32_t i = 0; i < dst->rank; i++) {
    if (dst->dims[order[i]] != 1) add_dim(&made, work, order[i]);
  }
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_onednn_has(work, role) && is_operand(role) && !lies_in_order(work, role, order)) {
      made.is_ordered = false;
    }
  }
  if (made.rank == 0) made.dims[made.rank++] = 1;
  return made;
}

lk_strided lk_elements_strided(const lk_elements *of, uint32_t role) {
  int64_t dims[LK_MAX_RANK];
  for (int i = 0; i < of->rank; i++) {
    dims[i] = (of->repeats[role] >> i & 1) != 0 ? 1 : of->dims[i];
  }
  return lk_strided_plain(of->dtype, of->rank, dims);
}

bool lk_elements_swaps(const lk_work *work, const lk_elements *of) {
  const lk_work_post_op *first = &work->post_ops[0];
  return (first->kind == LK_POST_ADD || first->kind == LK_POST_MUL) && first->operand != 0 &&
         of->repeats[LK_ROLE_SRC] != 0 && of->repeats[first->operand] == 0;
}

/* Bit i: repeats along dimension i. */
enum { ALONG_ROWS = 1, WITHIN_ROWS = 2, BUT_CHANNELS = 5 };
/* Elements: of a rest, oneDNN 3.14.1 has each thread compute as many behind its share, which is
 * done twice where dst lies over src. */
enum { WHOLE_VECTORS = 16 };

bool lk_elements_has_slopes(const lk_elements *of, uint32_t role) {
  const uint32_t repeats = of->repeats[role];
  if (of->rank == 1) return repeats == 0 && of->dims[0] % WHOLE_VECTORS == 0;
  return of->rank == 2 ? repeats == ALONG_ROWS || repeats == WITHIN_ROWS
                       : of->rank == 3 && repeats == BUT_CHANNELS;
}

lk_elements lk_elements_of_slopes(const lk_elements *of, uint32_t role) {
  lk_elements made = *of;
  if (of->rank != 2 || of->repeats[role] != WITHIN_ROWS) return made;
  made.rank = 3;
  made.dims[0] = 1;
  memcpy(&made.dims[1], of->dims, 2 * sizeof *of->dims);
  for (uint32_t i = 0; i < LK_ROLES; i++) made.repeats[i] <<= 1;
  return made;
}
