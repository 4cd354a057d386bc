/* Operators that put more of something around a tensor, or cut it: Pad, CenterCropPad, Tile. What
 * they find out is an lk_pad of dimensions in the order of the shape. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/kernel/move/pad.h"
#include "ops/plan/moves.h"
#include "ops/plan/values.h"

/* Output 0 is like input 0 so far, and described in `found` or `room`. */
static lk_pad *begin(lk_inference *self, uint32_t mode, lk_pad *room) {
  const lk_tensor_desc *from = &self->inputs[0].desc;
  lk_pad *pad = self->found != NULL ? self->found : room;
  *pad = (lk_pad){.mode = mode, .rank = from->rank};
  memcpy(pad->dims, from->dims, sizeof pad->dims);
  memcpy(pad->in, from->dims, sizeof pad->in);
  memcpy(pad->out, from->dims, sizeof pad->out);
  lk_shape_of_input(self, 0, 0);
  return pad;
}

/* `before` and `after` more elements along a dimension, or fewer. */
static lk_status add(lk_inference *self, lk_pad *pad, uint32_t axis, int64_t before, int64_t after,
                     lk_error *error) {
  const int64_t dim = pad->dims[axis], large = INT64_MAX / 4;
  int64_t *to = &self->outputs[0].dims[axis];
  const bool fits =
      before > -large && before < large && after > -large && after < large && dim < large;
  if (fits && dim < 0) {
    *to = lk_dims_linear(self->dims, dim, 1, before + after);
    return LK_OK;
  }
  const int64_t out = fits ? dim + before + after : -1;
  const int64_t kept = fits ? dim + (before < 0 ? before : 0) + (after < 0 ? after : 0) : 0;
  if (out < 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to pad dimension %" PRIu32 " of %" PRId64 ": pads %" PRId64
                   " and %" PRId64 " make its size negative or too large, at least 0 is required",
                   axis, dim, before, after);
  }
  if ((kept <= 0 && out > 0 && pad->mode != LK_PAD_CONSTANT)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to pad dimension %" PRIu32 " of %" PRId64 ": pads %" PRId64
                   " and %" PRId64 " leave no element, at least one is required to be repeated",
                   axis, dim, before, after);
  }
  pad->in[axis] = kept > 0 ? kept : 0;
  pad->crop[axis] = before < 0 ? -before : 0;
  pad->begin[axis] = before > 0 ? before : 0;
  pad->out[axis] = *to = out;
  return LK_OK;
}

/* In the order of memory. */
static void order(lk_pad *pad, const lk_tensor_desc *desc, const lk_pad *given) {
  const bool is_last = desc->layout == LK_LAYOUT_CHANNELS_LAST;
  for (uint32_t i = 0; i < pad->rank; i++) {
    const uint32_t from = !is_last || i == 0 ? i : i + 1 == pad->rank ? 1 : i + 1;
    pad->dims[i] = given->dims[from];
    pad->crop[i] = given->crop[from];
    pad->in[i] = given->in[from];
    pad->begin[i] = given->begin[from];
    pad->out[i] = given->out[from];
  }
}

enum { DATA = 0, PADS = 1, VALUE = 2, AXES = 3, NO_VALUE = UINT32_MAX };

/* `value`: an input, or NO_VALUE. */
static lk_status plan_pad(lk_planner *planner, uint32_t value, const uint8_t *bytes,
                          lk_error *error) {
  const lk_pad *found = planner->found;
  lk_pad pad = *found;
  lk_operand operands[3];
  const lk_layout layout = lk_image_layout(planner, DATA);
  const bool is_same = memcmp(pad.dims, pad.out, sizeof pad.dims) == 0 &&
                       memcmp(pad.dims, pad.in, sizeof pad.dims) == 0;
  if (is_same) return lk_plan_same(planner, DATA, error);
  LK_RETURN_NOT_OK(lk_planner_input(planner, DATA, layout, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[1], error));
  pad.has_value = value != NO_VALUE;
  pad.element = lk_dtype_size(operands[0].desc.dtype);
  if (bytes != NULL) memcpy(pad.value, bytes, sizeof pad.value);
  if (pad.has_value) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, value, LK_LAYOUT_PLAIN, &operands[2], error));
  }
  order(&pad, &operands[0].desc, found);
  lk_pad_plan(&pad);
  return lk_planner_kernel(planner, lk_pad_kernel, "pad", &pad, sizeof pad, operands,
                           pad.has_value ? 3 : 2, error);
}

/* ---- Pad ---- */

enum { PADS_AS_INPUT_SINCE = 11, WRAP_SINCE = 19 };

typedef struct pad_params {
  uint32_t mode;
  float value;
  lk_list pads;
} pad_params;

