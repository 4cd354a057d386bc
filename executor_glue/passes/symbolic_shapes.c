/* Types and shapes that are certain before any input is seen: the walk over the graph. */
#include "executor_glue/passes/symbolic_shapes.h"

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/passes/shape_rule.h"

static void from_constant(lk_symbolic_shapes *classes, const lk_value *value, size_t number) {
  const lk_tensor_desc *desc = &value->constant.desc;
  lk_shape *shape = &classes->shapes[number];
  classes->dtypes[number] = desc->dtype;
  shape->rank = (int32_t)desc->rank;
  for (uint32_t i = 0; i < desc->rank; i++) {
    shape->dims[i] = lk_dim_constant(classes->terms, desc->dims[i]);
  }
}

static void from_input(lk_symbolic_shapes *classes, const lk_value *value, size_t number) {
  const lk_declaration *declared = value->declared;
  lk_shape *shape = &classes->shapes[number];
  if (declared == NULL) return;
  classes->dtypes[number] = declared->dtype;
  shape->rank = declared->rank;
  for (int32_t i = 0; i < declared->rank; i++) {
    shape->dims[i] = lk_dim_constant(classes->terms, declared->dims[i]);
  }
}

lk_status lk_symbolic_shapes_create(const lk_graph *graph, lk_symbolic_shapes **out_classes,
                                    lk_error *error) {
  *out_classes = NULL;
  lk_status status = LK_OK;
  const lk_allocator *allocator = graph->allocator;
  lk_symbolic_shapes *classes = lk_calloc(allocator, 1, sizeof *classes);
  if (classes == NULL) return lk_fail_memory(error, "shape classes", sizeof *classes);
  classes->allocator = allocator;
  classes->n_values = graph->n_values;
  classes->terms = lk_symbolic_dims_create(allocator);
  classes->shapes = lk_calloc(allocator, graph->n_values, sizeof *classes->shapes);
  classes->dtypes = lk_calloc(allocator, graph->n_values, sizeof *classes->dtypes);
  if (classes->terms == NULL || classes->shapes == NULL || classes->dtypes == NULL) {
    status = lk_fail_memory(error, "shape classes", graph->n_values * sizeof *classes->shapes);
    goto cleanup;
  }
  for (size_t i = 0; i < graph->n_values; i++) {
    const lk_value *value = &graph->values[i];
    classes->shapes[i].rank = -1;
    if (value->is_input) {
      from_input(classes, value, i);
    } else if (value->constant_kind != LK_CONSTANT_NONE) {
      from_constant(classes, value, i);
    }
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    if (node->dead || node->n_outputs == 0 || node->outputs[0] == LK_NO_VALUE) continue;
    classes->shapes[node->outputs[0]] = lk_shape_rule(graph, classes, node);
    classes->dtypes[node->outputs[0]] = lk_dtype_rule(classes, node);
  }
  if (lk_symbolic_dims_failed(classes->terms)) {
    status = lk_fail_memory(error, "terms of dimensions", sizeof(lk_shape));
    goto cleanup;
  }
  *out_classes = classes;
  classes = NULL;
cleanup:
  lk_symbolic_shapes_destroy(classes);
  return status;
}

void lk_symbolic_shapes_destroy(lk_symbolic_shapes *classes) {
  if (classes == NULL) return;
  lk_symbolic_dims_destroy(classes->terms);
  lk_free(classes->allocator, classes->shapes);
  lk_free(classes->allocator, classes->dtypes);
  lk_free(classes->allocator, classes);
}

static bool is_known(const lk_symbolic_shapes *classes, int32_t value) {
  return value >= 0 && (size_t)value < classes->n_values;
}

uint32_t lk_symbolic_shape_dtype(const lk_symbolic_shapes *classes, int32_t value) {
  return is_known(classes, value) ? classes->dtypes[value] : LK_DTYPE_NONE;
}

int32_t lk_symbolic_shape_rank(const lk_symbolic_shapes *classes, int32_t value) {
  return is_known(classes, value) ? classes->shapes[value].rank : -1;
}

bool lk_symbolic_shape_same(const lk_symbolic_shapes *classes, int32_t a, int32_t b) {
  if (!is_known(classes, a) || !is_known(classes, b)) return false;
  const lk_shape *x = &classes->shapes[a], *y = &classes->shapes[b];
  if (x->rank < 0 || x->rank != y->rank) return false;
  for (int32_t i = 0; i < x->rank; i++) {
    if (x->dims[i] != y->dims[i]) return false;
  }
  return true;
}

bool lk_symbolic_shape_takes(const lk_symbolic_shapes *classes, int32_t value,
                             const lk_tensor_desc *desc) {
  if (desc->rank == 0) return true;
  if (!is_known(classes, value)) return false;
  const lk_shape *shape = &classes->shapes[value];
  if (shape->rank < (int32_t)desc->rank) return false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    const int32_t dim = shape->dims[(uint32_t)shape->rank - desc->rank + i];
    if (desc->dims[i] != 1 && desc->dims[i] != lk_dim_value(classes->terms, dim)) return false;
  }
  return true;
}
