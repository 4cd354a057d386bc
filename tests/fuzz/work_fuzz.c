/* Works as value keys: what is made is printed, read and made again as the same. The first byte
 * says whether the rest is a work, or the text of a key. */
#include <latchkey/latchkey.h>
#include <string.h>

#include "base/alloc.h"
#include "keys/key.h"
#include "ops/engine/value_key.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/works.h"

typedef struct house {
  lk_context *context;
  lk_intern *intern;
  lk_key *fixed[LK_WORK_KINDS];
} house;

static const house *get_house(void) {
  static house made;
  if (made.context != NULL) return &made;
  const lk_allocator *allocator = lk_allocator_default();
  lk_key_engine engine = {.device_kind = 1};
  lk_words words;
  FUZZ_CHECK(lk_get_api(LK_API_VERSION)->context_create(NULL, &made.context, NULL) == LK_OK);
  FUZZ_CHECK(lk_intern_create(allocator, &made.intern, NULL) == LK_OK);
  lk_words_begin(&words, made.intern);
  FUZZ_CHECK(lk_words_get(&words, "fuzz", 4, &engine.name, NULL) == LK_OK);
  FUZZ_CHECK(lk_words_get(&words, "1 = 1;", 6, &engine.state, NULL) == LK_OK);
  const uint32_t names[] = {engine.name, engine.state};
  lk_intern_retain(made.intern, names, 2);
  lk_words_end(&words);
  for (uint32_t kind = 0; kind < LK_WORK_KINDS; kind++) {
    FUZZ_CHECK(lk_value_key_fix(allocator, &engine, kind, &made.fixed[kind], NULL) == LK_OK);
  }
  return &made;
}

static char *print(const lk_key *key) {
  size_t length = 0;
  FUZZ_CHECK(lk_key_print(get_house()->intern, key, NULL, 0, &length, NULL) == LK_OK);
  char *text = malloc(length + 1);
  FUZZ_CHECK(text != NULL);
  FUZZ_CHECK(lk_key_print(get_house()->intern, key, text, length + 1, NULL, NULL) == LK_OK);
  return text;
}

/* The key of a work; by its text and back it is the same, and so is the work. */
static void check_work(const lk_work *work) {
  const house *of = get_house();
  const lk_allocator *allocator = lk_allocator_default();
  lk_key_builder builder;
  lk_key key, *parsed = NULL;
  lk_work read;
  lk_value_key_begin(&builder, allocator, of->fixed, work);
  FUZZ_CHECK(lk_key_finish(&builder, &key, NULL) == LK_OK);
  FUZZ_CHECK(lk_value_key_read(&key, &read, NULL) == LK_OK);
  FUZZ_CHECK(memcmp(work, &read, sizeof read) == 0);
  char *text = print(&key);
  FUZZ_CHECK(lk_key_parse(of->intern, allocator, text, &parsed, NULL) == LK_OK);
  FUZZ_CHECK(lk_key_equal(&key, parsed));
  FUZZ_CHECK(lk_value_key_read(parsed, &read, NULL) == LK_OK);
  FUZZ_CHECK(memcmp(work, &read, sizeof read) == 0);
  lk_key_destroy(allocator, parsed);
  free(text);
  lk_key_builder_destroy(&builder);
}

/* Values of engines cannot be asked for by text, whatever it says. */
static lk_status build(void *arg, const lk_key *key, lk_built *out, lk_error *error) {
  static char value;
  (void)error;
  FUZZ_CHECK(lk_key_get_head(key)->kind == LK_KIND_USER);
  *out = (lk_built){.value = &value, .bytes = 1, .user = arg};
  return LK_OK;
}

static void ask_by_text(const char *text) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  lk_error error;
  lk_ref *ref = NULL;
  error.message[0] = '\0';
  if (api->get_or_create_text(get_house()->context, NULL, text, build, NULL, &ref, NULL, &error) !=
      LK_OK) {
    FUZZ_CHECK(ref == NULL);
    fuzz_check_sentence(&error);
  }
  api->ref_release(ref);
}

static void check_text(const char *text) {
  const lk_allocator *allocator = lk_allocator_default();
  lk_error error;
  lk_key *key = NULL;
  lk_work work;
  error.message[0] = '\0';
  ask_by_text(text);
  if (lk_key_parse(get_house()->intern, allocator, text, &key, &error) != LK_OK) return;
  if (lk_value_key_read(key, &work, &error) == LK_OK) {
    check_work(&work);
  } else {
    fuzz_check_sentence(&error);
  }
  lk_key_destroy(allocator, key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes from = {data, size};
  if (fuzz_take_up_to(&from, 1) == 0) {
    const lk_work work = fuzz_any_work(&from);
    check_work(&work);
  } else {
    char *text = fuzz_text(from.data, from.size);
    check_text(text);
    free(text);
  }
  return 0;
}
