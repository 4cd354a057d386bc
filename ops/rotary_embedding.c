/* RotaryEmbedding, of ai.onnx (opset 23 on) and of com.microsoft, where positions may be one
 * number, that of row 0. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/sequence/rotary.h"
#include "ops/plan/heads.h"
#include "ops/plan/moves.h"

/* Which input is what. */
typedef struct rotary_form {
  uint32_t cosines, sines, positions;
} rotary_form;

enum { ONNX, MICROSOFT }; /* the class's variants */
static const rotary_form forms[] = {[ONNX] = {1, 2, 3}, [MICROSOFT] = {2, 3, 1}};

typedef struct rotary_params {
  const rotary_form *form;
  int64_t heads, rotated; /* 0: not given */
  bool is_interleaved;
} rotary_params;

static void parse(lk_attrs *attrs, void *params) {
  rotary_params *self = params;
  self->form = &forms[attrs->class_->variant];
  self->heads = lk_attrs_int_from(attrs, "num_heads", 0);
  self->rotated = lk_attrs_int_from(attrs, "rotary_embedding_dim", 0);
  self->is_interleaved = lk_attrs_bool(attrs, "interleaved");
}
static void parse_microsoft(lk_attrs *attrs, void *params) {
  parse(attrs, params);
  if (lk_attrs_bool(attrs, "is_packed_batching")) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute 'is_packed_batching' is 1, 0 is supported");
  }
  if (lk_attrs_float(attrs, "scale") != 1) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute 'scale' is not 1, which alone is supported");
  }
}

/* ---- shapes ---- */

/* Of X, whose dimensions are known: [batch][rows][heads * size] or [batch][heads][rows][size]. */
static lk_status find_heads(const lk_inference *self, lk_head_sizes *out, int64_t *out_rotated,
                            lk_error *error) {
  const rotary_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc,
                       *cosines = &self->inputs[params->form->cosines].desc;
  const bool is_apart = x->rank == 4;
  const int64_t angles = cosines->dims[cosines->rank - 1];
  int64_t heads = params->heads;
  if (heads == 0 && !is_apart && params->rotated == 0)
    heads = x->dims[2] / (angles > 0 ? 2 * angles : 1);
  if (is_apart) heads = x->dims[1];
  if (heads <= 0 || (!is_apart && x->dims[2] % heads != 0)) {
    return lk_refuse(x, "the input", "a whole number of heads, which attribute 'num_heads' says",
                     error);
  }
  *out = is_apart ? (lk_head_sizes){x->dims[0], heads, x->dims[2], x->dims[3]}
                  : (lk_head_sizes){x->dims[0], heads, x->dims[1], x->dims[2] / heads};
  *out_rotated = params->rotated > 0 ? params->rotated : out->size;
  if (*out_rotated > out->size || *out_rotated % 2 != 0 || *out_rotated / 2 != angles) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "%" PRId64 " elements of heads of %" PRId64 " are turned: at most all, an even "
                   "number, twice the %" PRId64 " angles of a position",
                   *out_rotated, out->size, angles);
  }
  return LK_OK;
}

/* cos or sin: [positions][angles], or [batch][rows][angles] where no positions are given. */
static lk_status check_cache(const lk_inference *self, uint32_t input, const lk_head_sizes *of,
                             lk_error *error) {
  const rotary_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[input].desc;
  const lk_tensor_desc *cosines = &self->inputs[params->form->cosines].desc;
  const bool by_row = !lk_op_has(self->node, params->form->positions) && x->rank == 3 &&
                      x->dims[0] == of->batch && x->dims[1] == of->rows;
  if ((x->rank == 2 || by_row) && lk_shape_equal(x, cosines)) return LK_OK;
  return lk_refuse(x, "cosines and sines", "equal, of positions or of batches and rows", error);
}

