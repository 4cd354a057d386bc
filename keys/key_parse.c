/* Keys as text: parsing what key_text.c prints. It is strict, so that what is parsed is what was
 * meant: names come in the order of the lists, each at most once, and nothing unknown is
 * skipped. */
#include <inttypes.h>
#include <latchkey/engine.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/status.h"
#include "base/tensor.h"
#include "keys/key_build.h"
#include "keys/key_fields.h"

typedef struct lk_parser {
  lk_words words; /* those read so far, of the key that is being made */
  const lk_allocator *allocator;
  const char *text, *at;
  lk_error *error;
  int64_t *values; /* of the last list, reused */
  size_t n_values, capacity;
} lk_parser;

static lk_status expected_at(const lk_parser *parser, const char *at, const char *what) {
  char found[16] = "the end";
  if (*at >= ' ' && *at <= '~') {
    (void)snprintf(found, sizeof found, "'%c'", *at);
  } else if (*at != '\0') {
    (void)snprintf(found, sizeof found, "byte 0x%02x", (unsigned)(unsigned char)*at);
  }
  return lk_fail(parser->error, LK_MALFORMED,
                 "failed to parse a key: expected %s at character %zu, found %s", what,
                 (size_t)(at - parser->text) + 1, found);
}

static lk_status expected(const lk_parser *parser, const char *what) {
  return expected_at(parser, parser->at, what);
}

