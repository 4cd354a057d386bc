/* Requests to the socket of a process, as they come in pieces: only the one that exists is taken,
 * nothing is read behind what was given, and an answer stays the same once it is there. */
#include <string.h>

#include "plugin/serve/request.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char plain[] = "statistics 1\n", terminal[] = "statistics 1\r\n";
  lk_serve_request before = LK_SERVE_MORE;
  for (size_t count = 0; count <= size && count <= 2 * LK_SERVE_REQUEST_BYTES; count++) {
    char *part = malloc(count + (count == 0)); /* of its own, so that its end is seen */
    FUZZ_CHECK(part != NULL);
    if (count > 0) memcpy(part, data, count);
    const lk_serve_request now = lk_serve_request_read(part, count);
    FUZZ_CHECK(before == LK_SERVE_MORE || now == before);
    if (count >= LK_SERVE_REQUEST_BYTES) FUZZ_CHECK(now != LK_SERVE_MORE);
    if (now == LK_SERVE_STATISTICS) {
      FUZZ_CHECK(
          (count >= sizeof plain - 1 && memcmp(part, plain, sizeof plain - 1) == 0) ||
          (count >= sizeof terminal - 1 && memcmp(part, terminal, sizeof terminal - 1) == 0));
    }
    free(part);
    before = now;
  }
  return 0;
}
