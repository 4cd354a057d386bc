/* Dependencies between steps, from the storages that they touch. */
#include "executor_glue/run/dependencies.h"

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/look.h"

static uint64_t *row(const lk_dependencies *self, uint64_t *bits, uint32_t step) {
  return bits + (size_t)step * self->n_words;
}

static bool has(const uint64_t *bits, uint32_t step) {
  return (bits[step / 64] >> step % 64 & 1) != 0;
}

static void set(uint64_t *bits, uint32_t step) {
  bits[step / 64] |= UINT64_C(1) << step % 64;
}

static bool writes(const lk_run_step *step, uint32_t operand) {
  return operand >= step->first_operand + step->n_inputs;
}

/* Adds the steps whose touches of the storage must come before this one's. */
static void add_earlier(const lk_dependencies *self, int32_t storage, bool is_write,
                        uint64_t *predecessors) {
  for (uint32_t touch = self->last_touch[storage]; touch != 0;
       touch = self->previous_touch[touch - 1]) {
    const uint32_t other = self->step_of[touch - 1];
    const bool other_writes = writes(&self->builder->plan->steps[other], touch - 1);
    if (is_write || other_writes) set(predecessors, other);
    if (other_writes) return; /* it depends on what touched the storage before it */
  }
}

static void add_touches(lk_dependencies *self, uint32_t s) {
  const lk_run_step *step = &self->builder->plan->steps[s];
  for (uint32_t i = step->first_operand; i < lk_run_step_end(step); i++) {
    const int32_t storage = self->builder->operands[i].storage;
    self->step_of[i] = s;
    if (storage == LK_NO_STORAGE) continue;
    self->previous_touch[i] = self->last_touch[storage];
    self->last_touch[storage] = i + 1;
  }
}

/* Leaves out of `predecessors` what a later one depends on, and collects `ancestors`. */
static void reduce(lk_dependencies *self, uint32_t s) {
  uint64_t *predecessors = row(self, self->predecessors, s);
  uint64_t *ancestors = row(self, self->ancestors, s);
  for (uint32_t p = s; p-- > 0;) {
    if (!has(predecessors, p)) continue;
    if (has(ancestors, p)) {
      predecessors[p / 64] &= ~(UINT64_C(1) << p % 64);
      continue;
    }
    const uint64_t *more = row(self, self->ancestors, p);
    for (uint32_t w = 0; w < self->n_words; w++) ancestors[w] |= more[w];
    set(ancestors, p);
  }
}

static lk_status find_predecessors(lk_dependencies *self, lk_error *error) {
  const lk_api *api = self->builder->program->api;
  for (uint32_t s = 0; s < self->builder->plan->n_steps; s++) {
    const lk_run_step *step = &self->builder->plan->steps[s];
    LK_RETURN_NOT_OK(lk_graph_look(api, "plan what runs in parallel", error));
    for (uint32_t i = step->first_operand; i < lk_run_step_end(step); i++) {
      const int32_t storage = self->builder->operands[i].storage;
      if (storage == LK_NO_STORAGE) continue;
      add_earlier(self, storage, writes(step, i), row(self, self->predecessors, s));
    }
    add_touches(self, s); /* after all its operands: a step does not depend on itself */
    reduce(self, s);
  }
  return LK_OK;
}

lk_status lk_dependencies_create(const lk_plan_builder *builder, lk_dependencies **out_dependencies,
                                 lk_error *error) {
  const uint32_t n_words = (builder->plan->n_steps + 63) / 64;
  const size_t n_bits = (size_t)builder->plan->n_steps * n_words;
  const size_t bytes = sizeof(lk_dependencies) + 2 * n_bits * sizeof(uint64_t) +
                       (builder->n_storages + 2 * builder->n_operands) * sizeof(uint32_t);
  lk_dependencies *made = *out_dependencies = lk_calloc(builder->allocator, 1, bytes);
  if (made == NULL) return lk_fail_memory(error, "the dependencies of steps", bytes);
  made->builder = builder;
  made->n_words = n_words;
  made->ancestors = (uint64_t *)(made + 1);
  made->predecessors = made->ancestors + n_bits;
  made->last_touch = (uint32_t *)(made->predecessors + n_bits);
  made->previous_touch = made->last_touch + builder->n_storages;
  made->step_of = made->previous_touch + builder->n_operands;
  return find_predecessors(made, error);
}

void lk_dependencies_destroy(lk_dependencies *dependencies) {
  if (dependencies != NULL) lk_free(dependencies->builder->allocator, dependencies);
}

/* Whether storage `a` is last touched before storage `b` is written for the first time. The first
 * touch of a storage writes it, and all others depend on that. */
static bool ends_before(const lk_dependencies *self, size_t a, size_t b) {
  const lk_plan_builder *builder = self->builder;
  if (builder->storages[a].last_step >= builder->plan->n_steps)
    return false; /* copied at the end */
  const uint64_t *ancestors = row(self, self->ancestors, builder->storages[b].first_step);
  for (uint32_t touch = self->last_touch[a]; touch != 0; touch = self->previous_touch[touch - 1]) {
    if (!has(ancestors, self->step_of[touch - 1])) return false;
  }
  return true;
}

bool lk_storages_interfere(const void *dependencies, size_t a, size_t b) {
  return !ends_before(dependencies, a, b) && !ends_before(dependencies, b, a);
}
