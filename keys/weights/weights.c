/* The weights store: contents, who lends their bytes, and how they are found. */
#define XXH_INLINE_ALL
#include "keys/weights/weights.h"

#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/status.h"
#include "keys/weights/store.h"

enum { LK_FIRST_BUCKETS = 64 };

/* ---- the store ---- */

/* A child of fork: nobody reads, nobody packs. (Who forks does neither: packing is oneDNN's.) What was
 * being packed is packed anew by who wants it next. */
static void forget_other_threads(void *object) {
  lk_weights *weights = object;
  for (size_t i = 0; i < weights->n_buckets; i++) {
    for (lk_content *content = weights->buckets[i]; content != NULL; content = content->next) {
      content->readers = 0;
      lk_content_forget_unfinished(content);
    }
  }
  (void)pthread_cond_init(&weights->changed, NULL);
}

lk_status lk_weights_create(const lk_allocator *allocator, uint64_t capacity_bytes,
                            lk_weights **out_weights, lk_error *error) {
  *out_weights = NULL;
  lk_weights *weights = lk_calloc(allocator, 1, sizeof *weights);
  lk_content **buckets = lk_calloc(allocator, LK_FIRST_BUCKETS, sizeof(lk_content *));
  if (weights == NULL || buckets == NULL) {
    lk_free(allocator, weights);
    lk_free(allocator, buckets);
    return lk_fail_memory(error, "the weights store",
                          sizeof *weights + LK_FIRST_BUCKETS * sizeof(lk_content *));
  }
  weights->allocator = *allocator;
  weights->buckets = buckets;
  weights->n_buckets = LK_FIRST_BUCKETS;
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

static lk_content **bucket_of(lk_content **buckets, size_t n_buckets, uint64_t hash) {
  return &buckets[hash & (n_buckets - 1)];
}

static bool grow_buckets(lk_weights *weights) {
  if (weights->n_contents < weights->n_buckets) return true;
  const size_t wanted = weights->n_buckets * 2;
  lk_content **buckets = lk_calloc(&weights->allocator, wanted, sizeof(lk_content *));
  if (buckets == NULL) return false;
  for (size_t i = 0; i < weights->n_buckets; i++) {
    for (lk_content *content = weights->buckets[i], *next = NULL; content != NULL; content = next) {
      lk_content **bucket = bucket_of(buckets, wanted, content->hash_low);
      next = content->next;
      content->next = *bucket;
      *bucket = content;
    }
  }
  lk_free(&weights->allocator, weights->buckets);
  weights->buckets = buckets;
  weights->n_buckets = wanted;
  return true;
}

/* ---- lenders ---- */

static lk_lender *find_lender(const lk_content *content, const void *data) {
  lk_lender *lender = content->lenders;
  while (lender != NULL && lender->data != data) lender = lender->next;
  return lender;
}

static bool add_lender(lk_content *content, const void *data) {
  lk_lender *lender = find_lender(content, data);
  if (lender == NULL) {
    lender = lk_alloc(&content->weights->allocator, sizeof *lender);
    if (lender == NULL) return false;
    *lender = (lk_lender){.next = content->lenders, .data = data};
    content->lenders = lender;
  }
  lender->count++;
  return true;
}

static void free_lender(lk_content *content, const void *data) {
  lk_lender **link = &content->lenders;
  while ((*link)->data != data) link = &(*link)->next;
  lk_lender *lender = *link;
  *link = lender->next;
  lk_free(&content->weights->allocator, lender);
  lk_content_stop_lending(content, data);
}

/* Leaves the lock while somebody reads: meanwhile the same bytes may be lent anew, or another thread
 * may end the lender, so it is looked up each time. */
static void remove_lender(lk_content *content, const void *data) {
  lk_weights *weights = content->weights;
  lk_lender *lender = find_lender(content, data);
  if (lender == NULL) return;
  lender->count--;
  while (lender != NULL && lender->count == 0 && content->readers > 0) {
    pthread_cond_wait(&weights->changed, &weights->mutex);
    lender = find_lender(content, data);
  }
  if (lender == NULL || lender->count > 0) return;
  if (content->refs > 1 && !lk_content_readable(content, NULL)) {
    lk_packed *copy = lk_copy_make_plain(weights, data, content->bytes);
    if (copy != NULL) lk_copy_link(content, copy);
  }
  free_lender(content, data);
}

/* ---- reading ---- */

bool lk_content_readable(const lk_content *content, const lk_packed *copy) {
  for (const lk_lender *lender = content->lenders; lender != NULL; lender = lender->next) {
    if (lender->count > 0) return true;
  }
  for (const lk_packed *other = content->copies; other != NULL; other = other->next) {
    if (other == copy || other->data == NULL || other->kind == LK_COPY_LENT) continue;
    if (other->kind == LK_COPY_PLAIN || other->packer.unpack != NULL) return true;
  }
  return false;
}

/* Unpacks a copy; leaves the lock. The copy is kept by a reference, which is taken here. */
static lk_status unpack(lk_content *content, lk_packed *copy, lk_reading *reading,
                        lk_error *error) {
  lk_weights *weights = content->weights;
  lk_status status = LK_OK;
  copy->refs++;
  pthread_mutex_unlock(&weights->mutex);
  void *plain = lk_alloc_aligned(&weights->allocator, content->bytes, LK_DATA_ALIGNMENT);
  if (plain == NULL) {
    status = lk_fail_memory(error, "unpacked weights", content->bytes);
  } else {
    status = copy->packer.unpack(copy->packer.arg, copy->data, plain, error);
  }
  pthread_mutex_lock(&weights->mutex);
  copy->refs--;
  if (status != LK_OK) {
    lk_free(&weights->allocator, plain);
    return status;
  }
  reading->unpacked = plain;
  reading->bytes = plain;
  return LK_OK;
}

lk_status lk_content_read(lk_content *content, lk_reading *out_reading, lk_error *error) {
  lk_packed *packed = NULL;
  *out_reading = (lk_reading){0};
  /* One that is about to leave waits for the readers, and so for this one too. */
  for (lk_lender *lender = content->lenders; lender != NULL; lender = lender->next) {
    if (lender->count > 0 || out_reading->bytes == NULL) out_reading->bytes = lender->data;
  }
  for (lk_packed *copy = content->copies; copy != NULL; copy = copy->next) {
    if (copy->data == NULL) continue;
    if (copy->kind == LK_COPY_PLAIN) out_reading->bytes = copy->data;
    if (copy->kind == LK_COPY_PACKED && copy->packer.unpack != NULL) packed = copy;
  }
  content->readers++;
  if (out_reading->bytes != NULL) return LK_OK;
  lk_status status = LK_OK;
  if (packed != NULL) {
    status = unpack(content, packed, out_reading, error);
  } else {
    status = lk_fail(error, LK_OUT_OF_MEMORY,
                     "failed to read weights of %zu bytes: their owner is gone, and there was no "
                     "memory for a copy",
                     content->bytes);
  }
  if (status != LK_OK) lk_content_read_end(content, out_reading);
  return status;
}

void lk_content_read_end(lk_content *content, lk_reading *reading) {
  lk_free(&content->weights->allocator, reading->unpacked);
  *reading = (lk_reading){0};
  content->readers--;
  if (content->readers > 0) return;
  lk_content_drop_spare_plain(content);
  pthread_cond_broadcast(&content->weights->changed);
}

/* ---- contents ---- */

void lk_content_free_unused(lk_content *content) {
  if (content->refs > 0 || content->copies != NULL) return;
  lk_free(&content->weights->allocator, content);
}

/* Gives back a reference that lends nothing, or no longer. */
static void drop_reference(lk_content *content) {
  lk_weights *weights = content->weights;
  if (--content->refs > 0) return;
  lk_content **link = bucket_of(weights->buckets, weights->n_buckets, content->hash_low);
  while (*link != content) link = &(*link)->next;
  *link = content->next;
  weights->n_contents--;
  while (content->lenders != NULL) free_lender(content, content->lenders->data);
  lk_content_drop_copies(content);
  lk_content_free_unused(content);
}

/* The candidate of the lowest id above `after`. */
static lk_content *find_candidate(const lk_weights *weights, XXH128_hash_t hash, size_t bytes,
                                  uint64_t after) {
  lk_content *found = NULL;
  lk_content *content = *bucket_of(weights->buckets, weights->n_buckets, hash.low64);
  for (; content != NULL; content = content->next) {
    if (content->hash_low != hash.low64 || content->hash_high != hash.high64) continue;
    if (content->bytes != bytes || content->id <= after) continue;
    if (found == NULL || content->id < found->id) found = content;
  }
  return found;
}

/* Compares without the lock; takes a reference, and keeps it when the bytes are equal. Where the
 * bytes cannot be had, they are taken for different: that costs memory, not correctness. */
static bool take_if_equal(lk_content *content, const void *data) {
  lk_weights *weights = content->weights;
  lk_reading reading;
  bool equal = false;
  content->refs++;
  if (lk_content_read(content, &reading, NULL) == LK_OK) {
    pthread_mutex_unlock(&weights->mutex);
    /* Sessions of one mapped model lend the very same bytes. */
    equal = reading.bytes == data || content->bytes == 0 ||
            memcmp(reading.bytes, data, content->bytes) == 0;
    pthread_mutex_lock(&weights->mutex);
    lk_content_read_end(content, &reading);
  }
  if (!equal) drop_reference(content);
  return equal;
}

/* A content in the table with one reference. Takes over `plain`, which may be NULL. */
static lk_content *add_content(lk_weights *weights, XXH128_hash_t hash, size_t bytes,
                               lk_packed *plain) {
  lk_content *content =
      grow_buckets(weights) ? lk_calloc(&weights->allocator, 1, sizeof *content) : NULL;
  if (content == NULL) {
    lk_copy_free(&weights->allocator, plain);
    return NULL;
  }
  content->weights = weights;
  content->id = ++weights->last_id;
  content->hash_low = hash.low64;
  content->hash_high = hash.high64;
  content->bytes = bytes;
  content->refs = 1;
  lk_content **bucket = bucket_of(weights->buckets, weights->n_buckets, hash.low64);
  content->next = *bucket;
  *bucket = content;
  weights->n_contents++;
  if (plain != NULL) lk_copy_link(content, plain);
  return content;
}

lk_status lk_weights_intern(lk_weights *weights, const void *data, size_t bytes, bool copy,
                            lk_content **out_content, lk_error *error) {
  lk_status status = LK_OK;
  lk_packed *plain = NULL;
  lk_content *content = NULL;
  uint64_t after = 0;
  *out_content = NULL;
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  const bool keep = copy || bytes == 0; /* nothing cannot be lent */

  pthread_mutex_lock(&weights->mutex);
  for (;;) {
    content = find_candidate(weights, hash, bytes, after);
    if (content != NULL) {
      after = content->id;
      if (take_if_equal(content, data)) break;
    } else if (keep && plain == NULL) {
      /* Copied without the lock; then somebody else may have added the content. */
      pthread_mutex_unlock(&weights->mutex);
      plain = lk_copy_make_plain(weights, data, bytes);
      pthread_mutex_lock(&weights->mutex);
      if (plain == NULL) LK_TRY(lk_fail_memory(error, "a copy of weights", bytes));
    } else {
      content = add_content(weights, hash, bytes, plain);
      plain = NULL;
      if (content == NULL) LK_TRY(lk_fail_memory(error, "weights", sizeof *content));
      break;
    }
  }
  if (!keep && !add_lender(content, data)) {
    drop_reference(content);
    LK_TRY(lk_fail_memory(error, "weights", sizeof(lk_lender)));
  }
  *out_content = content;

cleanup:
  lk_weights_shrink(weights);
  pthread_mutex_unlock(&weights->mutex);
  lk_copy_free(&weights->allocator, plain);
  return status;
}

void lk_content_release(lk_content *content, const void *data) {
  if (content == NULL) return;
  lk_weights *weights = content->weights;
  pthread_mutex_lock(&weights->mutex);
  if (data != NULL) remove_lender(content, data);
  drop_reference(content);
  lk_weights_shrink(weights);
  pthread_mutex_unlock(&weights->mutex);
}

void lk_content_retain(lk_content *content) {
  pthread_mutex_lock(&content->weights->mutex);
  content->refs++;
  pthread_mutex_unlock(&content->weights->mutex);
}

uint64_t lk_content_id(const lk_content *content) {
  return content->id;
}
size_t lk_content_bytes(const lk_content *content) {
  return content->bytes;
}
