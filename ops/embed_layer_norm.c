/* EmbedLayerNormalization and QEmbedLayerNormalization (com.microsoft): rows of two or three tables
 * picked by index, added up and normalized. The latter has bytes for tables, scale and shift. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/indexing.h"
#include "ops/plan/moves.h"
#include "ops/plan/quantized_steps.h"
#include "ops/plan/reduction.h"
#include "ops/plan/work.h"

enum { REAL, QUANTIZED }; /* the class's variants */

/* Parameters, which follow each other as inputs, and so do their scales and zero points. */
enum { WORD, POSITION, SEGMENT, GAMMA, BETA, PARAMETERS };
enum { IDS, SEGMENT_IDS, FIRST_PARAMETER, MASK = 7 };
enum { POSITION_IDS = 8 };                  /* of REAL */
enum { FIRST_SCALE = 8, FIRST_ZERO = 13 };  /* of QUANTIZED */
enum { OUTPUT, MASK_INDEX, EMBEDDING_SUM }; /* the last one of REAL */

static bool is_quantized(const lk_op_node *node) {
  return node->class_->variant == QUANTIZED;
}

static bool has_position_ids(const lk_op_node *node) {
  return !is_quantized(node) && lk_op_has(node, POSITION_IDS);
}

static bool uses(const lk_op_node *node, uint32_t parameter) {
  return parameter != SEGMENT || lk_op_has(node, FIRST_PARAMETER + SEGMENT) ||
         lk_op_has(node, SEGMENT_IDS);
}

/* How many rows are read from the beginning of a table, which no ids pick. All words are of the
 * first segment then, as ONNX Runtime has it. -1: ids pick them. */
static int64_t first_rows(const lk_op_node *node, uint32_t parameter, int64_t rows) {
  if (parameter == POSITION && !has_position_ids(node)) return rows;
  return parameter == SEGMENT && !lk_op_has(node, SEGMENT_IDS) ? 1 : -1;
}

/* ---- shapes ---- */

/* Sizes as far as they are known. */
typedef struct sizes {
  int64_t batch, rows, width;
} sizes;

static lk_status check_parameters(const lk_inference *self, sizes *of, lk_error *error) {
  static const char *const names[] = {"word_embedding", "position_embedding", "segment_embedding",
                                      "gamma", "beta"};
  for (uint32_t i = 0; i < PARAMETERS; i++) {
    const uint32_t input = FIRST_PARAMETER + i;
    if (!uses(self->node, i)) continue;
    if (!lk_op_has(self->node, input)) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "input '%s' is absent, it is required", names[i]);
    }
    const lk_tensor_desc *x = &self->inputs[input].desc;
    const uint32_t rank = i < GAMMA ? 2 : 1;
    if (is_quantized(self->node)) {
      if (!lk_op_has(self->node, FIRST_SCALE + i)) {
        return lk_fail(error, LK_INVALID_ARGUMENT, "the scale of '%s' is absent, it is required",
                       names[i]);
      }
      LK_RETURN_NOT_OK(lk_infer_quantizer(self, FIRST_SCALE + i, "scale", 1, error));
      LK_RETURN_NOT_OK(lk_infer_quantizer(self, FIRST_ZERO + i, "zero point", 1, error));
    }
    if (!lk_rank_is_known(x)) continue;
    if (x->rank != rank || lk_dims_differ(x->dims[rank - 1], of->width)) {
      return lk_refuse(x, names[i],
                       rank == 2 ? "a matrix whose rows are as wide as the others'"
                                 : "as wide as the rows of the tables",
                       error);
    }
    of->width = lk_dims_either(of->width, x->dims[rank - 1]);
    if (rank == 2 && x->dims[0] >= 0 && x->dims[0] < first_rows(self->node, i, of->rows)) {
      return lk_refuse(x, names[i], "a matrix with a row for each word, or segment", error);
    }
  }
  return LK_OK;
}

/* [batch][rows]; `one_batch`: or [1][rows]. */
static lk_status check_ids(const lk_inference *self, uint32_t input, const char *name,
                           bool one_batch, sizes *of, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc;
  if (!lk_op_has(self->node, input) || !lk_rank_is_known(x)) return LK_OK;
  const bool is_one = one_batch && x->rank == 2 && x->dims[0] == 1;
  if (x->rank != 2 || lk_dims_differ(x->dims[1], of->rows) ||
      (!is_one && lk_dims_differ(x->dims[0], of->batch))) {
    return lk_refuse(x, name, "[batch][rows] as the word IDs", error);
  }
  of->rows = lk_dims_either(of->rows, x->dims[1]);
  if (!one_batch) of->batch = lk_dims_either(of->batch, x->dims[0]);
  return LK_OK;
}

