/* Measured times of a work as a line of text, and back. */
#define XXH_INLINE_ALL
#include "ops/engine/tuning_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/status.h"
#include "ops/engine/value_key.h"

enum { DIGITS = 16, MOST_NUMBER = sizeof "1.2345678901234567e+300" };

#define MOST 1e300

static bool is_good(double number) {
  return number > 0 && number <= MOST; /* no NaN is */
}

bool lk_tuned_is_good(const lk_tuned *times) {
  const bool are_good =
      is_good(times->native_ns) && is_good(times->engine_ns) && is_good(times->count);
  return are_good && times->count >= 1 && times->native_ns / times->count > 0 &&
         times->engine_ns / times->count > 0;
}

/* ---- printing ---- */

lk_status lk_tuning_line_room(lk_intern *intern, const lk_key *key, size_t *out_bytes,
                              lk_error *error) {
  size_t length = 0;
  const lk_status status = lk_key_print(intern, key, NULL, 0, &length, error);
  *out_bytes = DIGITS + 1 + 3 * (size_t)MOST_NUMBER + length + sizeof "\n";
  return status;
}

static void print_digits(char to[DIGITS + 1], const char *text, size_t bytes) {
  (void)snprintf(to, DIGITS + 1, "%016" PRIx64, (uint64_t)XXH3_64bits(text, bytes));
}

lk_status lk_tuning_line_print(lk_intern *intern, const lk_key *key, const lk_tuned *times,
                               locale_t c, char *to, size_t room, size_t *out_bytes,
                               lk_error *error) {
  char *text = to + DIGITS + 1;
  size_t length = 0;
  const locale_t before = uselocale(c);
  const int numbers = snprintf(text, room - DIGITS - 1, "%.17g %.17g %.17g ", times->native_ns,
                               times->engine_ns, times->count);
  (void)uselocale(before);
  LK_RETURN_NOT_OK(lk_key_print(intern, key, text + numbers, room - DIGITS - 1 - (size_t)numbers,
                                &length, error));
  length += (size_t)numbers;
  print_digits(to, text, length);
  to[DIGITS] = ' ';
  text[length] = '\n';
  text[length + 1] = '\0';
  *out_bytes = DIGITS + 1 + length + 1;
  return LK_OK;
}

/* ---- parsing ---- */

static bool is_whole(const char *line, size_t bytes) {
  char digits[DIGITS + 1];
  if (bytes <= DIGITS || line[DIGITS] != ' ') return false;
  print_digits(digits, line + DIGITS + 1, bytes - DIGITS - 1);
  return memcmp(digits, line, DIGITS) == 0 && memchr(line, '\0', bytes) == NULL;
}

/* A decimal number and the blank behind it: no hexadecimal one, no word. */
static bool take_number(const char **at, locale_t c, double *out) {
  const char *begin = *at;
  char *end = NULL;
  const size_t length = strspn(begin, "0123456789.e+-");
  if (*begin < '0' || *begin > '9' || begin[length] != ' ') return false;
  *out = strtod_l(begin, &end, c);
  *at = begin + length + 1;
  return end == begin + length && is_good(*out);
}

/* Whether the key is one of a work that this version knows. */
static bool is_of_work(const lk_key *key) {
  lk_work work;
  return lk_value_key_read(key, &work, NULL) == LK_OK;
}

lk_status lk_tuning_line_parse(lk_intern *intern, const lk_allocator *allocator, const char *line,
                               size_t bytes, locale_t c, lk_key **out_key, lk_tuned *out_times,
                               lk_error *error) {
  *out_key = NULL;
  if (!is_whole(line, bytes)) return LK_OK;
  char *text = lk_strndup(allocator, line + DIGITS + 1, bytes - DIGITS - 1);
  if (text == NULL) return lk_fail_memory(error, "a line of a tuning file", bytes);
  lk_status status = LK_OK;
  const char *at = text;
  if (take_number(&at, c, &out_times->native_ns) && take_number(&at, c, &out_times->engine_ns) &&
      take_number(&at, c, &out_times->count)) {
    status = lk_key_parse(intern, allocator, at, out_key, error);
  }
  if (*out_key != NULL && !is_of_work(*out_key)) {
    lk_key_destroy(allocator, *out_key);
    *out_key = NULL;
  }
  lk_free(allocator, text);
  return status == LK_OUT_OF_MEMORY ? status : LK_OK;
}
