/* Computes nodes whose inputs are all constants, by the operators themselves: each runs once,
 * through the ABI, in an executor of its own that is gone when the pass ends. What the operator
 * table does not know, or refuses, stays a node: it fails where its node can be named, or not at
 * all. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/look.h"
#include "executor_glue/graph/own_ops.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/rewrite.h"

/* A few bytes of a file can ask for any amount of memory (ConstantOfShape): one result, and what
 * all results take beyond their inputs, are held to a limit. The default has room for models that
 * store their weights so: there are some of 0.6 GB. */
static const uint64_t DEFAULT_MAX_BYTES = UINT64_C(2) << 30;

/* A few bytes can ask for any amount of work, too: all may take some seconds of one thread. A byte
 * that is read or written takes as long as so many operations on numbers. */
static const double MAX_WORK = 2e11, WORK_OF_BYTE = 4;

enum { MAX_OPERANDS = 64 }; /* inputs, and outputs, of a node that is folded */

typedef struct folder {
  const lk_pass_env *env;
  lk_graph *graph;
  lk_executor *executor;
  lk_frame *frame;
  uint64_t limit;  /* at most INT64_MAX, so that it can be added to the size of a tensor */
  uint64_t growth; /* of all results so far; at most the limit */
  double work;     /* what may be computed yet, in operations */
} folder;

/* One node while it is computed. */
typedef struct folding {
  lk_node_input constants[MAX_OPERANDS];
  lk_tensor inputs[MAX_OPERANDS];
  void *input_data[MAX_OPERANDS], *copies[MAX_OPERANDS]; /* copies: of inputs that lie unaligned */
  lk_layout wishes[MAX_OPERANDS];
  lk_tensor_desc outputs[MAX_OPERANDS];
  void *results[MAX_OPERANDS];
  lk_op *op;
  lk_plan *plan;
} folding;

static bool is_foldable(const lk_pass_env *env, const lk_graph *graph, const lk_node *node) {
  const lk_op_row *row = node->dead ? NULL : lk_graph_find_row(env->api, graph, node);
  if (row == NULL || (row->flags & (LK_OP_RANDOM | LK_OP_DATA_DEPENDENT)) != 0 ||
      node->n_post_ops > 0 || node->n_outputs == 0 || node->n_inputs > MAX_OPERANDS ||
      node->n_outputs > MAX_OPERANDS) {
    return false;
  }
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const int32_t input = node->inputs[i];
    if (input != LK_NO_VALUE && !lk_value_is_constant(graph, input)) return false;
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] == LK_NO_VALUE) return false;
  }
  return true;
}

/* The constants as plain, aligned tensors. */
static lk_status prepare_inputs(const lk_graph *graph, const lk_node *node, folding *f,
                                uint64_t *out_bytes, lk_error *error) {
  *out_bytes = 0;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (node->inputs[i] == LK_NO_VALUE) {
      f->constants[i].flags = LK_INPUT_ABSENT;
      continue;
    }
    const lk_value *value = &graph->values[node->inputs[i]];
    int64_t bytes = 0;
    LK_RETURN_NOT_OK(lk_tensor_size(&value->constant.desc, value->name, NULL, &bytes, error));
    *out_bytes += (uint64_t)bytes;
    f->inputs[i] = value->constant;
    const size_t alignment = lk_dtype_size(value->constant.desc.dtype);
    if (bytes > 0 && (uintptr_t)value->constant.data % alignment != 0) {
      f->copies[i] = lk_alloc_aligned(graph->allocator, (size_t)bytes, LK_DATA_ALIGNMENT);
      if (f->copies[i] == NULL) return lk_fail_memory(error, "a constant", (size_t)bytes);
      memcpy(f->copies[i], value->constant.data, (size_t)bytes);
      f->inputs[i].data = f->copies[i];
    }
    f->input_data[i] = f->inputs[i].data;
  }
  return LK_OK;
}

/* Makes the plan. LK_UNSUPPORTED: the node stays. */
static lk_status bind(folder *self, const lk_node *node, folding *f, lk_error *error) {
  const lk_api *api = self->env->api;
  const lk_node_desc desc = lk_node_describe(self->graph, node, f->constants);
  LK_RETURN_NOT_OK(api->op_create(self->executor, &desc, &f->op, error));
  for (uint32_t i = 0; i < node->n_outputs; i++) f->wishes[i] = LK_LAYOUT_PLAIN;
  const lk_bind_desc shapes = {.struct_size = sizeof shapes,
                               .inputs = f->inputs,
                               .wishes = f->wishes,
                               .n_inputs = node->n_inputs,
                               .n_outputs = node->n_outputs,
                               .in_place_input = -1,
                               .flags = LK_BIND_ONCE};
  return api->op_bind(f->op, &shapes, &f->plan, error);
}