static lk_status infer_pad(lk_inference *self, lk_error *error) {
  const pad_params *params = self->node->params;
  const lk_tensor_desc *from = &self->inputs[DATA].desc, *value = &self->inputs[VALUE].desc;
  lk_list pads = params->pads, axes = {.count = from->rank};
  uint32_t at[LK_MAX_RANK] = {0};
  lk_pad room;
  if (!lk_rank_is_known(from)) return LK_OK;
  lk_shape_open(&self->outputs[0], from->rank);
  if (!lk_infer_knows_all(self)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_list(self, PADS, "pads", &pads, error));
  for (uint32_t i = 0; i < from->rank; i++) axes.values[i] = i;
  LK_RETURN_NOT_OK(lk_read_list(self, AXES, "axes", &axes, error));
  if (!pads.given || pads.count != 2 * axes.count || axes.count > from->rank ||
      (lk_op_has(self->node, VALUE) && lk_shape_is_known(value) && lk_elements(value) != 1)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to pad: %" PRIu32 " pads are given for %" PRIu32 " axes of rank %" PRIu32
                   ", they must be two for each axis, and constant_value one element",
                   pads.count, axes.count, from->rank);
  }
  LK_RETURN_NOT_OK(lk_read_axes(axes.values, axes.count, from->rank, "pad", at, error));
  lk_pad *pad = begin(self, params->mode, &room);
  for (uint32_t i = 0; i < axes.count; i++) {
    LK_RETURN_NOT_OK(add(self, pad, at[i], pads.values[i], pads.values[axes.count + i], error));
  }
  return lk_shape_check(&self->outputs[0], "the padded tensor", error);
}

static lk_status plan_pads(lk_planner *planner, lk_error *error) {
  const pad_params *params = planner->node->params;
  const bool has_value = lk_op_has(planner->node, VALUE) && params->mode == LK_PAD_CONSTANT;
  uint8_t value[8] = {0};
  lk_cast_one(LK_F32, &params->value, planner->outputs[0].dtype, value);
  return plan_pad(planner, has_value ? VALUE : NO_VALUE, value, error);
}

const lk_op_class lk_op_pad = {
    LK_OP_ROW("Pad", "", 7, "elements around the input, constant or its own", .min_inputs = 1,
              .max_inputs = 4, .max_outputs = 1, .input_types = "TUTV", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPES_INDEX, LK_TYPES_INDEX},
              .shape_inputs = 1u << PADS | 1u << AXES),
    .found_size = sizeof(lk_pad),
    LK_OP_ATTRS(LK_CHOICE("mode", "constant|reflect|edge", .until = WRAP_SINCE - 1),
                LK_CHOICE("mode", "constant|reflect|edge|wrap", .since = WRAP_SINCE),
                LK_INTS("pads", .is_required = 1, .until = PADS_AS_INPUT_SINCE - 1, .input = PADS),
                LK_FLOAT("value", 0, .until = PADS_AS_INPUT_SINCE - 1, .input = 2)),
    LK_OP_PARAMS(pad_params, LK_PARAM(pad_params, mode, "mode"), LK_PARAM(pad_params, pads, "pads"),
                 LK_PARAM(pad_params, value, "value")),
    .infer = infer_pad,
    .plan = plan_pads,
};

/* ---- CenterCropPad ---- */

static lk_status infer_center(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *from = &self->inputs[DATA].desc;
  lk_list sizes = {0}, axes = *(const lk_list *)self->node->params;
  uint32_t at[LK_MAX_RANK] = {0};
  lk_pad room;
  if (!lk_rank_is_known(from)) return LK_OK;
  for (uint32_t i = 0; i < from->rank && !axes.given; i++) axes.values[axes.count++] = i;
  LK_RETURN_NOT_OK(lk_read_axes(axes.values, axes.count, from->rank, "crop", at, error));
  lk_pad *pad = begin(self, LK_PAD_CONSTANT, &room);
  if (!lk_infer_knows_all(self)) {
    for (uint32_t i = 0; i < axes.count; i++) self->outputs[0].dims[at[i]] = LK_DIM_UNKNOWN;
    return LK_OK;
  }
  LK_RETURN_NOT_OK(lk_read_list(self, 1, "shape", &sizes, error));
  for (uint32_t i = 0; i < axes.count; i++) {
    const int64_t size = sizes.values[i], dim = from->dims[at[i]];
    if (sizes.count != axes.count || size < 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to crop: %" PRIu32 " sizes for %" PRIu32
                     " axes, they must be one for each, and at least 0",
                     sizes.count, axes.count);
    }
    self->outputs[0].dims[at[i]] = size;
    /* from an odd number of elements one more goes at the end, and comes there */
    const int64_t before = (size - dim) / 2;
    if (dim >= 0) LK_RETURN_NOT_OK(add(self, pad, at[i], before, size - dim - before, error));
  }
  return lk_shape_check(&self->outputs[0], "the padded tensor", error);
}

static lk_status plan_whole(lk_planner *planner, lk_error *error) {
  return plan_pad(planner, NO_VALUE, NULL, error);
}

