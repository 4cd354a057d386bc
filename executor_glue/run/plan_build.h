/* The state of building a run plan, between its parts: binding nodes (run_bind.c), placing values
 * (run_place.c), and the walk over the graph (run_plan.c). */
#ifndef LK_RUN_PLAN_BUILD_H
#define LK_RUN_PLAN_BUILD_H

#include "executor_glue/run/run_plan.h"

#define LK_NO_BLOCK (-1)

/* Memory that one or more values share, as views of each other or written over each other. */
typedef struct lk_run_block {
  uint64_t bytes;
  uint64_t offset;
  uint32_t base;     /* lk_run_base; LK_RUN_ARENA until a graph output takes the block */
  int32_t last_node; /* the last node that reads any of its values; INT32_MAX: an output does */
  uint32_t first_step, last_step;
  bool in_steps; /* a step or a copy touches it */
} lk_run_block;

typedef enum lk_run_value_kind {
  LK_RUN_UNBOUND = 0,
  LK_RUN_CONSTANT = 1, /* the ops have it */
  LK_RUN_KNOWN = 2,    /* computed while building */
  LK_RUN_STORED = 3    /* in a block */
} lk_run_value_kind;

typedef struct lk_run_value {
  lk_tensor_desc desc;
  const void *data; /* where it is known now: known values, graph inputs known by value */
  int32_t kind;     /* lk_run_value_kind */
  int32_t block;    /* STORED */
  uint32_t known;   /* KNOWN: number in build->known */
  int32_t last_use; /* node, INT32_MAX for a wanted output, -1: nobody reads its elements */
  bool wanted;      /* an output, or needed for one */
} lk_run_value;

typedef struct lk_run_known {
  void *data;
  uint64_t bytes;
  bool used; /* by a step or a copy */
} lk_run_known;

/* An operand of a step before its block has a place. */
typedef struct lk_run_slot {
  int32_t block; /* or LK_NO_BLOCK: `address` */
  uintptr_t address;
} lk_run_slot;

typedef struct lk_run_order lk_run_order;

typedef struct lk_run_build {
  const lk_program *program;
  const lk_run_request *request;
  const lk_allocator *allocator;
  lk_run_plan *plan;
  lk_run_value *values; /* [n_values] */
  bool *alive;          /* [n_nodes]: a wanted output needs it */
  lk_run_block *blocks;
  lk_run_known *known;
  lk_run_slot *slots; /* of all steps */
  size_t n_blocks, blocks_capacity, n_known, known_capacity, n_slots, slots_capacity;
  size_t steps_capacity;
  lk_frame *frame;     /* for values computed while building; NULL before the first */
  lk_run_order *order; /* NULL: one step after the other */
  /* of the node being bound, room for the largest one */
  uint32_t max_operands; /* inputs and outputs */
  lk_tensor *inputs;
  lk_layout *wishes;
  lk_tensor_desc *outputs;
  void **pointers;
} lk_run_build;

/* Adds a block for a value of `bytes` bytes. */
lk_status lk_run_add_block(lk_run_build *build, uint64_t bytes, uint32_t base, int32_t *out_block,
                           lk_error *error);
/* Puts `value` in `block`, which lives as long as it. */
void lk_run_store(lk_run_build *build, int32_t value, int32_t block);

/* Whether node `node` does so little that more than one thread would not help. */
bool lk_run_is_small(const lk_run_build *build, int32_t node);
/* Binds node `node`; computes its outputs now, or adds a step for it. */
lk_status lk_run_bind_node(lk_run_build *build, int32_t node, lk_error *error);

/* After all nodes, when request->workers is more than 1: sets the plan's schedule, and `order`;
 * leaves the schedule NULL when so many would hardly be faster than the steps in their order. */
lk_status lk_run_find_order(lk_run_build *build, lk_error *error);
void lk_run_order_destroy(lk_run_order *order); /* NULL is allowed */
/* Whether two blocks that steps touch may be in use at the same time. `build`: lk_run_build. */
bool lk_run_blocks_together(const void *build, size_t a, size_t b);

/* After that: gives graph outputs their memory or a copy, and blocks their place in the arena;
 * translates slots into operands. */
lk_status lk_run_place(lk_run_build *build, lk_error *error);

#endif