static bool accept(lk_parser *parser, char c) {
  if (*parser->at != c) return false;
  parser->at++;
  return true;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t name_length(const char *at) {
  size_t length = 0;
  while ((at[length] >= 'a' && at[length] <= 'z') || is_digit(at[length]) || at[length] == '_') {
    length++;
  }
  return length;
}

static bool accept_name(lk_parser *parser, const char *name) {
  const size_t length = name_length(parser->at);
  if (strlen(name) != length || memcmp(name, parser->at, length) != 0) return false;
  parser->at += length;
  return true;
}

/* Digits without leading zeros, not over `max`. */
static lk_status read_unsigned(lk_parser *parser, uint64_t max, uint64_t *out, const char *what) {
  const char *begin = parser->at;
  uint64_t value = 0;
  if (!is_digit(*begin)) return expected(parser, what);
  for (; is_digit(*parser->at); parser->at++) {
    const uint64_t digit = (uint64_t)(*parser->at - '0');
    if (value > (max - digit) / 10 || (*begin == '0' && parser->at > begin)) {
      return expected_at(parser, begin, what);
    }
    value = value * 10 + digit;
  }
  *out = value;
  return LK_OK;
}

static lk_status read_signed(lk_parser *parser, uint32_t size, int64_t *out) {
  const char *what =
      size == 4 ? "a number from -2^31 to 2^31 - 1" : "a number from -2^63 to 2^63 - 1";
  const bool negative = accept(parser, '-');
  const uint64_t max = size == 4 ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX;
  uint64_t value = 0;
  if (negative && *parser->at == '0') return expected(parser, what);
  LK_RETURN_NOT_OK(read_unsigned(parser, max + (negative ? 1 : 0), &value, what));
  *out = (int64_t)(negative ? 0 - value : value);
  return LK_OK;
}

static int hex_digit(char c, bool upper) {
  if (is_digit(c)) return c - '0';
  const char first = upper ? 'A' : 'a';
  return c >= first && c <= first + 5 ? c - first + 10 : -1;
}

static lk_status read_hex(lk_parser *parser, uint32_t size, uint64_t *out) {
  const char *what =
      size == 4 ? "0x and 1 to 8 digits (0-9, a-f)" : "0x and 1 to 16 digits (0-9, a-f)";
  const char *begin = parser->at;
  uint64_t value = 0;
  uint32_t digits = 0;
  if (!accept(parser, '0') || !accept(parser, 'x')) return expected_at(parser, begin, what);
  for (; hex_digit(*parser->at, false) >= 0; parser->at++) {
    if (++digits > size * 2) return expected_at(parser, begin, what);
    value = value << 4 | (uint64_t)hex_digit(*parser->at, false);
  }
  if (digits == 0) return expected(parser, what);
  *out = value;
  return LK_OK;
}

/* Goes to the next byte that would be escaped. `has_nul`: %00 is allowed. */
static lk_status skip_escaped(lk_parser *parser, bool has_nul, size_t *out_escapes) {
  *out_escapes = 0;
  while (*parser->at == '%' || !lk_is_escaped((unsigned char)*parser->at)) {
    if (accept(parser, '%')) {
      if (hex_digit(parser->at[0], true) < 0 || hex_digit(parser->at[1], true) < 0) {
        return expected(parser, "two digits (0-9, A-F)");
      }
      if (!has_nul && memcmp(parser->at, "00", 2) == 0) {
        return expected(parser, "two digits (0-9, A-F), not 00,");
      }
      parser->at++;
      ++*out_escapes;
    }
    parser->at++;
  }
  return LK_OK;
}

/* What `begin` up to `end` says, of which there is room for `end - begin` bytes; how many it is. */
static size_t decode_escaped(const char *begin, const char *end, char *out) {
  size_t length = 0;
  for (const char *c = begin; c < end; c++) {
    out[length++] = *c;
    if (*c != '%') continue;
    out[length - 1] = (char)(hex_digit(c[1], true) * 16 + hex_digit(c[2], true));
    c += 2;
  }
  return length;
}

/* A word up to the next byte that would be escaped in it; never empty. */
static lk_status read_word(lk_parser *parser, uint32_t *out) {
  const char *begin = parser->at;
  size_t escapes = 0;
  LK_RETURN_NOT_OK(skip_escaped(parser, false, &escapes));
  if (parser->at == begin) return expected(parser, "a name");
  const size_t size = (size_t)(parser->at - begin);
  if (escapes == 0) return lk_words_get(&parser->words, begin, size, out, parser->error);
  char *decoded = lk_alloc(parser->allocator, size);
  if (decoded == NULL) return lk_fail_memory(parser->error, "a name in a key", size);
  const size_t length = decode_escaped(begin, parser->at, decoded);
  const lk_status status = lk_words_get(&parser->words, decoded, length, out, parser->error);
  lk_free(parser->allocator, decoded);
  return status;
}

static lk_status read_dtype(lk_parser *parser, uint64_t *out) {
  if (is_digit(*parser->at)) return read_unsigned(parser, UINT32_MAX, out, "an element type");
  const size_t length = name_length(parser->at);
  *out = lk_dtype_parse(parser->at, length);
  if (*out == LK_DTYPE_NONE) return expected(parser, "an element type");
  parser->at += length;
  return LK_OK;
}

enum { MOST_OF_ENUM = 128 }; /* values of an enumeration that have names are below it */
#define IS_BELOW(symbol, value, name) &&(value) < MOST_OF_ENUM
_Static_assert(true LK_FUNCTION_LIST(IS_BELOW), "each function's name is found");

/* One of the names that `name_of` knows, or a number. */
static lk_status read_enum(lk_parser *parser, const char *(*name_of)(uint64_t), uint64_t *out,
                           const char *what) {
  if (is_digit(*parser->at)) return read_unsigned(parser, UINT32_MAX, out, what);
  for (uint64_t i = 0; i < MOST_OF_ENUM; i++) {
    if (name_of(i) == NULL || !accept_name(parser, name_of(i))) continue;
    *out = i;
    return LK_OK;
  }
  return expected(parser, what);
}

static lk_status read_float(lk_parser *parser, uint64_t *out) {
  const char *what = "a decimal of at most 9 digits, 6 of them behind the point, or 0x and bits";
  if (parser->at[0] == '0' && parser->at[1] == 'x') return read_hex(parser, 4, out);
  const char *begin = parser->at;
  const bool negative = accept(parser, '-');
  uint64_t mantissa = 0;
  uint32_t decimals = 0;
  LK_RETURN_NOT_OK(read_unsigned(parser, (uint64_t)LK_MANTISSA_MAX, &mantissa, what));
  if (accept(parser, '.')) {
    for (; is_digit(*parser->at); parser->at++) {
      mantissa = mantissa * 10 + (uint64_t)(*parser->at - '0');
      if (++decimals > LK_DECIMALS_MAX || mantissa > (uint64_t)LK_MANTISSA_MAX) {
        return expected_at(parser, begin, what);
      }
    }
    if (decimals == 0) return expected(parser, "a digit");
  }
  /* -0 has bits of its own, which are written as such. */
  if (negative && mantissa == 0) return expected_at(parser, begin, what);
  *out = lk_decimal_bits(negative ? -(int64_t)mantissa : (int64_t)mantissa, decimals);
  return LK_OK;
}

static lk_status read_field(lk_parser *parser, const lk_field *field, void *record) {
  uint64_t value = 0;
  int64_t number = 0;
  uint32_t word = 0;
  switch (field->form) {
  case LK_FORM_hex:
    LK_RETURN_NOT_OK(read_hex(parser, field->size, &value));
    break;
  case LK_FORM_word:
    LK_RETURN_NOT_OK(read_word(parser, &word));
    value = word;
    break;
  case LK_FORM_dtype:
    LK_RETURN_NOT_OK(read_dtype(parser, &value));
    break;
  case LK_FORM_float:
    LK_RETURN_NOT_OK(read_float(parser, &value));
    break;
  case LK_FORM_post:
    LK_RETURN_NOT_OK(read_enum(parser, lk_function_name, &value, "a post-op"));
    break;
  default:
    if (field->is_signed) {
      LK_RETURN_NOT_OK(read_signed(parser, field->size, &number));
      value = (uint64_t)number;
    } else if (field->size == 4) {
      LK_RETURN_NOT_OK(read_unsigned(parser, UINT32_MAX, &value, "a number from 0 to 2^32 - 1"));
    } else {
      LK_RETURN_NOT_OK(read_unsigned(parser, UINT64_MAX, &value, "a number from 0 to 2^64 - 1"));
    }
  }
  lk_field_write(field, record, value);
  return LK_OK;
}

/* What a list has. */
typedef enum list_kind { LIST_I32, LIST_I64, LIST_FLOATS } list_kind;

static lk_status read_item(lk_parser *parser, list_kind kind, int64_t *out) {
  uint64_t bits = 0;
  if (kind != LIST_FLOATS) return read_signed(parser, kind == LIST_I32 ? 4 : 8, out);
  LK_RETURN_NOT_OK(read_float(parser, &bits));
  *out = (int64_t)bits;
  return LK_OK;
}

/* "[1,2,3]" into parser->values: numbers, or the bits of floats. */
static lk_status read_values(lk_parser *parser, list_kind kind) {
  const size_t size = kind == LIST_I64 ? sizeof(int64_t) : sizeof(int32_t);
  parser->n_values = 0;
  if (!accept(parser, '[')) return expected(parser, "'['");
  if (accept(parser, ']')) return LK_OK;
  do {
    if (!LK_GROW(parser->allocator, parser->values, parser->n_values, parser->capacity)) {
      return lk_fail_memory(parser->error, "values in a key",
                            parser->capacity * 2 * sizeof(int64_t));
    }
    LK_RETURN_NOT_OK(read_item(parser, kind, &parser->values[parser->n_values]));
    parser->n_values++;
    if (parser->n_values * size > LK_KEY_MAX_BYTES) {
      return lk_fail(
          parser->error, LK_OUT_OF_RANGE,
          "failed to parse a key: a list is longer than the %u bytes that a key may have",
          LK_KEY_MAX_BYTES);
    }
  } while (accept(parser, ','));
  if (!accept(parser, ']')) return expected(parser, "',' or ']'");
  return LK_OK;
}

/* "1x3x48x320:f32", "scalar:f32" */
static lk_status read_shape(lk_parser *parser, lk_tensor_desc *out) {
  *out = (lk_tensor_desc){0};
  if (strncmp(parser->at, "scalar", 6) == 0) {
    parser->at += 6;
  } else {
    do {
      if (out->rank == LK_MAX_RANK) return expected(parser, "at most 8 dimensions");
      LK_RETURN_NOT_OK(read_signed(parser, 8, &out->dims[out->rank]));
      out->rank++;
    } while (accept(parser, 'x'));
  }
  if (!accept(parser, ':')) return expected(parser, "'x' or ':'");
  uint64_t dtype = 0;
  LK_RETURN_NOT_OK(read_dtype(parser, &dtype));
  out->dtype = (uint32_t)dtype;
  return LK_OK;
}

/* Two digits for each of `bytes` bytes. */
static lk_status read_bytes(lk_parser *parser, const char *what, uint8_t *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++, parser->at += 2) {
    const int high = hex_digit(parser->at[0], false);
    const int low = high < 0 ? -1 : hex_digit(parser->at[1], false);
    if (low < 0) return expected(parser, what);
    data[i] = (uint8_t)(high << 4 | low);
  }
  return LK_OK;
}

