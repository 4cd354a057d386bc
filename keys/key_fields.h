/* The records of a key and their fields as tables, made from the lists in key.h. The printer and
 * the parser walk these tables, so that no field can be added and forgotten. Also the forms that
 * both must agree on. */
#pragma once

#include "keys/key.h"

typedef enum lk_form {
  LK_FORM_number,
  LK_FORM_hex,
  LK_FORM_word,
  LK_FORM_dtype,
  LK_FORM_kind,
  LK_FORM_float,
  LK_FORM_post,
  LK_FORM_label,
  LK_FORM_element,
  LK_FORM_count,
  LK_FORM_fixed
} lk_form;

typedef struct lk_field {
  const char *name;
  uint16_t offset;
  uint8_t size; /* 4 or 8 */
  bool is_signed;
  lk_form form;
} lk_field;

typedef struct lk_record_fields {
  lk_record_type type;
  const char *name; /* in text */
  const lk_field *fields;
  uint32_t count;
  uint32_t size; /* of the struct */
} lk_record_fields;

/* Types count from the head on. NULL: no such type. */
const lk_record_fields *lk_record_fields_get(uint32_t type);

/* Whether a form is written as `name:value` or `name=value`. The others have places of their
 * own. */
bool lk_form_is_named(lk_form form);

/* Zero-extended; sign-extended when the field is signed. Both, like the values of a record, are
 * copied at their own width: keys are little-endian (key_build.c asserts it). */
uint64_t lk_field_read(const lk_field *field, const void *record);
void lk_field_write(const lk_field *field, void *record, uint64_t value);

/* The bits of mantissa / 10^decimals as a float. */
uint32_t lk_decimal_bits(int64_t mantissa, uint32_t decimals);
enum { LK_DECIMALS_MAX = 6 };
#define LK_MANTISSA_MAX INT64_C(999999999)

/* Whether a byte means something in the text, so that it is written %XX in a word. */
bool lk_is_escaped(unsigned char c);
