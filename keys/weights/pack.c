/* Copies of contents that callers use: packed once per layout, or plain. */
#include <latchkey/context.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/owner.h"
#include "base/prefetch.h"
#include "base/readable.h"
#include "base/status.h"
#include "base/team/look.h"
#include "keys/weights/copy.h"
#include "keys/weights/late.h"

static bool is_same(const lk_weights_layout *a, const lk_weights_layout *b) {
  return memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0 && a->n_bytes == b->n_bytes &&
         (a->n_bytes == 0 || memcmp(a->bytes, b->bytes, a->n_bytes) == 0);
}

/* `layout` NULL: the plain one. */
static lk_packed *find_copy(const lk_content *content, const lk_weights_layout *layout) {
  const lk_copy_kind kind = layout != NULL ? LK_COPY_PACKED : LK_COPY_PLAIN;
  lk_packed *copy = content->copies;
  while (copy != NULL &&
         (copy->kind != kind || (layout != NULL && !is_same(&copy->layout, layout)))) {
    copy = copy->next;
  }
  return copy;
}

/* With the lock: waits until nobody is making the copy. NULL: it is not there. */
static lk_packed *take_copy(lk_content *content, const lk_weights_layout *layout) {
  lk_weights *weights = content->weights;
  lk_packed *copy = NULL;
  while ((copy = find_copy(content, layout)) != NULL && copy->data == NULL) {
    pthread_cond_wait(&weights->changed, &weights->mutex);
  }
  if (copy != NULL) copy->refs++;
  return copy;
}

/* With the lock, which it gives up for a while. `layout` and `packer` NULL: a plain copy. */
static lk_status make_and_fill(lk_content *content, const lk_weights_layout *layout, size_t bytes,
                               const lk_packer *packer, lk_packed **out_copy, lk_error *error) {
  lk_weights *weights = content->weights;
  const char *doing = packer == NULL ? "copy weights" : "pack weights";
  lk_status status = LK_OK;
  lk_reading reading = {0};
  lk_packed *copy = lk_copy_create(weights, layout, packer, bytes);
  if (copy == NULL) return lk_fail_memory(error, "packed weights", bytes);
  copy->refs = 1;
  lk_copy_link(content, copy); /* without data: others who want it wait */
  LK_TRY(lk_content_read_begin(content, &reading, error));
  pthread_mutex_unlock(&weights->mutex);
  if (packer == NULL) {
    status = lk_look_copy(copy->block, reading.bytes, bytes, doing, error);
  } else {
    status = packer->pack(packer->params, reading.bytes, copy->block, error);
  }
  if (status == LK_OK) status = lk_look_check(doing, error); /* what stops leaves gaps */
  /* Afterwards: whatever has changed since they were lent, also during this, shows now. */
  if (status == LK_OK && reading.is_lent) status = lk_content_check(content, reading.bytes, error);
  pthread_mutex_lock(&weights->mutex);
  lk_content_read_end(content, &reading);
  LK_TRY(status);
  copy->data = copy->block;
  lk_copy_count(copy);
  if (packer != NULL) {
    weights->stats.packed++;
    lk_content_drop_spare_plain(content);
  }
  *out_copy = copy;
  copy = NULL;

cleanup:
  if (copy != NULL) lk_copy_drop(copy);
  pthread_cond_broadcast(&weights->changed);
  lk_content_shrink(content);
  return status;
}

lk_status lk_content_pack(lk_content *content, const lk_weights_layout *layout, size_t bytes,
                          const lk_packer *packer, lk_packed **out_packed, lk_error *error) {
  lk_weights *weights = content->weights;
  lk_status status = LK_OK;
  *out_packed = NULL;
  LK_RETURN_NOT_OK(lk_late_settle(content, &content, error));
  pthread_mutex_lock(&weights->mutex);
  lk_packed *copy = take_copy(content, layout);
  if (copy != NULL && copy->bytes != bytes) {
    copy->refs--;
    status = lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to pack weights: a layout is asked for with %zu bytes and was packed "
                     "with %zu, they must be equal",
                     bytes, copy->bytes);
  } else if (copy != NULL) {
    weights->stats.shared++;
    *out_packed = copy;
  } else {
    status = make_and_fill(content, layout, bytes, packer, out_packed, error);
  }
  pthread_mutex_unlock(&weights->mutex);
  return status;
}

/* A lent copy that the plans of who lends `lent` may read, and whose bytes are there; NULL: none.
 * Its users hold the owner, so it does not matter whether that still lends. */
static lk_packed *find_lent(const lk_content *content, const lk_lent *lent, size_t alignment) {
  lk_packed *copy = content->copies;
  for (; copy != NULL; copy = copy->next) {
    if (copy->kind != LK_COPY_LENT || (uintptr_t)copy->data % alignment != 0) continue;
    if (copy->data != lent->data && !lk_owner_is_same_origin(&copy->owner, &lent->owner)) continue;
    if (lk_is_readable(copy->data, content->bytes)) break;
  }
  return copy;
}

/* `source`: the copy whose bytes these are, with a reference, which holds their owner; or NULL, and
 * the reference to the owner in `lent` is taken over. */
