#include "executor_glue/report/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

json_t *lk_json_end(lk_json *json) {
  if (!json->failed) return json->value;
  json_decref(json->value);
  return NULL;
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

json_t *lk_json_times(const uint64_t counts[LK_TIME_BUCKETS]) {
  uint32_t count = LK_TIME_BUCKETS;
  while (count > 0 && counts[count - 1] == 0) count--;
  lk_json array = lk_json_begin(json_array());
  for (uint32_t i = 0; i < count; i++) lk_json_add(&array, lk_json_number(counts[i]));
  return lk_json_end(&array);
}
