/* Asks the operator table, node by node, what it can run and why not. */
#include "executor_glue/ort/support.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/ort/parts.h"
#include "executor_glue/ort/sooner.h"
#include "executor_glue/ort/trial.h"
#include "executor_glue/passes/symbolic_shapes.h"

static bool is_data(uint32_t dtype) {
  return dtype != LK_DTYPE_NONE && !lk_ort_is_shape_type(dtype);
}

/* An input that decides by its value whether the operator can run. The embedded executor says so
 * when a run brings a value; here that would be too late for another provider to take the node. */
static lk_status check_modes(const lk_op_row *row, const lk_node *node, const lk_tensor *inputs,
                             lk_error *error) {
  for (uint32_t i = 0; i < node->n_inputs && i < 64; i++) {
    if ((row->mode_inputs >> i & 1) == 0 || node->inputs[i] == LK_NO_VALUE) continue;
    if (inputs[i].data != NULL) continue;
    return lk_fail(
        error, LK_UNSUPPORTED,
        "input %u is not constant, which is required since only some of its values are supported",
        i);
  }
  return LK_OK;
}

typedef struct asker {
  const lk_api *api;
  lk_executor *executor; /* of trials alone */
  lk_graph *graph;
  lk_dims *dims;
  lk_question question;       /* of one node after the other */
  bool takes_all;             /* also what gains nothing */
  bool follows_ranks;         /* ONNX Runtime tells which ranks it does not know */
  lk_symbolic_shapes *shapes; /* what is certain of them */
  bool *open_ranks;           /* [n_values]: nothing says that the rank is low enough */
  bool *bounded;              /* [n_values]: a node that reads it takes no rank that is too high */
} asker;

/* As far as ONNX Runtime knows it: a run brings the rest. */
static lk_tensor_desc declared_desc(const lk_value *value) {
  const lk_declaration *declared = value->declared;
  lk_tensor_desc desc = {.dtype = lk_value_dtype(value), .rank = LK_RANK_UNKNOWN};
  if (value->constant_kind != LK_CONSTANT_NONE) return value->constant.desc;
  if (declared == NULL || declared->rank < 0) return desc;
  desc.rank = (uint32_t)declared->rank;
  for (uint32_t i = 0; i < desc.rank; i++) {
    desc.dims[i] = declared->dims[i] >= 0 ? declared->dims[i] : LK_DIM_UNKNOWN;
  }
  return desc;
}

/* ---- ranks ----
 *
 * A run that meets a rank above LK_MAX_RANK in a claimed node ends, where other providers would go
 * on. So no node is claimed that may meet one: a value's rank is open where nothing says that it is
 * at most LK_MAX_RANK. ONNX Runtime may know the rank; a node that reads the value may take no such
 * ranks; or what the value is made of has none. */

/* What the graph says of a node's inputs, as a question. LK_UNSUPPORTED: of a type that no tensor
 * has here. */
static lk_status describe_inputs(const asker *self, const lk_node *node, lk_error *error) {
  const lk_question *q = &self->question;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const bool is_absent = node->inputs[i] == LK_NO_VALUE;
    lk_tensor *input = &q->inputs[i];
    *input = (lk_tensor){0};
    q->flags[i].flags = is_absent ? LK_INPUT_ABSENT : 0;
    if (is_absent) continue;
    const lk_value *value = &self->graph->values[node->inputs[i]];
    input->desc = declared_desc(value);
    input->data = lk_symbolic_value(value, q->values[i]);
    if (input->desc.dtype != LK_DTYPE_NONE) continue;
    return lk_fail(error, LK_UNSUPPORTED,
                   "input %u is not a tensor of a supported type, numbers and bool are supported",
                   i);
  }
  return LK_OK;
}

static bool knows_rank(const asker *self, int32_t value) {
  return declared_desc(&self->graph->values[value]).rank != LK_RANK_UNKNOWN ||
         lk_symbolic_shape_rank(self->shapes, value) >= 0;
}

/* Whether the node may make a rank that none of its inputs has. */
static bool may_raise_rank(const lk_node *node) {
  static const char *const names[] = {
      "ConstantOfShape", "Expand", "ExpandDims", "Gather",   "GatherBlockQuantized",
      "GatherND",        "OneHot", "Reshape",    "Unsqueeze"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(node->op_type, names[i]) == 0) return true;
  }
  return false;
}

/* Whether the operator takes input `i`, whose rank is not known, with the highest rank: one that
 * does not takes no higher one, unless it is the output that would be too high. Fills the
 * question's outputs. */
