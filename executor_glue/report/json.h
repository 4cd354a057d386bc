/* Making JSON of what may be no UTF-8, where memory may be short. */
#pragma once

#include <jansson.h>
#include <latchkey/context.h>
#include <stdbool.h>

/* An object or array while it is made. Once a part has found no memory, all is lost, and the end
 * tells. */
typedef struct lk_json {
  json_t *value;
  bool failed;
} lk_json;

/* Takes over `value`, an empty object or array; NULL: it has found no memory. */
static inline lk_json lk_json_begin(json_t *value) {
  return (lk_json){value, value == NULL};
}
/* Take over `value`; NULL: it has found no memory. `key`: valid UTF-8, which is not looked at. */
static inline void lk_json_set(lk_json *object, const char *key, json_t *value) {
  if (json_object_set_new_nocheck(object->value, key, value) != 0) object->failed = true;
}
static inline void lk_json_add(lk_json *array, json_t *value) {
  if (json_array_append_new(array->value, value) != 0) array->failed = true;
}
/* NULL: something has found no memory. */
json_t *lk_json_end(lk_json *json);

json_t *lk_json_text(const char *text);  /* what is not valid UTF-8 is escaped, see base/text.h */
json_t *lk_json_number(uint64_t number); /* null for LK_UNLIMITED and what no JSON reader takes */
/* Counts of times by how long they are, without the zeros behind the last one, which would be most
 * of a report. */
json_t *lk_json_times(const uint64_t counts[LK_TIME_BUCKETS]);

/* A number or text by its type. */
#define LK_JSON_OF(member)                                                                         \
  _Generic((member), char *: lk_json_text, const char *: lk_json_text, double: json_real,          \
           int32_t: json_integer, int64_t: json_integer, default: lk_json_number)(member)

/* Set members of `*record`, one to nine of them, under their names. */
#define LK_JSON_SET(object, record, ...) LK_JSON_SET_PART(object, record, , __VA_ARGS__)
/* The same of members whose names begin with `prefix`, which their keys do not have. */
#define LK_JSON_SET_PART(object, record, prefix, ...)                                              \
  LK_JSON_TENTH(__VA_ARGS__, LK_JSON_9, LK_JSON_8, LK_JSON_7, LK_JSON_6, LK_JSON_5, LK_JSON_4,     \
                LK_JSON_3, LK_JSON_2, LK_JSON_1, )                                                 \
  (object, record, prefix, __VA_ARGS__)
#define LK_JSON_TENTH(a, b, c, d, e, f, g, h, i, tenth, ...) tenth
#define LK_JSON_1(o, r, p, m) lk_json_set(o, #m, LK_JSON_OF((r)->p##m))
#define LK_JSON_2(o, r, p, m, ...) LK_JSON_1(o, r, p, m), LK_JSON_1(o, r, p, __VA_ARGS__)
#define LK_JSON_3(o, r, p, m, ...) LK_JSON_1(o, r, p, m), LK_JSON_2(o, r, p, __VA_ARGS__)
#define LK_JSON_4(o, r, p, m, ...) LK_JSON_1(o, r, p, m), LK_JSON_3(o, r, p, __VA_ARGS__)
#define LK_JSON_5(o, r, p, m, ...) LK_JSON_1(o, r, p, m), LK_JSON_4(o, r, p, __VA_ARGS__)
#define LK_JSON_6(o, r, p, m, ...) LK_JSON_1(o, r, p, m), LK_JSON_5(o, r, p, __VA_ARGS__)
#define LK_JSON_7(o, r, p, m, ...) LK_JSON_1(o, r, p, m), LK_JSON_6(o, r, p, __VA_ARGS__)
#define LK_JSON_8(o, r, p, m, ...) LK_JSON_1(o, r, p, m), LK_JSON_7(o, r, p, __VA_ARGS__)
#define LK_JSON_9(o, r, p, m, ...) LK_JSON_1(o, r, p, m), LK_JSON_8(o, r, p, __VA_ARGS__)
