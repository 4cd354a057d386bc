/* Copies of contents: packed, plain, and lent bytes; which the store keeps, and which go; reading
 * them. */
#include "keys/weights/copy.h"

#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/readable.h"
#include "base/status.h"
#include "base/team/look.h"

void lk_copy_destroy(const lk_allocator *allocator, lk_packed *copy) {
  if (copy == NULL) return;
  lk_free(allocator, copy->block);
  lk_free(allocator, copy);
}

lk_packed *lk_copy_create(lk_weights *weights, const lk_weights_layout *layout,
                          const lk_packer *packer, size_t bytes) {
  const size_t params_size = packer != NULL ? packer->params_size : 0;
  const size_t layout_size = layout != NULL ? layout->n_bytes : 0;
  lk_packed *copy = lk_calloc(&weights->allocator, 1, sizeof *copy + params_size + layout_size);
  if (copy == NULL) return NULL;
  copy->kind = LK_COPY_PLAIN;
  copy->bytes = bytes;
  if (packer != NULL) {
    copy->kind = LK_COPY_PACKED;
    copy->packer = *packer;
    copy->packer.params = copy + 1;
    if (params_size > 0) memcpy(copy + 1, packer->params, params_size);
  }
  if (layout != NULL) copy->layout = *layout;
  if (layout_size > 0) {
    unsigned char *own = (unsigned char *)(copy + 1) + params_size;
    copy->layout.bytes = memcpy(own, layout->bytes, layout_size);
  }
  copy->block = lk_alloc_aligned(&weights->allocator, bytes, LK_DATA_ALIGNMENT);
  if (copy->block == NULL) {
    lk_free(&weights->allocator, copy);
    return NULL;
  }
  return copy;
}

lk_packed *lk_copy_create_plain(lk_weights *weights, const void *data, size_t bytes) {
  lk_packed *copy = lk_copy_create(weights, NULL, NULL, bytes);
  if (copy == NULL) return NULL;
  if (bytes > 0) memcpy(copy->block, data, bytes);
  copy->data = copy->block;
  return copy;
}

/* ---- lists ---- */

static void unlink_use(lk_weights *weights, lk_packed *copy) {
  *(copy->older != NULL ? &copy->older->newer : &weights->oldest) = copy->newer;
  *(copy->newer != NULL ? &copy->newer->older : &weights->newest) = copy->older;
  copy->older = copy->newer = NULL;
}

static void link_use(lk_weights *weights, lk_packed *copy) {
  copy->older = weights->newest;
  *(copy->older != NULL ? &copy->older->newer : &weights->oldest) = copy;
  weights->newest = copy;
}

void lk_copy_touch(lk_packed *copy) {
  lk_weights *weights = copy->content->weights;
  if (copy->kind == LK_COPY_LENT || weights->newest == copy) return;
  unlink_use(weights, copy);
  link_use(weights, copy);
}

void lk_copy_count(lk_packed *copy) {
  lk_weights *weights = copy->content->weights;
  link_use(weights, copy);
  weights->stats.entries++;
  weights->stats.bytes += copy->bytes;
}

void lk_copy_link(lk_content *content, lk_packed *copy) {
  copy->content = content;
  copy->serial = ++content->weights->last_serial;
  LK_LIST_ADD(content->copies, copy, next, link);
  if (copy->kind == LK_COPY_LENT) {
    if (copy->source == NULL) content->weights->stats.lent += copy->bytes;
  } else if (copy->data != NULL) {
    lk_copy_count(copy);
  }
}

static void unlink_copy(lk_packed *copy) {
  lk_content *content = copy->content;
  lk_weights_stats *stats = &content->weights->stats;
  LK_LIST_REMOVE(copy, next, link);
  if (copy->kind == LK_COPY_LENT && copy->source == NULL) stats->lent -= copy->bytes;
  if (copy->kind == LK_COPY_LENT || copy->data == NULL) return;
  unlink_use(content->weights, copy);
  stats->entries--;
  stats->bytes -= copy->bytes;
  if (stats->bytes <= stats->capacity_bytes) content->weights->is_full = false;
}

void lk_copy_drop(lk_packed *copy) {
  unlink_copy(copy);
  lk_copy_destroy(&copy->content->weights->allocator, copy);
}

void lk_content_drop_copies(lk_content *content) {
  for (lk_packed *copy = content->copies, *next = NULL; copy != NULL; copy = next) {
    next = copy->next;
    if (copy->refs == 0) lk_copy_drop(copy);
  }
}

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

/* Nobody uses or reads it, and the bytes can be had without it. */
static bool is_spare(const lk_packed *copy) {
  return copy->refs == 0 && copy->content->readers == 0 && lk_content_readable(copy->content, copy);
}

static bool is_over(const lk_weights *weights) {
  return weights->stats.bytes > weights->stats.capacity_bytes;
}

