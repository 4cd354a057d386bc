/* The list of what passes have left, and the notes that it is made of. */
#include "executor_glue/passes/refusals.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { CHUNK_BYTES = 4096 };

void lk_refusals_begin(lk_refusals *out, const lk_allocator *allocator) {
  *out = (lk_refusals){.memory = lk_bump_begin(allocator, NULL, 0, CHUNK_BYTES), .pass = ""};
  out->end = &out->first;
}

void lk_refusals_end(lk_refusals *self) {
  lk_bump_end(&self->memory);
  *self = (lk_refusals){0};
}

/* Takes out those of a graph that `is_wrong` says so of. */
static void remove_if(lk_refusals *self, const lk_graph *graph, const char *pass,
                      bool (*is_wrong)(const lk_refusal *refusal, const lk_graph *graph,
                                       const char *pass)) {
  lk_refusal **at = &self->first;
  while (*at != NULL) {
    if ((*at)->graph == graph && is_wrong(*at, graph, pass)) {
      *at = (*at)->next;
    } else {
      at = &(*at)->next;
    }
  }
  self->end = at;
}

static bool is_of_pass(const lk_refusal *refusal, const lk_graph *graph, const char *pass) {
  (void)graph;
  return strcmp(refusal->pass, pass) == 0;
}

void lk_refusals_forget(lk_refusals *self, const char *pass, const lk_graph *graph) {
  remove_if(self, graph, pass, is_of_pass);
}

static bool is_settled(const lk_refusal *refusal, const lk_graph *graph, const char *pass) {
  (void)pass;
  if (refusal->is_tree || refusal->output == LK_NO_VALUE) return false;
  const int32_t producer = graph->values[refusal->output].producer;
  return producer == LK_NO_NODE || strcmp(graph->nodes[producer].op_type, refusal->op_type) != 0;
}

void lk_refusals_settle(lk_refusals *self, const lk_graph *graph) {
  remove_if(self, graph, "", is_settled);
}

void lk_refusals_show(const lk_refusals *self, lk_refusal_fn visit, void *arg) {
  for (const lk_refusal *each = self->first; each != NULL; each = each->next) {
    const lk_session_refusal refusal = {.struct_size = sizeof refusal,
                                        .pass = each->pass,
                                        .op_type = each->op_type,
                                        .domain = each->domain,
                                        .node_name = each->node_name,
                                        .output_name = each->output_name,
                                        .reason = each->reason,
                                        .advice = each->advice};
    visit(arg, &refusal);
  }
}

lk_miss *lk_refusals_listen(const lk_refusals *self, lk_miss *room) {
  if (self == NULL) return NULL;
  *room = (lk_miss){.advice = ""};
  return room;
}

bool lk_miss_note(lk_miss *miss, const char *advice, const char *format, ...) {
  if (miss == NULL || miss->is_near) return false;
  char draft[LK_MISS_CAPACITY];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(draft, sizeof draft, format, arguments);
  va_end(arguments);
  (void)lk_text_escape(draft, miss->reason, sizeof miss->reason);
  miss->is_near = true;
  miss->advice = advice;
  return false;
}

static const char *copy(lk_refusals *self, const char *text) {
  const size_t bytes = strlen(text) + 1;
  char *made = lk_bump_alloc(&self->memory, bytes);
  if (made == NULL) self->failed = true;
  return made != NULL ? memcpy(made, text, bytes) : "";
}

static bool is_there(const lk_refusals *self, const lk_graph *graph, int32_t output) {
  for (const lk_refusal *each = self->first; each != NULL; each = each->next) {
    if (each->graph == graph && each->output == output && strcmp(each->pass, self->pass) == 0) {
      return true;
    }
  }
  return false;
}

void lk_refusals_add(lk_refusals *self, const lk_graph *graph, int32_t node, const lk_miss *miss) {
  lk_refusals_add_node(self, graph, &graph->nodes[node], miss);
}

void lk_refusals_add_node(lk_refusals *self, const lk_graph *graph, const lk_node *node,
                          const lk_miss *miss) {
  static const lk_node none = {.op_type = "", .domain = "", .name = ""};
  const lk_node *of = node != NULL ? node : &none;
  const int32_t output = of->n_outputs > 0 ? of->outputs[0] : LK_NO_VALUE;
  if (self == NULL || miss == NULL || !miss->is_near) return;
  if (is_there(self, graph, output)) return;
  lk_refusal *made = lk_bump_alloc(&self->memory, sizeof *made);
  if (made == NULL) {
    self->failed = true;
    return;
  }
  *made = (lk_refusal){.graph = graph,
                       .output = output,
                       .is_tree = miss->is_tree,
                       .pass = self->pass,
                       .op_type = copy(self, of->op_type),
                       .domain = copy(self, of->domain),
                       .node_name = copy(self, of->name),
                       .output_name =
                           copy(self, output != LK_NO_VALUE ? graph->values[output].name : ""),
                       .reason = copy(self, miss->reason),
                       .advice = copy(self, miss->advice)};
  *self->end = made;
  self->end = &made->next;
}
