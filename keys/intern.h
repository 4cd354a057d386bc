/* Interned strings: a number for each distinct string of a context, so that equal numbers are equal
 * strings. Any thread. A lock is taken, so intern when an op is created, not when it runs.
 *
 * Names are counted by their users, and a name goes with its last one. Its number is then given to
 * another string, so a number means something only to who uses the name. The users are
 *   - an lk_words: what makes a key holds the names in it until the key is done;
 *   - a key that outlives the call that made it (lk_key_keep): an op's, a host's;
 *   - an entry of the cache, from its making to its end, which is that of its last reference;
 *   - a key that a visitor is shown, which may outlive its entry.
 * A hit counts nothing: who asks uses the names of the key that it asks for, and the entry uses its
 * own, so bytes that are equal are names that are equal. The same holds for a build that others
 * wait for: the key is its caller's, who waits for its end. What other threads used when a child of
 * fork was made stays in use there for good, like the references that they had.
 *
 * The words of words.inc are there from the beginning to the end, and are not counted. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

typedef enum lk_word {
#define W(symbol, text) LK_WORD_##symbol,
#include "keys/words.inc"
#undef W
  LK_N_WORDS
} lk_word;

/* Its text. */
const char *lk_word_text(lk_word word);

typedef struct lk_intern lk_intern;

lk_status lk_intern_create(const lk_allocator *allocator, lk_intern **out_intern, lk_error *error);
void lk_intern_destroy(lk_intern *intern);
/* Of all tables of the process: never reused; from 1. */
uint64_t lk_intern_serial(const lk_intern *intern);
/* One use of `text`, which is copied when it is new. LK_INVALID_ARGUMENT: a NUL among its `length`
 * bytes. LK_OUT_OF_MEMORY. LK_OUT_OF_RANGE: 2^32 names. */
lk_status lk_intern_get(lk_intern *intern, const char *text, size_t length, uint32_t *out_id,
                        lk_error *error);
/* One more use of each of `ids` [count], of which the caller has one, and one less. */
void lk_intern_retain(lk_intern *intern, const uint32_t *ids, size_t count);
void lk_intern_release(lk_intern *intern, const uint32_t *ids, size_t count);
/* The string of a number, NUL-terminated, valid until the caller's use of it ends. NULL: no such
 * number. */
const char *lk_intern_text(lk_intern *intern, uint32_t id);

typedef struct lk_intern_size {
  size_t names; /* besides the words of words.inc */
  size_t bytes; /* of the table and of all strings */
} lk_intern_size;
lk_intern_size lk_intern_size_get(lk_intern *intern);

/* ---- names of a key that is being made ---- */

enum { LK_WORDS_INLINE = 12 };

/* Uses names until it is released. It need not be zeroed: begin sets what is read. */
typedef struct lk_words {
  lk_intern *intern;
  size_t count, capacity;
  uint32_t *ids; /* `first`, or from the table's allocator */
  uint32_t first[LK_WORDS_INLINE];
} lk_words;

static inline void lk_words_begin(lk_words *words, lk_intern *intern) {
  words->intern = intern;
  words->count = 0;
  words->capacity = LK_WORDS_INLINE;
  words->ids = words->first;
}
/* The number of a text, as lk_intern_get; used by `words` from now on. */
lk_status lk_words_get(lk_words *words, const char *text, size_t length, uint32_t *out_id,
                       lk_error *error);
void lk_words_end_used(lk_words *words);
static inline void lk_words_end(lk_words *words) {
  if (words->count > 0) lk_words_end_used(words);
}
