/* The index of value names while a graph is built. */
#include "executor_glue/graph/value_names.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/status.h"

enum { LEAST_SLOTS = 16 };

static lk_status make_slots(const lk_allocator *allocator, size_t n_names, lk_value_names *out,
                            lk_error *error) {
  size_t n_slots = LEAST_SLOTS;
  *out = (lk_value_names){0};
  while (n_slots / 2 < n_names) n_slots *= 2;
  lk_value_name *slots = lk_calloc(allocator, n_slots, sizeof *slots);
  if (slots == NULL) return lk_fail_memory(error, "the index of names", n_slots * sizeof *slots);
  *out = (lk_value_names){.allocator = allocator, .slots = slots, .n_slots = n_slots};
  return LK_OK;
}

lk_status lk_value_names_create(const lk_graph *graph, size_t n_names, lk_value_names *out,
                                lk_error *error) {
  return make_slots(graph->allocator, n_names, out, error);
}

void lk_value_names_destroy(lk_value_names *names) {
  if (names->slots != NULL) lk_free(names->allocator, names->slots);
  *names = (lk_value_names){0};
}

/* The slot of a name, or the free one where it belongs. */
static lk_value_name *probe(const lk_value_names *names, const char *name) {
  /* Seeded with an address, which a file cannot know: names that collide cannot be prepared. */
  const uint64_t hash = XXH3_64bits_withSeed(name, strlen(name), (uint64_t)(uintptr_t)names->slots);
  const size_t mask = names->n_slots - 1;
  size_t slot = (size_t)hash & mask;
  while (names->slots[slot].name != NULL && strcmp(names->slots[slot].name, name) != 0) {
    slot = (slot + 1) & mask;
  }
  return &names->slots[slot];
}

int32_t lk_value_names_find(const lk_value_names *names, const char *name) {
  const lk_value_name *slot = probe(names, name);
  return slot->name != NULL ? slot->value : LK_NO_VALUE;
}

static lk_status make_room(lk_value_names *names, lk_error *error) {
  if (names->n_names < names->n_slots / 2) return LK_OK;
  lk_value_names larger;
  LK_RETURN_NOT_OK(make_slots(names->allocator, names->n_slots, &larger, error));
  for (size_t i = 0; i < names->n_slots; i++) {
    if (names->slots[i].name != NULL) *probe(&larger, names->slots[i].name) = names->slots[i];
  }
  larger.n_names = names->n_names;
  larger.n_tried = names->n_tried;
  lk_value_names_destroy(names);
  *names = larger;
  return LK_OK;
}

lk_status lk_value_names_put(lk_value_names *names, const char *name, int32_t value,
                             lk_error *error) {
  LK_RETURN_NOT_OK(make_room(names, error));
  *probe(names, name) = (lk_value_name){name, value};
  names->n_names++;
  return LK_OK;
}

lk_status lk_value_names_add(lk_value_names *names, lk_graph *graph, const char *name,
                             int32_t *out_value, lk_error *error) {
  LK_RETURN_NOT_OK(make_room(names, error));
  LK_RETURN_NOT_OK(lk_graph_add_value(graph, name, strlen(name), out_value, error));
  return lk_value_names_put(names, graph->values[*out_value].name, *out_value, error);
}

lk_status lk_value_names_number(lk_value_names *names, const char *name, char **out_numbered,
                                lk_error *error) {
  const size_t bytes = strlen(name) + sizeof "_" + 20;
  *out_numbered = NULL;
  if (lk_value_names_find(names, name) == LK_NO_VALUE) return LK_OK;
  char *numbered = lk_alloc(names->allocator, bytes);
  if (numbered == NULL) return lk_fail_memory(error, "the name of a value", bytes);
  do {
    (void)snprintf(numbered, bytes, "%s_%zu", name, ++names->n_tried + 1);
  } while (lk_value_names_find(names, numbered) != LK_NO_VALUE);
  *out_numbered = numbered;
  return LK_OK;
}

lk_status lk_value_names_add_free(lk_value_names *names, lk_graph *graph, const char *name,
                                  int32_t *out_value, lk_error *error) {
  char *numbered = NULL;
  LK_RETURN_NOT_OK(lk_value_names_number(names, name, &numbered, error));
  const lk_status status =
      lk_value_names_add(names, graph, numbered != NULL ? numbered : name, out_value, error);
  lk_free(names->allocator, numbered);
  return status;
}
