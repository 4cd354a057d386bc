/* Plain bytes of a content, pinned for reading without the mutex. */
#include "keys/weights/reading.h"

#include "base/alloc.h"
#include "base/status.h"
#include "keys/weights/copy.h"

/* Unpacks a copy; gives up the lock meanwhile. A reference that is taken here keeps the copy. */
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

lk_status lk_content_read_begin(lk_content *content, lk_reading *out_reading, lk_error *error) {
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
