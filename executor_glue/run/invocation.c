/* The arguments of one run: checked, and copied into one block of memory. */
#include "executor_glue/run/invocation.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/run/check_request.h"

/* Room for the arguments, zeroed. */
static lk_status make_room(lk_invocation *self, lk_error *error) {
  const lk_program *program = self->executor->program;
  const size_t n_inputs = program->graph->n_inputs, n_outputs = program->graph->n_outputs;
  const size_t n_words = (n_outputs + 63) / 64;
  const size_t bytes =
      n_inputs * (sizeof *self->inputs + sizeof *self->descs) +
      (program->n_by_value + 1) * sizeof *self->values +
      n_outputs * (sizeof *self->outputs + sizeof *self->owned + sizeof *self->wanted) +
      n_words * sizeof *self->wanted_bits;
  void *room = self->few;
  if (bytes <= sizeof self->few) {
    memset(room, 0, bytes);
  } else {
    room = self->memory = lk_calloc(program->allocator, 1, bytes);
    if (room == NULL) return lk_fail_memory(error, "the arguments of a run", bytes);
  }
  self->inputs = room;
  self->descs = (lk_tensor_desc *)(self->inputs + n_inputs);
  self->values = (lk_tensor *)(self->descs + n_inputs);
  self->outputs = (void **)(self->values + program->n_by_value + 1);
  self->wanted_bits = (int64_t *)(self->outputs + n_outputs);
  self->owned = (bool *)(self->wanted_bits + n_words);
  self->wanted = self->owned + n_outputs;
  return LK_OK;
}

/* Into zeros, and field by field: a processor that copies as a whole what it has just written in
 * parts has to wait. */
static void copy_desc(const lk_tensor_desc *from, lk_tensor_desc *to) {
  to->dtype = from->dtype;
  to->rank = from->rank;
  for (uint32_t i = 0; i < from->rank; i++) to->dims[i] = from->dims[i];
}

/* Larger values would make keys that cost more than what they save, and are hardly shapes. */
#define SHAPE_VALUE_MAX_BYTES ((int64_t)64 * 1024)

static lk_status check_shape_value(const lk_value *value, const lk_tensor *input, lk_error *error) {
  char text[LK_TENSOR_TEXT_CAPACITY];
  const int64_t bytes = lk_elements(&input->desc) * (int64_t)lk_dtype_size(input->desc.dtype);
  if (bytes <= SHAPE_VALUE_MAX_BYTES) return LK_OK;
  return lk_fail(error, LK_UNSUPPORTED,
                 "failed to run with input '%s': it is %s and shapes depend on its values, at most "
                 "65536 bytes are allowed",
                 value->name, lk_tensor_text(&input->desc, text));
}

static lk_status copy_inputs(lk_invocation *self, const lk_graph_run *run, lk_error *error) {
  const lk_program *program = self->executor->program;
  const lk_graph *graph = program->graph;
  size_t n_values = 0;
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const lk_tensor *input = &run->inputs[i];
    const lk_value *value = &graph->values[graph->inputs[i]];
    LK_RETURN_NOT_OK(lk_check_input(value, input, error));
    copy_desc(&input->desc, &self->descs[i]);
    copy_desc(&input->desc, &self->inputs[i].desc);
    self->inputs[i].data = input->data;
    if (!program->by_value[i]) continue;
    LK_RETURN_NOT_OK(check_shape_value(value, input, error));
    self->values[n_values++] = self->inputs[i];
  }
  return LK_OK;
}

/* For the key of a run that wants only some of the outputs. */
static void add_wanted_bits(lk_invocation *self) {
  const lk_program *program = self->executor->program;
  const size_t n_outputs = program->graph->n_outputs;
  const int64_t words = (int64_t)(n_outputs + 63) / 64;
  for (size_t i = 0; i < n_outputs; i++) {
    if (!self->wanted[i]) continue;
    const uint64_t bits = (uint64_t)self->wanted_bits[i / 64];
    self->wanted_bits[i / 64] = (int64_t)(bits | UINT64_C(1) << i % 64);
  }
  self->values[program->n_by_value] =
      (lk_tensor){.desc = lk_tensor_desc_make(LK_I64, 1, &words), .data = self->wanted_bits};
}

void lk_graph_run_stop(const lk_graph_run *run, lk_stop *out_stop) {
  const lk_wait_limit limit = lk_graph_run_wait(run);
  const lk_run_options *options = run->options;
  lk_stop_init(out_stop, &limit, options != NULL ? options->should_stop : NULL,
               options != NULL ? options->should_stop_arg : NULL);
}

lk_status lk_invocation_begin(lk_invocation *self, lk_graph_executor *executor,
                              const lk_graph_run *run, lk_error *error) {
  const lk_graph *graph = executor->program->graph;
  self->executor = executor;
  self->memory = NULL;
  self->outputs = NULL;
  self->ref = NULL;
  self->entry = NULL;
  lk_graph_run_stop(run, &self->stop);
  self->has_threads = false;
  self->has_place = false;
  self->has_built = false;
  self->has_waited = false;
  self->recurs = false;
  self->chooses = lk_is_chosen(run);
  self->is_due = false;
  self->made = NULL;
  self->profile = NULL;
  self->traced = NULL;
  self->times = NULL;
  LK_RETURN_NOT_OK(make_room(self, error));
  LK_RETURN_NOT_OK(copy_inputs(self, run, error));
  self->wants_all = true;
  for (size_t i = 0; i < graph->n_outputs; i++) {
    self->wanted[i] = run->wanted == NULL || run->wanted[i];
    if (!self->wanted[i]) self->wants_all = false;
  }
  if (!self->wants_all) add_wanted_bits(self);
  return LK_OK;
}

lk_status lk_invocation_make_outputs(lk_invocation *self, const lk_run_plan *plan,
                                     const lk_graph_run *run, lk_error *error) {
  const lk_program *program = self->executor->program;
  for (uint32_t i = 0; i < program->graph->n_outputs; i++) {
    void **data = &self->outputs[i];
    if (!self->wanted[i]) continue;
    if (run != NULL && run->place != NULL) {
      LK_RETURN_NOT_OK(run->place(run->place_arg, i, &plan->outputs[i], data, error));
      continue;
    }
    *data = run != NULL ? run->outputs[i].data : NULL;
    if (*data != NULL) continue;
    *data = lk_alloc_pages(program->allocator, plan->output_bytes[i]);
    if (*data == NULL) return lk_fail_memory(error, "an output", plan->output_bytes[i]);
    self->owned[i] = true;
  }
  return LK_OK;
}

void lk_invocation_end(lk_invocation *self, bool keeps_outputs) {
  const lk_program *program = self->executor->program;
  if (!keeps_outputs && self->outputs != NULL) {
    for (size_t i = 0; i < program->graph->n_outputs; i++) {
      if (self->owned[i]) lk_free(program->allocator, self->outputs[i]);
    }
  }
  lk_free(program->allocator, self->memory);
}
