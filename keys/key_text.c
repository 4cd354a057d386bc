/* Keys as text: printing. README.md has the grammar; key_parse.c reads it. Numbers are written
 * without the C library's locale, which belongs to the host. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/status.h"
#include "base/tensor.h"
#include "keys/key_fields.h"

typedef struct lk_writer {
  lk_intern *intern;
  char *buffer;
  size_t capacity;
  size_t length;         /* that the text has, whether it fits or not */
  uint32_t unknown_word; /* 0: all were known (word 0 is) */
} lk_writer;

static void put_bytes(lk_writer *writer, const char *text, size_t length) {
  if (writer->length < writer->capacity) {
    const size_t left = writer->capacity - writer->length;
    memcpy(writer->buffer + writer->length, text, length < left ? length : left);
  }
  writer->length += length;
}

static void put_text(lk_writer *writer, const char *text) {
  put_bytes(writer, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void put_format(lk_writer *writer, const char *format,
                                                             ...) {
  char text[24];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  put_text(writer, text);
}

static void put_escaped(lk_writer *writer, const char *text, size_t length) {
  for (; length > 0; text++, length--) {
    const unsigned char c = (unsigned char)*text;
    if (lk_is_escaped(c)) {
      put_format(writer, "%%%02X", c);
    } else {
      put_bytes(writer, text, 1);
    }
  }
}

static void put_word(lk_writer *writer, uint32_t word) {
  const char *text = lk_intern_text(writer->intern, word);
  if (text == NULL) {
    writer->unknown_word = word;
    return;
  }
  put_escaped(writer, text, strlen(text));
}

static void put_name_or_number(lk_writer *writer, const char *name, uint64_t value) {
  if (name != NULL) {
    put_text(writer, name);
  } else {
    put_format(writer, "%" PRIu64, value);
  }
}

static void put_dtype(lk_writer *writer, uint64_t dtype) {
  const bool known = lk_dtype_size((uint32_t)dtype) > 0;
  put_name_or_number(writer, known ? lk_dtype_name((uint32_t)dtype) : NULL, dtype);
}

/* The shortest decimal that the parser turns into exactly these bits, or where there is none (tiny,
 * large, endless, -0, NaN) the bits themselves. */
static void put_float(lk_writer *writer, uint32_t bits) {
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  double scaled = (double)value;
  for (uint32_t decimals = 0; decimals <= LK_DECIMALS_MAX; decimals++, scaled *= 10) {
    if (!(fabs(scaled) <= (double)LK_MANTISSA_MAX - 1)) break; /* also NaN */
    const int64_t mantissa = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    if (lk_decimal_bits(mantissa, decimals) != bits) continue;
    char text[24];
    int length = snprintf(text, sizeof text, "%s%0*" PRId64, mantissa < 0 ? "-" : "",
                          (int)decimals + 1, mantissa < 0 ? -mantissa : mantissa);
    put_bytes(writer, text, (size_t)length - decimals);
    if (decimals > 0) {
      put_bytes(writer, ".", 1);
      put_bytes(writer, text + length - decimals, decimals);
    }
    return;
  }
  put_format(writer, "0x%" PRIx32, bits);
}

static void put_field(lk_writer *writer, const lk_field *field, uint64_t value) {
  switch (field->form) {
  case LK_FORM_hex:
    put_format(writer, "0x%" PRIx64, value);
    break;
  case LK_FORM_word:
    put_word(writer, (uint32_t)value);
    break;
  case LK_FORM_dtype:
    put_dtype(writer, value);
    break;
  case LK_FORM_float:
    put_float(writer, (uint32_t)value);
    break;
  case LK_FORM_post:
    put_name_or_number(writer, lk_function_name(value), value);
    break;
  default:
    if (field->is_signed) {
      put_format(writer, "%" PRId64, (int64_t)value);
    } else {
      put_format(writer, "%" PRIu64, value);
    }
  }
}

static void put_shape(lk_writer *writer, const int64_t *dims, uint32_t rank, uint32_t dtype) {
  if (rank == 0) put_text(writer, "scalar");
  for (uint32_t i = 0; i < rank; i++) put_format(writer, "%s%" PRId64, i > 0 ? "x" : "", dims[i]);
  put_text(writer, ":");
  put_dtype(writer, dtype);
}

/* `count` integers of `size` bytes, 4 or 8. */
static void put_values(lk_writer *writer, const uint8_t *data, size_t size, uint64_t count) {
  put_text(writer, "[");
  for (uint64_t i = 0; i < count; i++, data += size) {
    int64_t value = 0;
    memcpy(&value, data, size);
    put_format(writer, "%s%" PRId64, i > 0 ? "," : "", size == 4 ? (int32_t)value : value);
  }
  put_text(writer, "]");
}

static void put_floats(lk_writer *writer, const uint8_t *data, uint64_t count) {
  put_text(writer, "[");
  for (uint64_t i = 0; i < count; i++) {
    uint32_t bits = 0;
    memcpy(&bits, data + i * sizeof bits, sizeof bits);
    if (i > 0) put_text(writer, ",");
    put_float(writer, bits);
  }
  put_text(writer, "]");
}

static void put_hex(lk_writer *writer, const uint8_t *data, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++) put_format(writer, "%02x", data[i]);
}

/* Integers, which may be shapes that people read, as such; all else as hexadecimal bytes. */
static void put_data(lk_writer *writer, uint32_t dtype, const uint8_t *data, uint64_t bytes) {
  if (dtype == LK_I64 || dtype == LK_I32) {
    const size_t size = lk_dtype_size(dtype);
    put_values(writer, data, size, bytes / size);
  } else {
    put_hex(writer, data, bytes);
  }
}

/* The part of a record that comes first and has no name: shape and type, or values. */
static bool put_payload(lk_writer *writer, const lk_key_reader *reader) {
  if (reader->type == LK_RECORD_TENSOR) {
    const lk_key_tensor *tensor = reader->record;
    put_shape(writer, reader->payload, (uint32_t)tensor->rank, tensor->dtype);
  } else if (reader->type == LK_RECORD_VALUE) {
    const lk_key_value *value = reader->record;
    put_shape(writer, reader->payload, value->rank, value->dtype);
  } else if (reader->type == LK_RECORD_ATTR) {
    const lk_key_attr_record *attr = reader->record;
    put_values(writer, reader->payload, sizeof(int64_t), attr->count);
  } else if (reader->type == LK_RECORD_FLOATS) {
    put_floats(writer, reader->payload, ((const lk_key_floats_record *)reader->record)->count);
  } else if (reader->type == LK_RECORD_BYTES) {
    put_hex(writer, reader->payload, ((const lk_key_bytes_record *)reader->record)->count);
  } else if (reader->type == LK_RECORD_TEXT) {
    put_escaped(writer, reader->payload, ((const lk_key_text_record *)reader->record)->count);
  } else {
    return false;
  }
  return true;
}

/* The named fields that are not 0. `any`: something is before them; returns the same for what comes
 * next. */
static bool put_fields(lk_writer *writer, const lk_record_fields *fields, const void *record,
                       const char *separator, const char *equals, bool any) {
  for (uint32_t i = 0; i < fields->count; i++) {
    const lk_field *field = &fields->fields[i];
    const uint64_t value = lk_field_read(field, record);
    if (!lk_form_is_named(field->form) || value == 0) continue;
    if (any) put_text(writer, separator);
    put_text(writer, field->name);
    put_text(writer, equals);
    put_field(writer, field, value);
    any = true;
  }
  return any;
}

static void put_record(lk_writer *writer, const lk_key_reader *reader) {
  const lk_record_fields *fields = lk_record_fields_get(reader->type);
  put_text(writer, fields->name);
  const uint64_t label = lk_field_read(&fields->fields[0], reader->record);
  if (fields->fields[0].form == LK_FORM_label && label != 0) {
    put_text(writer, ".");
    put_word(writer, (uint32_t)label);
  }
  put_text(writer, "=");
  (void)put_fields(writer, fields, reader->record, ",", ":", put_payload(writer, reader));
  if (reader->type != LK_RECORD_VALUE) return;
  const lk_key_value *value = reader->record;
  if (value->bytes == 0) return;
  put_text(writer, ",data:");
  put_data(writer, value->dtype, (const uint8_t *)reader->payload + value->rank * sizeof(int64_t),
           value->bytes);
}

lk_status lk_key_print(lk_intern *intern, const lk_key *key, char *buffer, size_t capacity,
                       size_t *out_length, lk_error *error) {
  lk_writer writer = {.intern = intern, .buffer = buffer, .capacity = capacity};
  lk_key_head head = *lk_key_get_head(key);
  if (head.fixed == key->size) head.fixed = 0;
  put_name_or_number(&writer, lk_kind_name(head.kind), head.kind);
  put_text(&writer, ":");
  bool any = put_fields(&writer, lk_record_fields_get(LK_RECORD_HEAD), &head, ";", "=", false);
  for (lk_key_reader reader = lk_key_read(key); lk_key_next(&reader); any = true) {
    if (any) put_text(&writer, ";");
    put_record(&writer, &reader);
  }
  if (capacity > 0) buffer[writer.length < capacity ? writer.length : capacity - 1] = '\0';
  if (out_length != NULL) *out_length = writer.length;
  if (writer.unknown_word != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to print a key: it has name number %" PRIu32
                   ", which was not interned in this context",
                   writer.unknown_word);
  }
  return LK_OK;
}
