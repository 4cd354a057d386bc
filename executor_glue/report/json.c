#include "executor_glue/report/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

lk_json lk_json_begin(void) {
  json_t *object = json_object();
  return (lk_json){object, object == NULL};
}

void lk_json_set(lk_json *json, const char *key, json_t *value) {
  if (json_object_set_new(json->object, key, value) != 0) json->failed = true;
}

json_t *lk_json_end(lk_json *json) {
  if (!json->failed) return json->object;
  json_decref(json->object);
  return NULL;
}

bool lk_json_append(json_t *array, json_t *value) {
  return json_array_append_new(array, value) == 0;
}

json_t *lk_json_text(const char *text) {
  json_t *value = json_string(text);
  if (value != NULL) return value;
  const size_t capacity = LK_TEXT_ESCAPED_BYTES(strlen(text));
  char *escaped = malloc(capacity);
  if (escaped == NULL) return NULL;
  (void)lk_text_escape(text, escaped, capacity);
  value = json_string(escaped);
  free(escaped);
  return value;
}

json_t *lk_json_number(uint64_t number) {
  return number <= INT64_MAX ? json_integer((json_int_t)number) : json_null();
}

json_t *lk_json_numbers(const uint64_t *numbers, uint32_t count) {
  json_t *array = json_array();
  bool fits = array != NULL;
  for (uint32_t i = 0; fits && i < count; i++) {
    fits = lk_json_append(array, lk_json_number(numbers[i]));
  }
  if (fits) return array;
  json_decref(array);
  return NULL;
}
