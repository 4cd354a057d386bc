/* Shape and sizes of a product of matrices as numpy.matmul has it, for all operators that are
 * one. */
#pragma once

#include "ops/kernel/matmul.h"
#include "ops/plan/op.h"

/* Output 0 is input `a` times input `b`. */
lk_status lk_infer_matmul(lk_inference *self, uint32_t a, uint32_t b, lk_error *error);
/* Sizes and strides of plain operands with the output `to`; one without a batch in B has all rows
 * of A. */
lk_matmul lk_matmul_of(const lk_tensor_desc *a, const lk_tensor_desc *b, const lk_tensor_desc *to);
