/* The batches of a product of matrices. */
#pragma once

#include <stdint.h>

/* A dimension of batches, with the strides of both operands and of the output. */
typedef struct lk_matmul_batch {
  int64_t size, a, b, c;
} lk_matmul_batch;

/* How many matrices the dimensions of a batch have together. */
static inline int64_t lk_matmul_count_batches(const lk_matmul_batch *batch, uint32_t rank) {
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; i++) count *= batch[i].size;
  return count;
}

/* Where a batch's matrices lie, and which of the right operand's it is. */
typedef struct lk_matmul_place {
  int64_t a, b, b_matrix, c;
} lk_matmul_place;

static inline lk_matmul_place lk_matmul_find_place(const lk_matmul_batch *batch, uint32_t rank,
                                                   int64_t index) {
  lk_matmul_place found = {0, 0, 0, 0};
  int64_t matrices = 1;
  for (uint32_t i = rank; i-- > 0; index /= batch[i].size) {
    const int64_t at = index % batch[i].size;
    found.a += at * batch[i].a;
    found.b += at * batch[i].b;
    found.c += at * batch[i].c;
    if (batch[i].b == 0) continue;
    found.b_matrix += at * matrices;
    matrices *= batch[i].size;
  }
  return found;
}
