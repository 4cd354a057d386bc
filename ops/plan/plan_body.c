/* The bodies of plans: drafted by a planner, then copied into one block, and immutable. */
#include "ops/plan/plan_body.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* Every array begins at a multiple of this. */
enum { PART = 8 };

_Static_assert(sizeof(lk_plan_body) % PART == 0 && sizeof(lk_step) % PART == 0 &&
                   sizeof(lk_tensor_desc) % PART == 0,
               "arrays follow each other without gaps");

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

/* ---- outputs ---- */

static bool is_short(const lk_tensor_desc *desc) {
  if (desc->dtype > UINT8_MAX) return false;
  if (desc->layout >= UINT16_MAX && desc->layout != LK_LAYOUT_ANY) return false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (desc->dims[i] > UINT32_MAX) return false;
  }
  return true;
}

static size_t short_size(uint32_t rank) {
  return round_up(offsetof(lk_short_desc, dims) + rank * sizeof(uint32_t));
}

static void shorten(const lk_tensor_desc *from, lk_short_desc *to) {
  to->dtype = (uint8_t)from->dtype;
  to->rank = (uint8_t)from->rank;
  to->layout = (uint16_t)from->layout;
  for (uint32_t i = 0; i < from->rank; i++) to->dims[i] = (uint32_t)from->dims[i];
}

static size_t outputs_size(const lk_plan_body *body, const lk_plan_arrays *arrays) {
  if (body->is_short) return short_size(arrays->outputs[0].rank);
  return body->n_outputs * sizeof *arrays->outputs;
}

/* `outputs` [n_outputs] to where lk_plan_outputs finds them. */
static void put_outputs(lk_plan_body *body, const lk_tensor_desc *outputs) {
  void *to = (void *)(uintptr_t)lk_plan_outputs(body);
  if (body->is_short) {
    shorten(outputs, to);
  } else if (body->n_outputs > 0) {
    memcpy(to, outputs, body->n_outputs * sizeof *outputs);
  }
}

lk_tensor_desc lk_plan_body_output(const lk_plan_body *body, uint32_t index) {
  if (!body->is_short) return ((const lk_tensor_desc *)lk_plan_outputs(body))[index];
  const lk_short_desc *from = lk_plan_outputs(body);
  lk_tensor_desc desc = {
      .dtype = from->dtype, .rank = from->rank, .layout = lk_plan_output_layout(body)};
  for (uint32_t i = 0; i < from->rank; i++) desc.dims[i] = from->dims[i];
  return desc;
}

bool lk_plan_body_holds(const lk_plan_body *body, const lk_tensor_desc *output) {
  return !body->is_short || is_short(output);
}

/* ---- the whole ---- */

static size_t size_of(const lk_plan_body *body, const lk_plan_arrays *arrays) {
  size_t bytes = sizeof *body + body->n_steps * sizeof *arrays->steps +
                 round_up(body->n_args * sizeof *arrays->args) +
                 (body->n_packed + body->n_values) * sizeof(void *) +
                 body->n_temps * sizeof *arrays->temps + outputs_size(body, arrays);
  if (body->is_compared) {
    bytes += body->n_inputs * sizeof *arrays->inputs +
             round_up(body->n_outputs * sizeof *arrays->wishes);
  }
  for (uint32_t i = 0; i < body->n_steps; i++) bytes += round_up(arrays->steps[i].params_size);
  if (body->is_expected) bytes += sizeof arrays->expected;
  return bytes;
}