static bool takes_highest(const asker *self, const lk_node *node, const lk_node_desc *desc,
                          uint32_t i) {
  if (may_raise_rank(node)) return true;
  const lk_question *q = &self->question;
  const lk_tensor_desc given = q->inputs[i].desc;
  q->inputs[i].desc.rank = LK_MAX_RANK;
  for (uint32_t d = 0; d < LK_MAX_RANK; d++) q->inputs[i].desc.dims[d] = LK_DIM_UNKNOWN;
  const lk_status status = self->api->op_infer(self->dims, desc, q->inputs, q->outputs, NULL, NULL);
  q->inputs[i].desc = given;
  return status == LK_OK;
}

/* The node makes a value of the highest rank that readers of it do not take. */
static bool makes_too_high(const asker *self, const lk_node *node) {
  for (uint32_t o = 0; o < node->n_outputs; o++) {
    const int32_t value = node->outputs[o];
    if (value == LK_NO_VALUE || !self->bounded[value] || knows_rank(self, value)) continue;
    const uint32_t rank = self->question.outputs[o].rank;
    if (rank != LK_RANK_UNKNOWN && rank >= LK_MAX_RANK) return true;
  }
  return false;
}

/* Backwards: what those that read a value take. */
static void find_bounds(const asker *self) {
  const lk_graph *graph = self->graph;
  const lk_question *q = &self->question;
  for (size_t n = graph->n_nodes; n-- > 0;) {
    const lk_node *node = &graph->nodes[n];
    if (self->api->op_find(node->op_type, node->domain, node->opset) == NULL) continue;
    if (describe_inputs(self, node, NULL) != LK_OK) continue;
    const lk_node_desc desc = lk_node_describe(graph, node, q->flags);
    if (self->api->op_infer(self->dims, &desc, q->inputs, q->outputs, NULL, NULL) != LK_OK)
      continue;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      const int32_t value = node->inputs[i];
      if (value == LK_NO_VALUE || self->bounded[value] || knows_rank(self, value)) continue;
      self->bounded[value] = !takes_highest(self, node, &desc, i) || makes_too_high(self, node);
    }
  }
}

static bool is_open(const asker *self, int32_t value) {
  return value != LK_NO_VALUE && self->open_ranks[value];
}

/* The inputs of the graph, which a run may bring with any rank. */
static void find_open_inputs(asker *self) {
  const lk_graph *graph = self->graph;
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const int32_t value = graph->inputs[i];
    self->open_ranks[value] = !knows_rank(self, value) && !self->bounded[value];
  }
}

static bool reads_open(const asker *self, const lk_node *node) {
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (is_open(self, node->inputs[i])) return true;
  }
  return false;
}

static void follow_open_ranks(asker *self, const lk_node *node, bool is_left) {
  const bool is_known = self->api->op_find(node->op_type, node->domain, node->opset) != NULL;
  const bool raises = is_left && (!is_known || may_raise_rank(node));
  if (!self->follows_ranks || (!raises && !reads_open(self, node))) return;
  for (uint32_t o = 0; o < node->n_outputs; o++) {
    const int32_t value = node->outputs[o];
    if (value == LK_NO_VALUE || knows_rank(self, value) || self->bounded[value]) continue;
    self->open_ranks[value] = true;
  }
}

/* The question's outputs are what is known of the node's. */
static lk_status check_open_ranks(const asker *self, const lk_node *node, const lk_node_desc *desc,
                                  lk_error *error) {
  for (uint32_t o = 0; self->follows_ranks && may_raise_rank(node) && o < node->n_outputs; o++) {
    const int32_t value = node->outputs[o];
    if (value == LK_NO_VALUE || knows_rank(self, value) || self->bounded[value]) continue;
    if (self->question.outputs[o].rank != LK_RANK_UNKNOWN) continue;
    return lk_fail(error, LK_UNSUPPORTED,
                   "output %u has a rank that only a run tells, at most %d is supported", o,
                   LK_MAX_RANK);
  }
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (!is_open(self, node->inputs[i]) || !takes_highest(self, node, desc, i)) continue;
    return lk_fail(error, LK_UNSUPPORTED,
                   "input %u has a rank that only a run tells, at most %d is supported: declare "
                   "its shape in the model",
                   i, LK_MAX_RANK);
  }
  return LK_OK;
}

/* ---- nodes ---- */

