/* Which steps of a run plan must end before which begin, when steps may run in parallel.
 *
 * A step depends on the step that wrote what it reads. One that writes into memory (in place, or
 * through a view) depends on all that touched this memory before it in the order of the graph.
 */
#pragma once

#include "executor_glue/run/plan_builder.h"

/* The bits of all pairs of steps take n * n / 8 bytes while a plan is built: 32 MB for so many. */
enum { LK_DEPENDENCIES_MAX_STEPS = 16384 };

struct lk_dependencies {
  const lk_plan_builder *builder;
  uint32_t n_words;       /* of a row of bits, one for each step */
  uint64_t *ancestors;    /* [n_steps][n_words]: all steps that must have ended before it begins */
  uint64_t *predecessors; /* the same without those that another predecessor depends on */
  /* The touches of each storage, a list from the last one back: operands of the builder. */
  uint32_t *last_touch;     /* [n_storages]: operand + 1; 0: none */
  uint32_t *previous_touch; /* [n_operands]: likewise */
  uint32_t *step_of;        /* [n_operands] */
};

/* Borrows the builder, in which all nodes are bound. */
lk_status lk_dependencies_create(const lk_plan_builder *builder, lk_dependencies **out_dependencies,
                                 lk_error *error);
void lk_dependencies_destroy(lk_dependencies *dependencies); /* NULL is allowed */

/* Whether two storages that steps touch may be in use at the same time. `dependencies`:
 * lk_dependencies; the lifetimes of storages are known. */
bool lk_storages_interfere(const void *dependencies, size_t a, size_t b);
