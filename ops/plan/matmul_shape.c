/* Shape and sizes of a product of matrices as numpy.matmul has it. */
#include "ops/plan/matmul_shape.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/product/matmul_plain.h"
#include "ops/kernel/strides.h"
#include "ops/plan/layout.h"

static lk_status fail_shapes(const lk_tensor_desc *a, const lk_tensor_desc *b, lk_error *error) {
  char a_text[LK_TENSOR_TEXT_CAPACITY], b_text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "the shapes %s and %s cannot be multiplied, the columns of the first must be the "
                 "rows of the second",
                 lk_tensor_text(a, a_text), lk_tensor_text(b, b_text));
}

static const lk_matmul_order as_numpy[2];

/* Dimensions, or what belongs to each, from the order of memory to that of numpy.matmul. */
static void put_in_order(int64_t *values, uint32_t rank, lk_matmul_order order) {
  if (rank < 2) return;
  int64_t *const row = &values[rank - 2], *const column = &values[rank - 1];
  if (order.batch_inside) {
    const int64_t first = values[0];
    memmove(values, values + 1, (rank - 2) * sizeof *values);
    *row = first;
  }
  if (!order.swaps) return;
  const int64_t kept = *row;
  *row = *column;
  *column = kept;
}

/* Ranks of 1 become a row or a column (numpy.matmul's rule). */
static lk_tensor_desc as_matrix(const lk_tensor_desc *desc, bool row) {
  if (desc->rank != 1) return *desc;
  const int64_t dims[] = {row ? 1 : desc->dims[0], row ? desc->dims[0] : 1};
  return lk_tensor_desc_make(desc->dtype, 2, dims);
}

static lk_status infer(lk_inference *self, const lk_tensor_desc *first,
                       const lk_tensor_desc *second, const lk_matmul_order orders[2],
                       lk_error *error) {
  lk_tensor_desc *to = &self->outputs[0];
  if (!lk_rank_is_known(first) || !lk_rank_is_known(second)) return LK_OK;
  if (first->rank < 1 || second->rank < 1) return fail_shapes(first, second, error);
  lk_tensor_desc ordered[] = {*first, *second};
  for (int i = 0; i < 2; i++) put_in_order(ordered[i].dims, ordered[i].rank, orders[i]);
  const lk_tensor_desc left = as_matrix(&ordered[0], true), right = as_matrix(&ordered[1], false);
  lk_tensor_desc left_batch = left, right_batch = right;
  left_batch.rank -= 2;
  right_batch.rank -= 2;
  if (lk_dims_differ(left.dims[left.rank - 1], right.dims[right.rank - 2]) ||
      lk_broadcast_dims(self->dims, &left_batch, &right_batch, to, NULL) != LK_OK) {
    return fail_shapes(first, second, error);
  }
  if (first->rank > 1) to->dims[to->rank++] = left.dims[left.rank - 2];
  if (second->rank > 1) to->dims[to->rank++] = right.dims[right.rank - 1];
  return LK_OK;
}

lk_status lk_infer_matmul(lk_inference *self, uint32_t a, uint32_t b, lk_error *error) {
  return infer(self, &self->inputs[a].desc, &self->inputs[b].desc, as_numpy, error);
}

lk_status lk_infer_matmul_ordered(lk_inference *self, const lk_matmul_order orders[2],
                                  lk_error *error) {
  return infer(self, &self->inputs[0].desc, &self->inputs[1].desc, orders, error);
}

/* ---- sizes and strides ---- */

bool lk_matmul_takes(uint32_t dtype) {
  return dtype == LK_F32 || lk_matmul_plain_takes(dtype);
}

double lk_product_flops(const lk_op_node *node, const lk_tensor *inputs,
                        const lk_tensor_desc *outputs) {
  (void)node;
  const lk_tensor_desc *a = &inputs[0].desc;
  return 2 * (double)lk_elements(&outputs[0]) * (double)a->dims[a->rank - 1];
}

double lk_matmul_flops(const lk_work *work) {
  const lk_tensor_desc *a = &work->tensors[LK_ROLE_SRC], *to = &work->tensors[LK_ROLE_DST];
  int64_t dims[LK_MAX_RANK] = {1}; /* of A as numpy.matmul has it: the last one is summed over */
  memcpy(dims, a->dims, a->rank * sizeof dims[0]);
  put_in_order(dims, a->rank, work->orders[0]);
  return 2 * (double)lk_elements(to) * (double)dims[a->rank > 0 ? a->rank - 1 : 0];
}

