/* The records of a key and their fields as tables, made of the lists in key.h. */
#include "keys/key_fields.h"

#include <string.h>

#define LK_FIELD_ROW(type, field, form)                                                            \
  {#field, offsetof(of_fields, field), sizeof(type), (type)-1 < (type)1, LK_FORM_##form},

const lk_record_fields *lk_record_fields_get(uint32_t type) {
  switch (type) {
#define LK_RECORD_CASE(symbol, value, text, record)                                                \
  case LK_RECORD_##symbol: {                                                                       \
    typedef record of_fields;                                                                      \
    static const lk_field fields[] = {LK_KEY_##symbol##_FIELDS(LK_FIELD_ROW)};                     \
    static const lk_record_fields table = {LK_RECORD_##symbol, #text, fields,                      \
                                           sizeof fields / sizeof fields[0], sizeof(record)};      \
    return &table;                                                                                 \
  }
    LK_RECORD_LIST(LK_RECORD_CASE)
#undef LK_RECORD_CASE
  default:
    return NULL;
  }
}

const lk_record_fields *lk_record_fields_find(const char *name, size_t length) {
  const lk_record_fields *record = NULL;
  for (uint32_t type = 1; (record = lk_record_fields_get(type)) != NULL; type++) {
    if (strlen(record->name) == length && memcmp(record->name, name, length) == 0) break;
  }
  return record;
}

bool lk_form_is_named(lk_form form) {
  return form != LK_FORM_kind && form != LK_FORM_label && form != LK_FORM_element &&
         form != LK_FORM_count;
}

uint64_t lk_field_read(const lk_field *field, const void *record) {
  const uint8_t *at = (const uint8_t *)record + field->offset;
  uint64_t wide = 0;
  uint32_t narrow = 0;
  if (field->size == sizeof wide) {
    memcpy(&wide, at, sizeof wide);
    return wide;
  }
  memcpy(&narrow, at, sizeof narrow);
  return field->is_signed ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

void lk_field_write(const lk_field *field, void *record, uint64_t value) {
  uint8_t *at = (uint8_t *)record + field->offset;
  const uint32_t narrow = (uint32_t)value;
  if (field->size == sizeof value) {
    memcpy(at, &value, sizeof value);
  } else {
    memcpy(at, &narrow, sizeof narrow);
  }
}

const char *lk_kind_name(uint64_t kind) {
  static const char *const names[LK_KIND_COUNT] = {
      [LK_KIND_NAME] = "name",
      [LK_KIND_VALUE] = "value",
      [LK_KIND_RUN] = "run",
      [LK_KIND_USER] = "user",
  };
  return kind < LK_KIND_COUNT ? names[kind] : NULL;
}

const char *lk_post_op_name(uint64_t kind) {
  switch (kind) {
#define LK_POST_OP_CASE(symbol, value, name)                                                       \
  case symbol:                                                                                     \
    return name;
    LK_POST_OP_LIST(LK_POST_OP_CASE)
#undef LK_POST_OP_CASE
  default:
    return NULL;
  }
}

uint32_t lk_decimal_bits(int64_t mantissa, uint32_t decimals) {
  static const double powers[LK_DECIMALS_MAX + 1] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6};
  const float value = (float)((double)mantissa / powers[decimals]);
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

bool lk_is_escaped(unsigned char c) {
  return c < 0x20 || c == 0x7f || c == ';' || c == '=' || c == ',' || c == ':' || c == '%' ||
         c == '[' || c == ']';
}
