/* Finds out what must come before what in a run plan whose steps may run at once, and whether that
 * is worth it. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/run/plan_build.h"
#include "executor_glue/run/step_cost.h"

/* The bits of all pairs of steps take n * n / 8 bytes while the plan is built: 32 MB for so many. */
enum { MAX_STEPS = 16384 };

/* How many times as fast running at once must look: on 39 graphs and two threads, nearly all that looked
 * 1.2 times as fast was faster, and what looked 1.1 times as fast was not (docs/threads.md). */
#define LEAST_GAIN 1.15

struct lk_run_order {
  const lk_allocator *allocator;
  uint32_t n_words;    /* of a row of bits, one for each step */
  uint64_t *ancestors; /* [n_steps][n_words]: what must have ended before the step begins */
  uint64_t *before;    /* the same without what follows from others */
  double *costs;       /* [n_steps] */
  /* The touches of a block by steps, from the last one on: slots of the build. */
  uint32_t *last_touch;   /* [n_blocks]: slot + 1; 0: none */
  uint32_t *touch_before; /* [n_slots]: likewise */
  uint32_t *step_of;      /* [n_slots] */
};

static uint64_t *row(const lk_run_order *order, uint64_t *bits, uint32_t step) {
  return bits + (size_t)step * order->n_words;
}

static bool has(const uint64_t *bits, uint32_t step) {
  return (bits[step / 64] >> step % 64 & 1) != 0;
}

static void set(uint64_t *bits, uint32_t step) {
  bits[step / 64] |= UINT64_C(1) << step % 64;
}

static bool writes(const lk_run_step *step, uint32_t slot) {
  return slot >= step->first_operand + step->n_inputs;
}

/* Into `direct`: the steps whose touches of the block must come before this one's. */
static void add_earlier(const lk_run_build *build, const lk_run_order *order, int32_t block,
                        bool is_write, uint64_t *direct) {
  for (uint32_t touch = order->last_touch[block]; touch != 0;
       touch = order->touch_before[touch - 1]) {
    const uint32_t other = order->step_of[touch - 1];
    const bool other_writes = writes(&build->plan->steps[other], touch - 1);
    if (is_write || other_writes) set(direct, other);
    if (other_writes) return; /* what was before it, is before it */
  }
}

static void add_touches(const lk_run_build *build, lk_run_order *order, uint32_t s) {
  const lk_run_step *step = &build->plan->steps[s];
  const uint32_t end = step->first_operand + step->n_inputs + step->n_outputs;
  for (uint32_t slot = step->first_operand; slot < end; slot++) {
    const int32_t block = build->slots[slot].block;
    order->step_of[slot] = s;
    if (block == LK_NO_BLOCK) continue;
    order->touch_before[slot] = order->last_touch[block];
    order->last_touch[block] = slot + 1;
  }
}

/* Leaves out of `before` what follows from later steps in it, and collects `ancestors`. */
static void reduce(lk_run_order *order, uint32_t s) {
  uint64_t *before = row(order, order->before, s), *ancestors = row(order, order->ancestors, s);
  for (uint32_t p = s; p-- > 0;) {
    if (!has(before, p)) continue;
    if (has(ancestors, p)) {
      before[p / 64] &= ~(UINT64_C(1) << p % 64);
      continue;
    }
    const uint64_t *more = row(order, order->ancestors, p);
    for (uint32_t w = 0; w < order->n_words; w++) ancestors[w] |= more[w];
    set(ancestors, p);
  }
}

static void find_before(const lk_run_build *build, lk_run_order *order) {
  for (uint32_t s = 0; s < build->plan->n_steps; s++) {
    const lk_run_step *step = &build->plan->steps[s];
    const uint32_t end = step->first_operand + step->n_inputs + step->n_outputs;
    for (uint32_t slot = step->first_operand; slot < end; slot++) {
      const int32_t block = build->slots[slot].block;
      if (block == LK_NO_BLOCK) continue;
      add_earlier(build, order, block, writes(step, slot), row(order, order->before, s));
    }
    add_touches(build, order, s); /* all at once: a step does not wait for itself */
    reduce(order, s);
  }
}

