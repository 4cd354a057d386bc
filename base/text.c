/* Names of a model, file names and options, made fit for a terminal, a log and a sentence. */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ESCAPE_BYTES = 4 }; /* \xNN */

/* Bytes of the valid UTF-8 character at `text`, 1 to 4, or 0 (Unicode 15.0, table 3-7). */
static size_t read_character(const unsigned char *text, uint32_t *out_code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (text[0] < 0x80) {
    *out_code = text[0];
    return 1;
  }
  if (text[0] < 0xc2 || text[0] > 0xf4) return 0;
  const size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
  uint32_t code = text[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0; /* the NUL is not one either */
    code = code << 6 | (text[i] & 0x3fu);
  }
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return 0;
  *out_code = code;
  return length;
}

static bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static bool is_hex(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_escape(const unsigned char *text) {
  return text[0] == '\\' && text[1] == 'x' && is_hex(text[2]) && is_hex(text[3]);
}

/* Bytes at `text` that stay as they are and together; 0: the first of them is escaped. */
static size_t kept_bytes(const unsigned char *text) {
  uint32_t code = 0;
  const size_t length = read_character(text, &code);
  if (length == 0 || is_control(code)) return 0;
  return is_escape(text) ? ESCAPE_BYTES : length;
}

size_t lk_text_escape(const char *text, char *out, size_t capacity) {
  static const char digits[] = "0123456789abcdef";
  const unsigned char *at = (const unsigned char *)text;
  size_t used = 0;
  while (*at != '\0') {
    const size_t kept = kept_bytes(at);
    const char escape[ESCAPE_BYTES] = {'\\', 'x', digits[*at >> 4], digits[*at & 15]};
    const size_t length = kept > 0 ? kept : sizeof escape;
    if (length >= capacity - used) break;
    memcpy(out + used, kept > 0 ? (const char *)at : escape, length);
    used += length;
    at += kept > 0 ? kept : 1;
  }
  out[used] = '\0';
  return used;
}

void lk_text_put(char *out, size_t capacity, const char *text) {
  const size_t length = text != NULL ? strnlen(text, capacity - 1) : 0;
  if (length > 0) memcpy(out, text, length);
  out[length] = '\0';
}
