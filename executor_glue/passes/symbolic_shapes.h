/* What is certain about types and shapes of a graph's values before any input is seen: a sound,
 * partial inference. A value's dimensions are terms (dim_term.h): equal terms are equal in every
 * run. Declared shapes are believed for graph inputs alone (the executor checks those) and for
 * constants; nothing is taken from annotations of other values. */
#ifndef LK_PASSES_SYMBOLIC_SHAPES_H
#define LK_PASSES_SYMBOLIC_SHAPES_H

#include "executor_glue/graph/graph.h"
#include "executor_glue/passes/symbolic_dim.h"

typedef struct lk_shape {
  int32_t rank; /* -1: not known */
  int32_t dims[LK_MAX_RANK];
} lk_shape;

typedef struct lk_symbolic_shapes {
  const lk_allocator *allocator;
  lk_symbolic_dims *terms;
  lk_shape *shapes; /* [n_values] */
  uint32_t *dtypes; /* [n_values]: LK_DTYPE_NONE where not known */
  size_t n_values;  /* of the graph when this was made; values added later are not known */
} lk_symbolic_shapes;

/* For a sorted graph. What is found stays true for a value whatever node makes it later. */
lk_status lk_symbolic_shapes_create(const lk_graph *graph, lk_symbolic_shapes **out_classes,
                                    lk_error *error);
void lk_symbolic_shapes_destroy(lk_symbolic_shapes *classes); /* NULL is allowed */

uint32_t lk_symbolic_shape_dtype(const lk_symbolic_shapes *classes, int32_t value);
int32_t lk_symbolic_shape_rank(const lk_symbolic_shapes *classes, int32_t value);
/* Both shapes are known to be equal in every run. */
bool lk_symbolic_shape_same(const lk_symbolic_shapes *classes, int32_t a, int32_t b);
/* A tensor of `desc` is known to broadcast to the shape of `value` without enlarging it. */
bool lk_symbolic_shape_takes(const lk_symbolic_shapes *classes, int32_t value,
                             const lk_tensor_desc *desc);

#endif
