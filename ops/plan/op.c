/* The types of a node's inputs and outputs. */
#include "ops/plan/op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"

/* The types that inputs have given to the letters of a row. */
typedef struct row_types {
  uint32_t dtypes[LK_MAX_TYPE_GROUPS]; /* LK_DTYPE_NONE: no input has said */
  uint32_t inputs[LK_MAX_TYPE_GROUPS]; /* which one has */
} row_types;

/* Of the letters of a row, that of the next input or output; the last one goes for those behind
 * it. */
static const char *next_letter(const char *letter) {
  return letter[1] != '\0' ? letter + 1 : letter;
}

/* A letter as a number. */
static uint32_t group_of(char letter) {
  return (uint32_t)(letter - 'T');
}

static lk_status add_type(const lk_op_row *row, row_types *types, uint32_t index, uint32_t group,
                          uint32_t dtype, lk_error *error) {
  if (dtype == LK_DTYPE_NONE || group >= LK_MAX_TYPE_GROUPS) return LK_OK; /* '?' */
  const uint32_t set = row->types[group];
  uint32_t *bound = &types->dtypes[group];
  if (set != LK_TYPES_ANY && (dtype >= 32 || (set >> dtype & 1) == 0)) {
    char text[128];
    lk_dtypes_text(set, text, sizeof text);
    return lk_fail(error, LK_UNSUPPORTED, "input %" PRIu32 " is of type %s; %s %s supported", index,
                   lk_dtype_name(dtype), text, (set & (set - 1)) == 0 ? "is" : "are");
  }
  if (*bound == LK_DTYPE_NONE) {
    *bound = dtype;
    types->inputs[group] = index;
  } else if (*bound != dtype) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "input %" PRIu32 " and input %" PRIu32
                   " are of types %s and %s, which must be equal",
                   types->inputs[group], index, lk_dtype_name(*bound), lk_dtype_name(dtype));
  }
  return LK_OK;
}

/* LK_DTYPE_NONE: the row does not say, or no input has said. */
static uint32_t output_type(const lk_op_row *row, const row_types *types, uint32_t group) {
  if (group >= LK_MAX_TYPE_GROUPS) return LK_DTYPE_NONE; /* '?' */
  const uint32_t set = row->types[group];
  if (types->dtypes[group] != LK_DTYPE_NONE) return types->dtypes[group];
  const bool is_one = set != LK_TYPES_ANY && (set & (set - 1)) == 0;
  return is_one ? (uint32_t)__builtin_ctz(set) : (uint32_t)LK_DTYPE_NONE;
}

lk_status lk_op_infer(lk_inference *self, lk_error *error) {
  const lk_op_node *node = self->node;
  const lk_op_row *row = &node->class_->row;
  row_types types = {0};
  const char *letter = row->input_types;
  self->copy_of = -1;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    const uint32_t dtype = lk_op_has(node, i) ? self->inputs[i].desc.dtype : LK_DTYPE_NONE;
    LK_RETURN_NOT_OK(add_type(row, &types, i, group_of(*letter), dtype, error));
    letter = next_letter(letter);
  }
  letter = row->output_types;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    self->outputs[i] = (lk_tensor_desc){.dtype = output_type(row, &types, group_of(*letter)),
                                        .rank = LK_RANK_UNKNOWN};
    letter = next_letter(letter);
  }
  LK_RETURN_NOT_OK(node->class_->infer(self, error));
  if (self->dims == NULL) return LK_OK;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    lk_tensor_desc *to = &self->outputs[i];
    for (uint32_t d = 0; lk_rank_is_known(to) && d < to->rank; d++) {
      if (to->dims[d] == LK_DIM_UNKNOWN) to->dims[d] = lk_dims_open(self->dims);
    }
  }
  return lk_dims_failed(self->dims) ? lk_fail_memory(error, "terms of dimensions", 1) : LK_OK;
}
