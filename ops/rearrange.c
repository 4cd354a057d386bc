/* Operators that are one strided copy of elements in another order, or several times: Expand,
 * DepthToSpace, SpaceToDepth, UnfoldTensor (com.microsoft). */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/strides.h"
#include "ops/plan/moves.h"
#include "ops/plan/values.h"

/* ---- Expand ---- */

static lk_status check_sizes(const lk_list *sizes, lk_error *error) {
  if (sizes->count > LK_MAX_RANK) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read the shape: it has %" PRIu32 " sizes, at most %d are supported",
                   sizes->count, LK_MAX_RANK);
  }
  for (uint32_t i = 0; i < sizes->count; i++) {
    if (sizes->values[i] >= 0) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read the shape: size %" PRIu32 " is %" PRId64
                   ", it must be at least 0; 1 keeps the size of the input",
                   i, sizes->values[i]);
  }
  return LK_OK;
}

static lk_status infer_expand(lk_inference *self, lk_error *error) {
  lk_tensor_desc shape = {.dtype = self->inputs[0].desc.dtype, .rank = LK_RANK_UNKNOWN};
  lk_list dims = {0};
  lk_shape_open(&shape, lk_infer_count(self, 1));
  if (lk_infer_knows(self, 1)) {
    LK_RETURN_NOT_OK(lk_read_list(self, 1, "the shape", &dims, error));
    LK_RETURN_NOT_OK(check_sizes(&dims, error));
    for (uint32_t i = 0; i < dims.count; i++) shape.dims[i] = dims.values[i];
  } else {
    lk_shape_of_values(self, 1, &shape);
  }
  return lk_broadcast_dims(self->dims, &self->inputs[0].desc, &shape, &self->outputs[0], error);
}

static lk_status plan_expand(lk_planner *planner, lk_error *error) {
  lk_operand operands[2];
  if (lk_shape_equal(&planner->inputs[0].desc, &planner->outputs[0])) {
    return lk_plan_same(planner, 0, error);
  }
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 1, operands, error));
  const lk_tensor_desc *from = &operands[0].desc, *to = &operands[1].desc;
  lk_copy copy = lk_copy_between(to, to);
  lk_broadcast_strides(from, to->rank, (int64_t)copy.block, copy.from);
  return lk_planner_copy(planner, &copy, &operands[0], &operands[1], error);
}

const lk_op_class lk_op_expand = {
    LK_OP_ROW("Expand", "", 8, "the input broadcast to a shape", .min_inputs = 2, .max_inputs = 2,
              .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPES_INDEX}, .shape_inputs = 1u << 1),
    .infer = infer_expand,
    .plan = plan_expand,
};

/* ---- DepthToSpace, SpaceToDepth ---- */

typedef struct block_params {
  int64_t size;
  bool column_row_depth, to_space;
} block_params;

static void parse_to_depth(lk_attrs *attrs, void *params) {
  block_params *self = params;
  self->size = lk_attrs_int(attrs, "blocksize");
  if (self->size <= 0 || self->size > INT32_MAX) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "blocksize is %" PRId64 ", it must be 1 to 2^31 - 1",
                  self->size);
  }
  self->column_row_depth = lk_attrs_choice(attrs, "mode") == 1;
}

static void parse_to_space(lk_attrs *attrs, void *params) {
  parse_to_depth(attrs, params);
  ((block_params *)params)->to_space = true;
}

static lk_status infer_blocks(lk_inference *self, lk_error *error) {
  const block_params *params = self->node->params;
  const int64_t b = params->size;
  const int64_t sizes[2][4] = {{1, b * b, 1, 1}, {1, 1, b, b}}; /* of channels, of pixels */
  const int64_t *divisors = sizes[params->to_space ? 0 : 1];
  const int64_t *factors = sizes[params->to_space ? 1 : 0];
  const lk_tensor_desc *from = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  if (lk_rank_is_known(from) && from->rank != 4) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to move blocks: the input has rank %" PRIu32 ", it must have 4",
                   from->rank);
  }
  lk_shape_open(to, 4);
  for (uint32_t i = 0; lk_rank_is_known(from) && i < 4; i++) {
    const int64_t dim = from->dims[i];
    if (dim >= 0 && dim % divisors[i] != 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to move blocks of %" PRId64 ": dimension %" PRIu32 " is %" PRId64
                     ", it must be a multiple of %" PRId64,
                     params->size, i, dim, divisors[i]);
    }
    const int64_t each = lk_dims_divide(self->dims, dim, divisors[i]);
    LK_RETURN_NOT_OK(lk_infer_product(self, each, factors[i], "move blocks", &to->dims[i], error));
  }
  return LK_OK;
}

