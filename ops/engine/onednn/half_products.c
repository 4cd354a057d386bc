#include "ops/engine/onednn/half_products.h"

/* Rounded medians: of works of bf16 by `benchmarks/run halves` on an AMD EPYC with AVX-512 BF16; of
 * few rows by primitives beside those of f32 on an Intel processor with AVX-512 BF16 and FP16, and
 * without AMX. There the instructions for bf16 have half the rate: they pay where a product waits
 * for its weights, which are half as large. A product of 8 rows took 1.15 of f32's time, one of 128
 * rows 1.9, and convolutions 1.4 to 2. f16 took 0.44 for one row and 0.9 to 1.3 for more. */
#define OF_TWICE 0.6    /* 0.44 to 0.59 */
#define OF_FEW_ROWS 0.6 /* 0.32 to 0.44 for one row */
#define OF_OTHERS 2.0

enum { FEW_ROWS = 4 };

static bool has_few_rows(const lk_work *work) {
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  int64_t rows = 1;
  if (work->kind != LK_WORK_PRODUCT) return false;
  for (uint32_t i = 0; i + 1 < dst->rank; i++) rows *= dst->dims[i];
  return rows <= FEW_ROWS;
}

double lk_onednn_of_half_product(const lk_work *work, bool is_twice) {
  if (is_twice && work->tensors[LK_ROLE_DST].dtype == LK_BF16) return OF_TWICE;
  return has_few_rows(work) ? OF_FEW_ROWS : OF_OTHERS;
}
