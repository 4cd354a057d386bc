/* GatherBlockQuantized (com.microsoft): rows of a table of few bits, picked by index. They are
 * unpacked when they have been picked, so that the table stays as small as it is. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/integer/block_bits.h"
#include "ops/plan/indexing.h"
#include "ops/plan/moves.h"

enum { TABLE, INDICES, SCALES, ZEROS };
enum { LEAST_BLOCK = 16 };

typedef struct gather_bits_params {
  int64_t block, quantize_axis;
  uint32_t bits;
} gather_bits_params;

static void parse(lk_attrs *attrs, void *params) {
  gather_bits_params *self = params;
  const int64_t bits = lk_attrs_int(attrs, "bits");
  const int64_t gather_axis = lk_attrs_int(attrs, "gather_axis");
  self->block = lk_attrs_int(attrs, "block_size");
  self->quantize_axis = lk_attrs_int(attrs, "quantize_axis");
  self->bits = (uint32_t)bits;
  if (bits != 2 && bits != 4 && bits != 8) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED,
                  "attribute 'bits' is %" PRId64 ", 2, 4 and 8 are supported", bits);
  }
  if (self->block < LEAST_BLOCK || (self->block & (self->block - 1)) != 0) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'block_size' is %" PRId64 ", it must be a power of 2 and at least %d",
                  self->block, LEAST_BLOCK);
  }
  if (gather_axis != 0) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute 'gather_axis' is %" PRId64 ", 0 is supported",
                  gather_axis);
  }
}

/* ---- shapes ---- */

/* How many elements so many bytes of numbers have; -1: not known. */
static int64_t elements_in(const gather_bits_params *params, int64_t bytes) {
  return bytes < 0 ? -1 : bytes * 8 / params->bits;
}

/* Scales or zero points: the table's dimensions but the last one. */
static lk_status check_blocks(const lk_inference *self, uint32_t input, const char *name,
                              int64_t last, lk_error *error) {
  const lk_tensor_desc *table = &self->inputs[TABLE].desc, *x = &self->inputs[input].desc;
  if (!lk_op_has(self->node, input) || !lk_rank_is_known(x)) return LK_OK;
  bool fits = x->rank == table->rank && !lk_dims_differ(x->dims[x->rank - 1], last);
  for (uint32_t i = 0; fits && i + 1 < x->rank; i++) {
    fits = !lk_dims_differ(x->dims[i], table->dims[i]);
  }
  return fits ? LK_OK : lk_refuse(x, name, "one for each block of the table's rows", error);
}

static lk_status check_table(const lk_inference *self, lk_error *error) {
  const gather_bits_params *params = self->node->params;
  const lk_tensor_desc *table = &self->inputs[TABLE].desc;
  uint32_t axis = 0;
  if (table->rank < 2) return lk_refuse(table, "the table", "of rank 2 or more", error);
  LK_RETURN_NOT_OK(
      lk_read_axes(&params->quantize_axis, 1, table->rank, "read the blocks", &axis, error));
  if (axis != table->rank - 1) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "blocks along dimension %" PRIu32 " of %" PRIu32 ", the last one is supported",
                   axis, table->rank);
  }
  const int64_t width = elements_in(params, table->dims[table->rank - 1]);
  if (width >= 0 && width % params->block != 0) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "%" PRId64 " elements in blocks of %" PRId64 ", whole blocks are supported",
                   width, params->block);
  }
  const int64_t blocks = width < 0 ? LK_DIM_UNKNOWN : width / params->block;
  const int64_t zeros = width < 0 ? LK_DIM_UNKNOWN : (blocks * params->bits + 7) / 8;
  LK_RETURN_NOT_OK(check_blocks(self, SCALES, "scales", blocks, error));
  return check_blocks(self, ZEROS, "zero_points", zeros, error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const gather_bits_params *params = self->node->params;
  const lk_tensor_desc *table = &self->inputs[TABLE].desc, *indices = &self->inputs[INDICES].desc;
  lk_tensor_desc *to = &self->outputs[0];
  if (!lk_rank_is_known(table)) return LK_OK;
  LK_RETURN_NOT_OK(check_table(self, error));
  if (!lk_rank_is_known(indices)) return LK_OK;
  lk_tensor_desc real = *table;
  int64_t *last = &real.dims[real.rank - 1];
  *last = *last >= 0          ? elements_in(params, *last)
          : params->bits == 8 ? *last
                              : lk_dims_linear(self->dims, *last, 8 / params->bits, 0);
  to->rank = 0;
  LK_RETURN_NOT_OK(lk_append_dims(to, indices, 0, indices->rank, error));
  return lk_append_dims(to, &real, 1, real.rank, error);
}

