/* The text of a key: what is read is printed, and what is printed is read as the same. And the
 * bytes of an attribute of each type: the key that has it is printed and read as the same. */
#include <latchkey/latchkey.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static lk_context *context(void) {
  static lk_context *made;
  if (made == NULL)
    FUZZ_CHECK(lk_get_api(LK_API_VERSION)->context_create(NULL, &made, NULL) == LK_OK);
  return made;
}

static char *print(const lk_key *key) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  size_t length = 0;
  FUZZ_CHECK(api->key_print(context(), key, NULL, 0, &length, NULL) == LK_OK);
  char *text = malloc(length + 1);
  FUZZ_CHECK(text != NULL);
  FUZZ_CHECK(api->key_print(context(), key, text, length + 1, &length, NULL) == LK_OK);
  FUZZ_CHECK(strlen(text) == length);
  return text;
}

static lk_status build(void *arg, const lk_key *key, lk_built *out, lk_error *error) {
  (void)key;
  (void)error;
  *out = (lk_built){.value = arg};
  return LK_OK;
}

/* What was built for one of the keys is found by the other: their bytes are equal. */
static void check_equal(const lk_key *key, const lk_key *other) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  lk_ref *built = NULL, *found = NULL;
  int value = 0;
  FUZZ_CHECK(api->get_or_create(context(), NULL, key, build, &value, &built, NULL, NULL) == LK_OK);
  FUZZ_CHECK(api->cache_find(context(), NULL, other, &found, NULL) == LK_OK && found != NULL);
  api->ref_release(found);
  api->ref_release(built);
  FUZZ_CHECK(api->cache_drop(context(), NULL, other, NULL, NULL) == LK_OK);
}

static void check_attribute(uint32_t type, uint32_t element, const uint8_t *data, size_t size) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  const lk_key_attr attr = {"x", data, (uint32_t)(size / element), type};
  const lk_key_desc desc = {
      .struct_size = sizeof desc, .name = "a", .attrs = &attr, .n_attrs = 1, .flags = type & 1};
  lk_key *key = NULL, *parsed = NULL;
  FUZZ_CHECK(api->key_create(context(), NULL, &desc, &key, NULL) == LK_OK);
  char *first = print(key);
  FUZZ_CHECK(api->key_parse(context(), first, &parsed, NULL) == LK_OK);
  char *second = print(parsed);
  FUZZ_CHECK(strcmp(first, second) == 0);
  check_equal(key, parsed);
  free(first);
  free(second);
  api->key_destroy(context(), parsed);
  api->key_destroy(context(), key);
}

static void check_attributes(const uint8_t *data, size_t size) {
  uint8_t *aligned = malloc(size + 1);
  if (aligned == NULL || size > 100000) {
    free(aligned);
    return;
  }
  if (size > 0) memcpy(aligned, data, size);
  check_attribute(LK_KEY_ATTR_INTS, sizeof(int64_t), aligned, size);
  check_attribute(LK_KEY_ATTR_FLOATS, sizeof(float), aligned, size);
  check_attribute(LK_KEY_ATTR_BYTES, 1, aligned, size);
  check_attribute(LK_KEY_ATTR_STRING, 1, aligned, size);
  free(aligned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  char *text = fuzz_text(data, size);
  lk_error error;
  lk_key *key = NULL, *again = NULL;
  if (api->key_parse(context(), text, &key, &error) == LK_OK) {
    char *first = print(key);
    FUZZ_CHECK(api->key_parse(context(), first, &again, &error) == LK_OK);
    char *second = print(again);
    FUZZ_CHECK(strcmp(first, second) == 0);
    free(first);
    free(second);
    api->key_destroy(context(), again);
    api->key_destroy(context(), key);
  } else {
    FUZZ_CHECK(key == NULL);
    fuzz_check_sentence(&error);
  }
  free(text);
  check_attributes(data, size);
  return 0;
}
