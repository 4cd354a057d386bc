/* The text of a key: what is read is printed, and what is printed is read as the same. */
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
  return 0;
}
