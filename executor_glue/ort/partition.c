/* Groups by depth: how often the longest way to a node crosses from claimed to unclaimed nodes.
 *
 * Along every edge the depth does not fall, and it rises where a claimed node feeds an unclaimed
 * one. So no way from a group through an unclaimed node leads back into it: groups are convex, and
 * no two of them feed each other in a circle.
 */
#include "executor_glue/ort/partition.h"

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/ort/parts.h"

typedef struct place {
  uint32_t depth;
  uint32_t latest; /* depth that the users of the node allow */
  bool claimed;
  bool working; /* of a part's root: some node of it works */
} place;

/* What all nodes of one depth do that are claimed. */
typedef struct level {
  bool borders; /* one of them is beside one that is left, or all are in a body */
  size_t work;  /* of those that work: 1 for a light one, ENOUGH for another */
} level;

/* What makes a border good. */
enum { ENOUGH = 2 };

typedef struct partition {
  const lk_graph *graph;
  const lk_ort_support *support; /* [n_nodes] */
  place *at;                     /* [n_nodes] */
  int32_t *parents;              /* [n_nodes], of connected parts (parts.h) */
  level *levels;                 /* [n_nodes + 1], by depth */
  lk_ort_partition_rules rules;
  bool *known; /* [n_values]: can be had before a group runs, if shapes depend on it */
} partition;

static const lk_node *node_at(const partition *p, size_t n) {
  return &p->graph->nodes[n];
}

static int32_t producer_of(const partition *p, size_t n, uint32_t i) {
  return lk_value_producer_index(p->graph, node_at(p, n)->inputs[i]);
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
    if (!p->at[n].claimed) continue;
    for (uint32_t i = 0; i < node->n_inputs && !p->support[n].shape_only; i++) {
      if (node->inputs[i] != LK_NO_VALUE && !p->known[node->inputs[i]]) known = false;
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      if (node->outputs[i] != LK_NO_VALUE) p->known[node->outputs[i]] = known;
    }
  }
}

/* The claimed node `n` must be in a later group than the claimed one that makes its input `i`. */
static bool must_cut(const partition *p, size_t n, uint32_t i) {
  return i < 64 && (p->support[n].shape_inputs >> i & 1) != 0 &&
         !p->known[node_at(p, n)->inputs[i]];
}

/* ---- depth ---- */

/* What node `n` has at least, because of its input `i`. */
static uint32_t least_depth(const partition *p, size_t n, uint32_t i) {
  const int32_t producer = producer_of(p, n, i);
  if (producer == LK_NO_NODE) return 0;
  const bool leaves = p->at[producer].claimed && (!p->at[n].claimed || must_cut(p, n, i));
  return p->at[producer].depth + (leaves ? 1 : 0);
}

static void set_depths(const partition *p) {
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    p->at[n].depth = 0;
    for (uint32_t i = 0; i < node_at(p, n)->n_inputs; i++) {
      const uint32_t least = least_depth(p, n, i);
      if (least > p->at[n].depth) p->at[n].depth = least;
    }
  }
}

/* A claimed node whose users are all claimed and in later groups joins the first of these: fewer
 * values cross, and nodes that would be a group of their own are none. */
static void sink(const partition *p) {
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    const lk_node *node = node_at(p, n);
    p->at[n].latest = UINT32_MAX;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      if (node->outputs[i] != LK_NO_VALUE && p->graph->values[node->outputs[i]].is_output) {
        p->at[n].latest = p->at[n].depth;
      }
    }
  }
  for (size_t n = p->graph->n_nodes; n-- > 0;) {
    const lk_node *node = node_at(p, n);
    place *at = &p->at[n];
    if (at->claimed && at->latest != UINT32_MAX && at->latest > at->depth) at->depth = at->latest;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      const int32_t producer = producer_of(p, n, i);
      if (producer == LK_NO_NODE) continue;
      place *from = &p->at[producer];
      uint32_t allowed = at->depth;
      if (!at->claimed) allowed = from->depth; /* as it is: do not make others wait longer */
      if (at->claimed && must_cut(p, n, i)) allowed = at->depth - 1;
      if (allowed < from->latest) from->latest = allowed;
    }
  }
}

/* ---- connected parts ---- */

static place *root_of(const partition *p, size_t n) {
  return &p->at[lk_ort_part_root(p->parents, (int32_t)n)];
}

