/* Large constants that are lent, which are read when that is needed and not when they come. */
#define XXH_INLINE_ALL
#include "keys/weights/late.h"

#include <xxhash.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/owner.h"
#include "base/readable.h"
#include "base/status.h"
#include "keys/weights/copy.h"

/* Pages that tell of a change: those of other weights differ everywhere. */
enum { SAMPLES = 32, SAMPLE_BYTES = 1024 };

/* The bytes can be read. The last ones are among them. */
static uint64_t hash_sample(const void *data, size_t bytes) {
  const size_t step = (bytes - SAMPLE_BYTES) / (SAMPLES - 1);
  uint64_t hash = 0;
  for (size_t i = 0; i < SAMPLES; i++) {
    const size_t at = i < SAMPLES - 1 ? i * step : bytes - SAMPLE_BYTES;
    hash = XXH3_64bits_withSeed((const unsigned char *)data + at, SAMPLE_BYTES, hash);
  }
  return hash;
}

static lk_content *find(const lk_weights *weights, const void *data, size_t bytes) {
  lk_content *content = weights->late;
  while (content != NULL &&
         (content->late->data != data || content->bytes != bytes || content->refs == 0)) {
    content = content->next;
  }
  return content;
}

static lk_content *add(lk_weights *weights, const void *data, size_t bytes, uint64_t sample) {
  lk_content *content = lk_calloc(&weights->allocator, 1, sizeof *content + sizeof *content->late);
  if (content == NULL) return NULL;
  content->late = (lk_late *)(content + 1);
  *content->late = (lk_late){.data = data, .sample = sample};
  content->weights = weights;
  content->id = ++weights->last_id;
  content->bytes = bytes;
  LK_LIST_ADD(weights->late, content, next, link);
  return content;
}

lk_content *lk_late_intern(lk_weights *weights, const void *data, size_t bytes) {
  const uint64_t sample = hash_sample(data, bytes);
  pthread_mutex_lock(&weights->mutex);
  lk_content *content = find(weights, data, bytes);
  if (content == NULL) content = add(weights, data, bytes, sample);
  if (content != NULL) content->refs++;
  pthread_mutex_unlock(&weights->mutex);
  return content;
}

/* Without the lock. What has changed since the sample was taken, also during this, shows. */
static lk_status read(const lk_content *content, lk_content **out_settled, lk_error *error) {
  const lk_late *late = content->late;
  *out_settled = NULL;
  if (!lk_is_readable(late->data, content->bytes)) {
    return lk_fail(error, LK_IO,
                   "failed to read weights of %zu bytes: the file in which they lie was cut, or "
                   "its disk fails",
                   content->bytes);
  }
  LK_RETURN_NOT_OK(
      lk_content_find(content->weights, late->data, content->bytes, false, out_settled, error));
  if (hash_sample(late->data, content->bytes) == late->sample) return LK_OK;
  lk_content_give_back(*out_settled, late->data);
  *out_settled = NULL;
  return lk_fail_changed(content->bytes, error);
}

lk_status lk_late_settle(lk_content *content, lk_content **out_settled, lk_error *error) {
  lk_status status = LK_OK;
  lk_weights *weights = content->weights;
  lk_late *late = content->late;
  lk_content *settled = NULL;
  *out_settled = content;
  if (late == NULL) return LK_OK;
  pthread_mutex_lock(&weights->mutex);
  while (late->is_being_read) pthread_cond_wait(&weights->changed, &weights->mutex);
  if (late->settled == NULL) {
    late->is_being_read = true;
    pthread_mutex_unlock(&weights->mutex);
    status = read(content, &settled, error);
    pthread_mutex_lock(&weights->mutex);
    late->settled = settled;
    late->is_being_read = false;
    pthread_cond_broadcast(&weights->changed);
  }
  *out_settled = late->settled;
  pthread_mutex_unlock(&weights->mutex);
  return status;
}

/* Where in its file the lent bytes are. */
static size_t offset_of(const void *data, const lk_owner *owner) {
  return (size_t)((const unsigned char *)data - (const unsigned char *)owner->begin);
}

lk_packed *lk_late_find_lent(const lk_content *content, const lk_lent *lent) {
  const size_t offset = offset_of(lent->data, &lent->owner);
  if (content->late == NULL) return NULL;
  for (const lk_content *other = content->weights->late; other != NULL; other = other->next) {
    if (other->bytes != content->bytes) continue;
    for (lk_packed *copy = other->copies; copy != NULL; copy = copy->next) {
      if (!lk_owner_is_same_origin(&copy->owner, &lent->owner)) continue;
      if (offset_of(copy->data, &copy->owner) != offset) continue;
      return copy->source != NULL ? copy->source : copy;
    }
  }
  return NULL;
}

void lk_late_release(lk_content *content) {
  lk_weights *weights = content->weights;
  lk_late *late = content->late;
  pthread_mutex_lock(&weights->mutex);
  const bool is_last = content->refs == 1;
  lk_content *settled = is_last ? late->settled : NULL;
  const void *data = late->data;
  if (is_last) late->settled = NULL;
  content->refs--;
  lk_content_destroy_unused(content);
  pthread_mutex_unlock(&weights->mutex);
  lk_content_give_back(settled, data);
}

void lk_late_forget_other_threads(lk_weights *weights) {
  for (lk_content *content = weights->late; content != NULL; content = content->next) {
    content->late->is_being_read = false;
  }
}
