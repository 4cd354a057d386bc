/* Shape and sizes of a product of matrices as numpy.matmul has it, for all operators that are
 * one. */
#pragma once

#include <latchkey/engine.h>

#include "ops/kernel/product/matmul.h"
#include "ops/plan/op.h"

/* Output 0 is input `a` times input `b`. */
lk_status lk_infer_matmul(lk_inference *self, uint32_t a, uint32_t b, lk_error *error);
/* The same for inputs 0 and 1, which lie in these orders. */
lk_status lk_infer_matmul_ordered(lk_inference *self, const lk_matmul_order orders[2],
                                  lk_error *error);
/* Whether there are products of this type, as of works (f16 and bf16 by way of f32). */
bool lk_matmul_takes(uint32_t dtype);
/* lk_op_class.flops, of rows of input 0: as many of each element of output 0 as its sum has
 * terms. */
double lk_product_flops(const lk_op_node *node, const lk_tensor *inputs,
                        const lk_tensor_desc *outputs);
/* The same of a work of kind LK_WORK_PRODUCT. */
double lk_matmul_flops(const lk_work *work);
/* Matrices whose dimensions, as numpy.matmul has them, are those of `desc` and lie `strides` apart,
 * as a tensor of a work without gaps, whose dimensions and layout come into `desc`. The strides of
 * dimensions of 1 do not count. False: no such tensor lies so. */
bool lk_matmul_find_order(const int64_t *strides, lk_tensor_desc *inout_desc,
                          lk_matmul_order *out_order);
/* Sizes and strides of operands, in their layouts, with the plain output `to`. Without a batch in
 * B, all rows of A are those of one matrix, where they lie so. */
lk_matmul lk_matmul_of_ordered(const lk_tensor_desc *a, const lk_tensor_desc *b,
                               const lk_matmul_order orders[2], const lk_tensor_desc *to);