/* LK_OK and the row, or why the node is left. By types, constants, and shapes that are declared. */
static lk_status ask(asker *self, const lk_node *node, const lk_op_row **out_row, lk_error *error) {
  const lk_question *q = &self->question;
  LK_RETURN_NOT_OK(describe_inputs(self, node, error));
  const lk_node_desc desc = lk_node_describe(self->graph, node, q->flags);
  LK_RETURN_NOT_OK(self->api->op_infer(self->dims, &desc, q->inputs, q->outputs, NULL, error));
  *out_row = self->api->op_find(node->op_type, node->domain, node->opset);
  /* a group is bound as a whole, before its first operator runs */
  if (((*out_row)->flags & LK_OP_DATA_DEPENDENT) != 0) {
    return lk_fail(error, LK_UNSUPPORTED, "the shapes of its outputs follow from data");
  }
  LK_RETURN_NOT_OK(check_modes(*out_row, node, q->inputs, error));
  LK_RETURN_NOT_OK(check_open_ranks(self, node, &desc, error));
  return lk_ort_try_bind(self->api, self->executor, &desc, q->inputs, error);
}

static bool has_data(const lk_graph *graph, const int32_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (values[i] != LK_NO_VALUE && is_data(lk_value_dtype(&graph->values[values[i]]))) return true;
  }
  return false;
}

/* `takes_all`: also what gains nothing. ONNX Runtime may have no kernel for it, which nobody can
 * ask. */
static bool does_work(const lk_graph *graph, const lk_node *node, const lk_op_row *row,
                      bool takes_all) {
  const bool is_worth_it = (row->flags & LK_OP_WORTH_CLAIMING) != 0;
  if (is_worth_it && (row->flags & LK_OP_QUANTIZES) != 0) return true; /* sums of bytes are i32 */
  const bool makes_data = has_data(graph, node->outputs, node->n_outputs);
  if (!takes_all) return is_worth_it && makes_data;
  if ((row->flags & LK_OP_SHAPE_ONLY) != 0) return false;
  return is_worth_it || makes_data || has_data(graph, node->inputs, node->n_inputs);
}

static uint64_t absent_inputs(const lk_node *node) {
  uint64_t absent = 0;
  for (uint32_t i = 0; i < node->n_inputs && i < 64; i++) {
    if (node->inputs[i] == LK_NO_VALUE) absent |= UINT64_C(1) << i;
  }
  return absent;
}

/* Of a node that the IR has as it is. */
static lk_status find_support(asker *self, const lk_node *node, lk_ort_support *out,
                              lk_error *error) {
  const lk_op_row *row = NULL;
  lk_error why;
  const lk_status answer = ask(self, node, &row, &why);
  if (answer == LK_OUT_OF_MEMORY) return lk_fail(error, answer, "%s", why.message);
  if (answer != LK_OK) {
    out->reason = lk_graph_strndup(self->graph, why.message, strlen(why.message));
    return out->reason != NULL ? LK_OK : lk_fail_memory(error, "a reason", sizeof why.message);
  }
  out->shape_inputs = row->shape_inputs & ~absent_inputs(node);
  out->shape_only = (row->flags & LK_OP_SHAPE_ONLY) != 0;
  out->is_sooner = !self->takes_all && lk_ort_is_sooner(node, self->question.inputs);
  out->works = !out->is_sooner && does_work(self->graph, node, row, self->takes_all);
  out->is_light = row->in_place_inputs != 0;
  return LK_OK;
}

/* ---- quantized groups ---- */

/* ONNX Runtime computes on whole numbers what lies between nodes that quantize, where it has all of
 * it, and so do we. So a group is claimed whole or not at all: those nodes, what reads real numbers
 * that one has made, and all of them that feed each other. */
typedef struct quantized_node {
  bool is_in;
  /* of a group's root (parts.h) */
  bool is_refused; /* one of the group is left */
  bool is_slow;    /* ONNX Runtime has no quick kernel for one of the group */
} quantized_node;

static bool quantizes(const asker *self, int32_t node) {
  const lk_node *n = &self->graph->nodes[node];
  const lk_op_row *row = self->api->op_find(n->op_type, n->domain, n->opset);
  return row != NULL && (row->flags & LK_OP_QUANTIZES) != 0;
}

static bool is_quantized(const asker *self, int32_t index) {
  const lk_node *node = &self->graph->nodes[index];
  if (quantizes(self, index)) return true;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const int32_t producer = lk_value_producer_index(self->graph, node->inputs[i]);
    if (producer != LK_NO_NODE && quantizes(self, producer)) return true;
  }
  return false;
}

