/* Tensors as oneDNN sees them: dimensions and strides, of tensors as they are and as matrices. */
#pragma once

#include <latchkey/engine.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

/* A tensor of oneDNN before it is one. */
typedef struct lk_strided {
  int rank; /* from 1 */
  dnnl_data_type_t type;
  dnnl_dims_t dims, strides;
} lk_strided;

/* Whether the work has a tensor of this role. */
static inline bool lk_onednn_has(const lk_work *work, uint32_t role) {
  return (work->roles >> role & 1) != 0;
}

/* Whether dst is of f16 or bf16. */
static inline bool lk_onednn_is_half(const lk_work *work) {
  const uint32_t dtype = work->tensors[LK_ROLE_DST].dtype;
  return dtype == LK_F16 || dtype == LK_BF16;
}

/* oneDNN's type of an lk_dtype; dnnl_data_type_undef where it has none. */
dnnl_data_type_t lk_onednn_type(uint32_t dtype);

int64_t lk_onednn_elements(const lk_tensor_desc *desc);
bool lk_onednn_same_dims(const lk_tensor_desc *a, const lk_tensor_desc *b);

/* Dimensions from the outermost in memory to the innermost. */
void lk_onednn_order(const lk_tensor_desc *desc, uint32_t order[LK_MAX_RANK]);

/* In its layout, which is not LK_LAYOUT_ANY. A scalar has one dimension. */
lk_strided lk_strided_of(const lk_tensor_desc *desc);
/* Plain, of these dimensions. */
lk_strided lk_strided_plain(uint32_t dtype, int rank, const int64_t *dims);
dnnl_status_t lk_strided_describe(const lk_strided *of, dnnl_memory_desc_t *out_desc);

/* A product as batches of matrices of equal rank: src, weights and dst. Where the weights are one
 * matrix and the rows of src follow each other, all of them are the rows of one matrix. */
typedef struct lk_matrices {
  lk_strided src, weights, dst;
} lk_matrices;

/* Weights whose layout is LK_LAYOUT_ANY are described as they lie plain. */
lk_matrices lk_matrices_of(const lk_work *work);

/* How an operand of a post-op repeats along dst. */
typedef enum lk_repeats {
  LK_REPEATS_NOT,        /* it has dst's dimensions */
  LK_REPEATS_CHANNELS,   /* one number for each channel, of a product for each column */
  LK_REPEATS_EVERYWHERE, /* one number */
  LK_REPEATS_OTHERWISE
} lk_repeats;
lk_repeats lk_repeats_of(const lk_work *work, uint32_t role);
