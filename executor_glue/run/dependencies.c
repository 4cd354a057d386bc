/* Dependencies between steps, from the storages that they touch. */
#include "executor_glue/run/dependencies.h"

#include "base/alloc.h"
#include "base/status.h"

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

static uint32_t end_of_operands(const lk_run_step *step) {
  return step->first_operand + step->n_inputs + step->n_outputs;
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
  for (uint32_t i = step->first_operand; i < end_of_operands(step); i++) {
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

static void find_predecessors(lk_dependencies *self) {
  for (uint32_t s = 0; s < self->builder->plan->n_steps; s++) {
    const lk_run_step *step = &self->builder->plan->steps[s];
    for (uint32_t i = step->first_operand; i < end_of_operands(step); i++) {
      const int32_t storage = self->builder->operands[i].storage;
      if (storage == LK_NO_STORAGE) continue;
      add_earlier(self, storage, writes(step, i), row(self, self->predecessors, s));
    }
    add_touches(self, s); /* after all its operands: a step does not depend on itself */
    reduce(self, s);
  }
}

lk_status lk_dependencies_create(const lk_plan_builder *builder, lk_dependencies **out_dependencies,
                                 lk_error *error) {
  const lk_allocator *allocator = builder->allocator;
  const uint32_t n_steps = builder->plan->n_steps;
  *out_dependencies = NULL;
  lk_dependencies *made = lk_calloc(allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "the dependencies of steps", sizeof *made);
  made->builder = builder;
  made->n_words = (n_steps + 63) / 64;
  const size_t n_bits = (size_t)n_steps * made->n_words;
  made->ancestors = lk_calloc(allocator, n_bits, sizeof *made->ancestors);
  made->predecessors = lk_calloc(allocator, n_bits, sizeof *made->predecessors);
  made->last_touch = lk_calloc(allocator, builder->n_storages, sizeof *made->last_touch);
  made->previous_touch = lk_calloc(allocator, builder->n_operands, sizeof *made->previous_touch);
  made->step_of = lk_calloc(allocator, builder->n_operands, sizeof *made->step_of);
  if (made->ancestors == NULL || made->predecessors == NULL || made->last_touch == NULL ||
      made->previous_touch == NULL || made->step_of == NULL) {
    lk_dependencies_destroy(made);
    return lk_fail_memory(error, "the dependencies of steps", n_bits * sizeof(uint64_t));
  }
  find_predecessors(made);
  *out_dependencies = made;
  return LK_OK;
}

void lk_dependencies_destroy(lk_dependencies *dependencies) {
  if (dependencies == NULL) return;
  const lk_allocator *allocator = dependencies->builder->allocator;
  lk_free(allocator, dependencies->step_of);
  lk_free(allocator, dependencies->previous_touch);
  lk_free(allocator, dependencies->last_touch);
  lk_free(allocator, dependencies->predecessors);
  lk_free(allocator, dependencies->ancestors);
  lk_free(allocator, dependencies);
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