static bool same_group(const partition *p, size_t a, size_t b) {
  return p->at[a].claimed && p->at[b].claimed && p->at[a].depth == p->at[b].depth;
}

static void find_parts(const partition *p) {
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    p->parents[n] = (int32_t)n;
    p->at[n].working = false;
  }
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    for (uint32_t i = 0; i < node_at(p, n)->n_inputs; i++) {
      const int32_t producer = producer_of(p, n, i);
      if (producer == LK_NO_NODE || !same_group(p, n, (size_t)producer)) continue;
      lk_ort_part_join(p->parents, (int32_t)n, producer);
    }
  }
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    if (p->at[n].claimed && p->support[n].works) root_of(p, n)->working = true;
  }
}

static void find_levels(const partition *p) {
  for (size_t d = 0; d <= p->graph->n_nodes; d++)
    p->levels[d] = (level){.borders = p->rules.is_body};
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    const place *to = &p->at[n];
    if (to->claimed && p->support[n].works) {
      p->levels[to->depth].work += p->support[n].is_light ? 1 : ENOUGH;
    }
    for (uint32_t i = 0; i < node_at(p, n)->n_inputs; i++) {
      const int32_t producer = producer_of(p, n, i);
      if (producer == LK_NO_NODE || p->at[producer].claimed == to->claimed) continue;
      p->levels[to->claimed ? to->depth : p->at[producer].depth].borders = true;
    }
  }
}

static bool is_worth_it(const partition *p, size_t n) {
  const level *of = &p->levels[p->at[n].depth];
  return root_of(p, n)->working && (!of->borders || of->work >= ENOUGH || p->rules.takes_lone);
}

/* Leaves the parts in which nothing works, and groups in which too little does. True: there were
 * some, and fewer values cross now. */
static bool leave_idle_parts(const partition *p) {
  bool left = false;
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    if (!p->at[n].claimed || is_worth_it(p, n)) continue;
    p->at[n].claimed = false;
    left = true;
  }
  return left;
}

/* Numbers the depths at which something is claimed, in their order. `numbers` [n_nodes + 1]. */
static size_t number_groups(const partition *p, int32_t *numbers, int32_t *out_groups) {
  size_t count = 0;
  for (size_t d = 0; d <= p->graph->n_nodes; d++) numbers[d] = -1;
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    if (p->at[n].claimed) numbers[p->at[n].depth] = 0;
  }
  for (size_t d = 0; d <= p->graph->n_nodes; d++) {
    if (numbers[d] == 0) numbers[d] = (int32_t)count++;
  }
  for (size_t n = 0; n < p->graph->n_nodes; n++) {
    out_groups[n] = p->at[n].claimed ? numbers[p->at[n].depth] : -1;
  }
  return count;
}

lk_status lk_ort_partition_make(const lk_graph *graph, const lk_ort_support *support,
                                lk_ort_partition_rules rules, int32_t *out_groups,
                                size_t *out_count, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = graph->allocator;
  const size_t n = graph->n_nodes;
  partition p = {.graph = graph, .support = support, .rules = rules};
  p.at = lk_calloc(allocator, n, sizeof *p.at);
  p.parents = lk_calloc(allocator, n, sizeof *p.parents);
  p.levels = lk_calloc(allocator, n + 1, sizeof *p.levels);
  p.known = lk_calloc(allocator, graph->n_values, sizeof *p.known);
  int32_t *numbers = lk_calloc(allocator, n + 1, sizeof *numbers);
  if (p.at == NULL || p.parents == NULL || p.levels == NULL || p.known == NULL || numbers == NULL) {
    LK_TRY(lk_fail_memory(error, "groups of nodes", n * sizeof *p.at));
  }
  for (size_t i = 0; i < n; i++) p.at[i].claimed = support[i].reason == NULL;
  do {
    find_known(&p);
    set_depths(&p);
    sink(&p);
    find_parts(&p);
    find_levels(&p);
  } while (leave_idle_parts(&p));
  *out_count = number_groups(&p, numbers, out_groups);
cleanup:
  lk_free(allocator, p.at);
  lk_free(allocator, p.parents);
  lk_free(allocator, p.levels);
  lk_free(allocator, p.known);
  lk_free(allocator, numbers);
  return status;
}