/* Exactly `bytes` bytes into `data`. */
static lk_status read_data(lk_parser *parser, uint32_t dtype, uint8_t *data, size_t bytes) {
  if (dtype != LK_I64 && dtype != LK_I32) {
    return read_bytes(parser, "two digits (0-9, a-f) for each byte of the shape", data, bytes);
  }
  const char *begin = parser->at;
  const uint32_t size = (uint32_t)lk_dtype_size(dtype);
  LK_RETURN_NOT_OK(read_values(parser, dtype == LK_I64 ? LIST_I64 : LIST_I32));
  if (parser->n_values * size != bytes) {
    return expected_at(parser, begin, "as many values as the shape has");
  }
  for (size_t i = 0; i < parser->n_values; i++) {
    memcpy(data + i * size, &parser->values[i], size);
  }
  return LK_OK;
}

typedef union lk_any_record {
#define LK_RECORD_MEMBER(symbol, value, name, record) record name;
  LK_RECORD_LIST(LK_RECORD_MEMBER)
#undef LK_RECORD_MEMBER
} lk_any_record;

/* The field, of those from `*from` on, whose name stands here; NULL: none. */
static const lk_field *accept_field(lk_parser *parser, const lk_record_fields *record,
                                    uint32_t *from) {
  for (uint32_t i = *from; i < record->count; i++) {
    const lk_field *field = &record->fields[i];
    if (!lk_form_is_named(field->form) || !accept_name(parser, field->name)) continue;
    *from = i + 1;
    return field;
  }
  return NULL;
}

