/* Groups of nodes that can each become one. */
#pragma once

#include "executor_glue/graph/graph.h"

static inline bool lk_ort_is_shape_type(uint32_t dtype) {
  return dtype < 32 && (LK_TYPES_OF_SHAPES >> dtype & 1) != 0;
}

/* What the operators say of a node. */
typedef struct lk_ort_support {
  const char *reason;    /* why it is left; NULL: it may be claimed */
  uint64_t shape_inputs; /* bit i: shapes depend on the value of input i */
  bool works;            /* it does arithmetic on data that is worth claiming; others come along */
  bool is_sooner;        /* ONNX Runtime computes it sooner: it does not work, but may come along */
  bool shape_only;       /* it reads the shape of its input, never an element */
  bool is_light;         /* it passes once over its data: what a border costs is not made good */
} lk_ort_support;

typedef struct lk_ort_partition_rules {
  bool takes_lone; /* groups in which too little works to make good what their borders cost, too */
  bool is_body;    /* of a node that is left: the ends of the graph are borders as well */
} lk_ort_partition_rules;

/* Sets `out_groups` [n_nodes] to the group of each node, 0 .. *out_count - 1, or -1: not claimed.
 * `graph` is linked: its nodes are in topological order, as `support` [n_nodes].
 *
 * Each group is convex: no path leaves it and comes back. All supported nodes behind the same
 * number of crossings from claimed to unclaimed nodes are one group, wherever they lie, so that no
 * two groups could be one. A group also ends where a shape depends on a value that claimed nodes
 * compute from data: the next group gets it as an input, by value. Parts of a group that are
 * connected to no node that works are left out, and count as unclaimed; unless `takes_lone`, so are
 * groups with borders in which one light node works and no other. */
lk_status lk_ort_partition_make(const lk_graph *graph, const lk_ort_support *support,
                                lk_ort_partition_rules rules, int32_t *out_groups,
                                size_t *out_count, lk_error *error);