/* Its ConvInteger takes ten times as long as its QLinearConv (docs/design/kernels.md, "Bytes"). */
static bool is_slow(const lk_node *node) {
  return strcmp(node->op_type, "ConvInteger") == 0;
}

static void find_groups(const asker *self, const lk_ort_support *found, quantized_node *nodes,
                        int32_t *parents) {
  const lk_graph *graph = self->graph;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    nodes[n] = (quantized_node){.is_in = is_quantized(self, (int32_t)n)};
    parents[n] = (int32_t)n;
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    for (uint32_t i = 0; nodes[n].is_in && i < graph->nodes[n].n_inputs; i++) {
      const int32_t producer = lk_value_producer_index(graph, graph->nodes[n].inputs[i]);
      if (producer == LK_NO_NODE || !nodes[producer].is_in) continue;
      lk_ort_part_join(parents, (int32_t)n, producer);
    }
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    quantized_node *root = &nodes[lk_ort_part_root(parents, (int32_t)n)];
    if (found[n].reason != NULL) root->is_refused = true;
    if (is_slow(&graph->nodes[n])) root->is_slow = true;
  }
}

/* Leaves the groups that cannot be claimed whole, and those that ONNX Runtime computes sooner:
 * where products of bytes have no instructions of their own (docs/design/kernels.md, "Bytes"). */
static lk_status judge_quantized(const asker *self, lk_ort_support *inout, lk_error *error) {
  const size_t n_nodes = self->graph->n_nodes;
  const bool is_quick = self->takes_all || self->api->multiplies_bytes() != 0;
  quantized_node *nodes = lk_graph_alloc(self->graph, n_nodes * sizeof *nodes);
  int32_t *parents = lk_graph_alloc(self->graph, n_nodes * sizeof *parents);
  if (nodes == NULL || parents == NULL) {
    return lk_fail_memory(error, "quantized groups", n_nodes * sizeof *nodes);
  }
  find_groups(self, inout, nodes, parents);
  for (size_t n = 0; n < n_nodes; n++) {
    const quantized_node *root = &nodes[lk_ort_part_root(parents, (int32_t)n)];
    if (!nodes[n].is_in || inout[n].reason != NULL) continue;
    if (root->is_refused) {
      inout[n].reason = "of a quantized group that has a node which is left";
    } else if (!is_quick && !root->is_slow) {
      inout[n].reason = "of a quantized group, which ONNX Runtime computes sooner here";
    }
  }
  return LK_OK;
}

/* ---- the whole ---- */

lk_status lk_ort_support_find(const lk_ort_context *context, const lk_ort_import *import,
                              lk_ort_asks asks, lk_ort_support **out, lk_error *error) {
  lk_status status = LK_OK;
  lk_graph *graph = import->graph;
  asker asking = {.api = context->ort->latchkey, .graph = graph, .takes_all = asks.takes_all};
  lk_ort_support *found = lk_graph_alloc(graph, graph->n_nodes * sizeof *found);
  asking.open_ranks = lk_graph_alloc(graph, 2 * graph->n_values * sizeof *asking.open_ranks);
  if (found == NULL || asking.open_ranks == NULL) {
    return lk_fail_memory(error, "the support of nodes", graph->n_nodes * sizeof *found);
  }
  memset(asking.open_ranks, 0, 2 * graph->n_values * sizeof *asking.open_ranks);
  asking.bounded = asking.open_ranks + graph->n_values;
  asking.follows_ranks = lk_ort_knows_scalars(context->ort);
  LK_TRY(asking.api->dims_create(graph->allocator, &asking.dims, error));
  LK_TRY(lk_question_create(graph, &asking.question, error));
  LK_TRY(asking.api->executor_create(context->handle, "trials", &asking.executor, error));
  if (asking.follows_ranks) {
    LK_TRY(lk_symbolic_shapes_create(asking.api, graph, &asking.shapes, error));
    find_bounds(&asking);
    find_open_inputs(&asking);
  }
  for (size_t i = 0; i < graph->n_nodes; i++) {
    const lk_node *node = &graph->nodes[i];
    found[i] = (lk_ort_support){.reason = import->problems[node->source]};
    if (found[i].reason == NULL) LK_TRY(find_support(&asking, node, &found[i], error));
    follow_open_ranks(&asking, node, found[i].reason != NULL);
  }
  LK_TRY(judge_quantized(&asking, found, error));
  *out = found;
cleanup:
  asking.api->executor_destroy(asking.executor);
  asking.api->dims_destroy(asking.dims);
  lk_symbolic_shapes_destroy(asking.shapes);
  lk_question_destroy(graph, &asking.question);
  return status;
}
