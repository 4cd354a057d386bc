/* Contents: how they are found, and who lends their bytes. */
#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/readable.h"
#include "base/status.h"
#include "base/team/look.h"
#include "keys/weights/copy.h"

/* ---- the table: by hash_low ---- */

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
      LK_LIST_ADD(*bucket, content, next, link);
    }
  }
  lk_free(&weights->allocator, weights->buckets);
  weights->buckets = buckets;
  weights->n_buckets = wanted;
  return true;
}

lk_status lk_fail_changed(size_t bytes, lk_error *error) {
  return lk_fail(error, LK_IO,
                 "failed to read weights of %zu bytes: they have changed, and must not while they "
                 "are lent",
                 bytes);
}

/* There may be any number of bytes, of which a file need not have any: looks in between. */
static lk_status hash_bytes(const void *data, size_t bytes, XXH128_hash_t *out_hash,
                            lk_error *error) {
  *out_hash = (XXH128_hash_t){0, 0};
  if (bytes <= LK_LOOK_BYTES) {
    *out_hash = XXH3_128bits(data, bytes);
    return LK_OK;
  }
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (size_t at = 0; at < bytes; at += LK_LOOK_BYTES) {
    const size_t left = bytes - at;
    LK_RETURN_NOT_OK(lk_look_check("hash weights", error));
    XXH3_128bits_update(&state, (const char *)data + at,
                        left < LK_LOOK_BYTES ? left : LK_LOOK_BYTES);
  }
  *out_hash = XXH3_128bits_digest(&state);
  return LK_OK;
}

lk_status lk_content_check(const lk_content *content, const void *bytes, lk_error *error) {
  XXH128_hash_t hash;
  LK_RETURN_NOT_OK(hash_bytes(bytes, content->bytes, &hash, error));
  if (hash.low64 == content->hash_low && hash.high64 == content->hash_high) return LK_OK;
  return lk_fail_changed(content->bytes, error);
}

/* The same of a copy that others need, which reads and hashes to its end whatever this thread is
 * told: without it, their weights are lost. */
static bool is_unchanged(const lk_content *content, const void *bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, content->bytes);
  return hash.low64 == content->hash_low && hash.high64 == content->hash_high;
}

/* ---- lenders ---- */

static lk_lender **lent_bucket(lk_lender **buckets, size_t n_buckets, const void *data) {
  const uint64_t hash = XXH3_64bits(&data, sizeof data);
  return &buckets[hash & (n_buckets - 1)];
}

static bool grow_lent(lk_weights *weights) {
  if (weights->n_lenders < weights->n_lent_buckets) return true;
  const size_t wanted = weights->n_lent_buckets * 2;
  lk_lender **buckets = lk_calloc(&weights->allocator, wanted, sizeof(lk_lender *));
  if (buckets == NULL) return false;
  for (size_t i = 0; i < weights->n_lent_buckets; i++) {
    for (lk_lender *lender = weights->lent[i], *next = NULL; lender != NULL; lender = next) {
      lk_lender **bucket = lent_bucket(buckets, wanted, lender->data);
      next = lender->next_by_data;
      LK_LIST_ADD(*bucket, lender, next_by_data, data_link);
    }
  }
  lk_free(&weights->allocator, weights->lent);
  weights->lent = buckets;
  weights->n_lent_buckets = wanted;
  return true;
}

/* By where the bytes are: a model may have any number of equal constants, each a lender. */
static lk_lender *find_lender(const lk_content *content, const void *data) {
  const lk_weights *weights = content->weights;
  lk_lender *lender = *lent_bucket(weights->lent, weights->n_lent_buckets, data);
  while (lender != NULL && (lender->data != data || lender->content != content)) {
    lender = lender->next_by_data;
  }
  return lender;
}

/* Who lends these very bytes already; NULL: nobody. */
static lk_lender *find_lent(const lk_weights *weights, const void *data, size_t bytes) {
  lk_lender *lender = *lent_bucket(weights->lent, weights->n_lent_buckets, data);
  while (lender != NULL &&
         (lender->data != data || lender->content->bytes != bytes || lender->count == 0)) {
    lender = lender->next_by_data;
  }
  return lender;
}

