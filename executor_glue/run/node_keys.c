#include "executor_glue/run/node_keys.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"

enum {
  FIELDS = 1 + LK_MAX_RANK, /* of an input: its rank, and its dimensions, 0 behind the last */
  SIZES = 4,                /* that are remembered of a node */
  RANK = -1                 /* as a dimension: the rank has changed */
};

/* A size of a node are the fields of its inputs, [n_inputs * FIELDS]. */
typedef struct node_record {
  int64_t *sizes[SIZES]; /* a ring: behind the newest the one before it */
  uint32_t newest, n_sizes, n_changes;
  lk_node_change changes[LK_NODE_CHANGES];
} node_record;

struct lk_node_keys {
  const lk_allocator *allocator;
  size_t n_nodes;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards what follows; nothing is allocated or freed under it */
  node_record of_node[]; /* [n_nodes] */
};

lk_status lk_node_keys_create(const lk_allocator *allocator, size_t n_nodes,
                              lk_node_keys **out_keys, lk_error *error) {
  const size_t bytes = sizeof **out_keys + n_nodes * sizeof(node_record);
  lk_node_keys *keys = lk_calloc(allocator, 1, bytes);
  *out_keys = keys;
  if (keys == NULL) return lk_fail_memory(error, "sizes of nodes", bytes);
  keys->allocator = allocator;
  keys->n_nodes = n_nodes;
  (void)pthread_mutex_init(&keys->mutex, NULL); /* cannot fail on glibc */
  keys->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &keys->mutex};
  lk_fork_enter(&keys->fork);
  return LK_OK;
}

void lk_node_keys_destroy(lk_node_keys *keys) {
  if (keys == NULL) return;
  for (size_t i = 0; i < keys->n_nodes; i++) {
    for (uint32_t j = 0; j < SIZES; j++) lk_free(keys->allocator, keys->of_node[i].sizes[j]);
  }
  lk_fork_leave(&keys->fork);
  pthread_mutex_destroy(&keys->mutex);
  lk_free(keys->allocator, keys);
}

/* A field of both that is not the same. Where the rank of an input differs, its dimensions are not
 * compared. Returns how many there are; `out`: NULL, or room for them all. */
static uint32_t compare(const int64_t *from, const int64_t *to, uint32_t n_inputs,
                        lk_node_change *out) {
  uint32_t count = 0;
  for (uint32_t input = 0; input < n_inputs; input++) {
    const int64_t *a = &from[input * FIELDS], *b = &to[input * FIELDS];
    const uint32_t fields = a[0] != b[0] ? 1 : 1 + (uint32_t)a[0];
    for (uint32_t i = 0; i < fields; i++) {
      if (a[i] == b[i]) continue;
      if (out != NULL) {
        out[count] = (lk_node_change){
            .input = input, .dim = (int32_t)i + RANK, .from = a[i], .to = b[i], .binds = 1};
      }
      count++;
    }
  }
  return count;
}

/* Of those that are remembered; among equals the newest. NULL: there is none. */
static const int64_t *find_nearest(const node_record *record, const int64_t *size,
                                   uint32_t n_inputs) {
  const int64_t *nearest = NULL;
  uint32_t fewest = UINT32_MAX;
  for (uint32_t i = 0; i < record->n_sizes; i++) {
    const int64_t *each = record->sizes[(record->newest + i) % SIZES];
    const uint32_t count = compare(each, size, n_inputs, NULL);
    if (count >= fewest) continue;
    fewest = count;
    nearest = each;
  }
  return nearest;
}

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

/* Counts what differs from the sizes before. False: the size is one of them, because the elements
 * of an input differ, or it was evicted. */
static bool count_changes(node_record *record, const int64_t *size, uint32_t n_inputs,
                          uint64_t ns) {
  lk_node_change changes[LK_NODE_KEY_INPUTS * FIELDS];
  const int64_t *nearest = find_nearest(record, size, n_inputs);
  const uint32_t count = nearest != NULL ? compare(nearest, size, n_inputs, changes) : 0;
  for (uint32_t i = 0; i < count; i++) {
    changes[i].bind_ns = ns / count;
    add_change(record, &changes[i]);
  }
  return nearest == NULL || count > 0;
}

/* Makes room for a newest size; returns the one that it takes the place of, or NULL. */
static int64_t *turn(node_record *record) {
  record->newest = (record->newest + SIZES - 1) % SIZES;
  if (record->n_sizes < SIZES) record->n_sizes++;
  return record->sizes[record->newest];
}

static void fill(const lk_tensor_desc *const *inputs, uint32_t n_inputs, int64_t *fields) {
  memset(fields, 0, n_inputs * FIELDS * sizeof *fields);
  for (uint32_t i = 0; i < n_inputs; i++, fields += FIELDS) {
    if (inputs[i] == NULL) continue;
    fields[0] = inputs[i]->rank;
    memcpy(fields + 1, inputs[i]->dims, inputs[i]->rank * sizeof inputs[i]->dims[0]);
  }
}

lk_status lk_node_keys_note(lk_node_keys *keys, size_t node, const lk_tensor_desc *const *inputs,
                            uint32_t n_inputs, uint64_t ns, lk_error *error) {
  node_record *record = &keys->of_node[node];
  int64_t size[LK_NODE_KEY_INPUTS * FIELDS];
  const size_t bytes = n_inputs * FIELDS * sizeof *size;
  if (n_inputs == 0) return LK_OK;
  fill(inputs, n_inputs, size);
  pthread_mutex_lock(&keys->mutex);
  const bool is_new = count_changes(record, size, n_inputs, ns), is_full = record->n_sizes == SIZES;
  if (is_new && is_full) memcpy(turn(record), size, bytes);
  pthread_mutex_unlock(&keys->mutex);
  if (!is_new || is_full) return LK_OK;
  int64_t *kept = lk_alloc(keys->allocator, bytes);
  if (kept == NULL) return lk_fail_memory(error, "a node's size", bytes);
  memcpy(kept, size, bytes);
  pthread_mutex_lock(&keys->mutex);
  int64_t *former = turn(record); /* there is one where others have been quicker */
  record->sizes[record->newest] = kept;
  pthread_mutex_unlock(&keys->mutex);
  lk_free(keys->allocator, former);
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
