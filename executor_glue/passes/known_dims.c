/* What Shape says of dimensions that are the same in every run: all of them, or those that Gather
 * takes. Exporters decide branches by them: of If, whose condition is a constant then. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/passes/rewrite.h"

/* The dimensions that a node gives; those that are not known are negative. */
typedef struct dim_list {
  int64_t dims[LK_MAX_RANK];
  int64_t count;
} dim_list;

static int64_t clamp(int64_t index, int64_t rank) {
  if (index < 0) index += rank;
  return index < 0 ? 0 : index > rank ? rank : index;
}

/* Whether node `number` is Shape of a value whose rank is known. */
static bool read_shape(const lk_graph *graph, const lk_symbolic_shapes *shapes, int32_t number,
                       dim_list *out) {
  if (number == LK_NO_NODE) return false;
  const lk_node *node = &graph->nodes[number];
  if (!lk_node_is(node, "Shape") || !lk_node_is_plain(node)) return false;
  const int64_t rank = lk_symbolic_shape_rank(shapes, node->inputs[0]);
  if (rank < 0) return false;
  const int64_t first = clamp(lk_node_attr_int(node, "start", 0), rank);
  const int64_t end = clamp(lk_node_attr_int(node, "end", rank), rank);
  out->count = end > first ? end - first : 0;
  for (int64_t i = 0; i < out->count; i++) {
    out->dims[i] = shapes->descs[node->inputs[0]].dims[first + i];
  }
  return true;
}

/* The place in the list that element `i` of a constant names; -1: none, or of an unknown dimension.
 */
static int64_t place_of(const dim_list *list, const lk_value *indices, size_t i) {
  int64_t at = (int64_t)lk_constant_number(indices, i);
  if (at < 0) at += list->count;
  return at >= 0 && at < list->count && list->dims[at] >= 0 ? at : -1;
}

/* Gather with constant indices, all of known dimensions. */
static bool takes_known(const lk_graph *graph, const lk_node *node, const dim_list *list) {
  if (node->n_inputs != 2 || !lk_value_is_constant(graph, node->inputs[1])) return false;
  const lk_value *indices = &graph->values[node->inputs[1]];
  const uint32_t dtype = indices->constant.desc.dtype;
  const int64_t axis = lk_node_attr_int(node, "axis", 0), n = lk_elements(&indices->constant.desc);
  if ((dtype != LK_I64 && dtype != LK_I32) || (axis != 0 && axis != -1) || n > LK_MAX_RANK) {
    return false;
  }
  for (int64_t i = 0; i < n; i++) {
    if (place_of(list, indices, (size_t)i) < 0) return false;
  }
  return true;
}

/* `indices`: NULL: all of the list. */
static lk_status replace(lk_graph *graph, int32_t number, const dim_list *list,
                         const lk_value *indices, lk_error *error) {
  const int32_t output = graph->nodes[number].outputs[0];
  int64_t dims[LK_MAX_RANK] = {0};
  lk_tensor whole = {lk_tensor_desc_make(LK_I64, 1, &list->count), dims};
  if (indices != NULL) {
    const lk_tensor_desc *desc = &indices->constant.desc;
    whole.desc = lk_tensor_desc_make(LK_I64, desc->rank, desc->dims);
  }
  const int64_t n = lk_elements(&whole.desc);
  for (int64_t i = 0; i < n; i++) {
    dims[i] = list->dims[indices == NULL ? i : place_of(list, indices, (size_t)i)];
  }
  LK_RETURN_NOT_OK(lk_value_copy_constant(graph, output, &whole, error));
  lk_graph_remove_node(graph, number);
  return LK_OK;
}

static bool are_known(const dim_list *list) {
  for (int64_t i = 0; i < list->count; i++) {
    if (list->dims[i] < 0) return false;
  }
  return true;
}

lk_status lk_pass_known_dims(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error) {
  for (int32_t n = 0; (size_t)n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    const lk_value *indices = NULL;
    dim_list list = {0};
    if (lk_node_is(node, "Gather") && lk_node_is_plain(node)) {
      const int32_t maker = graph->values[node->inputs[0]].producer;
      if (!read_shape(graph, env->shapes, maker, &list) || !takes_known(graph, node, &list)) {
        continue;
      }
      indices = &graph->values[node->inputs[1]];
    } else if (!read_shape(graph, env->shapes, n, &list) || !are_known(&list)) {
      continue;
    }
    LK_RETURN_NOT_OK(replace(graph, n, &list, indices, error));
    ++*out_changes;
  }
  return LK_OK;
}
