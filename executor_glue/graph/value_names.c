/* The index of value names while a graph is built. */
#include "executor_glue/graph/value_names.h"

#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/status.h"

lk_status lk_value_names_create(const lk_graph *graph, size_t n_names, lk_value_names *out,
                                lk_error *error) {
  size_t n_slots = 16;
  *out = (lk_value_names){0};
  while (n_slots / 2 < n_names) n_slots *= 2;
  int32_t *slots = lk_alloc(graph->allocator, n_slots * sizeof *slots);
  if (slots == NULL) return lk_fail_memory(error, "the index of names", n_slots * sizeof *slots);
  for (size_t i = 0; i < n_slots; i++) slots[i] = LK_NO_VALUE;
  *out = (lk_value_names){graph, slots, n_slots};
  return LK_OK;
}

void lk_value_names_destroy(lk_value_names *names) {
  if (names->slots != NULL) lk_free(names->graph->allocator, names->slots);
  *names = (lk_value_names){0};
}

/* The slot of a name, or the free one where it belongs. */
static size_t probe(const lk_value_names *names, const char *name) {
  /* Seeded with an address, which a file cannot know: names that collide cannot be prepared. */
  uint64_t hash = XXH3_64bits_withSeed(name, strlen(name), (uint64_t)(uintptr_t)names->slots);
  size_t mask = names->n_slots - 1, slot = (size_t)hash & mask;
  while (names->slots[slot] != LK_NO_VALUE &&
         strcmp(names->graph->values[names->slots[slot]].name, name) != 0) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

int32_t lk_value_names_find(const lk_value_names *names, const char *name) {
  return names->slots[probe(names, name)];
}

lk_status lk_value_names_add(lk_value_names *names, lk_graph *graph, const char *name,
                             int32_t *out_value, lk_error *error) {
  size_t slot = probe(names, name);
  LK_RETURN_NOT_OK(lk_graph_add_value(graph, name, strlen(name), out_value, error));
  names->slots[slot] = *out_value;
  return LK_OK;
}