/* ---- steps ---- */

/* What the indices pick of an input, in a temporary. What an index beyond the table would pick is
 * left as it is. */
static lk_status gather(lk_planner *planner, uint32_t input, bool is_filled,
                        const lk_operand *indices, lk_operand *out, lk_error *error) {
  static const float zero = 0;
  lk_operand table;
  LK_RETURN_NOT_OK(lk_planner_input(planner, input, LK_LAYOUT_PLAIN, &table, error));
  const int64_t count =
      lk_elements(&indices->desc) * lk_count_dims(&table.desc, 1, table.desc.rank);
  const lk_tensor_desc desc = lk_tensor_desc_make(table.desc.dtype, 1, &count);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  if (is_filled) LK_RETURN_NOT_OK(lk_plan_fill(planner, out, sizeof zero, &zero, error));
  return lk_plan_gather_rows(planner, &table, indices, LK_INDEX_DROPPED, out, error);
}

/* The scale of an index beyond the table is 0, and so is all that it stands for. */
static lk_status plan(lk_planner *planner, lk_error *error) {
  const gather_bits_params *params = planner->node->params;
  const bool has_zeros = lk_op_has(planner->node, ZEROS);
  lk_operand indices, operands[4];
  uint32_t n = 0;
  LK_RETURN_NOT_OK(lk_planner_input(planner, INDICES, LK_LAYOUT_PLAIN, &indices, error));
  LK_RETURN_NOT_OK(gather(planner, TABLE, false, &indices, &operands[n++], error));
  LK_RETURN_NOT_OK(gather(planner, SCALES, true, &indices, &operands[n++], error));
  if (has_zeros) {
    LK_RETURN_NOT_OK(gather(planner, ZEROS, false, &indices, &operands[n++], error));
  }
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[n++], error));
  const lk_tensor_desc *to = &operands[n - 1].desc;
  const int64_t width = to->dims[to->rank - 1];
  const lk_block_bits step = {.rows = lk_elements(to) / width,
                              .columns = width,
                              .block = params->block,
                              .bits = params->bits,
                              .zeros = has_zeros ? LK_BLOCK_ZEROS_PACKED : LK_BLOCK_ZEROS_NONE};
  return lk_planner_kernel(planner, lk_block_bits_kernel, "unpack", &step, sizeof step, operands, n,
                           error);
}

const lk_op_class lk_op_gather_block_quantized = {
    LK_OP_ROW("GatherBlockQuantized", "com.microsoft", 1,
              "rows of a table of 2, 4 or 8 bits, picked by indices", .flags = LK_OP_QUANTIZES,
              .min_inputs = 3, .max_inputs = 4, .max_outputs = 1, .input_types = "TUVT",
              .output_types = "V", .types = {LK_TYPE(LK_U8), LK_TYPES_INDEX, LK_TYPES_BY_F32}),
    .by_f32 = true,
    .params_size = sizeof(gather_bits_params),
    LK_OP_ATTRS(LK_INT("bits", 4), LK_INT("block_size", 128), LK_INT("gather_axis", 0),
                LK_INT("quantize_axis", 1)),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
