/* Shape and sizes of a product of matrices as numpy.matmul has it. */
#include "ops/plan/matmul_shape.h"

#include "base/status.h"
#include "base/tensor.h"

static lk_status fail_shapes(const lk_tensor_desc *a, const lk_tensor_desc *b, lk_error *error) {
  char a_text[LK_TENSOR_TEXT_CAPACITY], b_text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "the shapes %s and %s cannot be multiplied",
                 lk_tensor_text(a, a_text), lk_tensor_text(b, b_text));
}

/* Ranks of 1 become a row or a column (numpy.matmul's rule). */
static lk_tensor_desc as_matrix(const lk_tensor_desc *desc, bool row) {
  if (desc->rank != 1) return *desc;
  const int64_t dims[] = {row ? 1 : desc->dims[0], row ? desc->dims[0] : 1};
  return lk_tensor_desc_make(desc->dtype, 2, dims);
}

lk_status lk_infer_matmul(lk_inference *self, uint32_t a, uint32_t b, lk_error *error) {
  const lk_tensor_desc *first = &self->inputs[a].desc, *second = &self->inputs[b].desc;
  lk_tensor_desc *to = &self->outputs[0];
  if (!lk_rank_is_known(first) || !lk_rank_is_known(second)) return LK_OK;
  if (first->rank < 1 || second->rank < 1) return fail_shapes(first, second, error);
  const lk_tensor_desc left = as_matrix(first, true), right = as_matrix(second, false);
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

/* The stride of batch dimension `index` of the output in an operand's matrices, which lie behind
 * each other in memory. */
static int64_t batch_stride(const lk_tensor_desc *matrices, uint32_t batch_rank, uint32_t index) {
  const uint32_t behind = batch_rank - 1 - index; /* batch dimensions of the output */
  if (behind + 2 >= matrices->rank || matrices->dims[matrices->rank - 3 - behind] == 1) return 0;
  int64_t stride = 1;
  for (uint32_t i = matrices->rank - 2 - behind; i < matrices->rank; i++) {
    stride *= matrices->dims[i];
  }
  return stride;
}

lk_matmul lk_matmul_of(const lk_tensor_desc *a, const lk_tensor_desc *b, const lk_tensor_desc *to) {
  const lk_tensor_desc left = as_matrix(a, true), right = as_matrix(b, false);
  lk_matmul matmul = {.rows = left.dims[left.rank - 2],
                      .columns = right.dims[right.rank - 1],
                      .k = left.dims[left.rank - 1],
                      .a_row = left.dims[left.rank - 1],
                      .a_k = 1,
                      .b_k = right.dims[right.rank - 1],
                      .b_column = 1,
                      .c_row = right.dims[right.rank - 1]};
  if (right.rank == 2) {
    matmul.rows = lk_count_dims(&left, 0, left.rank - 1);
    return matmul;
  }
  int64_t c = matmul.rows * matmul.columns;
  matmul.batch_rank = to->rank - (a->rank > 1) - (b->rank > 1);
  for (uint32_t i = matmul.batch_rank; i-- > 0; c *= to->dims[i]) {
    matmul.batch[i] = (lk_matmul_batch){.size = to->dims[i],
                                        .a = batch_stride(&left, matmul.batch_rank, i),
                                        .b = batch_stride(&right, matmul.batch_rank, i),
                                        .c = c};
  }
  return matmul;
}