static void drop_if_spare(lk_packed *copy) {
  copy->content->weights->stats.looks++;
  if (is_spare(copy)) lk_copy_drop(copy);
}

void lk_weights_shrink(lk_weights *weights) {
  for (lk_packed *copy = weights->oldest, *newer = NULL; copy != NULL && is_over(weights);
       copy = newer) {
    newer = copy->newer;
    drop_if_spare(copy);
  }
  weights->is_full = is_over(weights);
}

void lk_content_shrink(lk_content *content) {
  lk_weights *weights = content->weights;
  if (!weights->is_full) {
    lk_weights_shrink(weights);
    return;
  }
  for (lk_packed *copy = content->copies, *next = NULL; copy != NULL && is_over(weights);
       copy = next) {
    next = copy->next;
    if (copy->kind != LK_COPY_LENT && copy->data != NULL) drop_if_spare(copy);
  }
}

void lk_content_drop_spare_plain(lk_content *content) {
  lk_packed *plain = content->copies, *packed = content->copies;
  while (plain != NULL && plain->kind != LK_COPY_PLAIN) plain = plain->next;
  while (packed != NULL && (packed->data == NULL || packed->packer.unpack == NULL)) {
    packed = packed->next;
  }
  if (plain != NULL && packed != NULL && plain->data != NULL && is_spare(plain))
    lk_copy_drop(plain);
}

void lk_content_destroy_unused(lk_content *content) {
  if (content->refs > 0 || content->copies != NULL) return;
  if (content->late != NULL) LK_LIST_REMOVE(content, next, link); /* others have left theirs */
  lk_free(&content->weights->allocator, content);
}

/* ---- reading without the lock ---- */

/* Unpacks a copy; gives up the lock meanwhile. A reference that is taken here keeps the copy. */
static lk_status unpack(lk_content *content, lk_packed *copy, lk_reading *reading,
                        lk_error *error) {
  lk_weights *weights = content->weights;
  copy->refs++;
  pthread_mutex_unlock(&weights->mutex);
  void *plain = lk_alloc_aligned(&weights->allocator, content->bytes, LK_DATA_ALIGNMENT);
  lk_status status = plain != NULL
                         ? copy->packer.unpack(copy->packer.params, copy->data, plain, error)
                         : lk_fail_memory(error, "unpacked weights", content->bytes);
  if (status == LK_OK) status = lk_look_check("unpack weights", error); /* what stops leaves gaps */
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

/* Bytes that an owner lends; one who is about to leave waits for the readers, and so for this one
 * too. NULL: nobody does, or they are gone. It is always the first owner where that is possible:
 * only its pages become resident, and not those of each. */
static const void *find_lent_bytes(const lk_content *content, bool *out_is_gone) {
  const lk_lender *first = NULL;
  for (const lk_lender *lender = content->lenders; lender != NULL; lender = lender->next) {
    if (lender->count > 0 || first == NULL) first = lender; /* they are listed in front */
  }
  if (first == NULL || lk_is_readable(first->data, content->bytes)) {
    return first != NULL ? first->data : NULL;
  }
  const lk_lender *lender = content->lenders;
  while (lender != NULL && !lk_is_readable(lender->data, content->bytes)) lender = lender->next;
  *out_is_gone = lender == NULL;
  return lender != NULL ? lender->data : NULL;
}

lk_status lk_content_read_begin(lk_content *content, lk_reading *out_reading, lk_error *error) {
  lk_status status = LK_OK;
  lk_packed *packed = NULL;
  bool is_gone = false;
  *out_reading = (lk_reading){0};
  for (lk_packed *copy = content->copies; copy != NULL; copy = copy->next) {
    if (copy->data == NULL) continue;
    if (copy->kind == LK_COPY_PLAIN) out_reading->bytes = copy->data;
    if (copy->kind == LK_COPY_PACKED && copy->packer.unpack != NULL) packed = copy;
  }
  if (out_reading->bytes == NULL) {
    out_reading->bytes = find_lent_bytes(content, &is_gone);
    out_reading->is_lent = out_reading->bytes != NULL;
  }
  content->readers++;
  if (out_reading->bytes != NULL) return LK_OK;
  if (packed != NULL) {
    status = unpack(content, packed, out_reading, error);
  } else if (is_gone) {
    status =
        lk_fail(error, LK_IO,
                "failed to read weights of %zu bytes: the file in which they lie was cut, or its "
                "disk fails",
                content->bytes);
  } else {
    status = lk_fail(error, LK_OUT_OF_MEMORY,
                     "failed to read weights of %zu bytes: their owner is gone, and there was no "
                     "memory for a copy, or they had changed",
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
  lk_content_shrink(content);
  pthread_cond_broadcast(&content->weights->changed);
}