/* Room for the outputs, within the limits. LK_UNSUPPORTED: the node stays. */
static lk_status prepare_outputs(folder *self, const lk_node *node, folding *f,
                                 uint64_t input_bytes, lk_error *error) {
  uint64_t total = 0;
  const uint64_t room = input_bytes + (self->limit - self->growth);
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    LK_RETURN_NOT_OK(self->env->api->plan_output(f->plan, i, &f->outputs[i], error));
    int64_t bytes = 0;
    LK_RETURN_NOT_OK(lk_tensor_size(&f->outputs[i], node->op_type, NULL, &bytes, error));
    if (f->outputs[i].layout != LK_LAYOUT_PLAIN || (uint64_t)bytes > self->limit ||
        (uint64_t)bytes > room - total) {
      return lk_fail(error, LK_UNSUPPORTED,
                     "failed to fold %s: its result has %lld bytes, more than are allowed",
                     node->op_type, (long long)bytes);
    }
    total += (uint64_t)bytes;
    f->results[i] = lk_alloc_aligned(self->graph->allocator, (size_t)bytes, LK_DATA_ALIGNMENT);
    if (f->results[i] == NULL) return lk_fail_memory(error, "a folded constant", (size_t)bytes);
  }
  self->growth += total > input_bytes ? total - input_bytes : 0;
  return LK_OK;
}

/* Charges for the work, which has to be left. LK_UNSUPPORTED: the node stays. */
static lk_status charge(folder *self, const lk_node *node, folding *f, uint64_t input_bytes,
                        lk_error *error) {
  lk_plan_info info = {.struct_size = sizeof info};
  LK_RETURN_NOT_OK(self->env->api->plan_info(f->plan, &info, error));
  double work = (double)info.flops + WORK_OF_BYTE * (double)input_bytes;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    int64_t bytes = 0;
    LK_RETURN_NOT_OK(self->env->api->plan_output(f->plan, i, &f->outputs[i], error));
    LK_RETURN_NOT_OK(lk_tensor_size(&f->outputs[i], node->op_type, NULL, &bytes, error));
    work += WORK_OF_BYTE * (double)bytes;
  }
  if (work > self->work) {
    return lk_fail(error, LK_UNSUPPORTED, "failed to fold %s: %.3g operations, %.3g are left",
                   node->op_type, work, self->work);
  }
  self->work -= work;
  return LK_OK;
}

static lk_status compute(folder *self, const lk_node *node, folding *f, lk_error *error) {
  uint64_t input_bytes = 0;
  uint32_t slot = 0;
  LK_RETURN_NOT_OK(prepare_inputs(self->graph, node, f, &input_bytes, error));
  LK_RETURN_NOT_OK(bind(self, node, f, error));
  LK_RETURN_NOT_OK(charge(self, node, f, input_bytes, error));
  LK_RETURN_NOT_OK(prepare_outputs(self, node, f, input_bytes, error));
  LK_RETURN_NOT_OK(self->env->api->frame_attach(self->frame, f->plan, &slot, error));
  LK_RETURN_NOT_OK(self->env->api->op_run(self->frame, slot, f->input_data, f->results, error));
  /* what is stopped is not the result */
  return lk_graph_look(self->env->api, "compute constants", error);
}

/* What no other node would end in another way. */
static bool ends_all(lk_status status) {
  return status == LK_OUT_OF_MEMORY || status == LK_CANCELLED || status == LK_DEADLINE;
}

/* Folds a node if it can be computed; anything but want of memory, and who opens the model wanting
 * no more of it, leaves it as it is. */
static lk_status fold(folder *self, folding *f, int32_t number, uint64_t *out_changes,
                      lk_error *error) {
  const lk_api *api = self->env->api;
  lk_graph *graph = self->graph;
  const lk_node *node = &graph->nodes[number];
  memset(f, 0, sizeof *f);
  lk_status status = compute(self, node, f, error);
  if (status == LK_OK) {
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      lk_value_set_constant(graph, node->outputs[i], &f->outputs[i], f->results[i]);
      f->results[i] = NULL;
    }
    lk_graph_remove_node(graph, number); /* frees inputs that nobody needs any more */
    ++*out_changes;
  }
  api->frame_reset(self->frame);
  if (f->plan != NULL) api->plan_release(f->plan);
  api->op_destroy(f->op);
  for (uint32_t i = 0; i < node->n_inputs; i++) lk_free(graph->allocator, f->copies[i]);
  for (uint32_t i = 0; i < node->n_outputs; i++) lk_free(graph->allocator, f->results[i]);
  if (status == LK_OUT_OF_MEMORY) {
    return lk_error_prefix(error, status, "node '%s' (%s)", lk_node_label(graph, node),
                           node->op_type);
  }
  return ends_all(status) ? status : LK_OK;
}

lk_status lk_pass_constants(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                            lk_error *error) {
  lk_status status = LK_OK;
  const uint64_t limit = env->max_folded_bytes > 0 ? env->max_folded_bytes : DEFAULT_MAX_BYTES;
  folder self = {.env = env,
                 .graph = graph,
                 .limit = limit < INT64_MAX ? limit : INT64_MAX,
                 .work = limit == LK_UNLIMITED ? INFINITY : MAX_WORK};
  folding *f = NULL;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    LK_TRY(lk_step(error));
    if (!is_foldable(env, graph, &graph->nodes[n])) continue;
    if (f == NULL) {
      f = lk_alloc(graph->allocator, sizeof *f);
      if (f == NULL) LK_TRY(lk_fail_memory(error, "constant folding", sizeof *f));
      LK_TRY(env->api->executor_create(env->context, "constants", &self.executor, error));
      LK_TRY(env->api->frame_create(self.executor, &self.frame, error));
    }
    LK_TRY(fold(&self, f, (int32_t)n, out_changes, error));
  }
cleanup:
  if (self.frame != NULL) env->api->frame_destroy(self.frame);
  if (self.executor != NULL) env->api->executor_destroy(self.executor);
  lk_free(graph->allocator, f);
  return status;
}