/* The rest of a value record, and the record: "data:[1,2]" when it has elements. */
static lk_status add_value(lk_parser *parser, lk_key_builder *builder, const lk_key_value *value,
                           const lk_tensor_desc *desc, bool has_data) {
  lk_status status = LK_OK;
  lk_tensor tensor = {.desc = *desc};
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(desc, "a value in a key", NULL, &bytes, parser->error));
  if (has_data != (bytes > 0)) {
    return expected(parser, bytes > 0 ? "',data:'" : "no data, the shape has no elements,");
  }
  if (bytes > LK_KEY_MAX_BYTES) {
    return lk_fail(parser->error, LK_OUT_OF_RANGE,
                   "failed to parse a key: a value has %" PRId64 " bytes, at most %u are allowed",
                   bytes, LK_KEY_MAX_BYTES);
  }
  if (bytes > 0) {
    tensor.data = lk_alloc(parser->allocator, (size_t)bytes);
    if (tensor.data == NULL) LK_TRY(lk_fail_memory(parser->error, "a value", (size_t)bytes));
    LK_TRY(read_data(parser, desc->dtype, tensor.data, (size_t)bytes));
  }
  lk_key_add_value(builder, value->role, value->index, &tensor);

cleanup:
  lk_free(parser->allocator, tensor.data);
  return status;
}

/* ---- attributes that are no integers ---- */

static lk_status add_floats(lk_parser *parser, lk_key_builder *builder, uint32_t name) {
  LK_RETURN_NOT_OK(read_values(parser, LIST_FLOATS));
  /* in place: each is half as long as what it is read from */
  for (size_t i = 0; i < parser->n_values; i++) {
    const uint32_t bits = (uint32_t)parser->values[i];
    memcpy((uint8_t *)parser->values + i * sizeof bits, &bits, sizeof bits);
  }
  lk_key_add_floats(builder, name, (const float *)(const void *)parser->values,
                    (uint32_t)parser->n_values);
  return LK_OK;
}

