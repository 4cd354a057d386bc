/* Groups by depth: how often the longest way to a node crosses from claimed to unclaimed nodes.
 *
 * Along every edge the depth does not fall, and it rises where a claimed node feeds an unclaimed
 * one. So no way from a group through an unclaimed node leads back into it: groups are convex, and
 * no two of them feed each other in a circle.
 */
#include "executor_glue/ort/partition.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct partition {
  const lk_ort_partition_input *input;
  const lk_graph *graph;
  bool *claimed;   /* [n_nodes] */
  bool *known;     /* [n_values]: can be had before a group runs, if shapes depend on it */
  uint32_t *depth; /* [n_nodes] */
  int32_t *parent; /* [n_nodes]: of connected parts (union-find) */
  bool *working;   /* [n_nodes]: of a part's root: some node of it works */
} partition;

static const lk_node *node_at(const partition *p, size_t n) {
  return &p->graph->nodes[n];
}

static int32_t producer_of(const partition *p, int32_t value) {
  return value == LK_NO_VALUE ? LK_NO_NODE : p->graph->values[value].producer;
}

/* ---- what shapes may depend on --------------------------------------------------------------- */

static void find_known(const partition *p) {
  for (size_t i = 0; i < p->graph->n_values; i++) {
    const lk_value *value = &p->graph->values[i];
    p->known[i] =
        value->constant_kind != LK_CONSTANT_NONE || lk_ort_is_shape_type(lk_value_dtype(value));
  }
  /* Of what claimed nodes make, only what is made of known values. */
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    const lk_node *node = node_at(p, n);
    bool known = true;
    if (!p->claimed[n]) continue;
    for (uint32_t i = 0; i < node->n_inputs && !p->input->shape_only[n]; i++) {
      if (node->inputs[i] != LK_NO_VALUE && !p->known[node->inputs[i]]) known = false;
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      if (node->outputs[i] != LK_NO_VALUE) p->known[node->outputs[i]] = known;
    }
  }
}

/* The claimed node `n` must be in a later group than the claimed one that makes its input `i`. */
static bool must_cut(const partition *p, size_t n, uint32_t i) {
  return i < 64 && (p->input->shape_inputs[n] >> i & 1) != 0 && !p->known[node_at(p, n)->inputs[i]];
}

/* ---- depth ---- */

/* What node `n` has at least, because of its input `i`. */
static uint32_t least_depth(const partition *p, size_t n, uint32_t i) {
  const int32_t producer = producer_of(p, node_at(p, n)->inputs[i]);
  if (producer == LK_NO_NODE) return 0;
  const bool leaves = p->claimed[producer] && (!p->claimed[n] || must_cut(p, n, i));
  return p->depth[producer] + (leaves ? 1 : 0);
}

static void set_depths(const partition *p) {
  memset(p->depth, 0, p->graph->n_nodes * sizeof *p->depth);
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    for (uint32_t i = 0; i < node_at(p, n)->n_inputs; i++) {
      const uint32_t least = least_depth(p, n, i);
      if (least > p->depth[n]) p->depth[n] = least;
    }
  }
}

/* A claimed node whose users are all claimed and in later groups joins the first of these: fewer
 * values cross, and nodes that would be a group of their own are none. `latest` [n_nodes] is what
 * the users of each node allow. */
static void sink(const partition *p, uint32_t *latest) {
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    const lk_node *node = node_at(p, n);
    latest[n] = UINT32_MAX;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      if (node->outputs[i] != LK_NO_VALUE && p->graph->values[node->outputs[i]].is_output) {
        latest[n] = p->depth[n];
      }
    }
  }
  for (size_t n = p->graph->n_nodes; n-- > 0;) {
    const lk_node *node = node_at(p, n);
    const bool claimed = p->claimed[n];
    if (claimed && latest[n] != UINT32_MAX && latest[n] > p->depth[n]) p->depth[n] = latest[n];
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      const int32_t producer = producer_of(p, node->inputs[i]);
      if (producer == LK_NO_NODE) continue;
      uint32_t allowed = p->depth[n];
      if (!claimed) allowed = p->depth[producer]; /* as it is: do not make others wait longer */
      if (claimed && must_cut(p, n, i)) allowed = p->depth[n] - 1;
      if (allowed < latest[producer]) latest[producer] = allowed;
    }
  }
}