static bool add_lender(lk_content *content, const void *data) {
  lk_weights *weights = content->weights;
  lk_lender *lender = find_lender(content, data);
  if (lender == NULL) {
    lender = grow_lent(weights) ? lk_alloc(&weights->allocator, sizeof *lender) : NULL;
    if (lender == NULL) return false;
    *lender = (lk_lender){.content = content, .data = data};
    LK_LIST_ADD(content->lenders, lender, next, link);
    lk_lender **bucket = lent_bucket(weights->lent, weights->n_lent_buckets, data);
    LK_LIST_ADD(*bucket, lender, next_by_data, data_link);
    weights->n_lenders++;
  }
  lender->count++;
  return true;
}

static void destroy_lender(lk_content *content, lk_lender *lender) {
  LK_LIST_REMOVE(lender, next, link);
  LK_LIST_REMOVE(lender, next_by_data, data_link);
  content->weights->n_lenders--;
  lk_free(&content->weights->allocator, lender);
}

/* Whether the bytes are lost to others when the last lender leaves. */
static bool needs_copy(const lk_content *content) {
  return content->refs > 1 && !lk_content_readable(content, NULL);
}

/* Keeps a copy of the bytes of a lender that leaves, if there is memory and they are still those.
 * Gives up the lock meanwhile: the caller has a reference, and its bytes. */
static void keep_copy(lk_content *content, const void *data) {
  lk_weights *weights = content->weights;
  pthread_mutex_unlock(&weights->mutex);
  lk_packed *copy = lk_is_readable(data, content->bytes)
                        ? lk_copy_create_plain(weights, data, content->bytes)
                        : NULL;
  if (copy != NULL && !is_unchanged(content, copy->data)) {
    lk_copy_destroy(&weights->allocator, copy);
    copy = NULL;
  }
  pthread_mutex_lock(&weights->mutex);
  if (copy == NULL) return;
  if (!needs_copy(content)) { /* meanwhile somebody lends them, or has made a copy */
    lk_copy_destroy(&weights->allocator, copy);
    return;
  }
  lk_copy_link(content, copy);
  lk_content_shrink(content);
}

/* Gives up the lock while somebody reads, and to copy. Meanwhile the same bytes may be lent anew,
 * or another thread may remove the lender, so the lender is looked up each time. */
static void remove_lender(lk_content *content, const void *data) {
  lk_weights *weights = content->weights;
  lk_lender *lender = find_lender(content, data);
  bool has_tried = false;
  if (lender == NULL) return;
  lender->count--;
  while (lender != NULL && lender->count == 0) {
    if (content->readers > 0) {
      pthread_cond_wait(&weights->changed, &weights->mutex);
    } else if (needs_copy(content) && !has_tried) {
      keep_copy(content, data);
      has_tried = true;
    } else {
      destroy_lender(content, lender);
      return;
    }
    lender = find_lender(content, data);
  }
}

/* ---- contents ---- */