/* An odd digit is told by who looks for what comes next. */
static lk_status add_bytes(lk_parser *parser, lk_key_builder *builder, uint32_t name) {
  const size_t count = strspn(parser->at, "0123456789abcdef") / 2;
  uint8_t *data = lk_alloc(parser->allocator, count + 1);
  if (data == NULL) return lk_fail_memory(parser->error, "bytes in a key", count + 1);
  const lk_status status = read_bytes(parser, "two digits (0-9, a-f)", data, count);
  if (status == LK_OK) lk_key_add_bytes(builder, name, data, (uint32_t)count);
  lk_free(parser->allocator, data);
  return status;
}

static lk_status add_text(lk_parser *parser, lk_key_builder *builder, uint32_t name) {
  const char *begin = parser->at;
  size_t escapes = 0;
  LK_RETURN_NOT_OK(skip_escaped(parser, true, &escapes));
  const size_t size = (size_t)(parser->at - begin) + 1;
  char *decoded = lk_alloc(parser->allocator, size);
  if (decoded == NULL) return lk_fail_memory(parser->error, "a text in a key", size);
  const size_t length = decode_escaped(begin, parser->at, decoded);
  lk_key_add_text(builder, name, decoded, (uint32_t)length);
  lk_free(parser->allocator, decoded);
  return LK_OK;
}

static lk_status add_attribute(lk_parser *parser, const lk_record_fields *record, uint32_t name,
                               lk_key_builder *builder) {
  if (record->type == LK_RECORD_FLOATS) return add_floats(parser, builder, name);
  if (record->type == LK_RECORD_BYTES) return add_bytes(parser, builder, name);
  return add_text(parser, builder, name);
}

static bool is_attribute(const lk_record_fields *record) {
  return record->type == LK_RECORD_FLOATS || record->type == LK_RECORD_BYTES ||
         record->type == LK_RECORD_TEXT;
}

/* Behind "<type>" of "<type>.<label>=<payload>,<field>:<value>,..." */
static lk_status read_record(lk_parser *parser, const lk_record_fields *record,
                             lk_key_builder *builder) {
  lk_any_record any;
  memset(&any, 0, sizeof any);
  lk_tensor_desc desc = {0};
  bool has_data = false, first = true;
  uint32_t word = LK_WORD_NONE;
  if (*parser->at == '.') {
    if (record->fields[0].form != LK_FORM_label) return expected(parser, "'='");
    parser->at++;
    LK_RETURN_NOT_OK(read_word(parser, &word));
    lk_field_write(&record->fields[0], &any, word);
  }
  if (!accept(parser, '=')) return expected(parser, "'='");
  if (is_attribute(record)) return add_attribute(parser, record, word, builder);
  parser->n_values = 0;
  if (record->type == LK_RECORD_TENSOR || record->type == LK_RECORD_VALUE) {
    LK_RETURN_NOT_OK(read_shape(parser, &desc));
    first = false;
  } else if (record->type == LK_RECORD_ATTR) {
    LK_RETURN_NOT_OK(read_values(parser, LIST_I64));
    first = false;
  }
  for (uint32_t from = 0; *parser->at != ';' && *parser->at != '\0'; first = false) {
    if (!first && !accept(parser, ',')) return expected(parser, "',', ';' or the end");
    has_data = record->type == LK_RECORD_VALUE && strncmp(parser->at, "data:", 5) == 0;
    if (has_data) {
      parser->at += 5;
      break;
    }
    const lk_field *field = accept_field(parser, record, &from);
    if (field == NULL) return expected(parser, "a field of the record, each once and in order,");
    if (!accept(parser, ':')) return expected(parser, "':'");
    LK_RETURN_NOT_OK(read_field(parser, field, &any));
  }
  switch (record->type) {
  case LK_RECORD_CALL:
    lk_key_add_call(builder, &any.call);
    break;
  case LK_RECORD_TENSOR:
    desc.layout = any.tensor.layout;
    lk_key_add_tensor(builder, any.tensor.role, any.tensor.index, &desc);
    break;
  case LK_RECORD_ATTR:
    lk_key_add_attr(builder, any.attr.name, parser->values, (uint32_t)parser->n_values);
    break;
  case LK_RECORD_POST_OP:
    lk_key_add_post_op(builder, &any.post_op);
    break;
  case LK_RECORD_CONTENT:
    lk_key_add_content(builder, any.content.role, any.content.index, any.content.id);
    break;
  case LK_RECORD_ENGINE:
    lk_key_add_engine(builder, &any.engine);
    break;
  case LK_RECORD_FLOAT:
    lk_key_add_float(builder, any.number.name, any.number.value);
    break;
  default:
    LK_RETURN_NOT_OK(add_value(parser, builder, &any.value, &desc, has_data));
  }
  return LK_OK;
}

