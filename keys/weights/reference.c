/* References to contents, whether their bytes were read yet (content.c) or not (late.c). */
#include "base/status.h"
#include "keys/weights/copy.h"
#include "keys/weights/late.h"

lk_status lk_weights_intern(lk_weights *weights, const void *data, size_t bytes, bool copy,
                            lk_content **out_content, lk_error *error) {
  if (copy || bytes < LK_LATE_LEAST_BYTES) {
    return lk_content_find(weights, data, bytes, copy, out_content, error);
  }
  *out_content = lk_late_intern(weights, data, bytes);
  return *out_content != NULL ? LK_OK : lk_fail_memory(error, "weights", sizeof **out_content);
}

void lk_content_release(lk_content *content, const void *data) {
  if (content != NULL && content->late != NULL) {
    lk_late_release(content);
  } else {
    lk_content_give_back(content, data);
  }
}

lk_status lk_content_settle_id(lk_content *content, uint64_t *out_id, lk_error *error) {
  lk_content *settled = NULL;
  *out_id = 0;
  LK_RETURN_NOT_OK(lk_late_settle(content, &settled, error));
  *out_id = settled->id;
  return LK_OK;
}
