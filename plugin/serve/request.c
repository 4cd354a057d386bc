/* The grammar of requests: whole lines that are known, and nothing else. */
#include "plugin/serve/request.h"

#include <stdbool.h>
#include <string.h>

static const char statistics[] = "statistics 1";

lk_serve_request lk_serve_request_read(const char *bytes, size_t count) {
  const size_t most = count < LK_SERVE_REQUEST_BYTES ? count : LK_SERVE_REQUEST_BYTES;
  const char *end = most > 0 ? memchr(bytes, '\n', most) : NULL;
  if (end == NULL) return most < LK_SERVE_REQUEST_BYTES ? LK_SERVE_MORE : LK_SERVE_BAD;
  size_t length = (size_t)(end - bytes);
  if (length > 0 && bytes[length - 1] == '\r') length--; /* as a terminal may send it */
  const bool is_known = length == sizeof statistics - 1 && memcmp(bytes, statistics, length) == 0;
  return is_known ? LK_SERVE_STATISTICS : LK_SERVE_BAD;
}
