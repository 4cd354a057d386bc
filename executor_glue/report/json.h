/* Making JSON of what may be no UTF-8, where memory may be short. */
#pragma once

#include <jansson.h>
#include <latchkey/base.h>
#include <stdbool.h>

/* An object while it is made. Once a part has found no memory, all is lost, and the end tells. */
typedef struct lk_json {
  json_t *object;
  bool failed;
} lk_json;

lk_json lk_json_begin(void);
/* Takes over `value`; NULL: it has found no memory. `key`: valid UTF-8. */
void lk_json_set(lk_json *json, const char *key, json_t *value);
/* NULL: something has found no memory. */
json_t *lk_json_end(lk_json *json);
/* The same for arrays: takes over `value`, and says whether it is in. */
bool lk_json_append(json_t *array, json_t *value);

json_t *lk_json_text(const char *text);  /* what is not valid UTF-8 is escaped, see base/text.h */
json_t *lk_json_number(uint64_t number); /* null for LK_UNLIMITED and what no JSON reader takes */
json_t *lk_json_numbers(const uint64_t *numbers, uint32_t count);
