/* The newest choice of each work of each node, in a table by names and number and in the order in
 * which they came. */
#define XXH_INLINE_ALL
#include "ops/engine/choices.h"

#include <pthread.h>
#include <string.h>
#include <xxhash.h>

#include "base/status.h"
#include "base/text.h"
#include "keys/cache/table.h"
#include "ops/engine/guard.h"

enum { MOST_ROWS = 4096 };

typedef struct row {
  lk_table_node node; /* first */
  lk_engine_choice_info info;
  bool had_reference;
  lk_key key;              /* of `names`, which the table compares */
  alignas(8) char names[]; /* of the node and of the kind, each with its 0; then info.index */
} row;

struct lk_choices {
  const lk_allocator *allocator;
  pthread_mutex_t mutex; /* guards what follows */
  lk_table table;
  row **rows; /* in order */
  size_t count, capacity;
};

lk_status lk_choices_create(const lk_allocator *allocator, lk_choices **out_choices,
                            lk_error *error) {
  lk_choices *choices = lk_calloc(allocator, 1, sizeof *choices);
  *out_choices = choices;
  if (choices == NULL) return lk_fail_memory(error, "choices of an engine", sizeof *choices);
  choices->allocator = allocator;
  (void)pthread_mutex_init(&choices->mutex, NULL);
  lk_table_init(&choices->table, allocator);
  return LK_OK;
}

void lk_choices_destroy(lk_choices *choices) {
  if (choices == NULL) return;
  for (size_t i = 0; i < choices->count; i++) {
    lk_table_remove(&choices->table, &choices->rows[i]->node);
    lk_free(choices->allocator, choices->rows[i]);
  }
  lk_free(choices->allocator, choices->rows);
  (void)pthread_mutex_destroy(&choices->mutex);
  lk_free(choices->allocator, choices);
}

/* NULL: no memory. */
static row *make_row(const lk_allocator *allocator, const char *node, const char *work,
                     const lk_engine_choice_info *info) {
  const size_t node_bytes = strlen(node) + 1, work_bytes = strlen(work) + 1;
  const size_t bytes = node_bytes + work_bytes + sizeof info->index;
  row *made = lk_alloc(allocator, sizeof *made + bytes);
  if (made == NULL) return NULL;
  *made = (row){.info = *info};
  memcpy(made->names, node, node_bytes);
  memcpy(made->names + node_bytes, work, work_bytes);
  memcpy(made->names + node_bytes + work_bytes, &info->index, sizeof info->index);
  made->key = (lk_key){.hash = XXH3_64bits(made->names, bytes),
                       .size = (uint32_t)bytes,
                       .bytes = (const uint8_t *)made->names};
  return made;
}

/* With the lock held. False: no memory, or there are too many. */
static bool add(lk_choices *choices, row *made) {
  if (choices->count == MOST_ROWS ||
      !LK_GROW(choices->allocator, choices->rows, choices->count, choices->capacity) ||
      !lk_table_insert(&choices->table, &made->key, &made->node)) {
    return false;
  }
  choices->rows[choices->count++] = made;
  return true;
}

bool lk_choices_note(lk_choices *choices, const char *node, const char *work, const char *engine,
                     const char *reason, const lk_engine_choice_info *numbers, bool is_reference) {
  lk_engine_choice_info info = *numbers;
  info.struct_size = sizeof info;
  lk_text_put(info.node, sizeof info.node, node);
  lk_text_put(info.work, sizeof info.work, work);
  lk_text_put(info.engine, sizeof info.engine, engine);
  lk_text_put(info.reason, sizeof info.reason, reason);
  row *made =
      make_row(choices->allocator, node != NULL ? node : "", work != NULL ? work : "", &info);
  if (made == NULL) return false;
  lk_guard_lock(&choices->mutex);
  row *found = (row *)lk_table_find(&choices->table, &made->key);
  if (found != NULL) found->info = info;
  if (found == NULL && add(choices, made)) {
    found = made;
    made = NULL;
  }
  const bool is_first = is_reference && found != NULL && !found->had_reference;
  if (is_first) found->had_reference = true;
  lk_guard_unlock(&choices->mutex);
  lk_free(choices->allocator, made);
  return is_first;
}

bool lk_choices_get(lk_choices *choices, uint32_t index, lk_engine_choice_info *out_info) {
  lk_guard_lock(&choices->mutex);
  const bool is_there = index < choices->count;
  if (is_there) *out_info = choices->rows[index]->info;
  lk_guard_unlock(&choices->mutex);
  return is_there;
}
