#include "executor_glue/run/node_keys.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"

enum {
  FIELDS = 1 + LK_MAX_RANK, /* of an input: its rank, and its dimensions, 0 behind the last */
  SIZES = 4,                /* that are remembered of a node */
  RANK = -1                 /* as a dimension: the rank has changed */
};

/* A size of a node: the fields of its inputs, one input after the other. */
typedef struct node_key {
  struct node_key *next; /* the one before it */
  int64_t fields[];      /* [n_inputs * FIELDS] */
} node_key;

typedef struct node_record {
  node_key *newest;
  uint32_t n_sizes, n_changes;
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
    for (node_key *key = keys->of_node[i].newest, *next; key != NULL; key = next) {
      next = key->next;
      lk_free(keys->allocator, key);
    }
  }
  lk_fork_leave(&keys->fork);
  pthread_mutex_destroy(&keys->mutex);
  lk_free(keys->allocator, keys);
}

/* A field of both that is not the same. Where the rank of an input differs, its dimensions are not
 * compared. Returns how many there are; `out`: NULL, or room for them all. */
static uint32_t compare(const node_key *from, const node_key *to, uint32_t n_inputs,
                        lk_node_change *out) {
  uint32_t count = 0;
  for (uint32_t input = 0; input < n_inputs; input++) {
    const int64_t *a = &from->fields[input * FIELDS], *b = &to->fields[input * FIELDS];
    const uint32_t fields = a[0] != b[0] ? 1 : FIELDS;
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

/* Of those that are remembered; among equals the newest. */
static const node_key *find_nearest(const node_record *record, const node_key *key,
                                    uint32_t n_inputs) {
  const node_key *nearest = NULL;
  uint32_t fewest = UINT32_MAX;
  for (const node_key *each = record->newest; each != NULL; each = each->next) {
    const uint32_t count = compare(each, key, n_inputs, NULL);
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

/* With the mutex. Returns what is to be freed: the oldest size, or the new one if it is known. */
static node_key *put(node_record *record, node_key *key, uint32_t n_inputs, uint64_t ns) {
  lk_node_change changes[LK_NODE_KEY_INPUTS * FIELDS];
  const node_key *nearest = find_nearest(record, key, n_inputs);
  const uint32_t count = nearest != NULL ? compare(nearest, key, n_inputs, changes) : 0;
  if (nearest != NULL && count == 0) return key; /* the elements of an input, or evicted before */
  for (uint32_t i = 0; i < count; i++) {
    changes[i].bind_ns = ns / count;
    add_change(record, &changes[i]);
  }
  key->next = record->newest;
  record->newest = key;
  if (record->n_sizes < SIZES) {
    record->n_sizes++;
    return NULL;
  }
  node_key *last = key;
  while (last->next->next != NULL) last = last->next;
  node_key *oldest = last->next;
  last->next = NULL;
  return oldest;
}

lk_status lk_node_keys_note(lk_node_keys *keys, size_t node, const lk_tensor_desc *const *inputs,
                            uint32_t n_inputs, uint64_t ns, lk_error *error) {
  const size_t bytes = sizeof(node_key) + n_inputs * FIELDS * sizeof(int64_t);
  node_key *key = lk_calloc(keys->allocator, 1, bytes);
  if (key == NULL) return lk_fail_memory(error, "a node's size", bytes);
  for (uint32_t i = 0; i < n_inputs; i++) {
    if (inputs[i] == NULL) continue;
    key->fields[i * FIELDS] = inputs[i]->rank;
    memcpy(&key->fields[i * FIELDS + 1], inputs[i]->dims,
           inputs[i]->rank * sizeof inputs[i]->dims[0]);
  }
  pthread_mutex_lock(&keys->mutex);
  key = put(&keys->of_node[node], key, n_inputs, ns);
  pthread_mutex_unlock(&keys->mutex);
  lk_free(keys->allocator, key);
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
