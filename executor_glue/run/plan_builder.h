/* A run plan while it is being built, and the parts that build it. */
#pragma once

#include "executor_glue/run/run_plan.h"

#define LK_NO_STORAGE (-1)
#define LK_LAST_USE_OUTPUT INT32_MAX /* a wanted graph output: read after the last node */
#define LK_LAST_USE_NONE (-1)

/* Memory that one or more values share, as views of each other or written over each other. */
typedef struct lk_storage {
  uint64_t bytes;
  uint64_t offset;   /* in the buffer, or in `parent` */
  int32_t parent;    /* the storage of which this has become a part, and which tells of the rest; or
                        LK_NO_STORAGE */
  uint32_t buffer;   /* lk_buffer_index; LK_BUFFER_ARENA until a graph output takes the storage */
  int32_t last_node; /* the last node that reads any of its values, as lk_bound_value.last_use */
  uint32_t first_step, last_step;
  bool in_steps; /* a step or a copy touches it */
} lk_storage;

/* A place in a storage, or in one that has become a part of another. */
typedef struct lk_spot {
  int32_t storage; /* or LK_NO_STORAGE */
  uint64_t at;     /* bytes */
} lk_spot;

typedef enum lk_bound_kind {
  LK_BOUND_NOT_YET = 0,
  LK_BOUND_CONSTANT = 1, /* the ops have it */
  LK_BOUND_KNOWN = 2,    /* computed while building */
  LK_BOUND_STORED = 3    /* in a storage */
} lk_bound_kind;

/* A value of the graph at the shapes of the request. */
typedef struct lk_bound_value {
  lk_tensor_desc desc;
  const void *data; /* where it is known now: known values, graph inputs known by value */
  int32_t kind;     /* lk_bound_kind */
  lk_spot spot;     /* STORED */
  uint32_t known;   /* KNOWN: number in builder->known */
  int32_t last_use; /* the last node that reads its elements, or LK_LAST_USE_... */
  bool wanted;      /* an output, or needed for one */
} lk_bound_value;

typedef struct lk_known_value {
  void *data;
  uint64_t bytes;
  bool used; /* by a step or a copy */
} lk_known_value;

typedef struct lk_plan_builder {
  const lk_program *program;
  const lk_run_plan_desc *desc;
  const lk_allocator *allocator;
  lk_run_plan *plan;
  lk_bound_value *values; /* [n_values] */
  bool *alive;            /* [n_nodes]: a wanted output needs it */
  uint64_t *bind_ns;      /* [n_nodes], where it is timed; 0: not bound */
  lk_storage *storages;
  lk_known_value *known;
  lk_spot *operands; /* of all steps, with room for those of all nodes; or addresses */
  size_t n_storages, storages_capacity, n_known, known_capacity, n_operands;
  size_t steps_capacity;
  bool has_parts;      /* a storage has a parent */
  int32_t scratch;     /* storage of the scratch memory that steps in a row share */
  uint64_t plan_bytes; /* of the plans of the steps, where they are the run plan's own */
  lk_frame *frame;     /* for values computed while building; NULL before the first */
  /* Of the node being bound, with room for the largest one. */
  lk_tensor *inputs;
  lk_layout *wishes;
  lk_tensor_desc *outputs;
  void **pointers;
} lk_plan_builder;

/* Fills `builder`, with an empty plan. Also one that was not filled to the end is destroyed. */
lk_status lk_plan_builder_create(const lk_program *program, const lk_run_plan_desc *desc,
                                 lk_plan_builder *builder, lk_error *error);
void lk_plan_builder_destroy(lk_plan_builder *builder);

/* NULL: LK_NO_VALUE. */
static inline lk_bound_value *lk_plan_builder_value(const lk_plan_builder *builder, int32_t value) {
  return value != LK_NO_VALUE ? &builder->values[value] : NULL;
}

/* The bytes of a value with this description; LK_OUT_OF_RANGE and the like are the ABI's. */
lk_status lk_plan_builder_bytes(const lk_plan_builder *builder, const lk_tensor_desc *desc,
                                uint64_t *out_bytes, lk_error *error);
/* Of the elements of those values [count] that are there: not exact above 2^53. */
double lk_plan_builder_sum_bytes(const lk_plan_builder *builder, const int32_t *values,
                                 uint32_t count);
/* Adds a storage of `bytes` bytes. */
lk_status lk_plan_builder_add_storage(lk_plan_builder *builder, uint64_t bytes, uint32_t buffer,
                                      int32_t *out_storage, lk_error *error);
/* The same place in a storage that is no part. */
lk_spot lk_plan_builder_root(const lk_plan_builder *builder, lk_spot spot);
/* Puts `value` at `spot`, whose storage lives as long as it. */
void lk_plan_builder_store(lk_plan_builder *builder, int32_t value, lk_spot spot);

/* ---- bind_node.c ---- */

/* Binds node `node`; computes its outputs now, or adds a step for it. LK_UNSUPPORTED names an input
 * whose value a shape depends on, when that value cannot be known before the run. */
lk_status lk_bind_node(lk_plan_builder *builder, int32_t node, lk_error *error);

/* ---- in_place.c ---- */

/* The first input that output 0 may be written over: nobody reads its storage later, and it
 * probably has the output's shape, which is certain only after binding. -1: there is none.
 * Reads the wish for output 0 (builder->wishes). */
int32_t lk_choose_in_place(const lk_plan_builder *builder, int32_t node);

/* ---- views.c ---- */

/* Stores the outputs of a node whose plan only moves bytes without running it, if that can be:
 * `*out_done`. `info`: of the plan. */
lk_status lk_bind_views(lk_plan_builder *builder, const lk_node *node, const lk_plan *plan,
                        const lk_plan_info *info, bool *out_done, lk_error *error);

/* ---- place_values.c ---- */

typedef struct lk_dependencies lk_dependencies;

/* After all nodes are bound: gives each wanted graph output the caller's buffer or a copy, and each
 * storage its place in the arena; writes the plan's operands. `dependencies`: NULL when the steps
 * run in their order. */
lk_status lk_place_values(lk_plan_builder *builder, const lk_dependencies *dependencies,
                          lk_error *error);
