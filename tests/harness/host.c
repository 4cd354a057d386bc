/* A small host written in C: see host.h. It includes nothing of the product but the public
 * headers. */
#include "tests/harness/host.h"

#include <stdio.h>
#include <stdlib.h>

#define TRY(expression)                                                                            \
  do {                                                                                             \
    status = (expression);                                                                         \
    if (status != LK_OK) goto cleanup;                                                             \
  } while (0)

const lk_api *host_api(void) {
  return lk_get_api(LK_API_VERSION);
}

lk_status host_context_create(uint32_t cache_mode, int32_t threads, const lk_allocator *allocator,
                              lk_context **out_context, lk_error *error) {
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = cache_mode;
  options.threads = threads;
  if (allocator != NULL) options.allocator = *allocator;
  return host_api()->context_create(&options, out_context, error);
}

lk_node_desc host_node(const char *op_type, const lk_node_input *inputs, uint32_t n_inputs) {
  return (lk_node_desc){.struct_size = sizeof(lk_node_desc),
                        .op_type = op_type,
                        .output_name = "y",
                        .opset = 13,
                        .n_inputs = n_inputs,
                        .n_outputs = 1,
                        .inputs = inputs};
}

lk_bind_desc host_bind(const lk_tensor *inputs, uint32_t n_inputs) {
  return (lk_bind_desc){.struct_size = sizeof(lk_bind_desc),
                        .inputs = inputs,
                        .n_inputs = n_inputs,
                        .n_outputs = 1,
                        .in_place_input = -1};
}

lk_status host_run(lk_executor *executor, lk_plan *plan, void *const *inputs, void *const *outputs,
                   lk_error *error) {
  const lk_api *api = host_api();
  lk_status status = LK_OK;
  lk_frame *frame = NULL;
  uint32_t slot = 0;
  TRY(api->frame_create(executor, &frame, error));
  TRY(api->frame_attach(frame, plan, &slot, error));
  TRY(api->op_run(frame, slot, inputs, outputs, error));
cleanup:
  api->frame_destroy(frame);
  return status;
}

/* ---- what the table says ---- */

static void must(lk_status status, const lk_error *error) {
  if (status == LK_OK) return;
  fprintf(stderr, "the host of a test asked in vain: %s\n", error->message);
  abort();
}

lk_stats host_stats(lk_context *context, lk_executor *executor) {
  lk_error error;
  lk_stats now = {.struct_size = sizeof now};
  must(host_api()->cache_stats(context, executor, &now, &error), &error);
  return now;
}

lk_op_info host_op_info(const lk_op *op) {
  lk_error error;
  lk_op_info info = {.struct_size = sizeof info};
  must(host_api()->op_info(op, &info, &error), &error);
  return info;
}

lk_plan_info host_plan_info(const lk_plan *plan) {
  lk_error error;
  lk_plan_info info = {.struct_size = sizeof info};
  must(host_api()->plan_info(plan, &info, &error), &error);
  return info;
}

lk_threads_stats host_threads_stats(void) {
  lk_error error;
  lk_threads_stats now = {.struct_size = sizeof now};
  must(host_api()->threads_stats(&now, &error), &error);
  return now;
}

/* ---- a chain of nodes ---- */

/* A step and what it has while the chain runs. */
typedef struct link {
  lk_op *op;
  lk_plan *plan;
  uint32_t slot;
  lk_tensor output;
  void *memory; /* of the output, unless it is that of the step before */
} link;

static lk_status bind_link(lk_frame *frame, const host_step *step, link *self,
                           const lk_tensor *input, lk_error *error) {
  const lk_api *api = host_api();
  lk_status status = LK_OK;
  uint64_t bytes = 0;
  const lk_tensor inputs[HOST_MAX_INPUTS] = {{.desc = input->desc}}; /* constants are known */
  lk_bind_desc bind = host_bind(inputs, step->node.n_inputs);
  bind.in_place_input = step->in_place_input;
  bind.wishes = &step->wish;
  TRY(api->op_bind(self->op, &bind, &self->plan, error));
  TRY(api->plan_output(self->plan, 0, &self->output.desc, error));
  TRY(api->frame_attach(frame, self->plan, &self->slot, error));
  TRY(api->tensor_bytes(&self->output.desc, &bytes, error));
  if (step->in_place_input != 0) self->memory = malloc(bytes + 1);
  self->output.data = self->memory != NULL ? self->memory : input->data;
cleanup:
  return status;
}

static lk_status run_link(lk_frame *frame, const link *self, const lk_tensor *input,
                          lk_error *error) {
  void *const inputs[HOST_MAX_INPUTS] = {input->data};
  return host_api()->op_run(frame, self->slot, inputs, &self->output.data, error);
}

lk_status host_run_chain(lk_context *context, const host_step *steps, uint32_t n_steps,
                         const lk_tensor *input, lk_tensor *output, lk_error *error) {
  const lk_api *api = host_api();
  lk_status status = LK_OK;
  lk_executor *executor = NULL;
  lk_frame *frame = NULL;
  link links[HOST_MAX_STEPS] = {0};
  *output = (lk_tensor){.data = NULL};
  if (n_steps < 1 || n_steps > HOST_MAX_STEPS) abort();
  TRY(api->executor_create(context, "chain", &executor, error));
  for (uint32_t i = 0; i < n_steps; i++) {
    TRY(api->op_create(executor, &steps[i].node, &links[i].op, error));
  }
  TRY(api->frame_create(executor, &frame, error));
  for (uint32_t i = 0; i < n_steps; i++) {
    TRY(bind_link(frame, &steps[i], &links[i], i > 0 ? &links[i - 1].output : input, error));
  }
  for (uint32_t i = 0; i < n_steps; i++) {
    TRY(run_link(frame, &links[i], i > 0 ? &links[i - 1].output : input, error));
  }
  *output = links[n_steps - 1].output;
cleanup:
  for (uint32_t i = 0; i < n_steps; i++) {
    if (links[i].memory != output->data) free(links[i].memory);
    api->plan_release(links[i].plan);
    api->op_destroy(links[i].op);
  }
  api->frame_destroy(frame);
  api->executor_destroy(executor);
  return status;
}
