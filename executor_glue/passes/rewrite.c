/* What passes share. */
#include "executor_glue/passes/rewrite.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/attrs.h"
#include "base/status.h"
#include "base/tensor.h"

/* A post-op chain is kept shorter than this. */
enum { MAX_FUSED_POST_OPS = 12 };

bool lk_node_is_plain(const lk_node *node) {
  return !node->dead && node->n_post_ops == 0 && node->n_inputs > 0 && node->n_outputs > 0 &&
         node->outputs[0] != LK_NO_VALUE;
}

bool lk_node_is_used(const lk_graph *graph, const lk_node *node, uint32_t first) {
  for (uint32_t i = first; i < node->n_outputs; i++) {
    if (node->outputs[i] != LK_NO_VALUE && graph->values[node->outputs[i]].n_uses > 0) return true;
  }
  return false;
}

bool lk_value_is_weight(const lk_graph *graph, int32_t value) {
  if (!lk_value_is_constant(graph, value)) return false;
  const lk_tensor *constant = &graph->values[value].constant;
  return constant->desc.dtype == LK_F32 && constant->data != NULL &&
         lk_elements(&constant->desc) > 0;
}

/* A weight with exactly one element, which is stored. */
static bool read_scalar(const lk_graph *graph, int32_t value, float *out) {
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

const lk_op_row *lk_node_row(const lk_pass_env *env, const lk_node *node) {
  return node->dead ? NULL : env->api->op_find(node->op_type, node->domain, node->opset);
}

bool lk_node_has(const lk_pass_env *env, const lk_node *node, uint32_t flags) {
  const lk_op_row *row = lk_node_row(env, node);
  return row != NULL && (row->flags & flags) != 0;
}

uint32_t lk_node_arithmetic(const lk_pass_env *env, const lk_node *node) {
  const lk_op_row *row = lk_node_row(env, node);
  const bool is_it =
      row != NULL && LK_POST_OP_IS_BINARY(row->fusion.kind) && lk_node_own_inputs(node) == 2;
  return is_it ? row->fusion.kind : 0;
}

/* False: it comes at run time. */
static bool read_number(const lk_graph *graph, const lk_node *node, const lk_op_row *row,
                        const lk_op_number *number, float *out) {
  *out = number->fallback;
  if (number->input == 0 || node->opset < number->input_since) {
    if (number->attr != NULL) {
      const lk_op_attr *attr = lk_op_attr_find(row, number->attr, node->opset);
      *out = lk_node_attr_float(node, number->attr, attr->number);
    }
    return true;
  }
  if (number->input >= node->n_inputs || node->inputs[number->input] == LK_NO_VALUE) return true;
  return read_scalar(graph, node->inputs[number->input], out);
}

/* The same, with a note. */
static bool take_number(const lk_graph *graph, const lk_node *node, const lk_op_row *row,
                        const lk_op_number *number, float *out, lk_miss *miss) {
  if (read_number(graph, node, row, number, out)) return true;
  const int32_t value = node->inputs[number->input];
  if (lk_value_is_constant(graph, value)) {
    return lk_miss_note(miss, "", "its input %" PRIu32 ", '%s', is not one number of type f32",
                        number->input, graph->values[value].name);
  }
  return lk_miss_note(miss, LK_ADVICE_CONSTANT,
                      "its input %" PRIu32 ", '%s', is not a constant: it comes with each run",
                      number->input, graph->values[value].name);
}

bool lk_node_post_op(const lk_pass_env *env, const lk_graph *graph, const lk_node *node,
                     lk_post_op *out, lk_miss *miss) {
  const lk_op_row *row = lk_node_row(env, node);
  if (row == NULL || row->fusion.kind == 0 || LK_POST_OP_IS_BINARY(row->fusion.kind) ||
      !lk_node_is_plain(node) || node->inputs[0] == LK_NO_VALUE) {
    return false;
  }
  *out = (lk_post_op){.kind = row->fusion.kind, .input = -1};
  if (!take_number(graph, node, row, &row->fusion.alpha, &out->alpha, miss) ||
      !take_number(graph, node, row, &row->fusion.beta, &out->beta, miss)) {
    return false;
  }
  if (out->kind == LK_POST_RELU && row->fusion.alpha.attr != NULL && out->alpha == 0) {
    return lk_miss_note(miss, "", "its alpha is 0, which makes NaN of infinity, and Relu does not");
  }
  /* a range of numbers; a comparison with NaN is false */
  if (out->kind != LK_POST_CLIP || out->alpha <= out->beta) return true;
  return lk_miss_note(miss, "", "its bounds, %g and %g, are not a range", (double)out->alpha,
                      (double)out->beta);
}

bool lk_node_number_step(const lk_pass_env *env, const lk_graph *graph, const lk_node *node,
                         lk_number_step *out) {
  *out = (lk_number_step){.kind = lk_node_arithmetic(env, node)};
  if (out->kind == 0 || !lk_node_is_plain(node)) return false;
  out->number_first = !read_scalar(graph, node->inputs[1], &out->number);
  const int32_t number = node->inputs[out->number_first ? 0 : 1];
  if (out->number_first && !read_scalar(graph, number, &out->number)) return false;
  out->operand = node->inputs[out->number_first ? 1 : 0];
  /* A constant of one element and a high rank would raise the rank of the result. */
  return out->operand != LK_NO_VALUE &&
         lk_symbolic_shape_takes(env->shapes, out->operand, &graph->values[number].constant.desc);
}

bool lk_is_power_of_two(float number) {
  int exponent;
  return isnormal(number) && fabsf(frexpf(number, &exponent)) == 0.5F;
}

bool lk_has_exact_reciprocal(float number) {
  return lk_is_power_of_two(number) && isnormal(1.0F / number);
}

bool lk_value_takes_post_ops(const lk_pass_env *env, const lk_graph *graph, int32_t value) {
  const lk_node *producer = lk_value_producer(graph, value);
  return producer != NULL && producer->outputs[0] == value &&
         lk_node_has(env, producer, LK_OP_POST_OPS);
}

bool lk_value_is_for_one(const lk_graph *graph, int32_t value, lk_miss *miss) {
  const lk_value *v = &graph->values[value];
  if (lk_value_is_private(graph, value)) return true;
  if (v->is_output) {
    return lk_miss_note(miss, "", "'%s', what it reads, is also an output of the graph", v->name);
  }
  return lk_miss_note(miss, "", "'%s', what it reads, is read %" PRIu32 " times", v->name,
                      v->n_uses);
}

int32_t lk_post_op_target(const lk_pass_env *env, const lk_graph *graph, int32_t value,
                          uint32_t count, lk_miss *miss) {
  if (!lk_value_takes_post_ops(env, graph, value)) return LK_NO_NODE;
  const lk_node *producer = lk_value_producer(graph, value);
  const uint32_t dtype = lk_symbolic_shape_dtype(env->shapes, value);
  if (!lk_value_is_for_one(graph, value, miss)) return LK_NO_NODE;
  if (producer->n_post_ops + count > MAX_FUSED_POST_OPS) {
    (void)lk_miss_note(miss, "", "%s '%s' has %" PRIu32 " steps fused into it, %d are allowed",
                       producer->op_type, lk_node_label(graph, producer), producer->n_post_ops,
                       MAX_FUSED_POST_OPS);
    return LK_NO_NODE;
  }
  if (dtype != LK_F32) {
    (void)lk_miss_note(miss, "", "'%s', what it reads, is of type %s, only f32 is fused",
                       graph->values[value].name,
                       dtype == LK_DTYPE_NONE ? "unknown" : lk_dtype_name(dtype));
    return LK_NO_NODE;
  }
  return graph->values[value].producer;
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

/* Appends an input that only a post-op uses, behind all that the operator itself may have. */
static lk_status append_operand(const lk_pass_env *env, lk_graph *graph, int32_t node,
                                int32_t value, int32_t *out_index, lk_error *error) {
  const lk_op_row *row = lk_node_row(env, &graph->nodes[node]);
  const uint32_t own = row != NULL ? row->max_inputs : 0;
  while (graph->nodes[node].n_inputs < own) {
    LK_RETURN_NOT_OK(lk_node_append_input(graph, node, LK_NO_VALUE, error));
  }
  LK_RETURN_NOT_OK(lk_node_append_input(graph, node, value, error));
  *out_index = (int32_t)graph->nodes[node].n_inputs - 1;
  return LK_OK;
}

lk_status lk_graph_fuse_add(const lk_pass_env *env, lk_graph *graph, int32_t add, int32_t product,
                            int32_t other, const char *note, lk_error *error) {
  const int32_t node = graph->values[product].producer;
  lk_post_op post_op = {.kind = LK_POST_ADD, .input = -1};
  LK_RETURN_NOT_OK(append_operand(env, graph, node, other, &post_op.input, error));
  LK_RETURN_NOT_OK(lk_node_append_post_op(graph, node, post_op, error));
  LK_RETURN_NOT_OK(lk_node_note_fused(graph, node, note, error));
  const lk_node *old = &graph->nodes[add];
  for (uint32_t i = 0; i < old->n_post_ops; i++) {
    post_op = old->post_ops[i];
    if (post_op.input >= 0) {
      LK_RETURN_NOT_OK(
          append_operand(env, graph, node, old->inputs[post_op.input], &post_op.input, error));
    }
    LK_RETURN_NOT_OK(lk_node_append_post_op(graph, node, post_op, error));
  }
  if (old->fused[0] != '\0') {
    LK_RETURN_NOT_OK(lk_node_note_fused(graph, node, old->fused, error));
  }
  lk_graph_absorb_node(graph, node, add);
  return LK_OK;
}

void lk_graph_absorb_node(lk_graph *graph, int32_t node, int32_t absorbed) {
  lk_node_set_output(graph, node, 0, graph->nodes[absorbed].outputs[0]);
  lk_graph_remove_node(graph, absorbed);
}
