/* The weights store: its life, its capacity, and forks. */
#include "base/alloc.h"
#include "base/list.h"
#include "base/status.h"
#include "keys/weights/copy.h"
#include "keys/weights/late.h"

enum { FIRST_BUCKETS = 64 };

static lk_status fail_create(const lk_allocator *allocator, lk_weights *weights, lk_error *error) {
  const size_t bytes =
      sizeof *weights + FIRST_BUCKETS * (sizeof(lk_content *) + sizeof(lk_lender *));
  if (weights != NULL) lk_free(allocator, weights->buckets);
  if (weights != NULL) lk_free(allocator, weights->lent);
  lk_free(allocator, weights);
  return lk_fail_memory(error, "the weights store", bytes);
}

/* A child of fork: nobody reads, nobody packs. (Who forks does neither.) What was being packed is
 * packed anew by who wants it next. */
static void forget_other_threads(void *object) {
  lk_weights *weights = object;
  for (size_t i = 0; i < weights->n_buckets; i++) {
    for (lk_content *content = weights->buckets[i]; content != NULL; content = content->next) {
      content->readers = 0;
      for (lk_packed *copy = content->copies; copy != NULL; copy = copy->next) {
        if (copy->data == NULL) LK_LIST_REMOVE(copy, next, link);
      }
    }
  }
  lk_late_forget_other_threads(weights);
  weights->is_full = false; /* nobody reads: any content may have a copy that may go */
  (void)pthread_cond_init(&weights->changed, NULL);
}

lk_status lk_weights_create(const lk_allocator *allocator, uint64_t capacity_bytes,
                            lk_weights **out_weights, lk_error *error) {
  *out_weights = NULL;
  lk_weights *weights = lk_calloc(allocator, 1, sizeof *weights);
  if (weights == NULL) return fail_create(allocator, weights, error);
  weights->buckets = lk_calloc(allocator, FIRST_BUCKETS, sizeof *weights->buckets);
  weights->lent = lk_calloc(allocator, FIRST_BUCKETS, sizeof *weights->lent);
  if (weights->buckets == NULL || weights->lent == NULL) {
    return fail_create(allocator, weights, error);
  }
  weights->allocator = *allocator;
  weights->n_buckets = weights->n_lent_buckets = FIRST_BUCKETS;
  weights->stats.capacity_bytes = capacity_bytes;
  /* With default attributes neither can fail on Linux. */
  (void)pthread_mutex_init(&weights->mutex, NULL);
  (void)pthread_cond_init(&weights->changed, NULL);
  weights->fork = (lk_fork_entry){.level = LK_FORK_LEAF,
                                  .mutex = &weights->mutex,
                                  .child = forget_other_threads,
                                  .object = weights};
  lk_fork_enter(&weights->fork);
  *out_weights = weights;
  return LK_OK;
}

void lk_weights_destroy(lk_weights *weights) {
  if (weights == NULL) return;
  lk_allocator allocator = weights->allocator;
  lk_fork_leave(&weights->fork);
  pthread_cond_destroy(&weights->changed);
  pthread_mutex_destroy(&weights->mutex);
  lk_free(&allocator, weights->buckets);
  lk_free(&allocator, weights->lent);
  lk_free(&allocator, weights);
}

void lk_weights_set_capacity(lk_weights *weights, uint64_t capacity_bytes) {
  pthread_mutex_lock(&weights->mutex);
  weights->stats.capacity_bytes = capacity_bytes;
  lk_weights_shrink(weights);
  pthread_mutex_unlock(&weights->mutex);
}

void lk_weights_get_stats(lk_weights *weights, lk_weights_stats *out) {
  pthread_mutex_lock(&weights->mutex);
  *out = weights->stats;
  pthread_mutex_unlock(&weights->mutex);
}