/* In the order in which lk_plan_steps and the like find them. */
static void put_arrays(lk_plan_body *body, const lk_plan_arrays *from) {
  unsigned char *at = (unsigned char *)(body + 1);
  lk_step *steps = put(&at, from->steps, body->n_steps * sizeof *from->steps);
  (void)put(&at, from->args, body->n_args * sizeof *from->args);
  (void)put(&at, from->packed, body->n_packed * sizeof(void *));
  (void)put(&at, from->values, body->n_values * sizeof(void *));
  (void)put(&at, from->temps, body->n_temps * sizeof *from->temps);
  put_outputs(body, from->outputs);
  at += outputs_size(body, from);
  if (body->is_compared) {
    (void)put(&at, from->inputs, body->n_inputs * sizeof *from->inputs);
    (void)put(&at, from->wishes, body->n_outputs * sizeof *from->wishes);
  }
  for (uint32_t i = 0; i < body->n_steps; i++) {
    if (steps[i].params == NULL) continue;
    steps[i].params = put(&at, steps[i].params, steps[i].params_size);
  }
  if (body->is_expected) (void)put(&at, &from->expected, sizeof from->expected);
}

lk_plan_expected lk_plan_body_expected(const lk_plan_body *body) {
  lk_plan_expected found = {0};
  if (body->is_expected) { /* it is the last */
    memcpy(&found, (const unsigned char *)body + body->bytes - sizeof found, sizeof found);
  }
  return found;
}

lk_status lk_plan_body_create(const lk_plan_body *draft, const lk_plan_arrays *arrays,
                              lk_plan_body **out_body, lk_error *error) {
  lk_plan_body made = *draft;
  made.is_short = !draft->is_compared && draft->n_outputs == 1 && is_short(&arrays->outputs[0]);
  const size_t bytes = size_of(&made, arrays);
  *out_body = NULL;
  lk_plan_body *body = lk_alloc(draft->env->allocator, bytes);
  if (body == NULL) return lk_fail_memory(error, "a plan", bytes);
  memcpy(body, &made, sizeof made);
  put_arrays(body, arrays);
  atomic_init(&body->refs, 1);
  body->bytes = (uint32_t)bytes;
  *out_body = body;
  return LK_OK;
}

void lk_plan_body_copy_to(const lk_plan_body *from, lk_plan_body *to) {
  memcpy(to, from, from->bytes);
  lk_step *steps = (lk_step *)(uintptr_t)lk_plan_steps(to);
  for (uint32_t i = 0; i < to->n_steps; i++) {
    if (steps[i].params == NULL) continue;
    const size_t at = (size_t)((const char *)steps[i].params - (const char *)from);
    steps[i].params = (const char *)to + at;
  }
}

lk_status lk_plan_body_copy(const lk_plan_body *from, lk_packed *const *packed,
                            const lk_tensor_desc *output, lk_plan_body **out_body,
                            lk_error *error) {
  *out_body = NULL;
  lk_plan_body *body = lk_alloc(from->env->allocator, from->bytes);
  if (body == NULL) return lk_fail_memory(error, "a plan", from->bytes);
  lk_plan_body_copy_to(from, body);
  atomic_init(&body->refs, 1);
  memcpy((lk_packed **)(uintptr_t)lk_plan_packed(body), packed, body->n_packed * sizeof *packed);
  put_outputs(body, output);
  *out_body = body;
  return LK_OK;
}

/* What a thread does in about a millisecond where it is slow. */
#define LONG_FLOPS 2e7
#define LONG_BYTES 4e6

bool lk_plan_body_is_long(const lk_plan_body *body) {
  double flops = 0, bytes = 0;
  for (uint32_t i = 0; i < body->n_steps; i++) {
    flops += lk_plan_steps(body)[i].flops;
    bytes += lk_plan_steps(body)[i].bytes;
  }
  if (body->flops > flops) flops = body->flops;
  return body->is_long || flops >= LONG_FLOPS || bytes >= LONG_BYTES;
}

void lk_plan_body_destroy(lk_plan_body *body) {
  if (body == NULL) return;
  const lk_allocator *allocator = body->env->allocator;
  for (uint32_t i = 0; i < body->n_packed; i++) lk_packed_release(lk_plan_packed(body)[i]);
  for (uint32_t i = 0; i < body->n_values; i++) lk_ref_release(lk_plan_values(body)[i]);
  lk_free(allocator, body);
}
