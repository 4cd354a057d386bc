/* A file of measured times. The bytes are read as they are, and once more as lines whose digits are
 * right, so that what stands behind the digits is read, too. What was read is written, and is the
 * same when it is read again. */
#define XXH_INLINE_ALL
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "ops/engine/tuning.h"
#include "tests/fuzz/fuzz.h"

enum { DIGITS = 16 };

typedef struct house {
  fuzz_memory memory;
  lk_allocator allocator;
  lk_intern *intern;
  lk_tuning *tuning;
} house;

static void open_house(house *made) {
  made->memory = (fuzz_memory){.limit = (size_t)64 << 20};
  made->allocator = fuzz_allocator(&made->memory);
  FUZZ_CHECK(lk_intern_create(&made->allocator, &made->intern, NULL) == LK_OK);
  FUZZ_CHECK(lk_tuning_create(&made->allocator, made->intern, &made->tuning, NULL) == LK_OK);
}

static void close_house(house *made) {
  lk_tuning_destroy(made->tuning);
  lk_intern_destroy(made->intern);
  FUZZ_CHECK(made->memory.used == 0);
}

static void read(house *into, const char *text, size_t bytes) {
  lk_error error;
  error.message[0] = '\0';
  if (lk_tuning_read(into->tuning, text, bytes, &error) != LK_OK) fuzz_check_sentence(&error);
}

/* Each line of the bytes, with its digits in front. */
static char *seal(const uint8_t *data, size_t size, size_t *out_bytes) {
  size_t lines = 1;
  for (size_t i = 0; i < size; i++) lines += data[i] == '\n' ? 1 : 0;
  char *text = malloc(size + lines * (DIGITS + 2) + 1), *to = text;
  FUZZ_CHECK(text != NULL);
  for (size_t at = 0; at <= size;) {
    const uint8_t *end = at < size ? memchr(data + at, '\n', size - at) : NULL;
    const size_t length = end != NULL ? (size_t)(end - data) - at : size - at;
    const uint64_t hash = XXH3_64bits(data + at, length);
    to += snprintf(to, DIGITS + 2, "%016" PRIx64 " ", hash);
    if (length > 0) memcpy(to, data + at, length);
    to += length;
    *to++ = '\n';
    at += length + 1;
  }
  *out_bytes = (size_t)(to - text);
  return text;
}

/* By a key that was read, its times are found; noted and written, they are read as the same. */
static void check_line(const char *line, size_t bytes) {
  house first, second;
  lk_key *key = NULL;
  lk_tuned times, found;
  lk_tuning_lines lines;
  const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  open_house(&first);
  open_house(&second);
  if (lk_tuning_line_parse(first.intern, &first.allocator, line, bytes, c, &key, &times, NULL) ==
          LK_OK &&
      key != NULL) {
    FUZZ_CHECK(lk_tuning_note(first.tuning, key, &times, NULL) == LK_OK);
    FUZZ_CHECK(lk_tuning_find(first.tuning, key, &found));
    FUZZ_CHECK(found.native_ns == times.native_ns && found.engine_ns == times.engine_ns &&
               found.count == times.count);
    FUZZ_CHECK(lk_tuning_write(first.tuning, &lines, NULL) == LK_OK && lines.works == 1);
    FUZZ_CHECK(lk_tuning_read(second.tuning, lines.text, lines.bytes, NULL) == LK_OK);
    FUZZ_CHECK(lk_tuning_works(second.tuning) == 1 && lk_tuning_skipped(second.tuning) == 0);
    FUZZ_CHECK(lk_tuning_read(first.tuning, lines.text, lines.bytes, NULL) == LK_OK);
    FUZZ_CHECK(lk_tuning_works(first.tuning) == 1); /* under the key that was read */
    lk_tuning_settle(first.tuning, &lines, true);
    lk_key_destroy(&first.allocator, key);
  }
  freelocale(c);
  close_house(&second);
  close_house(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  house made;
  size_t bytes = 0;
  char *sealed = seal(data, size, &bytes);
  open_house(&made);
  read(&made, (const char *)data, size);
  read(&made, sealed, bytes);
  close_house(&made);
  check_line(sealed, (size_t)((const char *)memchr(sealed, '\n', bytes) - sealed));
  free(sealed);
  return 0;
}