/* "out=conv1" and the like, up to the first record or the end. */
static lk_status read_head(lk_parser *parser, lk_key_head *head, const char **out_fixed_at) {
  const lk_record_fields *record = lk_record_fields_get(LK_RECORD_HEAD);
  uint64_t kind = 0;
  LK_RETURN_NOT_OK(read_enum(parser, lk_kind_name, &kind, "name, run, user or value"));
  head->kind = (uint32_t)kind;
  if (!accept(parser, ':')) return expected(parser, "':'");
  for (uint32_t from = 0; *parser->at != '\0';) {
    const lk_field *field = accept_field(parser, record, &from);
    if (field == NULL) return LK_OK;
    if (!accept(parser, '=')) return expected(parser, "'='");
    if (field->form == LK_FORM_fixed) *out_fixed_at = parser->at;
    LK_RETURN_NOT_OK(read_field(parser, field, head));
    if (*parser->at == '\0') return LK_OK;
    if (!accept(parser, ';')) return expected(parser, "';' or the end");
    if (*parser->at == '\0') return expected(parser, "a field or a record");
  }
  return LK_OK;
}

static lk_status read_records(lk_parser *parser, lk_key_builder *builder, uint32_t fixed) {
  while (*parser->at != '\0') {
    if (builder->size == fixed) lk_key_seal(builder);
    const lk_record_fields *record = NULL;
    uint32_t type = LK_RECORD_HEAD;
    do {
      record = lk_record_fields_get(++type);
    } while (record != NULL && !accept_name(parser, record->name));
    if (record == NULL) {
      return expected(parser, "a field of the head, each once and in order, or a record");
    }
    LK_RETURN_NOT_OK(read_record(parser, record, builder));
    if (builder->status != LK_OK) return LK_OK; /* finish tells */
    if (*parser->at == '\0') return LK_OK;
    if (!accept(parser, ';')) return expected(parser, "';' or the end");
    if (*parser->at == '\0') return expected(parser, "a record");
  }
  return LK_OK;
}

static lk_status read_key(lk_parser *parser, lk_key **out_key) {
  lk_status status = LK_OK;
  lk_key_builder builder;
  lk_key key;
  lk_key_head head = {0};
  const char *fixed_at = NULL;
  LK_RETURN_NOT_OK(read_head(parser, &head, &fixed_at));
  const uint32_t fixed = head.fixed;
  head.fixed = 0;
  lk_key_begin(&builder, parser->allocator, &head);
  LK_TRY(read_records(parser, &builder, fixed));
  if (builder.status == LK_OK && builder.size == fixed) lk_key_seal(&builder);
  if (builder.status == LK_OK && fixed_at != NULL && (fixed == 0 || builder.fixed != fixed)) {
    LK_TRY(expected_at(parser, fixed_at, "a number of bytes at which a record ends"));
  }
  LK_TRY(lk_key_finish(&builder, &key, parser->error));
  LK_TRY(lk_key_keep(parser->allocator, parser->words.intern, &key, out_key, parser->error));
  if (head.kind == LK_KIND_USER) (*out_key)->names = lk_intern_serial(parser->words.intern);

cleanup:
  lk_key_builder_destroy(&builder);
  return status;
}

lk_status lk_key_parse(lk_intern *intern, const lk_allocator *allocator, const char *text,
                       lk_key **out_key, lk_error *error) {
  lk_parser parser = {.allocator = allocator, .text = text, .at = text, .error = error};
  *out_key = NULL;
  if (strnlen(text, LK_KEY_MAX_TEXT + 1) > LK_KEY_MAX_TEXT) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to parse a key: its text is longer than the %zu bytes that are allowed",
                   LK_KEY_MAX_TEXT);
  }
  lk_words_begin(&parser.words, intern);
  const lk_status status = read_key(&parser, out_key);
  lk_words_end(&parser.words);
  lk_free(allocator, parser.values);
  return status;
}
