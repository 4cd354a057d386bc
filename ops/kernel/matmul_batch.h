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