/* ---- connected parts ---- */

static int32_t root_of(const partition *p, int32_t n) {
  while (p->parent[n] != n) {
    p->parent[n] = p->parent[p->parent[n]];
    n = p->parent[n];
  }
  return n;
}

static bool same_group(const partition *p, size_t a, size_t b) {
  return p->claimed[a] && p->claimed[b] && p->depth[a] == p->depth[b];
}

static void find_parts(const partition *p) {
  memset(p->working, 0, p->graph->n_nodes * sizeof *p->working);
  for (size_t n = 0; n < p->graph->n_nodes; n++) p->parent[n] = (int32_t)n;
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    for (uint32_t i = 0; i < node_at(p, n)->n_inputs; i++) {
      const int32_t producer = producer_of(p, node_at(p, n)->inputs[i]);
      if (producer == LK_NO_NODE || !same_group(p, n, (size_t)producer)) continue;
      p->parent[root_of(p, (int32_t)n)] = root_of(p, producer);
    }
  }
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    if (p->claimed[n] && p->input->works[n]) p->working[root_of(p, (int32_t)n)] = true;
  }
}

/* Leaves the parts in which nothing works. True: there were some, and fewer values cross now. */
static bool leave_idle_parts(const partition *p) {
  bool left = false;
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    if (!p->claimed[n] || p->working[root_of(p, (int32_t)n)]) continue;
    p->claimed[n] = false;
    left = true;
  }
  return left;
}

/* Numbers the depths at which something is claimed, in their order. `numbers` [n_nodes + 1]. */
static size_t number_groups(const partition *p, int32_t *numbers, int32_t *out_groups) {
  size_t count = 0;
  for (size_t d = 0; d <= p->graph->n_nodes; d++) numbers[d] = -1;
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    if (p->claimed[n]) numbers[p->depth[n]] = 0;
  }
  for (size_t d = 0; d <= p->graph->n_nodes; d++) {
    if (numbers[d] == 0) numbers[d] = (int32_t)count++;
  }
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    out_groups[n] = p->claimed[n] ? numbers[p->depth[n]] : -1;
  }
  return count;
}

lk_status lk_ort_partition_make(const lk_ort_partition_input *input, int32_t *out_groups,
                                size_t *out_count, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = input->graph->allocator;
  const size_t n = input->graph->n_nodes;
  partition p = {.input = input, .graph = input->graph};
  p.claimed = lk_calloc(allocator, n, sizeof *p.claimed);
  p.known = lk_calloc(allocator, input->graph->n_values, sizeof *p.known);
  p.depth = lk_calloc(allocator, n, sizeof *p.depth);
  p.parent = lk_calloc(allocator, n, sizeof *p.parent);
  p.working = lk_calloc(allocator, n, sizeof *p.working);
  uint32_t *latest = lk_calloc(allocator, n, sizeof *latest);
  int32_t *numbers = lk_calloc(allocator, n + 1, sizeof *numbers);
  if (p.claimed == NULL || p.known == NULL || p.depth == NULL || p.parent == NULL ||
      p.working == NULL || latest == NULL || numbers == NULL) {
    LK_TRY(lk_fail_memory(error, "groups of nodes", n * sizeof *p.depth));
  }
  memcpy(p.claimed, input->supported, n * sizeof *p.claimed);
  do {
    find_known(&p);
    set_depths(&p);
    sink(&p, latest);
    find_parts(&p);
  } while (leave_idle_parts(&p));
  *out_count = number_groups(&p, numbers, out_groups);
cleanup:
  lk_free(allocator, p.claimed);
  lk_free(allocator, p.known);
  lk_free(allocator, p.depth);
  lk_free(allocator, p.parent);
  lk_free(allocator, p.working);
  lk_free(allocator, latest);
  lk_free(allocator, numbers);
  return status;
}
