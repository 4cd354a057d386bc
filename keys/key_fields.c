/* The records of a key and their fields as tables, made of the lists in key.h. */
#include "keys/key_fields.h"

#include <string.h>

#define LK_ROW(type, field, form)                                                                  \
  {#field, offsetof(LK_ROW_RECORD, field), sizeof(type), (type)-1 < (type)1, LK_FORM_##form},

#define LK_ROW_RECORD lk_key_head
static const lk_field head_fields[] = {LK_KEY_HEAD_FIELDS(LK_ROW)};
#undef LK_ROW_RECORD
#define LK_ROW_RECORD lk_key_call
static const lk_field call_fields[] = {LK_KEY_CALL_FIELDS(LK_ROW)};
#undef LK_ROW_RECORD
#define LK_ROW_RECORD lk_key_tensor
static const lk_field tensor_fields[] = {LK_KEY_TENSOR_FIELDS(LK_ROW)};
#undef LK_ROW_RECORD
#define LK_ROW_RECORD lk_key_attr_record
static const lk_field attr_fields[] = {LK_KEY_ATTR_FIELDS(LK_ROW)};
#undef LK_ROW_RECORD
#define LK_ROW_RECORD lk_key_post_op
static const lk_field post_op_fields[] = {LK_KEY_POST_OP_FIELDS(LK_ROW)};
#undef LK_ROW_RECORD
#define LK_ROW_RECORD lk_key_content
static const lk_field content_fields[] = {LK_KEY_CONTENT_FIELDS(LK_ROW)};
#undef LK_ROW_RECORD
#define LK_ROW_RECORD lk_key_value
static const lk_field value_fields[] = {LK_KEY_VALUE_FIELDS(LK_ROW)};
#undef LK_ROW_RECORD

#define LK_RECORD_ROW(type, name, fields, record)                                                  \
  { type, name, fields, sizeof fields / sizeof fields[0], sizeof(record) }
static const lk_record_fields records[] = {
    LK_RECORD_ROW(LK_RECORD_HEAD, "head", head_fields, lk_key_head),
    LK_RECORD_ROW(LK_RECORD_CALL, "call", call_fields, lk_key_call),
    LK_RECORD_ROW(LK_RECORD_TENSOR, "tensor", tensor_fields, lk_key_tensor),
    LK_RECORD_ROW(LK_RECORD_ATTR, "attr", attr_fields, lk_key_attr_record),
    LK_RECORD_ROW(LK_RECORD_POST_OP, "post_op", post_op_fields, lk_key_post_op),
    LK_RECORD_ROW(LK_RECORD_CONTENT, "content", content_fields, lk_key_content),
    LK_RECORD_ROW(LK_RECORD_VALUE, "value", value_fields, lk_key_value),
};
enum { LK_N_RECORDS = sizeof records / sizeof records[0] };

const lk_record_fields *lk_record_fields_get(uint32_t type) {
  for (size_t i = 0; i < LK_N_RECORDS; i++) {
    if ((uint32_t)records[i].type == type) return &records[i];
  }
  return NULL;
}

const lk_record_fields *lk_record_fields_find(const char *name, size_t length) {
  for (size_t i = 0; i < LK_N_RECORDS; i++) {
    if (strlen(records[i].name) == length && memcmp(records[i].name, name, length) == 0) {
      return &records[i];
    }
  }
  return NULL;
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
