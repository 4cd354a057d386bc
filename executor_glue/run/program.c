/* Ops for the nodes of a finished graph, and which values its shapes depend on. */
#include "executor_glue/run/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/advice.h"
#include "executor_glue/graph/look.h"

/* Operators speak of an input of theirs as "input 1", or as "input 1 (key)" where the part that it
 * plays has a name. Behind the others, the names in this graph are put: "input 1 ('x')". */
static void name_inputs(const lk_graph *graph, const lk_node *node, const char *sentence,
                        char *buffer, size_t capacity) {
  size_t used = 0;
  const char *rest = sentence;
  for (const char *at = sentence; (at = strstr(at, "input ")) != NULL && used < capacity;) {
    const bool is_word = at == sentence || at[-1] == ' ';
    char *end = NULL;
    at += strlen("input ");
    const unsigned long number = strtoul(at, &end, 10);
    const bool is_one =
        is_word && end > at && number < node->n_inputs && strncmp(end, " (", 2) != 0;
    const int32_t input = is_one ? node->inputs[number] : LK_NO_VALUE;
    if (input == LK_NO_VALUE) continue;
    used += (size_t)snprintf(buffer + used, capacity - used, "%.*s ('%.64s')", (int)(end - rest),
                             rest, graph->values[input].name);
    rest = end;
  }
  if (used < capacity) (void)snprintf(buffer + used, capacity - used, "%s", rest);
}

lk_status lk_program_name_node(const lk_graph *graph, const lk_node *node, lk_status status,
                               lk_error *error) {
  if (error == NULL) return status;
  /* What a node of a body says has names and advice already. */
  const bool is_told = strncmp(error->message, "node '", strlen("node '")) == 0;
  char sentence[LK_ERROR_CAPACITY];
  if (is_told) {
    (void)snprintf(sentence, sizeof sentence, "%s", error->message);
  } else {
    name_inputs(graph, node, error->message, sentence, sizeof sentence);
  }
  return lk_fail(error, status, "node '%s' (%s): %s%s", lk_node_label(graph, node), node->op_type,
                 sentence, status == LK_UNSUPPORTED && !is_told ? lk_advice_on_node(node) : "");
}

bool lk_program_must_know(const lk_program *program, const lk_node *node) {
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] != LK_NO_VALUE && program->must_know[node->outputs[i]]) return true;
  }
  return false;
}

bool lk_program_shape_only(const lk_program *program, const lk_node *node) {
  const lk_op_info *info = &program->infos[node - program->graph->nodes];
  return (info->row->flags & LK_OP_SHAPE_ONLY) != 0;
}

static bool may_run_in_place(const lk_api *api, const lk_node *node) {
  const lk_op_row *row = api->op_find(node->op_type, node->domain, node->opset);
  return row != NULL && row->in_place_inputs != 0;
}

/* Number of ancestors along first inputs that may, like the node itself, write over their input. */
static uint32_t chain_position(const lk_api *api, const lk_graph *graph, const uint32_t *positions,
                               size_t node_index) {
  const lk_node *node = &graph->nodes[node_index];
  if (!may_run_in_place(api, node) || node->n_inputs == 0 || node->inputs[0] == LK_NO_VALUE) {
    return 0;
  }
  int32_t producer = graph->values[node->inputs[0]].producer;
  if (producer == LK_NO_NODE || (size_t)producer >= node_index) return 0;
  return may_run_in_place(api, &graph->nodes[producer]) ? positions[producer] + 1 : 0;
}

static void describe_input(const lk_program *program, int32_t value, lk_node_input *out,
                           const lk_owner **out_owner) {
  if (value == LK_NO_VALUE) {
    out->flags = LK_INPUT_ABSENT;
    return;
  }
  if (!lk_value_is_constant(program->graph, value)) return;
  const lk_value *constant = &program->graph->values[value];
  out->constant = &constant->constant;
  /* The mapped model stays; others go as soon as the ops have been made. */
  if (constant->constant_kind != LK_CONSTANT_MAPPED) out->flags = LK_INPUT_COPY;
  *out_owner = constant->owner;
}

static lk_status create_op(lk_program *program, size_t node_index, uint32_t position,
                           lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *api = program->api;
  const lk_node *node = &program->graph->nodes[node_index];
  lk_node_input *inputs = lk_calloc(program->allocator, node->n_inputs, sizeof *inputs);
  const lk_owner **owners = lk_calloc(program->allocator, node->n_inputs, sizeof *owners);
  if (inputs == NULL || owners == NULL) {
    status = lk_fail_memory(error, "a node's inputs", node->n_inputs * sizeof *inputs);
    goto cleanup;
  }
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    describe_input(program, node->inputs[i], &inputs[i], &owners[i]);
  }
  lk_node_desc desc = lk_node_describe(program->graph, node, inputs);
  desc.position = position;
  desc.owners = owners;
  LK_TRY(lk_graph_look(api, "make it", error));
  LK_TRY(api->op_create(program->executor, &desc, &program->ops[node_index], error));
  program->infos[node_index].struct_size = sizeof program->infos[node_index];
  LK_TRY(api->op_info(program->ops[node_index], &program->infos[node_index], error));

cleanup:
  lk_free(program->allocator, owners);
  lk_free(program->allocator, inputs);
  if (status != LK_OK) status = lk_program_name_node(program->graph, node, status, error);
  return status;
}