/* Releases a reference that lends nothing, or no longer. */
static void release_reference(lk_content *content) {
  lk_weights *weights = content->weights;
  if (--content->refs > 0) return;
  LK_LIST_REMOVE(content, next, link);
  weights->n_contents--;
  while (content->lenders != NULL) destroy_lender(content, content->lenders);
  lk_content_drop_copies(content);
  lk_content_destroy_unused(content);
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

/* Those that are stopped before they are compared are taken for different. */
static bool are_equal(const char *a, const char *b, size_t bytes) {
  for (size_t at = 0, more; at < bytes; at += more) {
    more = bytes - at < LK_LOOK_BYTES ? bytes - at : LK_LOOK_BYTES;
    if (memcmp(a + at, b + at, more) != 0 || (at > 0 && lk_team_is_stopped())) return false;
  }
  return true;
}

/* Compares without the lock; takes a reference, and keeps it when the bytes are equal. Where the
 * bytes cannot be had, they are taken for different: that costs memory, not correctness. */
static bool take_if_equal(lk_content *content, const void *data) {
  lk_weights *weights = content->weights;
  lk_reading reading;
  bool equal = false;
  content->refs++;
  if (lk_content_read_begin(content, &reading, NULL) == LK_OK) {
    pthread_mutex_unlock(&weights->mutex);
    /* Sessions of one mapped model lend the very same bytes. */
    equal = reading.bytes == data || are_equal(reading.bytes, data, content->bytes);
    pthread_mutex_lock(&weights->mutex);
    lk_content_read_end(content, &reading);
  }
  if (!equal) release_reference(content);
  return equal;
}

/* A content in the table with one reference. Takes over `plain`, which may be NULL. */
static lk_content *add_content(lk_weights *weights, XXH128_hash_t hash, size_t bytes,
                               lk_packed *plain) {
  lk_content *content =
      grow_buckets(weights) ? lk_calloc(&weights->allocator, 1, sizeof *content) : NULL;
  if (content == NULL) {
    lk_copy_destroy(&weights->allocator, plain);
    return NULL;
  }
  content->weights = weights;
  content->id = ++weights->last_id;
  content->hash_low = hash.low64;
  content->hash_high = hash.high64;
  content->bytes = bytes;
  content->refs = 1;
  lk_content **bucket = bucket_of(weights->buckets, weights->n_buckets, hash.low64);
  LK_LIST_ADD(*bucket, content, next, link);
  weights->n_contents++;
  if (plain != NULL) lk_copy_link(content, plain);
  return content;
}

/* One more reference that lends bytes which are lent already. NULL: they are not. */
static lk_content *lend_again(lk_weights *weights, const void *data, size_t bytes) {
  lk_content *content = NULL;
  pthread_mutex_lock(&weights->mutex);
  lk_lender *lender = find_lent(weights, data, bytes);
  if (lender != NULL) {
    content = lender->content;
    lender->count++;
    content->refs++;
  }
  pthread_mutex_unlock(&weights->mutex);
  return content;
}

lk_status lk_content_find(lk_weights *weights, const void *data, size_t bytes, bool copy,
                          lk_content **out_content, lk_error *error) {
  lk_status status = LK_OK;
  lk_packed *plain = NULL;
  lk_content *content = NULL;
  uint64_t after = 0;
  const bool keep = copy || bytes == 0; /* nothing cannot be lent */
  *out_content = keep ? NULL : lend_again(weights, data, bytes);
  if (*out_content != NULL) return LK_OK;
  XXH128_hash_t hash;
  LK_RETURN_NOT_OK(hash_bytes(data, bytes, &hash, error));

  pthread_mutex_lock(&weights->mutex);
  weights->stats.hashed += bytes;
  for (;;) {
    content = find_candidate(weights, hash, bytes, after);
    if (content != NULL) {
      after = content->id;
      if (take_if_equal(content, data)) break;
    } else if (keep && plain == NULL) {
      /* Copied without the lock; then somebody else may have added the content. */
      pthread_mutex_unlock(&weights->mutex);
      plain = lk_copy_create_plain(weights, data, bytes);
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
    release_reference(content);
    LK_TRY(lk_fail_memory(error, "weights", sizeof(lk_lender)));
  }
  lk_content_shrink(content);
  *out_content = content;

cleanup:
  pthread_mutex_unlock(&weights->mutex);
  lk_copy_destroy(&weights->allocator, plain);
  return status;
}

void lk_content_give_back(lk_content *content, const void *data) {
  if (content == NULL) return;
  lk_weights *weights = content->weights;
  pthread_mutex_lock(&weights->mutex);
  if (data != NULL) remove_lender(content, data);
  release_reference(content);
  pthread_mutex_unlock(&weights->mutex);
}

uint64_t lk_content_id(const lk_content *content) {
  return content->id;
}
