#include "executor_glue/run/node_keys.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"

enum {
  FIELDS = 1 + LK_MAX_RANK, /* of a value: its rank and 1, and its dimensions; all 0: not there */
  SIZES = 4,                /* that are remembered */
  RANK = -1                 /* as a dimension: the rank has changed */
};

typedef struct node_record {
  uint32_t n_changes;
  lk_node_change changes[LK_NODE_CHANGES];
} node_record;

/* A size are the fields of all values that are not constant, in one piece: a build reads those
 * before it when the model has driven them out of the cache. */
struct lk_node_keys {
  const lk_allocator *allocator;
  const lk_graph *graph;
  int32_t *slots; /* [n_values]: where the value's fields are; -1: it is constant */
  size_t n_slots;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards what follows; nothing is allocated or freed under it */
  int64_t *sizes[SIZES]; /* [n_slots * FIELDS], a ring: behind the newest the one before it */
  uint32_t newest, n_sizes;
  node_record of_node[]; /* [n_nodes] */
};

static lk_status find_slots(lk_node_keys *keys, lk_error *error) {
  const lk_graph *graph = keys->graph;
  keys->slots = lk_alloc(keys->allocator, graph->n_values * sizeof *keys->slots);
  if (keys->slots == NULL) {
    return lk_fail_memory(error, "sizes of nodes", graph->n_values * sizeof *keys->slots);
  }
  for (size_t i = 0; i < graph->n_values; i++) {
    const bool is_constant = graph->values[i].constant_kind != LK_CONSTANT_NONE;
    keys->slots[i] = is_constant ? -1 : (int32_t)keys->n_slots++;
  }
  return LK_OK;
}

lk_status lk_node_keys_create(const lk_allocator *allocator, const lk_graph *graph,
                              lk_node_keys **out_keys, lk_error *error) {
  lk_status status = LK_OK;
  const size_t bytes = sizeof **out_keys + graph->n_nodes * sizeof(node_record);
  lk_node_keys *keys = lk_calloc(allocator, 1, bytes);
  *out_keys = NULL;
  if (keys == NULL) {
    status = lk_fail_memory(error, "sizes of nodes", bytes);
    goto cleanup;
  }
  keys->allocator = allocator;
  keys->graph = graph;
  (void)pthread_mutex_init(&keys->mutex, NULL); /* cannot fail on glibc */
  keys->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &keys->mutex};
  lk_fork_enter(&keys->fork);
  LK_TRY(find_slots(keys, error));
  *out_keys = keys;
  keys = NULL;
cleanup:
  lk_node_keys_destroy(keys);
  return status;
}

void lk_node_keys_destroy(lk_node_keys *keys) {
  if (keys == NULL) return;
  for (uint32_t i = 0; i < SIZES; i++) lk_free(keys->allocator, keys->sizes[i]);
  lk_fork_leave(&keys->fork);
  pthread_mutex_destroy(&keys->mutex);
  lk_free(keys->allocator, keys->slots);
  lk_free(keys->allocator, keys);
}

/* ---- sizes ---- */

static void fill(const lk_node_keys *keys, const lk_tensor_desc *const *shapes, int64_t *size) {
  memset(size, 0, keys->n_slots * FIELDS * sizeof *size);
  for (size_t i = 0; i < keys->graph->n_values; i++) {
    if (shapes[i] == NULL || keys->slots[i] < 0) continue;
    int64_t *fields = &size[keys->slots[i] * FIELDS];
    fields[0] = 1 + (int64_t)shapes[i]->rank;
    memcpy(fields + 1, shapes[i]->dims, shapes[i]->rank * sizeof shapes[i]->dims[0]);
  }
}

/* Of those that are remembered the one with the fewest other fields, and among equals the newest.
 * NULL: there is none. */
static const int64_t *find_nearest(const lk_node_keys *keys, const int64_t *size,
                                   size_t *out_differ) {
  const int64_t *nearest = NULL;
  *out_differ = SIZE_MAX;
  for (uint32_t i = 0; i < keys->n_sizes; i++) {
    const int64_t *each = keys->sizes[(keys->newest + i) % SIZES];
    size_t differ = 0;
    for (size_t j = 0; j < keys->n_slots * FIELDS; j++) differ += each[j] != size[j];
    if (differ >= *out_differ) continue;
    *out_differ = differ;
    nearest = each;
  }
  return nearest;
}

/* Makes room for a newest size; returns the one that it takes the place of, or NULL. */
static int64_t *turn(lk_node_keys *keys, int64_t *size) {
  keys->newest = (keys->newest + SIZES - 1) % SIZES;
  if (keys->n_sizes < SIZES) keys->n_sizes++;
  int64_t *former = keys->sizes[keys->newest];
  keys->sizes[keys->newest] = size;
  return former;
}

