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

bool lk_form_is_named(lk_form form) {
  return form != LK_FORM_kind && form != LK_FORM_label && form != LK_FORM_element &&
         form != LK_FORM_count;
}

uint64_t lk_field_read(const lk_field *field, const void *record) {
  uint64_t value = 0;
  memcpy(&value, (const uint8_t *)record + field->offset, field->size);
  return field->is_signed && field->size == 4 ? (uint64_t)(int64_t)(int32_t)value : value;
}

void lk_field_write(const lk_field *field, void *record, uint64_t value) {
  memcpy((uint8_t *)record + field->offset, &value, field->size);
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