/* `*out_in_order`: how long the steps take one after the other, each on the context's threads. */
static lk_status find_costs(const lk_run_build *build, lk_run_order *order, double *out_in_order,
                            lk_error *error) {
  const lk_graph *graph = build->program->graph;
  const lk_allocator *allocator = build->allocator;
  const int32_t threads = build->program->api->context_threads(build->program->context);
  const uint32_t room = build->max_operands;
  lk_status status = LK_OK;
  *out_in_order = 0;
  const lk_tensor_desc **descs = lk_calloc(allocator, room, sizeof *descs);
  if (descs == NULL) return lk_fail_memory(error, "the costs of steps", room * sizeof *descs);
  for (uint32_t s = 0; s < build->plan->n_steps; s++) {
    const lk_node *node = &graph->nodes[build->plan->steps[s].node];
    for (uint32_t i = 0; i < node->n_inputs + node->n_outputs; i++) {
      const int32_t value =
          i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs];
      descs[i] = value != LK_NO_VALUE ? &build->values[value].desc : NULL;
    }
    lk_plan_info info = {.struct_size = sizeof info};
    LK_TRY(build->program->api->plan_info(build->plan->steps[s].plan, &info, error));
    order->costs[s] =
        lk_run_cost(info.flops, descs, node->n_inputs, descs + node->n_inputs, node->n_outputs);
    const double shared = lk_run_cost_shared(order->costs[s], threads);
    const bool alone = threads == 1 || lk_run_is_small(build, build->plan->steps[s].node);
    *out_in_order += alone ? order->costs[s] : shared;
  }
cleanup:
  lk_free(allocator, descs);
  return status;
}

lk_status lk_run_find_order(lk_run_build *build, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = build->allocator;
  const uint32_t n_steps = build->plan->n_steps, workers = build->request->workers;
  double in_order = 0, at_once = 0;
  if (n_steps < 2 || n_steps > MAX_STEPS) return LK_OK;
  lk_run_order *order = build->order = lk_calloc(allocator, 1, sizeof *order);
  if (order == NULL) return lk_fail_memory(error, "an order of steps", sizeof *order);
  order->allocator = allocator;
  order->n_words = (n_steps + 63) / 64;
  const size_t n_bits = (size_t)n_steps * order->n_words;
  order->ancestors = lk_calloc(allocator, n_bits, sizeof *order->ancestors);
  order->before = lk_calloc(allocator, n_bits, sizeof *order->before);
  order->costs = lk_calloc(allocator, n_steps, sizeof *order->costs);
  order->last_touch = lk_calloc(allocator, build->n_blocks, sizeof *order->last_touch);
  order->touch_before = lk_calloc(allocator, build->n_slots, sizeof *order->touch_before);
  order->step_of = lk_calloc(allocator, build->n_slots, sizeof *order->step_of);
  if (order->ancestors == NULL || order->before == NULL || order->costs == NULL ||
      order->last_touch == NULL || order->touch_before == NULL || order->step_of == NULL) {
    return lk_fail_memory(error, "an order of steps", n_bits * sizeof *order->before);
  }
  find_before(build, order);
  LK_TRY(find_costs(build, order, &in_order, error));
  LK_TRY(lk_run_schedule_create(allocator, order->before, order->n_words, order->costs, n_steps,
                                &build->plan->schedule, error));
  LK_TRY(lk_run_schedule_length(allocator, build->plan->schedule, order->costs, workers, &at_once,
                                error));
  if (at_once * LEAST_GAIN >= in_order) {
    lk_run_schedule_destroy(allocator, build->plan->schedule);
    build->plan->schedule = NULL;
  }

cleanup:
  return status;
}

void lk_run_order_destroy(lk_run_order *order) {
  if (order == NULL) return;
  lk_free(order->allocator, order->step_of);
  lk_free(order->allocator, order->touch_before);
  lk_free(order->allocator, order->last_touch);
  lk_free(order->allocator, order->costs);
  lk_free(order->allocator, order->before);
  lk_free(order->allocator, order->ancestors);
  lk_free(order->allocator, order);
}

/* Whether block `a` is done with before block `b` is written for the first time. The first touch of a
 * block writes it, and all others wait for that. */
static bool ends_before(const lk_run_build *build, size_t a, size_t b) {
  const lk_run_order *order = build->order;
  if (build->blocks[a].last_step >= build->plan->n_steps) return false; /* copied out at the end */
  const uint64_t *ancestors = row(order, order->ancestors, build->blocks[b].first_step);
  for (uint32_t touch = order->last_touch[a]; touch != 0; touch = order->touch_before[touch - 1]) {
    if (!has(ancestors, order->step_of[touch - 1])) return false;
  }
  return true;
}

bool lk_run_blocks_together(const void *build, size_t a, size_t b) {
  return !ends_before(build, a, b) && !ends_before(build, b, a);
}