static lk_packed *create_lent(lk_content *content, const lk_lent *lent, lk_packed *source) {
  lk_packed *copy = lk_calloc(&content->weights->allocator, 1, sizeof *copy);
  if (copy == NULL) return NULL;
  copy->kind = LK_COPY_LENT;
  copy->bytes = content->bytes;
  copy->data = source != NULL ? source->data : lent->data;
  copy->owner = source != NULL ? source->owner : lent->owner;
  copy->source = source;
  if (source != NULL) source->refs++;
  lk_copy_link(content, copy);
  return copy;
}

/* Lent bytes as a copy: one for each origin whose bytes are in use. NULL: they cannot be lent.
 * `inout_held`: a reference to the owner, which a copy that is made takes over. */
static lk_status lend(lk_content *content, const lk_lent *lent, size_t alignment, bool *inout_held,
                      lk_packed **out_copy, lk_error *error) {
  lk_packed *copy = find_lent(content, lent, alignment);
  if (copy == NULL) {
    lk_packed *source = lk_late_find_lent(content, lent);
    const void *data = source != NULL ? source->data : lent->data;
    if ((uintptr_t)data % alignment != 0 || !lk_is_readable(data, content->bytes)) return LK_OK;
    copy = create_lent(content, lent, source);
    if (copy == NULL) return lk_fail_memory(error, "lent weights", sizeof *copy);
    if (source == NULL) *inout_held = false;
  }
  copy->refs++;
  *out_copy = copy;
  return LK_OK;
}

/* A plain copy that is there, or lent bytes; NULL: neither. */
static lk_status take_lent(lk_content *content, const lk_lent *lent, size_t alignment,
                           lk_packed **out_copy, lk_error *error) {
  lk_weights *weights = content->weights;
  lk_status status = LK_OK;
  bool is_held = true;
  lk_owner_retain(&lent->owner);
  pthread_mutex_lock(&weights->mutex);
  *out_copy = take_copy(content, NULL);
  if (*out_copy == NULL) status = lend(content, lent, alignment, &is_held, out_copy, error);
  pthread_mutex_unlock(&weights->mutex);
  if (is_held) lk_owner_release(&lent->owner);
  return status;
}

lk_status lk_content_plain(lk_content *content, const lk_lent *lent, size_t alignment,
                           lk_packed **out_packed, lk_error *error) {
  lk_weights *weights = content->weights;
  lk_status status = LK_OK;
  *out_packed = NULL;
  if (alignment == 0 || alignment > LK_DATA_ALIGNMENT || (alignment & (alignment - 1)) != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to get plain weights: alignment %zu, a power of two up to %zu",
                   alignment, LK_DATA_ALIGNMENT);
  }
  if (lent != NULL && lent->owner.struct_size > 0 && content->bytes >= LK_LENT_LEAST_BYTES) {
    LK_RETURN_NOT_OK(take_lent(content, lent, alignment, out_packed, error));
    if (*out_packed != NULL) return LK_OK;
  }
  LK_RETURN_NOT_OK(lk_late_settle(content, &content, error));
  pthread_mutex_lock(&weights->mutex);
  *out_packed = take_copy(content, NULL);
  if (*out_packed == NULL) {
    status = make_and_fill(content, NULL, content->bytes, NULL, out_packed, error);
  }
  pthread_mutex_unlock(&weights->mutex);
  return status;
}

/* ---- references ---- */

lk_packed_name lk_packed_get_name(const lk_packed *packed) {
  return (lk_packed_name){packed->content, packed, packed->serial};
}

void lk_packed_prefetch(const lk_packed_name *name) {
  lk_prefetch(name->content, sizeof *name->content);
  lk_prefetch(name->copy, offsetof(lk_packed, layout));
}

lk_packed *lk_packed_by_name(const lk_packed_name *name) {
  lk_weights *weights = name->content->weights;
  pthread_mutex_lock(&weights->mutex);
  lk_packed *copy = name->content->copies;
  while (copy != NULL && copy->serial != name->serial) copy = copy->next;
  if (copy != NULL) {
    copy->refs++;
    if (copy->kind == LK_COPY_PACKED) weights->stats.shared++;
  }
  pthread_mutex_unlock(&weights->mutex);
  return copy;
}

const void *lk_packed_data(const lk_packed *packed) {
  return packed->data;
}

size_t lk_packed_bytes(const lk_packed *packed) {
  return packed->bytes;
}

void lk_packed_release(lk_packed *packed) {
  if (packed == NULL) return;
  lk_content *content = packed->content;
  lk_weights *weights = content->weights;
  lk_owner owner = {0}; /* of a lent one that goes */
  lk_packed *source = NULL;
  pthread_mutex_lock(&weights->mutex);
  if (--packed->refs == 0) {
    source = packed->source;
    if (packed->kind == LK_COPY_LENT && source == NULL) owner = packed->owner;
    lk_copy_touch(packed);
    if (packed->kind == LK_COPY_LENT || content->refs == 0) lk_copy_drop(packed);
    lk_content_shrink(content);
    lk_content_destroy_unused(content);
  }
  pthread_mutex_unlock(&weights->mutex);
  lk_owner_release(&owner);
  lk_packed_release(source);
}