const lk_op_class lk_op_center_crop_pad = {
    LK_OP_ROW("CenterCropPad", "", 18, "the center of the input, or 0 around it", .min_inputs = 2,
              .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPES_INDEX}, .shape_inputs = 1u << 1),
    .found_size = sizeof(lk_pad),
    LK_OP_ATTRS(LK_INTS("axes")),
    LK_OP_PARAM(lk_list, "axes"),
    .infer = infer_center,
    .plan = plan_whole,
};

/* ---- Tile ---- */

static void tile_by_values(lk_inference *self) {
  lk_tensor_desc *to = &self->outputs[0];
  lk_shape_of_values(self, 1, to);
  for (uint32_t i = 0; i < to->rank; i++) {
    const int64_t dim = self->inputs[DATA].desc.dims[i];
    const bool is_known = dim != LK_DIM_UNKNOWN && to->dims[i] != LK_DIM_UNKNOWN;
    if (!is_known || !lk_dims_multiply(self->dims, dim, to->dims[i], &to->dims[i])) {
      to->dims[i] = LK_DIM_UNKNOWN;
    }
  }
}

static lk_status infer_tile(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *from = &self->inputs[DATA].desc;
  lk_tensor_desc *to = &self->outputs[0];
  lk_list repeats = {0};
  lk_pad room;
  if (!lk_rank_is_known(from)) return LK_OK;
  lk_shape_open(to, from->rank);
  if (!lk_infer_knows_all(self)) {
    tile_by_values(self);
    return LK_OK;
  }
  LK_RETURN_NOT_OK(lk_read_list(self, 1, "repeats", &repeats, error));
  lk_pad *pad = begin(self, LK_PAD_WRAP, &room);
  for (uint32_t i = 0; i < to->rank; i++) {
    if (repeats.count != to->rank) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to tile rank %" PRIu32 ": %" PRIu32
                     " repeats are given, they must be one for each dimension",
                     to->rank, repeats.count);
    }
    if (repeats.values[i] < 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to tile dimension %" PRIu32 ": its repeat is %" PRId64
                     ", it must be at least 0",
                     i, repeats.values[i]);
    }
    LK_RETURN_NOT_OK(
        lk_infer_product(self, from->dims[i], repeats.values[i], "tile", &to->dims[i], error));
    pad->out[i] = to->dims[i];
  }
  return lk_shape_check(to, "the tiled tensor", error);
}

/* Tile as a strided copy, where the repetitions of a dimension are another one. False: there would
 * be too many, or a block that is so long that only lk_pad_kernel looks within. */
static bool tile_by_copy(const lk_pad *pad, lk_copy *out) {
  int64_t from = (int64_t)pad->element, to = from;
  *out = (lk_copy){.block = pad->element};
  for (uint32_t i = pad->rank; i-- > 0; from *= pad->dims[i], to *= pad->out[i]) {
    const int64_t sizes[] = {pad->dims[i], pad->out[i] / pad->dims[i]};
    for (uint32_t k = 0; k < 2; k++) {
      const bool joins = k == 0 && out->rank > 0 && from == to &&
                         out->from[out->rank - 1] * out->dims[out->rank - 1] == from;
      if (sizes[k] == 1) continue;
      if (joins) {
        out->dims[out->rank - 1] *= sizes[k];
        continue;
      }
      if (out->rank == LK_MAX_RANK) return false;
      out->dims[out->rank] = sizes[k];
      out->from[out->rank] = k == 0 ? from : 0;
      out->to[out->rank++] = k == 0 ? to : to * pad->dims[i];
    }
    if (from == to && from * pad->dims[i] > LK_LOOK_BYTES) return false;
  }
  return true;
}

static lk_status plan_tile(lk_planner *planner, lk_error *error) {
  const lk_pad *found = planner->found;
  const lk_layout layout = lk_image_layout(planner, DATA);
  lk_pad pad = *found;
  lk_operand from, to;
  lk_copy copy;
  lk_tensor_desc desc = planner->inputs[DATA].desc;
  desc.layout = layout;
  order(&pad, &desc, found);
  pad.element = lk_dtype_size(desc.dtype);
  const int64_t count = lk_elements(&planner->outputs[0]);
  if (count == 0 || count == lk_elements(&desc) || !tile_by_copy(&pad, &copy)) {
    return plan_whole(planner, error);
  }
  LK_RETURN_NOT_OK(lk_planner_input(planner, DATA, layout, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  return lk_planner_copy(planner, &copy, &from, &to, error);
}

const lk_op_class lk_op_tile = {
    LK_OP_ROW("Tile", "", 7, "the input several times along each dimension", .min_inputs = 2,
              .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPE(LK_I64)}, .shape_inputs = 1u << 1),
    .found_size = sizeof(lk_pad),
    .infer = infer_tile,
    .plan = plan_tile,
};