/* The other way round than put_in_order. */
static void put_back(int64_t *values, uint32_t rank, lk_matmul_order order) {
  int64_t *const row = &values[rank - 2];
  if (order.swaps) {
    const int64_t kept = *row;
    *row = values[rank - 1];
    values[rank - 1] = kept;
  }
  if (!order.batch_inside) return;
  const int64_t first = *row;
  memmove(values + 1, values, (rank - 2) * sizeof *values);
  values[0] = first;
}

static bool lies_so(const lk_tensor_desc *desc, lk_matmul_order order, const int64_t *wanted) {
  int64_t strides[LK_MAX_RANK], dims[LK_MAX_RANK];
  lk_strides(desc, 1, strides);
  memcpy(dims, desc->dims, sizeof dims);
  put_in_order(strides, desc->rank, order);
  put_in_order(dims, desc->rank, order);
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (dims[i] != 1 && strides[i] != wanted[i]) return false;
  }
  return true;
}

bool lk_matmul_find_order(const int64_t *strides, lk_tensor_desc *inout_desc,
                          lk_matmul_order *out_order) {
  static const lk_layout layouts[] = {LK_LAYOUT_PLAIN, LK_LAYOUT_HEADS_INSIDE,
                                      LK_LAYOUT_CHANNELS_LAST};
  enum { LAYOUTS = sizeof layouts / sizeof *layouts, ORDERS = 4 };
  const lk_tensor_desc given = *inout_desc;
  for (uint32_t i = 0; i < LAYOUTS * ORDERS; i++) {
    const lk_matmul_order order = {.swaps = i & 1, .batch_inside = i >> 1 & 1};
    lk_tensor_desc desc = given;
    desc.layout = layouts[i / ORDERS];
    if (!lk_layout_fits(&desc)) continue;
    put_back(desc.dims, desc.rank, order);
    if (!lies_so(&desc, order, strides)) continue;
    *inout_desc = desc;
    *out_order = order;
    return true;
  }
  return false;
}

/* An operand as batches of matrices. */
typedef struct matrices {
  uint32_t rank;
  int64_t dims[LK_MAX_RANK], strides[LK_MAX_RANK];
} matrices;

static matrices find_matrices(const lk_tensor_desc *desc, bool row, lk_matmul_order order) {
  lk_tensor_desc matrix = as_matrix(desc, row);
  const lk_matmul_order used = desc->rank > 1 ? order : as_numpy[0];
  matrices found = {.rank = matrix.rank};
  memcpy(found.dims, matrix.dims, matrix.rank * sizeof *found.dims);
  lk_strides(&matrix, 1, found.strides);
  put_in_order(found.dims, found.rank, used);
  put_in_order(found.strides, found.rank, used);
  return found;
}

/* All rows lie one distance apart, from batch to batch too. */
static bool rows_follow(const matrices *self) {
  for (uint32_t i = 0; i + 2 < self->rank; i++) {
    if (self->strides[i] != self->strides[i + 1] * self->dims[i + 1]) return false;
  }
  return true;
}

/* The stride of the batch dimension of the output that has `behind` others behind it. */
static int64_t batch_stride(const matrices *self, uint32_t behind) {
  if (behind + 2 >= self->rank) return 0;
  const uint32_t i = self->rank - 3 - behind;
  return self->dims[i] == 1 ? 0 : self->strides[i];
}

lk_matmul lk_matmul_of_ordered(const lk_tensor_desc *a, const lk_tensor_desc *b,
                               const lk_matmul_order orders[2], const lk_tensor_desc *to) {
  const matrices left = find_matrices(a, true, orders[0]);
  const matrices right = find_matrices(b, false, orders[1]);
  const uint32_t row = left.rank - 2, column = right.rank - 1;
  lk_matmul matmul = {.rows = left.dims[row],
                      .columns = right.dims[column],
                      .k = left.dims[row + 1],
                      .a_row = left.strides[row],
                      .a_k = left.strides[row + 1],
                      .b_k = right.strides[column - 1],
                      .b_column = right.strides[column],
                      .c_row = right.dims[column]};
  if (right.rank == 2 && rows_follow(&left)) {
    for (uint32_t i = 0; i < row; i++) matmul.rows *= left.dims[i];
    return matmul;
  }
  int64_t c = matmul.rows * matmul.columns;
  matmul.batch_rank = to->rank - (a->rank > 1) - (b->rank > 1);
  for (uint32_t i = matmul.batch_rank; i-- > 0; c *= to->dims[i]) {
    const uint32_t behind = matmul.batch_rank - 1 - i;
    matmul.batch[i] = (lk_matmul_batch){.size = to->dims[i],
                                        .a = batch_stride(&left, behind),
                                        .b = batch_stride(&right, behind),
                                        .c = c};
  }
  return matmul;
}
