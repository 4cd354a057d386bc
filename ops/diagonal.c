/* Operators of matrices and their diagonals: Trilu, EyeLike. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/kernel/move/band.h"
#include "ops/kernel/sizes.h"
#include "ops/plan/moves.h"

/* ---- Trilu ---- */

static lk_status read_diagonal(const lk_tensor *k, int64_t *out, lk_error *error) {
  uint32_t count = 0;
  LK_RETURN_NOT_OK(lk_read_ints(k, "k", out, 1, &count, error));
  return count == 1
             ? LK_OK
             : lk_fail(error, LK_INVALID_ARGUMENT, "input 1 (k) is empty, it must have one value");
}

static lk_status infer_trilu(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc;
  int64_t k = 0;
  if (lk_rank_is_known(x) && x->rank < 2) return lk_refuse(x, "the input", "matrices", error);
  if (lk_infer_knows(self, 1)) LK_RETURN_NOT_OK(read_diagonal(&self->inputs[1], &k, error));
  return lk_infer_same(self, error);
}

static lk_status plan_trilu(lk_planner *planner, lk_error *error) {
  lk_operand operands[2];
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const uint32_t rank = x->rank;
  int64_t k = 0;
  if (lk_op_has(planner->node, 1)) {
    LK_RETURN_NOT_OK(read_diagonal(&planner->inputs[1], &k, error));
  }
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 1, operands, error));
  lk_band band = {.matrices = lk_count_dims(x, 0, rank - 2),
                  .rows = x->dims[rank - 2],
                  .cols = x->dims[rank - 1],
                  .element = lk_dtype_size(x->dtype),
                  .upper = *(const bool *)planner->node->params};
  band.diagonal = lk_max(-band.rows, lk_min(k, band.cols));
  return lk_planner_kernel(planner, lk_band_kernel, "band", &band, sizeof band, operands, 2, error);
}

#define TRILU(symbol, domain_text, first)                                                          \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW("Trilu", domain_text, first, "a triangle of each matrix, and 0 elsewhere",         \
                .min_inputs = 1, .max_inputs = 2, .max_outputs = 1, .input_types = "TU",           \
                .output_types = "T", .types = {LK_TYPES_ANY, LK_TYPE(LK_I64)},                     \
                .shape_inputs = 1u << 1, .in_place_inputs = 1u << 0),                              \
      LK_OP_ATTRS(LK_FLAG("upper", 1)), LK_OP_PARAM(bool, "upper"), .infer = infer_trilu,          \
      .plan = plan_trilu}
TRILU(trilu, "", 14);
TRILU(trilu_microsoft, "com.microsoft", 1);

/* ---- EyeLike ---- */

typedef struct eye_params {
  uint32_t dtype; /* LK_DTYPE_NONE: the input's */
  int64_t k;
} eye_params;

static lk_status infer_eye(lk_inference *self, lk_error *error) {
  const eye_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  self->outputs[0].dtype = params->dtype != LK_DTYPE_NONE ? params->dtype : x->dtype;
  if (lk_rank_is_known(x) && x->rank != 2) return lk_refuse(x, "the input", "a matrix", error);
  return lk_infer_same(self, error);
}

static lk_status plan_eye(lk_planner *planner, lk_error *error) {
  static const uint8_t zero[8];
  const int64_t one = 1, k = ((const eye_params *)planner->node->params)->k;
  lk_operand to, unit;
  uint8_t value[8];
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  const int64_t rows = to.desc.dims[0], cols = to.desc.dims[1];
  const size_t size = lk_dtype_size(to.desc.dtype);
  LK_RETURN_NOT_OK(lk_plan_fill(planner, &to, size, zero, error));
  if (k <= -rows || k >= cols) return LK_OK;
  const int64_t row = lk_max(0, -k), col = lk_max(0, k);
  const lk_tensor_desc scalar = {.dtype = to.desc.dtype};
  lk_cast_one(LK_I64, &one, to.desc.dtype, value);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &scalar, &unit, error));
  LK_RETURN_NOT_OK(lk_plan_fill(planner, &unit, size, value, error));
  const lk_copy copy = {.block = size,
                        .rank = 1,
                        .to_offset = (row * cols + col) * (int64_t)size,
                        .dims = {lk_min(rows - row, cols - col)},
                        .to = {(cols + 1) * (int64_t)size}};
  return lk_planner_copy(planner, &copy, &unit, &to, error);
}

const lk_op_class lk_op_eye_like = {
    LK_OP_ROW("EyeLike", "", 9, "1 on a diagonal, and 0 elsewhere", .flags = LK_OP_SHAPE_ONLY,
              .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, .input_types = "T",
              .output_types = "?"),
    LK_OP_ATTRS(LK_ANY_INT("dtype", LK_DTYPE_NONE), LK_INT("k", 0)),
    LK_OP_PARAMS(eye_params, LK_PARAM(eye_params, dtype, "dtype"), LK_PARAM(eye_params, k, "k")),
    .infer = infer_eye,
    .plan = plan_eye,
};
