#include "executor_glue/run/labels.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

enum { CHUNK_BYTES = 4096 };

static const char *copy(lk_labels *labels, const char *text) {
  const size_t bytes = strlen(text) + 1;
  char *made = lk_bump_alloc(&labels->memory, bytes);
  return made != NULL ? memcpy(made, text, bytes) : NULL;
}

static void *alloc_zeroed(lk_labels *labels, size_t count, size_t size) {
  void *made = lk_bump_alloc(&labels->memory, count * size);
  return made != NULL ? memset(made, 0, count * size) : NULL;
}

static lk_labels *create(const lk_allocator *allocator) {
  lk_labels *made = lk_calloc(allocator, 1, sizeof *made);
  if (made == NULL) return NULL;
  made->memory = lk_bump_begin(allocator, NULL, 0, CHUNK_BYTES);
  made->title = "";
  atomic_init(&made->references, 1);
  return made;
}

lk_labels *lk_labels_create(const lk_allocator *allocator, const char *title) {
  lk_labels *made = create(allocator);
  if (made == NULL) return NULL;
  made->title = copy(made, title);
  if (made->title != NULL) return made;
  lk_labels_destroy(made);
  return NULL;
}

void lk_labels_retain(lk_labels *labels) {
  atomic_fetch_add_explicit(&labels->references, 1, memory_order_relaxed);
}

bool lk_labels_drop(lk_labels *labels) {
  return atomic_fetch_sub_explicit(&labels->references, 1, memory_order_acq_rel) == 1;
}

void lk_labels_destroy(lk_labels *labels) {
  lk_labels_release(labels->graph);
  const lk_allocator *allocator = labels->memory.allocator;
  lk_bump_end(&labels->memory);
  lk_free(allocator, labels);
}

void lk_labels_release(lk_labels *labels) {
  if (labels != NULL && lk_labels_drop(labels)) lk_labels_destroy(labels);
}

static lk_status fail_memory(lk_error *error) {
  return lk_fail_memory(error, "the names of operators", CHUNK_BYTES);
}

/* Puts them there, unless another thread was faster: then these go. */
static lk_labels *place_first(lk_labels_place *place, lk_labels *made) {
  lk_labels *other = NULL;
  if (atomic_compare_exchange_strong(place, &other, made)) return made;
  lk_labels_release(made);
  return other;
}

lk_labels *lk_labels_once(const lk_allocator *allocator, const char *title,
                          lk_labels_place *place) {
  lk_labels *found = atomic_load(place);
  if (found != NULL) return found;
  lk_labels *made = lk_labels_create(allocator, title);
  return made != NULL ? place_first(place, made) : NULL;
}

/* ---- nodes ---- */

static bool fill_node(lk_labels *labels, const lk_graph *graph, const lk_node *node,
                      lk_node_texts *out) {
  out->op_type = copy(labels, node->op_type);
  out->name = copy(labels, node->name);
  out->output_name = copy(labels, lk_node_describe(graph, node, NULL).output_name);
  out->fused = copy(labels, node->fused);
  return out->op_type != NULL && out->name != NULL && out->output_name != NULL &&
         out->fused != NULL;
}

lk_status lk_labels_of_program(const lk_program *program, lk_labels_place *place, lk_labels **out,
                               lk_error *error) {
  *out = atomic_load(place);
  if (*out != NULL) return LK_OK;
  const lk_graph *graph = program->graph;
  lk_labels *made = create(program->allocator);
  if (made == NULL) return fail_memory(error);
  made->nodes = alloc_zeroed(made, graph->n_nodes, sizeof *made->nodes);
  bool is_full = made->nodes != NULL;
  for (size_t i = 0; is_full && i < graph->n_nodes; i++) {
    is_full = fill_node(made, graph, &graph->nodes[i], &made->nodes[i]);
  }
  if (!is_full) {
    lk_labels_release(made);
    return fail_memory(error);
  }
  *out = place_first(place, made);
  return LK_OK;
}

/* ---- steps of a run plan ---- */