/* ---- changes ---- */

/* Where there is no room, the one that has cost the least goes. */
static void add_change(node_record *record, const lk_node_change *change) {
  uint32_t at = 0, least = 0;
  while (at < record->n_changes &&
         (record->changes[at].input != change->input || record->changes[at].dim != change->dim)) {
    if (record->changes[at].bind_ns < record->changes[least].bind_ns) least = at;
    at++;
  }
  if (at == LK_NODE_CHANGES) {
    if (record->changes[least].bind_ns < change->bind_ns) record->changes[least] = *change;
    return;
  }
  lk_node_change *mine = &record->changes[at];
  const lk_node_change before = at < record->n_changes ? *mine : (lk_node_change){0};
  *mine = *change;
  mine->binds += before.binds;
  mine->bind_ns += before.bind_ns;
  if (at == record->n_changes) record->n_changes++;
}

/* The fields of an input that are not the same: how many. `record`: NULL, or what they are added
 * to, with `ns` each. Where the rank differs, dimensions are not compared; where the value was not
 * there, nothing is. */
static uint32_t compare(const int64_t *from, const int64_t *to, uint32_t input, uint64_t ns,
                        node_record *record) {
  uint32_t count = 0;
  if (from[0] == 0 || to[0] == 0) return 0;
  const int64_t first = from[0] != to[0] ? 0 : 1, fields = from[0] != to[0] ? 1 : to[0];
  for (int64_t i = first; i < fields; i++) {
    if (from[i] == to[i]) continue;
    count++;
    if (record == NULL) continue;
    const int64_t less = i == 0 ? 1 : 0; /* a rank has one more */
    add_change(record, &(lk_node_change){.input = input,
                                         .dim = (int32_t)i + RANK,
                                         .from = from[i] - less,
                                         .to = to[i] - less,
                                         .binds = 1,
                                         .bind_ns = ns});
  }
  return count;
}

static uint32_t compare_inputs(const lk_node_keys *keys, const lk_node *node, const int64_t *from,
                               const int64_t *to, uint64_t ns, node_record *record) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (node->inputs[i] == LK_NO_VALUE || keys->slots[node->inputs[i]] < 0) continue;
    const size_t at = (size_t)keys->slots[node->inputs[i]] * FIELDS;
    count += compare(from + at, to + at, i, ns, record);
  }
  return count;
}

/* With the lock. What has changed has its part of the time each. */
static void count_changes(lk_node_keys *keys, const int64_t *from, const int64_t *to,
                          const uint64_t *bind_ns) {
  for (size_t i = 0; i < keys->graph->n_nodes; i++) {
    const lk_node *node = &keys->graph->nodes[i];
    if (bind_ns[i] == 0) continue;
    const uint32_t count = compare_inputs(keys, node, from, to, 0, NULL);
    if (count > 0) {
      (void)compare_inputs(keys, node, from, to, bind_ns[i] / count, &keys->of_node[i]);
    }
  }
}

lk_status lk_node_keys_note(lk_node_keys *keys, const lk_tensor_desc *const *shapes,
                            const uint64_t *bind_ns, lk_error *error) {
  const size_t bytes = keys->n_slots * FIELDS * sizeof(int64_t);
  size_t differ = 0;
  int64_t *size = lk_alloc(keys->allocator, bytes);
  if (size == NULL) return lk_fail_memory(error, "a size of nodes", bytes);
  fill(keys, shapes, size);
  pthread_mutex_lock(&keys->mutex);
  const int64_t *nearest = find_nearest(keys, size, &differ);
  if (nearest != NULL && differ > 0) count_changes(keys, nearest, size, bind_ns);
  /* without a difference: the elements of an input differ, or the run plan was evicted */
  int64_t *spare = differ > 0 ? turn(keys, size) : size;
  pthread_mutex_unlock(&keys->mutex);
  lk_free(keys->allocator, spare);
  return LK_OK;
}

void lk_node_keys_get(lk_node_keys *keys, size_t node, lk_node_stats *stats) {
  const node_record *record = &keys->of_node[node];
  pthread_mutex_lock(&keys->mutex);
  stats->n_changes = record->n_changes;
  memcpy(stats->changes, record->changes, sizeof stats->changes);
  pthread_mutex_unlock(&keys->mutex);
  for (uint32_t i = 1; i < stats->n_changes; i++) { /* an insertion sort of four */
    const lk_node_change change = stats->changes[i];
    uint32_t at = i;
    for (; at > 0 && stats->changes[at - 1].bind_ns < change.bind_ns; at--) {
      stats->changes[at] = stats->changes[at - 1];
    }
    stats->changes[at] = change;
  }
}