/* One user of each constant among the node's inputs has its op now: frees what nobody waits for. */
static void release_constants(lk_graph *graph, const lk_node *node, uint32_t *users) {
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    int32_t value = node->inputs[i];
    if (!lk_value_is_constant(graph, value)) continue;
    lk_value *constant = &graph->values[value];
    if (--users[value] > 0 || constant->constant_kind != LK_CONSTANT_OWNED || constant->is_output) {
      continue;
    }
    lk_free(graph->allocator, constant->constant.data);
    constant->constant.data = NULL;
  }
}

/* Outputs are read in every run, when whoever lent a constant may be gone. */
static lk_status own_output_constants(lk_graph *graph, lk_error *error) {
  for (size_t i = 0; i < graph->n_outputs; i++) {
    const int32_t output = graph->outputs[i];
    const lk_value *value = &graph->values[output];
    if (value->constant_kind != LK_CONSTANT_BORROWED) continue;
    LK_RETURN_NOT_OK(lk_value_copy_constant(graph, output, &value->constant, error));
  }
  return LK_OK;
}

static lk_status create_ops(lk_program *program, lk_graph *graph, lk_error *error) {
  lk_status status = LK_OK;
  uint32_t *users = lk_calloc(program->allocator, graph->n_values, sizeof *users);
  uint32_t *positions = lk_calloc(program->allocator, graph->n_nodes, sizeof *positions);
  if (users == NULL || positions == NULL) {
    status = lk_fail_memory(error, "the users of constants", graph->n_values * sizeof *users);
    goto cleanup;
  }
  for (size_t i = 0; i < graph->n_nodes; i++) {
    const lk_node *node = &graph->nodes[i];
    for (uint32_t j = 0; j < node->n_inputs; j++) {
      if (node->inputs[j] != LK_NO_VALUE) users[node->inputs[j]]++;
    }
  }
  for (size_t i = 0; i < graph->n_nodes; i++) {
    positions[i] = chain_position(program->api, graph, positions, i);
    LK_TRY(create_op(program, i, positions[i], error));
    release_constants(graph, &graph->nodes[i], users);
  }

cleanup:
  lk_free(program->allocator, positions);
  lk_free(program->allocator, users);
  return status;
}

/* Walks back from the shape inputs of all nodes. A node comes after the producers of its inputs, so
 * one pass from the last to the first sees every value before its producer. */
static void find_shape_values(lk_program *program) {
  const lk_graph *graph = program->graph;
  for (size_t i = graph->n_nodes; i-- > 0;) {
    const lk_node *node = &graph->nodes[i];
    const bool outputs_known =
        lk_program_must_know(program, node) && !lk_program_shape_only(program, node);
    for (uint32_t j = 0; j < node->n_inputs; j++) {
      bool shape_input = j < 64 && (program->infos[i].shape_inputs >> j & 1) != 0;
      if (node->inputs[j] != LK_NO_VALUE && (shape_input || outputs_known)) {
        program->must_know[node->inputs[j]] = true;
      }
    }
  }
  for (size_t i = 0; i < graph->n_inputs; i++) {
    program->by_value[i] = program->must_know[graph->inputs[i]];
    program->n_by_value += program->by_value[i];
  }
}

lk_status lk_program_create(const lk_api *api, lk_context *context, lk_executor *executor,
                            lk_graph *graph, lk_program **out_program, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = api->context_allocator(context);
  *out_program = NULL;
  lk_program *program = lk_calloc(allocator, 1, sizeof *program);
  if (program == NULL) return lk_fail_memory(error, "a program", sizeof *program);
  program->api = api;
  program->context = context;
  program->executor = executor;
  program->graph = graph;
  program->allocator = allocator;
  program->ops = lk_calloc(allocator, graph->n_nodes, sizeof(lk_op *));
  program->infos = lk_calloc(allocator, graph->n_nodes, sizeof(lk_op_info));
  if (program->ops == NULL || program->infos == NULL) {
    status = lk_fail_memory(error, "a program", graph->n_nodes * sizeof(lk_op_info));
    goto cleanup;
  }
  LK_TRY(own_output_constants(graph, error));
  LK_TRY(create_ops(program, graph, error));
  LK_TRY(lk_graph_compact(graph, error));
  program->must_know = lk_calloc(allocator, graph->n_values, sizeof(bool));
  program->by_value = lk_calloc(allocator, graph->n_inputs, sizeof(bool));
  if (program->must_know == NULL || program->by_value == NULL) {
    status = lk_fail_memory(error, "a program", graph->n_values * sizeof(bool));
    goto cleanup;
  }
  find_shape_values(program);
  *out_program = program;
  program = NULL;

cleanup:
  lk_program_destroy(program);
  return status;
}

void lk_program_destroy(lk_program *program) {
  if (program == NULL) return;
  const lk_allocator *allocator = program->allocator;
  for (size_t i = 0; program->ops != NULL && i < program->graph->n_nodes; i++) {
    program->api->op_destroy(program->ops[i]);
  }
  lk_free(allocator, program->by_value);
  lk_free(allocator, program->must_know);
  lk_free(allocator, program->infos);
  lk_free(allocator, program->ops);
  lk_free(allocator, program);
}
