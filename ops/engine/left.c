/* Why works were left. There are few reasons, and they come up when nodes are bound, so a list is
 * looked through; what is beyond its end is counted together. */
#include "ops/engine/left.h"

#include <pthread.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "ops/engine/guard.h"

enum { MOST_REASONS = 48 };

struct lk_left {
  const lk_allocator *allocator;
  pthread_mutex_t mutex;
  uint32_t count;
  lk_engine_left_info rows[MOST_REASONS];
};

lk_status lk_left_create(const lk_allocator *allocator, lk_left **out_left, lk_error *error) {
  lk_left *left = lk_calloc(allocator, 1, sizeof *left);
  *out_left = left;
  if (left == NULL) return lk_fail_memory(error, "reasons of an engine", sizeof *left);
  left->allocator = allocator;
  (void)pthread_mutex_init(&left->mutex, NULL);
  return LK_OK;
}

void lk_left_destroy(lk_left *left) {
  if (left == NULL) return;
  (void)pthread_mutex_destroy(&left->mutex);
  lk_free(left->allocator, left);
}

static lk_engine_left_info make_row(const char *work, bool is_part, const char *reason,
                                    const char *node) {
  lk_engine_left_info made = {.struct_size = sizeof made, .is_part = is_part};
  lk_text_put(made.work, sizeof made.work, work);
  lk_text_put(made.reason, sizeof made.reason, reason);
  lk_text_put(made.node, sizeof made.node, node);
  return made;
}

static lk_engine_left_info *find(lk_left *left, const lk_engine_left_info *wanted) {
  uint32_t i = 0;
  while (i < left->count && (strcmp(left->rows[i].work, wanted->work) != 0 ||
                             strcmp(left->rows[i].reason, wanted->reason) != 0 ||
                             left->rows[i].is_part != wanted->is_part)) {
    i++;
  }
  return i < left->count ? &left->rows[i] : NULL;
}

static lk_engine_left_info *add(lk_left *left, const lk_engine_left_info *wanted) {
  lk_engine_left_info *row =
      &left->rows[left->count < MOST_REASONS ? left->count : MOST_REASONS - 1];
  if (left->count < MOST_REASONS - 1) *row = *wanted;
  if (left->count == MOST_REASONS - 1)
    *row = make_row("others", false, "further reasons", wanted->node);
  if (left->count < MOST_REASONS) left->count++;
  return row;
}

void lk_left_note(lk_left *left, const char *work, bool is_part, const char *reason,
                  const char *node) {
  const lk_engine_left_info wanted = make_row(work, is_part, reason, node);
  lk_guard_lock(&left->mutex);
  lk_engine_left_info *row = find(left, &wanted);
  if (row == NULL) row = add(left, &wanted);
  row->works++;
  lk_guard_unlock(&left->mutex);
}

bool lk_left_get(lk_left *left, uint32_t index, lk_engine_left_info *out_info) {
  lk_guard_lock(&left->mutex);
  const bool is_there = index < left->count;
  if (is_there) *out_info = left->rows[index];
  lk_guard_unlock(&left->mutex);
  return is_there;
}
