/* The weights store: copies of contents, packed once per layout, and the capacity that they keep. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "keys/weights/store.h"

/* Less is copied rather than lent: not worth the owner's care. */
#define LK_LEND_BYTES ((size_t)1 << 20)

static void destroy_packer(const lk_packer *packer) {
  if (packer->destroy != NULL) packer->destroy(packer->arg);
}

void lk_copy_free(const lk_allocator *allocator, lk_packed *copy) {
  if (copy == NULL) return;
  destroy_packer(&copy->packer);
  lk_free(allocator, copy->block);
  lk_free(allocator, copy);
}

/* A copy with room for its bytes, in no list. */
static lk_packed *make_copy(lk_weights *weights, lk_copy_kind kind, uint64_t layout, size_t bytes) {
  lk_packed *copy = lk_calloc(&weights->allocator, 1, sizeof *copy);
  if (copy == NULL) return NULL;
  copy->kind = kind;
  copy->layout = layout;
  copy->bytes = bytes;
  copy->block = lk_alloc_aligned(&weights->allocator, bytes, LK_DATA_ALIGNMENT);
  if (copy->block == NULL) {
    lk_free(&weights->allocator, copy);
    return NULL;
  }
  return copy;
}

lk_packed *lk_copy_make_plain(lk_weights *weights, const void *data, size_t bytes) {
  lk_packed *copy = make_copy(weights, LK_COPY_PLAIN, 0, bytes);
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

static void touch(lk_weights *weights, lk_packed *copy) {
  if (copy->kind == LK_COPY_LENT || weights->newest == copy) return;
  unlink_use(weights, copy);
  link_use(weights, copy);
}

/* Begins to count a copy that has its bytes now. */
static void count_copy(lk_weights *weights, lk_packed *copy) {
  link_use(weights, copy);
  weights->stats.entries++;
  weights->stats.bytes += copy->bytes;
}

void lk_copy_link(lk_content *content, lk_packed *copy) {
  copy->content = content;
  copy->next = content->copies;
  content->copies = copy;
  if (copy->kind != LK_COPY_LENT && copy->data != NULL) count_copy(content->weights, copy);
}

static void unlink_copy(lk_packed *copy) {
  lk_content *content = copy->content;
  lk_packed **link = &content->copies;
  while (*link != copy) link = &(*link)->next;
  *link = copy->next;
  if (copy->kind == LK_COPY_LENT || copy->data == NULL) return;
  unlink_use(content->weights, copy);
  content->weights->stats.entries--;
  content->weights->stats.bytes -= copy->bytes;
}

static void drop_copy(lk_packed *copy) {
  unlink_copy(copy);
  lk_copy_free(&copy->content->weights->allocator, copy);
}

void lk_content_drop_copies(lk_content *content) {
  for (lk_packed *copy = content->copies, *next = NULL; copy != NULL; copy = next) {
    next = copy->next;
    if (copy->refs == 0) drop_copy(copy);
  }
}

/* Nobody uses or reads it, and the bytes can be had without it. */
static bool is_spare(const lk_packed *copy) {
  return copy->refs == 0 && copy->content->readers == 0 && lk_content_readable(copy->content, copy);
}

void lk_weights_shrink(lk_weights *weights) {
  lk_packed *copy = weights->oldest;
  while (copy != NULL && weights->stats.bytes > weights->stats.capacity_bytes) {
    lk_packed *newer = copy->newer;
    if (is_spare(copy)) drop_copy(copy);
    copy = newer;
  }
}

void lk_content_drop_spare_plain(lk_content *content) {
  lk_packed *plain = content->copies, *packed = content->copies;
  while (plain != NULL && plain->kind != LK_COPY_PLAIN) plain = plain->next;
  while (packed != NULL && (packed->data == NULL || packed->packer.unpack == NULL)) {
    packed = packed->next;
  }
  if (plain != NULL && packed != NULL && plain->data != NULL && is_spare(plain)) drop_copy(plain);
}

void lk_content_stop_lending(lk_content *content, const void *data) {
  for (lk_packed *copy = content->copies; copy != NULL; copy = copy->next) {
    /* A layout that no search matches. */
    if (copy->kind == LK_COPY_LENT && copy->data == data) copy->layout = 1;
  }
}

/* ---- making copies ---- */

static lk_packed *find_copy(const lk_content *content, lk_copy_kind kind, uint64_t layout) {
  lk_packed *copy = content->copies;
  while (copy != NULL && (copy->kind != kind || copy->layout != layout)) copy = copy->next;
  return copy;
}

/* With the lock: waits until it is not being made by somebody else. NULL: it is not there. */
static lk_packed *take_copy(lk_content *content, lk_copy_kind kind, uint64_t layout) {
  lk_weights *weights = content->weights;
  lk_packed *copy = find_copy(content, kind, layout);
  while (copy != NULL && copy->data == NULL) {
    pthread_cond_wait(&weights->changed, &weights->mutex);
    copy = find_copy(content, kind, layout);
  }
  if (copy == NULL) return NULL;
  copy->refs++;
  touch(weights, copy);
  return copy;
}

/* With the lock, which it leaves. `packer` NULL: a plain copy; else it is taken over on success. */
static lk_status make_and_fill(lk_content *content, lk_copy_kind kind, uint64_t layout,
                               size_t bytes, const lk_packer *packer, lk_packed **out_copy,
                               lk_error *error) {
  lk_weights *weights = content->weights;
  lk_status status = LK_OK;
  lk_reading reading = {0};
  lk_packed *copy = make_copy(weights, kind, layout, bytes);
  if (copy == NULL) return lk_fail_memory(error, "packed weights", bytes);
  copy->refs = 1;
  lk_copy_link(content, copy); /* without data: others who want it wait */
  LK_TRY(lk_content_read(content, &reading, error));
  pthread_mutex_unlock(&weights->mutex);
  if (packer == NULL) {
    if (bytes > 0) memcpy(copy->block, reading.bytes, bytes);
  } else {
    status = packer->pack(packer->arg, reading.bytes, copy->block, error);
  }
  pthread_mutex_lock(&weights->mutex);
  lk_content_read_end(content, &reading);
  if (status != LK_OK) goto cleanup;
  copy->data = copy->block;
  count_copy(weights, copy);
  if (packer != NULL) {
    copy->packer = *packer;
    weights->stats.packed++;
    lk_content_drop_spare_plain(content);
  }
  *out_copy = copy;
  copy = NULL;

cleanup:
  if (copy != NULL) drop_copy(copy);
  pthread_cond_broadcast(&weights->changed);
  lk_weights_shrink(weights);
  return status;
}

lk_status lk_content_pack(lk_content *content, uint64_t layout, size_t bytes,
                          const lk_packer *packer, lk_packed **out_packed, lk_error *error) {
  lk_weights *weights = content->weights;
  lk_status status = LK_OK;
  bool taken = false;
  *out_packed = NULL;
  pthread_mutex_lock(&weights->mutex);
  lk_packed *copy = take_copy(content, LK_COPY_PACKED, layout);
  if (copy != NULL && copy->bytes != bytes) {
    copy->refs--;
    status = lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to pack weights: layout %" PRIu64
                     " wanted with %zu bytes, it was packed with %zu",
                     layout, bytes, copy->bytes);
  } else if (copy != NULL) {
    weights->stats.shared++;
    *out_packed = copy;
  } else {
    status = make_and_fill(content, LK_COPY_PACKED, layout, bytes, packer, out_packed, error);
    taken = status == LK_OK;
  }
  pthread_mutex_unlock(&weights->mutex);
  if (!taken) destroy_packer(packer);
  return status;
}

