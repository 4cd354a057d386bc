/* What passes share. */
#include "executor_glue/passes/rewrite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

bool lk_node_is_plain(const lk_node *node, const char *op_type) {
  return lk_node_is(node, op_type) && node->n_post_ops == 0 && node->n_inputs > 0 &&
         node->n_outputs > 0 && node->outputs[0] != LK_NO_VALUE;
}

bool lk_value_is_constant(const lk_graph *graph, int32_t value) {
  if (value == LK_NO_VALUE) return false;
  const lk_value *v = &graph->values[value];
  return v->constant_kind != LK_CONSTANT_NONE && !v->is_input;
}

bool lk_value_is_weight(const lk_graph *graph, int32_t value) {
  if (!lk_value_is_constant(graph, value)) return false;
  const lk_tensor *constant = &graph->values[value].constant;
  return constant->desc.dtype == LK_F32 && constant->data != NULL &&
         lk_elements(&constant->desc) > 0;
}

bool lk_value_is_scalar(const lk_graph *graph, int32_t value, float *out) {
  if (!lk_value_is_weight(graph, value)) return false;
  const lk_value *v = &graph->values[value];
  if (lk_elements(&v->constant.desc) != 1) return false;
  *out = (float)lk_constant_number(v, 0);
  return true;
}

bool lk_value_is_private(const lk_graph *graph, int32_t value) {
  const lk_value *v = &graph->values[value];
  return v->n_uses == 1 && !v->is_output;
}

const lk_node *lk_value_producer(const lk_graph *graph, int32_t value) {
  if (value == LK_NO_VALUE || graph->values[value].producer == LK_NO_NODE) return NULL;
  return &graph->nodes[graph->values[value].producer];
}

/* One bound: an input from opset 11 on, an attribute before. */
static bool read_bound(const lk_graph *graph, const lk_node *clip, uint32_t input, const char *attr,
                       float *inout) {
  if (clip->opset < 11) {
    *inout = lk_node_attr_float(clip, attr, *inout);
    return true;
  }
  if (input >= clip->n_inputs || clip->inputs[input] == LK_NO_VALUE) return true;
  return lk_value_is_scalar(graph, clip->inputs[input], inout);
}

bool lk_clip_bounds(const lk_graph *graph, const lk_node *clip, float *out_low, float *out_high) {
  *out_low = -FLT_MAX;
  *out_high = FLT_MAX;
  /* A comparison with NaN is false, so that NaN bounds are refused too. */
  return read_bound(graph, clip, 1, "min", out_low) &&
         read_bound(graph, clip, 2, "max", out_high) && *out_low <= *out_high;
}

const lk_op_row *lk_pass_op_row(const lk_pass_env *env, const char *op_type, const char *domain,
                                int32_t opset) {
  for (uint32_t i = 0;; i++) {
    const lk_op_row *row = env->api->op_row(i);
    if (row == NULL) return NULL;
    if (strcmp(row->op_type, op_type) == 0 && strcmp(row->domain, domain) == 0 &&
        opset >= row->min_opset && opset <= row->max_opset) {
      return row;
    }
  }
}

bool lk_node_takes_post_ops(const lk_pass_env *env, const lk_node *producer, uint32_t count) {
  if (producer->dead || producer->n_post_ops + count > LK_MAX_FUSED_POST_OPS) return false;
  const lk_op_row *row = lk_pass_op_row(env, producer->op_type, producer->domain, producer->opset);
  return row != NULL && row->post_ops != 0;
}

lk_status lk_graph_add_constant(lk_graph *graph, const lk_tensor_desc *desc, void *data,
                                int32_t *out_value, lk_error *error) {
  /* A name that no file is likely to hold; nothing looks constants up by name. */
  char name[48];
  const int length = snprintf(name, sizeof name, "latchkey/constant/%zu", graph->n_values);
  lk_status status = lk_graph_add_value(graph, name, (size_t)length, out_value, error);
  if (status != LK_OK) {
    lk_free(graph->allocator, data);
    return status;
  }
  lk_value_set_constant(graph, *out_value, desc, data);
  return LK_OK;
}

/* Inputs that an operator may have by itself: post-ops' operands come behind them. */
static uint32_t own_inputs(const lk_node *node) {
  static const struct {
    const char *op_type;
    uint32_t n_inputs;
  } optional[] = {{"Conv", 3}, {"ConvTranspose", 3}, {"Gemm", 3}};
  for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
    if (lk_node_is(node, optional[i].op_type)) return optional[i].n_inputs;
  }
  return 0;
}

lk_status lk_node_append_operand(lk_graph *graph, int32_t node, int32_t value, int32_t *out_index,
                                 lk_error *error) {
  lk_status status = LK_OK;
  const uint32_t own = own_inputs(&graph->nodes[node]);
  while (graph->nodes[node].n_inputs < own) {
    LK_TRY(lk_node_append_input(graph, node, LK_NO_VALUE, error));
  }
  LK_TRY(lk_node_append_input(graph, node, value, error));
  *out_index = (int32_t)graph->nodes[node].n_inputs - 1;
cleanup:
  return status;
}

lk_status lk_node_copy_post_ops(lk_graph *graph, int32_t from, int32_t to, lk_error *error) {
  lk_status status = LK_OK;
  for (uint32_t i = 0; i < graph->nodes[from].n_post_ops; i++) {
    lk_post_op post_op = graph->nodes[from].post_ops[i];
    if (post_op.input >= 0) {
      LK_TRY(lk_node_append_operand(graph, to, graph->nodes[from].inputs[post_op.input],
                                    &post_op.input, error));
    }
    LK_TRY(lk_node_append_post_op(graph, to, post_op, error));
  }
cleanup:
  return status;
}
