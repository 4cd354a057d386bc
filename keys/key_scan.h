/* Keys as text: what the parser (key_parse.c) reads its items by: names, numbers, lists, shapes,
 * bytes. What fails says what was expected, and at which character. */
#pragma once

#include "keys/key_fields.h"

typedef struct lk_parser {
  lk_words words; /* those read so far, of the key that is being made */
  const lk_allocator *allocator;
  const char *text, *at;
  lk_error *error;
  int64_t *values; /* of the last list, reused */
  size_t n_values, capacity;
} lk_parser;

/* LK_MALFORMED: it is not there, at `at` or where the parser stands. */
lk_status lk_scan_expected_at(const lk_parser *parser, const char *at, const char *what);
lk_status lk_scan_expected(const lk_parser *parser, const char *what);

/* Whether it stands here, which is read then. */
bool lk_scan_accept(lk_parser *parser, char c);
bool lk_scan_accept_name(lk_parser *parser, const char *name);

/* Goes to the next byte that would be escaped. `has_nul`: %00 is allowed. */
lk_status lk_scan_skip_escaped(lk_parser *parser, bool has_nul, size_t *out_escapes);
/* What `begin` up to `end` says, of which there is room for `end - begin` bytes; how many it is. */
size_t lk_scan_decode_escaped(const char *begin, const char *end, char *out);
/* A word up to the next byte that would be escaped in it; never empty. */
lk_status lk_scan_word(lk_parser *parser, uint32_t *out);
/* One of the names that `name_of` knows, or a number. */
lk_status lk_scan_enum(lk_parser *parser, const char *(*name_of)(uint64_t), uint64_t *out,
                       const char *what);
lk_status lk_scan_field(lk_parser *parser, const lk_field *field, void *record);

/* What a list has. */
typedef enum lk_scan_list { LK_SCAN_I32, LK_SCAN_I64, LK_SCAN_FLOATS } lk_scan_list;
/* "[1,2,3]" into parser->values: numbers, or the bits of floats. */
lk_status lk_scan_values(lk_parser *parser, lk_scan_list kind);
/* "1x3x48x320:f32", "scalar:f32" */
lk_status lk_scan_shape(lk_parser *parser, lk_tensor_desc *out);
/* Two digits for each of `bytes` bytes. */
lk_status lk_scan_bytes(lk_parser *parser, const char *what, uint8_t *data, size_t bytes);
/* Exactly `bytes` bytes into `data`. */
lk_status lk_scan_data(lk_parser *parser, uint32_t dtype, uint8_t *data, size_t bytes);
