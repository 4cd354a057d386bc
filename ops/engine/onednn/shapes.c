/* Tensors as oneDNN sees them. */
#include "ops/engine/onednn/shapes.h"

#include <string.h>

dnnl_data_type_t lk_onednn_type(uint32_t dtype) {
  /* undef, which is 0, for the others */
  static const dnnl_data_type_t types[] = {
      [LK_F32] = dnnl_f32, [LK_F16] = dnnl_f16, [LK_BF16] = dnnl_bf16,
      [LK_I32] = dnnl_s32, [LK_I8] = dnnl_s8,   [LK_U8] = dnnl_u8};
  return dtype < sizeof types / sizeof types[0] ? types[dtype] : dnnl_data_type_undef;
}

int64_t lk_onednn_elements(const lk_tensor_desc *desc) {
  int64_t elements = 1;
  for (uint32_t i = 0; i < desc->rank; i++) elements *= desc->dims[i];
  return elements;
}

bool lk_onednn_same_dims(const lk_tensor_desc *a, const lk_tensor_desc *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* ---- strides ---- */

lk_strided lk_strided_plain(uint32_t dtype, int rank, const int64_t *dims) {
  lk_strided made = {.rank = rank, .type = lk_onednn_type(dtype)};
  int64_t stride = 1;
  for (int i = rank; i-- > 0; stride *= dims[i]) {
    made.dims[i] = dims[i];
    made.strides[i] = stride;
  }
  return made;
}

void lk_onednn_order(const lk_tensor_desc *desc, uint32_t order[LK_MAX_RANK]) {
  const uint32_t rank = desc->rank;
  for (uint32_t i = 0; i < rank; i++) order[i] = i;
  if (desc->layout == LK_LAYOUT_CHANNELS_LAST && rank > 2) {
    for (uint32_t i = 1; i + 1 < rank; i++) order[i] = i + 1;
    order[rank - 1] = 1;
  } else if (desc->layout == LK_LAYOUT_HEADS_INSIDE && rank == 4) {
    order[1] = 2;
    order[2] = 1;
  }
}

lk_strided lk_strided_of(const lk_tensor_desc *desc) {
  static const int64_t one = 1;
  uint32_t order[LK_MAX_RANK];
  if (desc->rank == 0) return lk_strided_plain(desc->dtype, 1, &one);
  lk_strided made = {.rank = (int)desc->rank, .type = lk_onednn_type(desc->dtype)};
  int64_t stride = 1;
  lk_onednn_order(desc, order);
  for (uint32_t i = desc->rank; i-- > 0; stride *= desc->dims[order[i]]) {
    made.dims[order[i]] = desc->dims[order[i]];
    made.strides[order[i]] = stride;
  }
  return made;
}

dnnl_status_t lk_strided_describe(const lk_strided *of, dnnl_memory_desc_t *out_desc) {
  return dnnl_memory_desc_create_with_strides(out_desc, of->rank, of->dims, of->type, of->strides);
}

/* ---- products ---- */

static void swap(int64_t *a, int64_t *b) {
  const int64_t kept = *a;
  *a = *b;
  *b = kept;
}

/* From the order of memory to that of numpy.matmul, as lk_matmul_order says. */
static void put_in_order(int64_t *values, int rank, lk_matmul_order order) {
  if (order.batch_inside != 0) {
    const int64_t first = values[0];
    memmove(values, values + 1, (size_t)(rank - 2) * sizeof *values);
    values[rank - 2] = first;
  }
  if (order.swaps != 0) swap(&values[rank - 2], &values[rank - 1]);
}

/* Of matrices whose batch lies inside, oneDNN 3.14.1 reads memory behind them where a dimension of
 * 1 has a step that is one within a matrix. */
static void step_over(lk_strided *of) {
  int64_t whole = 1;
  for (int i = 0; i < of->rank; i++) whole *= of->dims[i];
  for (int i = 0; i + 2 < of->rank; i++) {
    if (of->dims[i] == 1) of->strides[i] = whole;
  }
}

/* A single row lies as one of several that follow each other: of bytes, oneDNN 3.14.1 takes those
 * of a batch for the rows of one matrix, whatever lies between them. */
static void follow_row(lk_strided *of) {
  const int row = of->rank - 2;
  if (of->dims[row] == 1 && of->strides[row + 1] == 1) of->strides[row] = of->dims[row + 1];
}

/* A vector is a row or a column, whatever the order (numpy.matmul's rule). */
static lk_strided matrix_of(const lk_tensor_desc *given, bool is_row, lk_matmul_order order) {
  lk_tensor_desc desc = *given;
  if (desc.layout == LK_LAYOUT_ANY) desc.layout = LK_LAYOUT_PLAIN;
  if (desc.rank == 1) {
    const int64_t dims[] = {is_row ? 1 : desc.dims[0], is_row ? desc.dims[0] : 1};
    return lk_strided_plain(desc.dtype, 2, dims);
  }
  lk_strided made = lk_strided_of(&desc);
  put_in_order(made.dims, made.rank, order);
  put_in_order(made.strides, made.rank, order);
  if (order.batch_inside != 0) step_over(&made);
  follow_row(&made);
  return made;
}

/* All rows lie one distance apart, from matrix to matrix too. */
static bool rows_follow(const lk_strided *of) {
  for (int i = 0; i + 2 < of->rank; i++) {
    if (of->strides[i] != of->strides[i + 1] * of->dims[i + 1]) return false;
  }
  return true;
}

static lk_strided join_rows(const lk_strided *of) {
  const int row = of->rank - 2;
  lk_strided made = {.rank = 2, .type = of->type};
  made.dims[0] = 1;
  for (int i = 0; i <= row; i++) made.dims[0] *= of->dims[i];
  made.dims[1] = of->dims[row + 1];
  made.strides[0] = of->strides[row];
  made.strides[1] = of->strides[row + 1];
  return made;
}

/* With dimensions of 1 before the others, up to `rank`. */
static lk_strided pad(const lk_strided *of, int rank) {
  lk_strided made = {.rank = rank, .type = of->type};
  const int added = rank - of->rank;
  int64_t whole = 1; /* what a step along them would be */
  for (int i = 0; i < of->rank; i++) {
    made.dims[added + i] = of->dims[i];
    made.strides[added + i] = of->strides[i];
    if (of->strides[i] * of->dims[i] > whole) whole = of->strides[i] * of->dims[i];
  }
  for (int i = 0; i < added; i++) {
    made.dims[i] = 1;
    made.strides[i] = whole;
  }
  return made;
}

lk_matrices lk_matrices_of(const lk_work *work) {
  const uint32_t dtype = work->tensors[LK_ROLE_DST].dtype;
  lk_strided src = matrix_of(&work->tensors[LK_ROLE_SRC], true, work->orders[0]);
  lk_strided weights = matrix_of(&work->tensors[LK_ROLE_WEIGHTS], false, work->orders[1]);
  if (weights.rank == 2 && rows_follow(&src)) src = join_rows(&src);
  const int rank = src.rank > weights.rank ? src.rank : weights.rank;
  src = pad(&src, rank);
  weights = pad(&weights, rank);
  int64_t dims[LK_MAX_RANK];
  for (int i = 0; i + 2 < rank; i++) {
    dims[i] = src.dims[i] == 1 ? weights.dims[i] : src.dims[i];
  }
  dims[rank - 2] = src.dims[rank - 2];
  dims[rank - 1] = weights.dims[rank - 1];
  return (lk_matrices){src, weights, lk_strided_plain(dtype, rank, dims)};
}

/* ---- operands of post-ops ---- */

/* The dimension of dst along which a bias lies; -1: there is none. */
static int channel_dim(const lk_work *work) {
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  if (work->kind != LK_WORK_PRODUCT) return 1;
  return work->tensors[LK_ROLE_WEIGHTS].rank > 1 ? (int)dst->rank - 1 : -1;
}

lk_repeats lk_repeats_of(const lk_work *work, uint32_t role) {
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST], *operand = &work->tensors[role];
  if (lk_onednn_same_dims(operand, dst)) return LK_REPEATS_NOT;
  if (lk_onednn_elements(operand) == 1) return LK_REPEATS_EVERYWHERE;
  const int channel = channel_dim(work);
  if (channel < 0 || operand->rank > dst->rank) return LK_REPEATS_OTHERWISE;
  const int added = (int)(dst->rank - operand->rank);
  for (int i = added; i < (int)dst->rank; i++) {
    const int64_t size = operand->dims[i - added];
    if (i == channel ? size != dst->dims[i] : size != 1) return LK_REPEATS_OTHERWISE;
  }
  return channel >= added ? LK_REPEATS_CHANNELS : LK_REPEATS_OTHERWISE;
}
