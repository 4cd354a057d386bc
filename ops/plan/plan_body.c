/* The bodies of plans: drafted by a planner, then copied into one block, and immutable. */
#include "ops/plan/plan_body.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* Every part of the block begins at a multiple of this. */
enum { PART = 8 };

static size_t round_up(size_t bytes) {
  return (bytes + PART - 1) / PART * PART;
}

/* Copies a part to `*inout_at`, which then lies behind it. */
static void *put(unsigned char **inout_at, const void *from, size_t bytes) {
  unsigned char *to = *inout_at;
  if (bytes > 0) memcpy(to, from, bytes);
  *inout_at = to + round_up(bytes);
  return to;
}

/* Of a description whose other dimensions nobody reads. */
static size_t used_size(const lk_tensor_desc *desc) {
  return offsetof(lk_tensor_desc, dims) + desc->rank * sizeof desc->dims[0];
}

/* One description is most often all, and then cut off behind its last dimension. */
static size_t outputs_size(const lk_plan_body *draft, lk_plan_use use) {
  if (use == LK_PLAN_RUN && draft->n_outputs == 1) return used_size(&draft->outputs[0]);
  return draft->n_outputs * sizeof *draft->outputs;
}

lk_tensor_desc lk_plan_body_output(const lk_plan_body *body, uint32_t index) {
  if (body->inputs != NULL || body->n_outputs > 1) return body->outputs[index];
  lk_tensor_desc desc = {0};
  memcpy(&desc, body->outputs, used_size(body->outputs));
  return desc;
}

static size_t size_of(const lk_plan_body *draft, lk_plan_use use) {
  size_t bytes =
      sizeof *draft + round_up(draft->n_steps * sizeof *draft->steps) +
      round_up(draft->n_args * sizeof *draft->args) +
      round_up(draft->n_primitives * sizeof(void *)) + round_up(draft->n_packed * sizeof(void *)) +
      round_up(draft->n_temps * sizeof *draft->temps) + round_up(outputs_size(draft, use));
  for (uint32_t i = 0; i < draft->n_steps; i++) {
    bytes += round_up(draft->steps[i].params_size);
  }
  if (use == LK_PLAN_COMPARED) {
    bytes += round_up(draft->n_inputs * sizeof *draft->inputs) +
             round_up(draft->n_outputs * sizeof *draft->wishes);
  }
  return bytes;
}

static void copy_steps(const lk_plan_body *draft, lk_plan_body *to, unsigned char **at) {
  to->steps = put(at, draft->steps, draft->n_steps * sizeof *draft->steps);
  for (uint32_t i = 0; i < draft->n_steps; i++) {
    lk_step *step = &to->steps[i];
    if (step->params != NULL) step->params = put(at, step->params, step->params_size);
  }
}

lk_status lk_plan_body_create(const lk_plan_body *draft, lk_plan_use use, lk_plan_body **out_body,
                              lk_error *error) {
  const size_t bytes = size_of(draft, use);
  *out_body = NULL;
  unsigned char *at = lk_alloc(draft->env->allocator, bytes);
  if (at == NULL) return lk_fail_memory(error, "a plan", bytes);
  lk_plan_body *body = put(&at, draft, sizeof *draft);
  copy_steps(draft, body, &at);
  body->args = put(&at, draft->args, draft->n_args * sizeof *draft->args);
  body->primitives = put(&at, draft->primitives, draft->n_primitives * sizeof(void *));
  body->packed = put(&at, draft->packed, draft->n_packed * sizeof(void *));
  body->temps = put(&at, draft->temps, draft->n_temps * sizeof *draft->temps);
  body->outputs = put(&at, draft->outputs, outputs_size(draft, use));
  body->inputs = NULL;
  body->wishes = NULL;
  if (use == LK_PLAN_COMPARED) {
    body->inputs = put(&at, draft->inputs, draft->n_inputs * sizeof *draft->inputs);
    body->wishes = put(&at, draft->wishes, draft->n_outputs * sizeof *draft->wishes);
  }
  atomic_init(&body->refs, 1);
  body->bytes = (uint32_t)bytes;
  *out_body = body;
  return LK_OK;
}

void lk_plan_body_release(const lk_plan_body *body) {
  for (uint32_t i = 0; i < body->n_primitives; i++) lk_ref_release(body->primitives[i]);
  for (uint32_t i = 0; i < body->n_packed; i++) lk_packed_release(body->packed[i]);
}

void lk_plan_body_destroy(lk_plan_body *body) {
  if (body == NULL) return;
  const lk_allocator *allocator = body->env->allocator;
  lk_plan_body_release(body);
  lk_free(allocator, body);
}