static lk_status find_sizes(const lk_inference *self, sizes *of, lk_error *error) {
  *of = (sizes){LK_DIM_UNKNOWN, LK_DIM_UNKNOWN, LK_DIM_UNKNOWN};
  LK_RETURN_NOT_OK(check_ids(self, IDS, "input_ids", false, of, error));
  LK_RETURN_NOT_OK(check_ids(self, SEGMENT_IDS, "segment_ids", false, of, error));
  LK_RETURN_NOT_OK(check_ids(self, MASK, "the mask", false, of, error));
  if (has_position_ids(self->node)) {
    LK_RETURN_NOT_OK(check_ids(self, POSITION_IDS, "position_ids", true, of, error));
  }
  return check_parameters(self, of, error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  sizes of;
  LK_RETURN_NOT_OK(find_sizes(self, &of, error));
  const int64_t dims[] = {of.batch, of.rows, of.width};
  for (uint32_t i = 0; i < self->node->n_outputs; i++) {
    const uint32_t rank = i == MASK_INDEX ? 1 : 3;
    self->outputs[i] = lk_tensor_desc_make(self->outputs[i].dtype, rank, dims);
  }
  return LK_OK;
}

/* ---- steps ---- */

/* The rows of a table that `ids` pick, in a temporary of the dimensions of `ids` and one more. */
static lk_status gather(lk_planner *planner, const lk_operand *table, uint32_t ids, lk_operand *out,
                        lk_error *error) {
  const int64_t width = table->desc.dims[1];
  lk_operand indices;
  LK_RETURN_NOT_OK(lk_planner_input(planner, ids, LK_LAYOUT_PLAIN, &indices, error));
  const int64_t dims[] = {indices.desc.dims[0], indices.desc.dims[1], width};
  const lk_tensor_desc desc = lk_tensor_desc_make(table->desc.dtype, 3, dims);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  return lk_plan_gather_rows(planner, table, &indices, LK_INDEX_CHECKED, out, error);
}

/* What a table adds, as an operand that broadcasts to [batch][rows][width]. */
static lk_status take_rows(lk_planner *planner, uint32_t parameter, const sizes *of,
                           lk_operand *out, lk_error *error) {
  lk_operand table;
  LK_RETURN_NOT_OK(
      lk_planner_input(planner, FIRST_PARAMETER + parameter, LK_LAYOUT_PLAIN, &table, error));
  const int64_t first = first_rows(planner->node, parameter, of->rows);
  if (first >= 0) {
    *out = table;
    out->desc.dims[0] = first;
    return LK_OK;
  }
  const uint32_t ids = parameter == WORD ? IDS : parameter == SEGMENT ? SEGMENT_IDS : POSITION_IDS;
  return gather(planner, &table, ids, out, error);
}

static lk_status add_value(lk_chain *chain, uint32_t parameter, const lk_operand *operand,
                           lk_element_value *out, lk_error *error) {
  *out = lk_chain_operand(chain, operand);
  if (!is_quantized(chain->planner->node)) return LK_OK;
  return lk_chain_dequantize(chain, FIRST_SCALE + parameter, FIRST_ZERO + parameter, out, error);
}

static lk_status plan_sum(lk_planner *planner, const sizes *of, const lk_operand *sum,
                          lk_error *error) {
  lk_chain chain;
  lk_chain_begin_at(planner, sum, &chain);
  for (uint32_t i = WORD; i <= SEGMENT; i++) {
    lk_operand rows;
    lk_element_value value = 0;
    if (!uses(planner->node, i)) continue;
    LK_RETURN_NOT_OK(take_rows(planner, i, of, &rows, error));
    LK_RETURN_NOT_OK(add_value(&chain, i, &rows, &value, error));
    chain.value =
        i == WORD ? value : lk_element_binary(&chain.program, LK_ELEMENT_ADD, chain.value, value);
  }
  return lk_chain_step(&chain, error);
}

/* Gamma or beta, as f32. */
static lk_status take_vector(lk_planner *planner, uint32_t parameter, lk_operand *out,
                             lk_error *error) {
  lk_chain chain;
  lk_operand given;
  LK_RETURN_NOT_OK(
      lk_planner_input(planner, FIRST_PARAMETER + parameter, LK_LAYOUT_PLAIN, &given, error));
  *out = given;
  if (given.desc.dtype == LK_F32) return LK_OK;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, given.desc.dims);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  lk_chain_begin_at(planner, out, &chain);
  LK_RETURN_NOT_OK(add_value(&chain, parameter, &given, &chain.value, error));
  return lk_chain_step(&chain, error);
}