/* "x 1x3x48x320:f32, y 2:i64" */
static const char *inputs_text(lk_labels *labels, const lk_graph *graph, const lk_tensor *inputs) {
  size_t capacity = 1, used = 0;
  for (size_t i = 0; i < graph->n_inputs; i++) {
    capacity += strlen(graph->values[graph->inputs[i]].name) + LK_TENSOR_TEXT_CAPACITY + 3;
  }
  char *text = lk_bump_alloc(&labels->memory, capacity);
  if (text == NULL) return NULL;
  text[0] = '\0';
  for (size_t i = 0; i < graph->n_inputs; i++) {
    char shape[LK_TENSOR_TEXT_CAPACITY];
    used += (size_t)snprintf(text + used, capacity - used, "%s%s %s", i > 0 ? ", " : "",
                             graph->values[graph->inputs[i]].name,
                             lk_tensor_text(&inputs[i].desc, shape));
  }
  return text;
}

static lk_status count_steps(const lk_run_plan *plan, uint32_t *out, lk_error *error) {
  *out = 0;
  for (uint32_t i = 0; i < plan->n_steps; i++) {
    lk_plan_info info = {.struct_size = sizeof info};
    LK_RETURN_NOT_OK(plan->program->api->plan_info(plan->steps[i].plan, &info, error));
    *out += info.n_steps;
  }
  return LK_OK;
}

/* What is expected of all works of a plan goes to the step of one that computes most. */
static void expect(lk_step_label *steps, const lk_plan_info *plan) {
  lk_step_label *most = NULL;
  for (uint32_t i = 0; i < plan->n_steps; i++) {
    if (steps[i].work != 0 && (most == NULL || steps[i].flops > most->flops)) most = &steps[i];
  }
  if (most == NULL) return;
  most->expected_ns = plan->expected_ns;
  most->is_expected_measured = plan->is_expected_measured != 0;
}

static lk_status fill_steps(lk_labels *labels, const lk_run_plan *plan, lk_error *error) {
  const lk_api *api = plan->program->api;
  lk_step_label *step = labels->steps;
  for (uint32_t i = 0; i < plan->n_steps; i++) {
    lk_plan_info whole = {.struct_size = sizeof whole};
    lk_step_info info = {.struct_size = sizeof info};
    LK_RETURN_NOT_OK(api->plan_info(plan->steps[i].plan, &whole, error));
    labels->first[i] = (uint32_t)(step - labels->steps);
    for (uint32_t k = 0; k < whole.n_steps; k++) {
      LK_RETURN_NOT_OK(api->plan_step(plan->steps[i].plan, k, &info, error));
      *step = (lk_step_label){.node = &labels->graph->nodes[plan->steps[i].node],
                              .kind = copy(labels, info.kind),
                              .tiles = copy(labels, info.tiles),
                              .engine = copy(labels, info.engine),
                              .flops = info.flops,
                              .bytes = info.bytes,
                              .index = k,
                              .work = info.work};
      if (step->kind == NULL || step->tiles == NULL || step->engine == NULL) {
        return fail_memory(error);
      }
      step++;
    }
    expect(step - whole.n_steps, &whole);
  }
  labels->first[plan->n_steps] = labels->n_steps;
  return LK_OK;
}

lk_status lk_labels_of_run_plan(const lk_run_plan *plan, const lk_tensor *inputs, lk_labels *graph,
                                lk_labels_place *place, lk_labels **out, lk_error *error) {
  lk_status status = LK_OK;
  *out = atomic_load(place);
  if (*out != NULL) return LK_OK;
  lk_labels *made = create(plan->program->allocator);
  if (made == NULL) return fail_memory(error);
  lk_labels_retain(graph);
  made->graph = graph;
  made->n_plans = plan->n_steps;
  made->title = inputs_text(made, plan->program->graph, inputs);
  LK_TRY(count_steps(plan, &made->n_steps, error));
  made->first = alloc_zeroed(made, (size_t)plan->n_steps + 1, sizeof *made->first);
  made->steps = alloc_zeroed(made, made->n_steps, sizeof *made->steps);
  if (made->title == NULL || made->first == NULL || made->steps == NULL) {
    LK_TRY(fail_memory(error));
  }
  LK_TRY(fill_steps(made, plan, error));
  *out = place_first(place, made);
  made = NULL;

cleanup:
  lk_labels_release(made);
  return status;
}