/* Along six dimensions: batch, channel, then row and column of blocks, each before that within. */
static lk_status plan_blocks(lk_planner *planner, lk_error *error) {
  const block_params *params = planner->node->params;
  const lk_layout layout = lk_image_layout(planner, 0);
  lk_operand from, to;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  const lk_tensor_desc *space = params->to_space ? &to.desc : &from.desc;
  const lk_tensor_desc *depth = params->to_space ? &from.desc : &to.desc;
  const int64_t b = params->size, channels = space->dims[1];
  const int64_t element = (int64_t)lk_dtype_size(to.desc.dtype);
  /* channels of the depth between neighbours: in a channel of the space, a row, a column */
  const bool is_crd = params->column_row_depth;
  const int64_t apart[] = {is_crd ? b * b : 1, is_crd ? b : b * channels, is_crd ? 1 : channels};
  int64_t s[LK_MAX_RANK], d[LK_MAX_RANK];
  lk_strides(space, element, s);
  lk_strides(depth, element, d);
  lk_copy copy = {.block = (size_t)element,
                  .rank = 6,
                  .dims = {space->dims[0], channels, depth->dims[2], b, depth->dims[3], b}};
  const int64_t of_space[] = {s[0], s[1], b * s[2], s[2], b * s[3], s[3]};
  const int64_t of_depth[] = {d[0], apart[0] * d[1], d[2], apart[1] * d[1], d[3], apart[2] * d[1]};
  memcpy(copy.from, params->to_space ? of_depth : of_space, sizeof of_space);
  memcpy(copy.to, params->to_space ? of_space : of_depth, sizeof of_space);
  return lk_planner_copy(planner, &copy, &from, &to, error);
}

#define BLOCKS_ATTRS(modes_since)                                                                  \
  LK_OP_ATTRS(LK_REQUIRED_INT("blocksize"), LK_CHOICE("mode", "DCR|CRD", .since = modes_since))
#define BLOCKS_ROW(name, summary_text)                                                             \
  LK_OP_ROW(name, "", 7, summary_text, .min_inputs = 1, .max_inputs = 1, .max_outputs = 1,         \
            .input_types = "T", .output_types = "T"),                                              \
      .params_size = sizeof(block_params), .infer = infer_blocks, .plan = plan_blocks
const lk_op_class lk_op_depth_to_space = {
    BLOCKS_ROW("DepthToSpace", "channels as blocks of pixels"), BLOCKS_ATTRS(11),
    .parse = parse_to_space};
const lk_op_class lk_op_space_to_depth = {
    BLOCKS_ROW("SpaceToDepth", "blocks of pixels as channels"), BLOCKS_ATTRS(28),
    .parse = parse_to_depth};

/* ---- UnfoldTensor: slices of a dimension, which may overlap ---- */

typedef struct unfold_params {
  int64_t dim, size, step;
} unfold_params;

static void parse_unfold(lk_attrs *attrs, void *params) {
  unfold_params *self = params;
  self->dim = lk_attrs_int(attrs, "dim");
  self->size = lk_attrs_int(attrs, "size");
  self->step = lk_attrs_int(attrs, "step");
  if (self->size < 1 || self->size > INT32_MAX || self->step < 1 || self->step > INT32_MAX) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attributes 'size' and 'step' are %" PRId64 " and %" PRId64
                  ", from 1 to 2^31 - 1",
                  self->size, self->step);
  }
}

static lk_status infer_unfold(lk_inference *self, lk_error *error) {
  const unfold_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  uint32_t at = 0;
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank == 0 || x->rank == LK_MAX_RANK) {
    return lk_refuse(x, "the input", "of rank 1 to 7", error);
  }
  LK_RETURN_NOT_OK(lk_read_axes(&params->dim, 1, x->rank, "unfold", &at, error));
  const int64_t dim = x->dims[at];
  if (dim >= 0 && dim < params->size) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "slices of %" PRId64 " elements, of the %" PRId64 " that dimension %" PRIu32
                   " has",
                   params->size, dim, at);
  }
  lk_shape_of_input(self, 0, 0);
  to->dims[at] = dim >= 0 ? (dim - params->size) / params->step + 1
                          : lk_dims_window(self->dims, dim, -params->size, params->step);
  to->dims[to->rank++] = params->size;
  return LK_OK;
}

static lk_status plan_unfold(lk_planner *planner, lk_error *error) {
  const unfold_params *params = planner->node->params;
  lk_operand operands[2];
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 1, operands, error));
  const lk_tensor_desc *from = &operands[0].desc, *to = &operands[1].desc;
  const uint32_t at = (uint32_t)lk_axis(params->dim, from->rank);
  lk_copy copy = lk_copy_between(to, to);
  lk_strides(from, (int64_t)copy.block, copy.from);
  copy.from[from->rank] = copy.from[at];
  /* of one slice, the step is never taken, and may be larger than the tensor */
  if (to->dims[at] > 1) copy.from[at] *= params->step;
  return lk_planner_copy(planner, &copy, &operands[0], &operands[1], error);
}

const lk_op_class lk_op_unfold_tensor = {
    LK_OP_ROW("UnfoldTensor", "com.microsoft", 1, "slices of a dimension, side by side",
              .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, .input_types = "T",
              .output_types = "T"),
    .params_size = sizeof(unfold_params),
    LK_OP_ATTRS(LK_INT("dim", -1), LK_REQUIRED_INT("size"), LK_INT("step", 1)),
    .parse = parse_unfold,
    .infer = infer_unfold,
    .plan = plan_unfold,
};
