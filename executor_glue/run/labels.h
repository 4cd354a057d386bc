/* What nodes and steps are called, and how much work they are: read once, when the first run is
 * watched, for all profiles and traces.
 *
 * Labels never change. They are counted, because events of a trace outlive the run plan whose steps
 * they show. The allocator must live longer than the last reference. */
#pragma once

#include <stdatomic.h>

#include "base/bump.h"
#include "executor_glue/run/run_plan.h"

typedef struct lk_node_texts {
  const char *op_type, *name, *output_name, *fused; /* as lk_session_node has them */
} lk_node_texts;

/* A step of the plan of a step of a run plan. */
typedef struct lk_step_label {
  const lk_node_texts *node;
  const char *kind, *tiles, *engine; /* as lk_step_info has them, as the next two */
  double flops, bytes;
  /* as lk_profile_entry has them, of one execution */
  double expected_ns;
  bool is_expected_measured;
  uint32_t index; /* among the steps of the node */
  uint32_t work;  /* as lk_step_info has it */
} lk_step_label;

typedef struct lk_labels lk_labels;
struct lk_labels {
  lk_bump memory;
  atomic_size_t references;
  lk_labels *graph;     /* whose node labels those of the steps are; NULL: has no steps */
  const char *title;    /* a session's model; the inputs of a run plan; a key */
  lk_node_texts *nodes; /* [n_nodes], of a graph */
  lk_step_label *steps; /* [n_steps], of the plans of a run plan's steps, in their order */
  uint32_t *first;      /* [n_plans + 1]: where those of a step of the run plan begin */
  uint32_t n_steps, n_plans;
  lk_labels *next; /* for who has the last reference */
};

/* Labels without nodes and steps. NULL: no memory. */
lk_labels *lk_labels_create(const lk_allocator *allocator, const char *title);
void lk_labels_retain(lk_labels *labels);
/* Whether it was the last: then the caller destroys them. */
bool lk_labels_drop(lk_labels *labels);
void lk_labels_destroy(lk_labels *labels);
void lk_labels_release(lk_labels *labels); /* the last one destroys; NULL is allowed */

/* A place for labels that are made when they are first asked for, by any thread. */
typedef lk_labels *_Atomic lk_labels_place;

/* Those with this title alone, which stay in `place` until it is released. NULL: no memory. */
lk_labels *lk_labels_once(const lk_allocator *allocator, const char *title, lk_labels_place *place);
/* Those of a program's nodes, which stay in `place` until it is released. */
lk_status lk_labels_of_program(const lk_program *program, lk_labels_place *place, lk_labels **out,
                               lk_error *error);
/* Those of a run plan; `inputs`: what it was built for. */
lk_status lk_labels_of_run_plan(const lk_run_plan *plan, const lk_tensor *inputs, lk_labels *graph,
                                lk_labels_place *place, lk_labels **out, lk_error *error);
