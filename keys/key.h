/* What a key is: a head and counted, typed records, as bytes. key_build.h builds one.
 *
 * Layout: [head][records of the fixed part][records of the call]. The fixed part describes what
 * does not change between calls (a node, and everything that is constant about it); its hash is
 * computed once, and the hash of the whole key is xxh3 of the rest, seeded with it. So the hash is
 * a function of the bytes, however the key was made. All fields are fixed-size integers; there is
 * no padding; floats are their bit patterns; pointers are never content.
 *
 * Each record has one list of its fields, which makes the struct, the check that it has no padding,
 * the printer (key_text.c), the parser (key_parse.c), and the field-by-field test.
 */
#pragma once

#include <latchkey/latchkey.h>
#include <stdalign.h>
#include <stdbool.h>

#include "keys/identity.h"
#include "keys/intern.h"

/* R(symbol, value, name in text, struct); LK_KEY_<symbol>_FIELDS below has the fields. */
// clang-format off
#define LK_RECORD_LIST(R)                                                               \
  R(HEAD,    1, head,    lk_key_head)                                                   \
  R(CALL,    2, call,    lk_key_call)                                                   \
  R(TENSOR,  3, tensor,  lk_key_tensor)                                                 \
  R(ATTR,    4, attr,    lk_key_attr_record)                                            \
  R(POST_OP, 5, post_op, lk_key_post_op)                                                \
  R(CONTENT, 6, content, lk_key_content)                                                \
  R(VALUE,   7, value,   lk_key_value)                                                  \
  R(ENGINE,  8, engine,  lk_key_engine)                                                 \
  R(FLOAT,   9, number,  lk_key_float_record)                                           \
  R(FLOATS, 10, floats,  lk_key_floats_record)                                          \
  R(BYTES,  11, bytes,   lk_key_bytes_record)                                           \
  R(TEXT,   12, text,    lk_key_text_record)
// clang-format on

typedef enum lk_record_type {
#define LK_RECORD_SYMBOL(symbol, value, name, record) LK_RECORD_##symbol = value,
  LK_RECORD_LIST(LK_RECORD_SYMBOL)
#undef LK_RECORD_SYMBOL
} lk_record_type;

/* F(type, field, form): form says how a field is printed and parsed: number, hex, word (interned
 * text), dtype, kind, float (bit pattern), post (post-op kind); label: the word after the record's
 * name; element: the type behind the dimensions; count: not printed, what follows the record shows
 * it; fixed: left out when the whole key is fixed. */
// clang-format off
#define LK_KEY_HEAD_FIELDS(F)                                                           \
  F(uint32_t, kind,       kind)   /* lk_kind */                                         \
  F(uint32_t, fixed,      fixed)  /* bytes of the fixed part, head included */          \
  F(uint32_t, op,         word)   /* operator: "Gelu", "com.microsoft.Gelu" */          \
  F(uint32_t, scope,      word)                                                         \
  F(uint32_t, out,        word)   /* output tensor name; a user key's name */           \
  F(uint32_t, in_place,   word)   /* in-place attribute: "axis=1", "relu", "M"; or tag */ \
  F(uint32_t, position,   number) /* in a chain of nodes that write one tensor */       \
  F(uint32_t, precision,  dtype)  /* what is computed in */                             \
  F(uint64_t, generation, number) /* of the node */                                     \
  F(uint64_t, executor,   hex)    /* identity: address ... */                           \
  F(uint64_t, uuid_high,  hex)    /* ... and uuid; all 0: nobody's */                   \
  F(uint64_t, uuid_low,   hex)

#define LK_KEY_CALL_FIELDS(F)                                                           \
  F(int64_t,  in_place_input,    number) /* that output 0 is written over, or -1 */      \
  F(uint64_t, thread,            hex)    /* identity, where it is the thread's; or 0 */ \
  F(uint64_t, thread_generation, number)

/* followed by rank dimensions, int64_t */
#define LK_KEY_TENSOR_FIELDS(F)                                                         \
  F(uint32_t, role,   label)                                                            \
  F(uint32_t, index,  number) /* which of that role */                                  \
  F(uint32_t, dtype,  element)                                                          \
  F(uint32_t, layout, number)                                                           \
  F(uint64_t, rank,   count)

/* followed by count values, int64_t */
#define LK_KEY_ATTR_FIELDS(F)                                                           \
  F(uint32_t, name,  label)                                                             \
  F(uint32_t, count, count)

#define LK_KEY_POST_OP_FIELDS(F)                                                        \
  F(uint32_t, kind,  post)                                                              \
  F(int32_t,  input, number) /* node's input of a binary post-op, or -1 */              \
  F(uint32_t, alpha, float)                                                             \
  F(uint32_t, beta,  float)

#define LK_KEY_CONTENT_FIELDS(F)                                                        \
  F(uint32_t, role,  label)                                                             \
  F(uint32_t, index, number)                                                            \
  F(uint64_t, id,    number) /* of a constant's content in the weights store; 0: run-time */

/* followed by rank dimensions, int64_t, and `bytes` of data, padded with zeros to 8 */
#define LK_KEY_VALUE_FIELDS(F)                                                          \
  F(uint32_t, role,  label)                                                             \
  F(uint32_t, index, number)                                                            \
  F(uint32_t, dtype, element)                                                           \
  F(uint32_t, rank,  count)                                                             \
  F(uint64_t, bytes, count)

