/* Keys as text: what the parser reads its items by. */
#include "keys/key_scan.h"

#include <inttypes.h>
#include <latchkey/engine.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/status.h"
#include "base/tensor.h"

lk_status lk_scan_expected_at(const lk_parser *parser, const char *at, const char *what) {
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

lk_status lk_scan_expected(const lk_parser *parser, const char *what) {
  return lk_scan_expected_at(parser, parser->at, what);
}

bool lk_scan_accept(lk_parser *parser, char c) {
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

bool lk_scan_accept_name(lk_parser *parser, const char *name) {
  const size_t length = name_length(parser->at);
  if (strlen(name) != length || memcmp(name, parser->at, length) != 0) return false;
  parser->at += length;
  return true;
}

/* Digits without leading zeros, not over `max`. */
static lk_status read_unsigned(lk_parser *parser, uint64_t max, uint64_t *out, const char *what) {
  const char *begin = parser->at;
  uint64_t value = 0;
  if (!is_digit(*begin)) return lk_scan_expected(parser, what);
  for (; is_digit(*parser->at); parser->at++) {
    const uint64_t digit = (uint64_t)(*parser->at - '0');
    if (value > (max - digit) / 10 || (*begin == '0' && parser->at > begin)) {
      return lk_scan_expected_at(parser, begin, what);
    }
    value = value * 10 + digit;
  }
  *out = value;
  return LK_OK;
}

static lk_status read_signed(lk_parser *parser, uint32_t size, int64_t *out) {
  const char *what =
      size == 4 ? "a number from -2^31 to 2^31 - 1" : "a number from -2^63 to 2^63 - 1";
  const bool negative = lk_scan_accept(parser, '-');
  const uint64_t max = size == 4 ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX;
  uint64_t value = 0;
  if (negative && *parser->at == '0') return lk_scan_expected(parser, what);
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
  if (!lk_scan_accept(parser, '0') || !lk_scan_accept(parser, 'x')) {
    return lk_scan_expected_at(parser, begin, what);
  }
  for (; hex_digit(*parser->at, false) >= 0; parser->at++) {
    if (++digits > size * 2) return lk_scan_expected_at(parser, begin, what);
    value = value << 4 | (uint64_t)hex_digit(*parser->at, false);
  }
  if (digits == 0) return lk_scan_expected(parser, what);
  *out = value;
  return LK_OK;
}

lk_status lk_scan_skip_escaped(lk_parser *parser, bool has_nul, size_t *out_escapes) {
  *out_escapes = 0;
  while (*parser->at == '%' || !lk_is_escaped((unsigned char)*parser->at)) {
    if (lk_scan_accept(parser, '%')) {
      if (hex_digit(parser->at[0], true) < 0 || hex_digit(parser->at[1], true) < 0) {
        return lk_scan_expected(parser, "two digits (0-9, A-F)");
      }
      if (!has_nul && memcmp(parser->at, "00", 2) == 0) {
        return lk_scan_expected(parser, "two digits (0-9, A-F), not 00,");
      }
      parser->at++;
      ++*out_escapes;
    }
    parser->at++;
  }
  return LK_OK;
}

size_t lk_scan_decode_escaped(const char *begin, const char *end, char *out) {
  size_t length = 0;
  for (const char *c = begin; c < end; c++) {
    out[length++] = *c;
    if (*c != '%') continue;
    out[length - 1] = (char)(hex_digit(c[1], true) * 16 + hex_digit(c[2], true));
    c += 2;
  }
  return length;
}

lk_status lk_scan_word(lk_parser *parser, uint32_t *out) {
  const char *begin = parser->at;
  size_t escapes = 0;
  LK_RETURN_NOT_OK(lk_scan_skip_escaped(parser, false, &escapes));
  if (parser->at == begin) return lk_scan_expected(parser, "a name");
  const size_t size = (size_t)(parser->at - begin);
  if (escapes == 0) return lk_words_get(&parser->words, begin, size, out, parser->error);
  char *decoded = lk_alloc(parser->allocator, size);
  if (decoded == NULL) return lk_fail_memory(parser->error, "a name in a key", size);
  const size_t length = lk_scan_decode_escaped(begin, parser->at, decoded);
  const lk_status status = lk_words_get(&parser->words, decoded, length, out, parser->error);
  lk_free(parser->allocator, decoded);
  return status;
}

static lk_status read_dtype(lk_parser *parser, uint64_t *out) {
  if (is_digit(*parser->at)) return read_unsigned(parser, UINT32_MAX, out, "an element type");
  const size_t length = name_length(parser->at);
  *out = lk_dtype_parse(parser->at, length);
  if (*out == LK_DTYPE_NONE) return lk_scan_expected(parser, "an element type");
  parser->at += length;
  return LK_OK;
}

enum { MOST_OF_ENUM = 128 }; /* values of an enumeration that have names are below it */
#define IS_BELOW(symbol, value, name) &&(value) < MOST_OF_ENUM
_Static_assert(true LK_FUNCTION_LIST(IS_BELOW), "each function's name is found");

lk_status lk_scan_enum(lk_parser *parser, const char *(*name_of)(uint64_t), uint64_t *out,
                       const char *what) {
  if (is_digit(*parser->at)) return read_unsigned(parser, UINT32_MAX, out, what);
  for (uint64_t i = 0; i < MOST_OF_ENUM; i++) {
    if (name_of(i) == NULL || !lk_scan_accept_name(parser, name_of(i))) continue;
    *out = i;
    return LK_OK;
  }
  return lk_scan_expected(parser, what);
}

static lk_status read_float(lk_parser *parser, uint64_t *out) {
  const char *what = "a decimal of at most 9 digits, 6 of them behind the point, or 0x and bits";
  if (parser->at[0] == '0' && parser->at[1] == 'x') return read_hex(parser, 4, out);
  const char *begin = parser->at;
  const bool negative = lk_scan_accept(parser, '-');
  uint64_t mantissa = 0;
  uint32_t decimals = 0;
  LK_RETURN_NOT_OK(read_unsigned(parser, (uint64_t)LK_MANTISSA_MAX, &mantissa, what));
  if (lk_scan_accept(parser, '.')) {
    for (; is_digit(*parser->at); parser->at++) {
      mantissa = mantissa * 10 + (uint64_t)(*parser->at - '0');
      if (++decimals > LK_DECIMALS_MAX || mantissa > (uint64_t)LK_MANTISSA_MAX) {
        return lk_scan_expected_at(parser, begin, what);
      }
    }
    if (decimals == 0) return lk_scan_expected(parser, "a digit");
  }
  /* -0 has bits of its own, which are written as such. */
  if (negative && mantissa == 0) return lk_scan_expected_at(parser, begin, what);
  *out = lk_decimal_bits(negative ? -(int64_t)mantissa : (int64_t)mantissa, decimals);
  return LK_OK;
}

lk_status lk_scan_field(lk_parser *parser, const lk_field *field, void *record) {
  uint64_t value = 0;
  int64_t number = 0;
  uint32_t word = 0;
  switch (field->form) {
  case LK_FORM_hex:
    LK_RETURN_NOT_OK(read_hex(parser, field->size, &value));
    break;
  case LK_FORM_word:
    LK_RETURN_NOT_OK(lk_scan_word(parser, &word));
    value = word;
    break;
  case LK_FORM_dtype:
    LK_RETURN_NOT_OK(read_dtype(parser, &value));
    break;
  case LK_FORM_float:
    LK_RETURN_NOT_OK(read_float(parser, &value));
    break;
  case LK_FORM_post:
    LK_RETURN_NOT_OK(lk_scan_enum(parser, lk_function_name, &value, "a post-op"));
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

static lk_status read_item(lk_parser *parser, lk_scan_list kind, int64_t *out) {
  uint64_t bits = 0;
  if (kind != LK_SCAN_FLOATS) return read_signed(parser, kind == LK_SCAN_I32 ? 4 : 8, out);
  LK_RETURN_NOT_OK(read_float(parser, &bits));
  *out = (int64_t)bits;
  return LK_OK;
}

lk_status lk_scan_values(lk_parser *parser, lk_scan_list kind) {
  const size_t size = kind == LK_SCAN_I64 ? sizeof(int64_t) : sizeof(int32_t);
  parser->n_values = 0;
  if (!lk_scan_accept(parser, '[')) return lk_scan_expected(parser, "'['");
  if (lk_scan_accept(parser, ']')) return LK_OK;
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
  } while (lk_scan_accept(parser, ','));
  if (!lk_scan_accept(parser, ']')) return lk_scan_expected(parser, "',' or ']'");
  return LK_OK;
}

lk_status lk_scan_shape(lk_parser *parser, lk_tensor_desc *out) {
  *out = (lk_tensor_desc){0};
  if (strncmp(parser->at, "scalar", 6) == 0) {
    parser->at += 6;
  } else {
    do {
      if (out->rank == LK_MAX_RANK) return lk_scan_expected(parser, "at most 8 dimensions");
      LK_RETURN_NOT_OK(read_signed(parser, 8, &out->dims[out->rank]));
      out->rank++;
    } while (lk_scan_accept(parser, 'x'));
  }
  if (!lk_scan_accept(parser, ':')) return lk_scan_expected(parser, "'x' or ':'");
  uint64_t dtype = 0;
  LK_RETURN_NOT_OK(read_dtype(parser, &dtype));
  out->dtype = (uint32_t)dtype;
  return LK_OK;
}

lk_status lk_scan_bytes(lk_parser *parser, const char *what, uint8_t *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++, parser->at += 2) {
    const int high = hex_digit(parser->at[0], false);
    const int low = high < 0 ? -1 : hex_digit(parser->at[1], false);
    if (low < 0) return lk_scan_expected(parser, what);
    data[i] = (uint8_t)(high << 4 | low);
  }
  return LK_OK;
}

lk_status lk_scan_data(lk_parser *parser, uint32_t dtype, uint8_t *data, size_t bytes) {
  if (dtype != LK_I64 && dtype != LK_I32) {
    return lk_scan_bytes(parser, "two digits (0-9, a-f) for each byte of the shape", data, bytes);
  }
  const char *begin = parser->at;
  const uint32_t size = (uint32_t)lk_dtype_size(dtype);
  LK_RETURN_NOT_OK(lk_scan_values(parser, dtype == LK_I64 ? LK_SCAN_I64 : LK_SCAN_I32));
  if (parser->n_values * size != bytes) {
    return lk_scan_expected_at(parser, begin, "as many values as the shape has");
  }
  for (size_t i = 0; i < parser->n_values; i++) {
    memcpy(data + i * size, &parser->values[i], size);
  }
  return LK_OK;
}