void lk_content_forget_unfinished(lk_content *content) {
  for (lk_packed **link = &content->copies; *link != NULL;) {
    if ((*link)->data == NULL) {
      *link = (*link)->next;
    } else {
      link = &(*link)->next;
    }
  }
}

/* Bytes that an owner lends and that are worth lending; NULL: copy them. */
static const void *find_lendable(const lk_content *content, size_t alignment) {
  if (content->bytes < LK_LEND_BYTES) return NULL;
  for (const lk_lender *lender = content->lenders; lender != NULL; lender = lender->next) {
    if (lender->count > 0 && (uintptr_t)lender->data % alignment == 0) return lender->data;
  }
  return NULL;
}

/* Lent bytes as a copy: one for each owner whose bytes are in use. */
static lk_status lend(lk_content *content, const void *data, lk_packed **out_copy,
                      lk_error *error) {
  lk_packed *copy = content->copies;
  while (copy != NULL && (copy->kind != LK_COPY_LENT || copy->layout != 0 || copy->data != data)) {
    copy = copy->next;
  }
  if (copy == NULL) {
    copy = lk_calloc(&content->weights->allocator, 1, sizeof *copy);
    if (copy == NULL) return lk_fail_memory(error, "lent weights", sizeof *copy);
    copy->kind = LK_COPY_LENT;
    copy->bytes = content->bytes;
    copy->data = data;
    lk_copy_link(content, copy);
  }
  copy->refs++;
  *out_copy = copy;
  return LK_OK;
}

lk_status lk_content_plain(lk_content *content, size_t alignment, lk_packed **out_packed,
                           lk_error *error) {
  lk_weights *weights = content->weights;
  lk_status status = LK_OK;
  *out_packed = NULL;
  if (alignment == 0 || alignment > LK_DATA_ALIGNMENT || (alignment & (alignment - 1)) != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to get plain weights: alignment %zu, a power of two up to %zu",
                   alignment, LK_DATA_ALIGNMENT);
  }
  pthread_mutex_lock(&weights->mutex);
  *out_packed = take_copy(content, LK_COPY_PLAIN, 0);
  if (*out_packed == NULL) {
    const void *data = find_lendable(content, alignment);
    status = data != NULL ? lend(content, data, out_packed, error)
                          : make_and_fill(content, LK_COPY_PLAIN, 0, content->bytes, NULL,
                                          out_packed, error);
  }
  pthread_mutex_unlock(&weights->mutex);
  return status;
}

/* ---- references ---- */

const void *lk_packed_data(const lk_packed *packed) {
  return packed->data;
}

void lk_packed_retain(lk_packed *packed) {
  lk_weights *weights = packed->content->weights;
  pthread_mutex_lock(&weights->mutex);
  packed->refs++;
  pthread_mutex_unlock(&weights->mutex);
}

void lk_packed_release(lk_packed *packed) {
  if (packed == NULL) return;
  lk_content *content = packed->content;
  lk_weights *weights = content->weights;
  pthread_mutex_lock(&weights->mutex);
  touch(weights, packed);
  if (--packed->refs == 0) {
    if (packed->kind == LK_COPY_LENT || content->refs == 0) drop_copy(packed);
    lk_content_free_unused(content);
    lk_weights_shrink(weights);
  }
  pthread_mutex_unlock(&weights->mutex);
}