/* who has built the value */
#define LK_KEY_ENGINE_FIELDS(F)                                                         \
  F(uint32_t, name,         word)                                                       \
  F(uint32_t, state,        word)   /* version, instruction set, threads ... */         \
  F(uint32_t, device_kind,  number)                                                     \
  F(uint32_t, device_index, number)

#define LK_KEY_FLOAT_FIELDS(F)                                                          \
  F(uint32_t, name,  label)                                                             \
  F(uint32_t, value, float)

/* Attributes of a host's that are no integers: followed by count floats or bytes, padded with
 * zeros to 8. All NaNs of a floats record are one, 0x7fc00000. */
#define LK_KEY_FLOATS_FIELDS LK_KEY_ATTR_FIELDS
#define LK_KEY_BYTES_FIELDS LK_KEY_ATTR_FIELDS
#define LK_KEY_TEXT_FIELDS LK_KEY_ATTR_FIELDS
// clang-format on

/* Before each record: its type, and its size with this prefix, a multiple of 8. */
typedef struct lk_record_prefix {
  uint32_t type; /* lk_record_type */
  uint32_t size;
} lk_record_prefix;

#define LK_KEY_FIELD(type, field, form) type field;
#define LK_KEY_RECORD(symbol, value, name, record)                                                 \
  typedef struct record {                                                                          \
    LK_KEY_##symbol##_FIELDS(LK_KEY_FIELD)                                                         \
  } record;
LK_RECORD_LIST(LK_KEY_RECORD)
#undef LK_KEY_RECORD
#undef LK_KEY_FIELD

/* Of the first record with its prefix. */
enum { LK_KEY_HEAD_BYTES = sizeof(lk_record_prefix) + sizeof(lk_key_head) };

/* A key, owned or in a builder. The public lk_key. `bytes` is 8-aligned. */
struct lk_key {
  uint64_t hash;
  uint32_t size;
  uint32_t partial; /* 1: `hash` is that of the fixed part only, see lk_key_complete */
  const uint8_t *bytes;
  /* Of a partial key: what its first bytes are, which are not there yet. NULL: they are. */
  const lk_key *fixed;
  /* Of a copy that is one fixed part: no other copy ever has this number, so what was found to
   * begin with it once always does. 0: none. */
  uint64_t serial;
  uint64_t fixed_hash; /* of a copy: that of its fixed part; 0: not known */
  /* Serial of the table of its names, when a host may ask for it. 0: it may not, the value is none
   * of the host's own. */
  uint64_t names;
  lk_intern *uses; /* of a copy: the table whose names in it this uses; NULL: it uses none */
};

#define LK_KEY_MAX_BYTES (1u << 20) /* a longer key is LK_OUT_OF_RANGE */

/* Computes hash and fixed part if they were left out. Only what is complete can be read. */
void lk_key_complete(lk_key *key);

bool lk_key_equal(const lk_key *a, const lk_key *b); /* all bytes */
/* A copy in one block with its bytes; freed with lk_free. It uses no names: whoever reads them in
 * it knows that others do. */
lk_status lk_key_copy(const lk_allocator *allocator, const lk_key *key, lk_key **out_copy,
                      lk_error *error);

/* ---- the names in a key, of which the caller has uses (intern.h) ---- */

/* One more use of each, for `key`, until lk_key_leave_names. `intern` may be NULL: none. */
void lk_key_use_names(lk_key *key, lk_intern *intern);
void lk_key_leave_names(lk_key *key);
/* A copy that uses them. */
lk_status lk_key_keep(const lk_allocator *allocator, lk_intern *intern, const lk_key *key,
                      lk_key **out_copy, lk_error *error);
void lk_key_destroy(const lk_allocator *allocator, lk_key *key); /* a copy; NULL is allowed */

/* Reading: records come in the order in which they were added. */
typedef struct lk_key_reader {
  const lk_key *key;
  uint32_t offset;
  uint32_t type;       /* lk_record_type of the current record */
  const void *record;  /* struct of that type */
  const void *payload; /* what follows the struct: dimensions, values, data */
} lk_key_reader;

const lk_key_head *lk_key_get_head(const lk_key *key);
/* Whether a thread's identity is in it (call.thread_generation). */
bool lk_key_is_of_thread(const lk_key *key);
lk_key_reader lk_key_read(const lk_key *key); /* before the first record behind the head */
bool lk_key_next(lk_key_reader *reader);

/* ---- text: printed by key_text.c, parsed by key_parse.c ---- */

/* "name:op=Conv;out=conv1;...;tensor.src=1x3x48x320:f32;attr.strides=[1,1];...": each field by its
 * name, and without those that are 0. README.md has the grammar. `*out_length` (may be NULL) is the
 * length of the whole text without the NUL. `buffer` may be NULL with capacity 0. */
lk_status lk_key_print(lk_intern *intern, const lk_key *key, char *buffer, size_t capacity,
                       size_t *out_length, lk_error *error);
/* LK_MALFORMED: the sentence says what was expected, and at which character. LK_OUT_OF_RANGE: the
 * text is longer than LK_KEY_MAX_TEXT, or the key longer than LK_KEY_MAX_BYTES. The key uses its
 * names; lk_key_destroy frees it. */
#define LK_KEY_MAX_TEXT ((size_t)16 << 20)
lk_status lk_key_parse(lk_intern *intern, const lk_allocator *allocator, const char *text,
                       lk_key **out_key, lk_error *error);
