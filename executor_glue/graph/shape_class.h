/* What is certain about types and shapes of a graph's values before any input is seen: a sound,
 * partial inference. A value's dimensions are terms (dim_term.h): equal terms are equal in every
 * run. Declared shapes are believed for graph inputs alone (the executor checks those) and for
 * constants; nothing is taken from annotations of other values. */
#ifndef LK_GRAPH_SHAPE_CLASS_H
#define LK_GRAPH_SHAPE_CLASS_H

#include "executor_glue/graph/dim_term.h"
#include "executor_glue/graph/graph.h"

typedef struct lk_shape {
  int32_t rank; /* -1: not known */
  int32_t dims[LK_MAX_RANK];
} lk_shape;

typedef struct lk_shape_classes {
  const lk_allocator *allocator;
  lk_dim_terms *terms;
  lk_shape *shapes; /* [n_values] */
  uint32_t *dtypes; /* [n_values]: LK_DTYPE_NONE where not known */
  size_t n_values;  /* of the graph when this was made; values added later are not known */
} lk_shape_classes;

/* For a sorted graph. What is found stays true for a value whatever node makes it later. */
lk_status lk_shape_classes_create(const lk_graph *graph, lk_shape_classes **out_classes,
                                  lk_error *error);
void lk_shape_classes_destroy(lk_shape_classes *classes); /* NULL is allowed */

uint32_t lk_shape_class_dtype(const lk_shape_classes *classes, int32_t value);
int32_t lk_shape_class_rank(const lk_shape_classes *classes, int32_t value);
/* Both shapes are known to be equal in every run. */
bool lk_shape_class_same(const lk_shape_classes *classes, int32_t a, int32_t b);
/* A tensor of `desc` is known to broadcast to the shape of `value` without enlarging it. */
bool lk_shape_class_takes(const lk_shape_classes *classes, int32_t value,
                          const lk_tensor_desc *desc);

#endif