static lk_status check_positions(const lk_inference *self, const lk_head_sizes *of,
                                 lk_error *error) {
  const rotary_form *form = ((const rotary_params *)self->node->params)->form;
  if (!lk_op_has(self->node, form->positions)) return LK_OK;
  const lk_tensor_desc *x = &self->inputs[form->positions].desc;
  const bool is_first = form == &forms[MICROSOFT] && lk_elements(x) == 1 && x->rank <= 1;
  const bool is_each = x->rank == 2 && x->dims[0] == of->batch && x->dims[1] == of->rows;
  if (is_first || is_each) return LK_OK;
  return lk_refuse(x, "positions", "one for each batch and row", error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc;
  const rotary_form *form = ((const rotary_params *)self->node->params)->form;
  lk_head_sizes of;
  int64_t rotated = 0;
  if (lk_rank_is_known(x) && x->rank != 3 && x->rank != 4) {
    return lk_refuse(x, "the input", "of rank 3 or 4", error);
  }
  LK_RETURN_NOT_OK(lk_infer_same(self, error));
  for (uint32_t i = 0; i < 4; i++) {
    if (lk_op_has(self->node, i) && !lk_shape_is_known(&self->inputs[i].desc)) return LK_OK;
  }
  if (self->inputs[form->cosines].desc.rank == 0) {
    return lk_refuse(&self->inputs[form->cosines].desc, "cosines", "of rank 2 or 3", error);
  }
  LK_RETURN_NOT_OK(find_heads(self, &of, &rotated, error));
  LK_RETURN_NOT_OK(check_cache(self, form->cosines, &of, error));
  LK_RETURN_NOT_OK(check_cache(self, form->sines, &of, error));
  return check_positions(self, &of, error);
}

/* ---- steps ---- */

static lk_status plan(lk_planner *planner, lk_error *error) {
  const rotary_params *params = planner->node->params;
  const rotary_form *form = params->form;
  const lk_inference asked = {.node = planner->node, .inputs = planner->inputs};
  lk_operand operands[5]; /* x, y, cosines, sines, positions */
  lk_head_sizes of = {0};
  lk_rotary step = {.is_interleaved = params->is_interleaved,
                    .has_positions = lk_op_has(planner->node, form->positions)};
  LK_RETURN_NOT_OK(find_heads(&asked, &of, &step.rotated, error));
  const lk_layout layout = lk_rows_layout(planner, 0);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, form->cosines, LK_LAYOUT_PLAIN, &operands[2], error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, form->sines, LK_LAYOUT_PLAIN, &operands[3], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[1], error));
  if (step.has_positions) {
    LK_RETURN_NOT_OK(
        lk_planner_input(planner, form->positions, LK_LAYOUT_PLAIN, &operands[4], error));
    step.is_first = operands[4].desc.rank < 2;
  }
  const lk_tensor_desc *cosines = &operands[2].desc;
  const lk_heads heads =
      (operands[0].desc.rank == 3 ? lk_heads_in_rows : lk_heads_apart)(&operands[0], &of);
  step.batch = of.batch, step.heads = of.heads, step.rows = of.rows, step.size = of.size;
  step.from[0] = step.to[0] = heads.at.batch;
  step.from[1] = step.to[1] = heads.at.head;
  step.from[2] = step.to[2] = heads.at.row;
  step.positions = cosines->rank == 2 ? cosines->dims[0] : -1;
  return lk_planner_kernel(planner, lk_rotary_kernel, "rotary", &step, sizeof step, operands,
                           step.has_positions ? 5 : 4, error);
}

#define ROTARY_ROW(domain, since_opset, least, letters)                                            \
  LK_OP_ROW("RotaryEmbedding", domain, since_opset,                                                \
            "Pairs of elements turned by angles of their position", .flags = LK_OP_WORTH_CLAIMING, \
            .min_inputs = least, .max_inputs = 4, .max_outputs = 1, .input_types = letters,        \
            .output_types = "T", .types = {LK_TYPES_BY_F32, LK_TYPE(LK_I64)},                      \
            .in_place_inputs = 1),                                                                 \
      .by_f32 = true, .params_size = sizeof(rotary_params), .infer = infer, .plan = plan

const lk_op_class lk_op_rotary_embedding = {
    ROTARY_ROW("", 23, 3, "TTTU"),
    LK_OP_ATTRS(LK_FLAG("interleaved", 0), LK_ANY_INT("num_heads", 0),
                LK_INT("rotary_embedding_dim", 0)),
    .variant = ONNX,
    .parse = parse,
};
const lk_op_class lk_op_rotary_embedding_ms = {
    ROTARY_ROW("com.microsoft", 1, 4, "TUTT"),
    LK_OP_ATTRS(LK_ANY_FLAG("interleaved", 0), LK_ANY_FLAG("is_packed_batching", 0),
                LK_ANY_INT("num_heads", 0), LK_ANY_INT("rotary_embedding_dim", 0),
                LK_ANY_FLOAT("scale", 1)),
    .variant = MICROSOFT,
    .parse = parse_microsoft,
};
