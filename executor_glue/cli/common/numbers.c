/* Numbers on the command line. */
#include "executor_glue/cli/common/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <latchkey/latchkey.h>

#include "base/parse.h"
#include "base/status.h"

#define MAX_SECONDS 1e6

lk_status parse_u64(const char *text, const char *option, uint64_t min, uint64_t max, uint64_t *out,
                    lk_error *error) {
  uint64_t value = 0;
  if (!lk_parse_number(text, false, &value) || value < min || value > max) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read %s: '%s', a number from %" PRIu64 " to %" PRIu64 " is needed",
                   option, text, min, max);
  }
  *out = value;
  return LK_OK;
}

lk_status parse_size(const char *text, const char *option, uint64_t *out, lk_error *error) {
  uint64_t value = 0;
  if (strcmp(text, "unlimited") == 0) {
    *out = LK_UNLIMITED;
    return LK_OK;
  }
  if (!lk_parse_number(text, true, &value) || value >= LK_NONE) {
    return lk_fail(
        error, LK_OUT_OF_RANGE,
        "failed to read %s: '%s', a number with k, m or g behind it, or 'unlimited' is needed",
        option, text);
  }
  *out = value;
  return LK_OK;
}

lk_status parse_threads(const char *text, const char *option, int32_t *out, lk_error *error) {
  uint64_t number = 0;
  LK_RETURN_NOT_OK(parse_u64(text, option, 1, LK_MAX_THREADS, &number, error));
  *out = (int32_t)number;
  return LK_OK;
}

static bool read_decimal(const char *text, double *out) {
  char *end = NULL;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*out);
}

lk_status parse_decimal(const char *text, const char *option, double min, double max, double *out,
                        lk_error *error) {
  double value = 0.0;
  if (!read_decimal(text, &value) || value < min || value > max) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read %s: '%s', a number from %g to %.0f is needed", option, text, min,
                   max);
  }
  *out = value;
  return LK_OK;
}

lk_status parse_seconds(const char *text, const char *option, double min, uint64_t *out_ns,
                        lk_error *error) {
  double seconds = 0.0;
  LK_RETURN_NOT_OK(parse_decimal(text, option, min, MAX_SECONDS, &seconds, error));
  *out_ns = (uint64_t)(seconds * 1e9);
  return LK_OK;
}

lk_status parse_tolerance(const char *text, const char *option, double *out, lk_error *error) {
  double value = 0.0;
  if (!read_decimal(text, &value) || value < 0.0) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read %s: '%s', a number of at least 0 is needed", option, text);
  }
  *out = value;
  return LK_OK;
}
