/* Structs that cross the ABI: each begins with its size, as the caller's header knew it. */
#include "base/struct.h"

#include <string.h>

#include "base/status.h"

static lk_status read_size(const void *from, const char *what, size_t *out_size, lk_error *error) {
  if (from == NULL)
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to read %s: it is NULL, it is required",
                   what);
  memcpy(out_size, from, sizeof *out_size);
  if (*out_size < sizeof *out_size) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: struct_size is %zu, it must be sizeof the struct", what,
                   *out_size);
  }
  return LK_OK;
}

lk_status lk_struct_read(void *to, size_t size, const void *from, const char *what,
                         lk_error *error) {
  size_t given = 0;
  LK_RETURN_NOT_OK(read_size(from, what, &given, error));
  for (size_t i = size; i < given; i++) {
    if (((const unsigned char *)from)[i] != 0) {
      return lk_fail(error, LK_VERSION,
                     "failed to read %s: byte %zu is set, this library knows the first %zu; use a "
                     "newer library, or set the rest to 0",
                     what, i, size);
    }
  }
  memcpy(to, from, given < size ? given : size);
  memcpy(to, &size, sizeof size);
  return LK_OK;
}

lk_status lk_struct_write(void *to, const void *from, size_t size, const char *what,
                          lk_error *error) {
  size_t given = 0;
  LK_RETURN_NOT_OK(read_size(to, what, &given, error));
  const size_t copied = given < size ? given : size;
  memcpy((unsigned char *)to + sizeof given, (const unsigned char *)from + sizeof given,
         copied - sizeof given);
  memset((unsigned char *)to + copied, 0, given - copied);
  return LK_OK;
}
