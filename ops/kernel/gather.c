/* Slices picked by indices. */
#include "ops/kernel/gather.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"

lk_status lk_gather_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_gather *step = params;
  const char *data = pointers[0];
  char *to = pointers[2];
  for (int64_t i = 0; i < step->outer; i++) {
    for (int64_t k = 0; k < step->count; k++) {
      int64_t index = step->wide ? ((const int64_t *)pointers[1])[k]
                                 : (int64_t)((const int32_t *)pointers[1])[k];
      if (index < -step->axis || index >= step->axis) {
        return lk_fail(error, LK_OUT_OF_RANGE,
                       "failed to gather: index %" PRId64 ", must be -%" PRId64 " to %" PRId64,
                       index, step->axis, step->axis - 1);
      }
      if (index < 0) index += step->axis;
      memcpy(to, data + (size_t)index * step->block, step->block);
      to += step->block;
    }
    data += (size_t)step->axis * step->block;
  }
  return LK_OK;
}