/* How many elements of each row of the mask are 1; 0 without a mask. */
static lk_status plan_mask_index(lk_planner *planner, lk_error *error) {
  static const int32_t none = 0;
  const lk_reduction sum = {LK_REDUCE_SUM, .divisor = 1};
  const lk_tensor_desc *x = &planner->inputs[MASK].desc;
  lk_operand mask, is_one, to;
  lk_chain chain;
  if (planner->node->n_outputs <= MASK_INDEX) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_output(planner, MASK_INDEX, LK_LAYOUT_PLAIN, &to, error));
  if (lk_elements(&to.desc) == 0) return LK_OK;
  if (!lk_op_has(planner->node, MASK) || lk_elements(x) == 0) {
    return lk_plan_fill(planner, &to, sizeof none, &none, error);
  }
  LK_RETURN_NOT_OK(lk_planner_input(planner, MASK, LK_LAYOUT_PLAIN, &mask, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &mask.desc, &is_one, error));
  lk_chain_begin_at(planner, &is_one, &chain);
  const lk_element_value value = lk_chain_operand(&chain, &mask);
  const lk_element_value equals = lk_element_binary(&chain.program, LK_ELEMENT_EQUAL, value,
                                                    lk_element_integer(&chain.program, LK_I32, 1));
  chain.value = lk_element_cast(&chain.program, equals, LK_I32);
  LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  return lk_plan_reduce_step(planner, &is_one, &to, 1U << 1, &sum, error);
}

/* Output `index`, plain, or an f32 tensor of its shape that is to be rounded to it. */
static lk_status take_output(lk_planner *planner, uint32_t index, lk_operand *out,
                             lk_error *error) {
  lk_tensor_desc desc = planner->outputs[OUTPUT];
  desc.layout = LK_LAYOUT_PLAIN;
  if (desc.dtype == LK_F32) return lk_planner_output_or_temp(planner, index, &desc, out, error);
  desc.dtype = LK_F32;
  return lk_planner_temp(planner, &desc, out, error);
}

static lk_status round_output(lk_planner *planner, uint32_t index, const lk_operand *from,
                              lk_error *error) {
  lk_operand to;
  if (planner->outputs[OUTPUT].dtype == LK_F32 || index >= planner->node->n_outputs) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_output(planner, index, LK_LAYOUT_PLAIN, &to, error));
  return lk_planner_cast(planner, from, &to, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const lk_inference asked = {.node = node, .inputs = planner->inputs};
  lk_operand operands[4]; /* from, to, gamma, beta */
  sizes of;
  LK_RETURN_NOT_OK(find_sizes(&asked, &of, error));
  LK_RETURN_NOT_OK(plan_mask_index(planner, error));
  if (lk_elements(&planner->outputs[OUTPUT]) == 0) return LK_OK;
  LK_RETURN_NOT_OK(take_output(planner, EMBEDDING_SUM, &operands[0], error));
  LK_RETURN_NOT_OK(plan_sum(planner, &of, &operands[0], error));
  LK_RETURN_NOT_OK(round_output(planner, EMBEDDING_SUM, &operands[0], error));
  LK_RETURN_NOT_OK(take_output(planner, OUTPUT, &operands[1], error));
  LK_RETURN_NOT_OK(take_vector(planner, GAMMA, &operands[2], error));
  LK_RETURN_NOT_OK(take_vector(planner, BETA, &operands[3], error));
  lk_task task;
  lk_task_begin(&task, LK_WORK_LAYER_NORM);
  lk_task_operand(&task, LK_ROLE_SRC, &operands[0]);
  lk_task_operand(&task, LK_ROLE_DST, &operands[1]);
  lk_task_operand(&task, LK_ROLE_SCALE, &operands[2]);
  lk_task_operand(&task, LK_ROLE_SHIFT, &operands[3]);
  task.work.axes = 1U << (operands[0].desc.rank - 1);
  task.work.epsilon = *(const float *)node->params;
  task.work.is_centered = true;
  LK_RETURN_NOT_OK(lk_plan_task(planner, &task, error));
  return round_output(planner, OUTPUT, &operands[1], error);
}

/* Which inputs are required follows from others: `infer` says it. */
#define ROW(name, summary_text, row_flags, most, outputs, ...)                                     \
  LK_OP_ROW(name, "com.microsoft", 1, summary_text, .flags = row_flags, .min_inputs = 1,           \
            .max_inputs = most, .max_outputs = outputs, __VA_ARGS__),                              \
      LK_OP_PARAM(float, "epsilon"), .infer = infer, .plan = plan

const lk_op_class lk_op_embed_layer_normalization = {
    ROW("EmbedLayerNormalization", "LayerNormalization of the sum of rows of tables",
        LK_OP_WORTH_CLAIMING, 9, 3, .input_types = "TTUUUUUTT", .output_types = "UTU",
        .types = {LK_TYPE(LK_I32), LK_TYPES_BY_F32}),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-12F), LK_ANY_INT("mask_index_type", 0, .is_unused = 1)),
    .variant = REAL,
};
const lk_op_class lk_op_qembed_layer_normalization = {
    ROW("QEmbedLayerNormalization", "EmbedLayerNormalization of quantized tables",
        LK_OP_WORTH_CLAIMING | LK_OP_QUANTIZES, 18, 2, .input_types = "TTUUUUUTVVVVVUUUUU",
        .output_types = "VT",
        .types = {LK_TYPE(LK_I32), LK_TYPE(LK_U8) | LK_TYPE(LK_I8), LK_TYPES_F32}),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-12F)),
    .variant = QUANTIZED,
};
