/* Interned strings: a number for each distinct string of a context, so that equal numbers are equal
 * strings. Any thread. A lock is taken, so intern when an op is created, not when it runs. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

typedef enum lk_word {
#define W(symbol, text) LK_WORD_##symbol,
#include "keys/words.inc"
#undef W
  LK_N_WORDS
} lk_word;

typedef struct lk_intern lk_intern;

lk_status lk_intern_create(const lk_allocator *allocator, lk_intern **out_intern, lk_error *error);
void lk_intern_destroy(lk_intern *intern);
/* Of all tables of the process: never reused; from 1. */
uint64_t lk_intern_serial(const lk_intern *intern);
/* `text` is copied when it is new. LK_INVALID_ARGUMENT: a NUL among its `length` bytes. */
lk_status lk_intern_get(lk_intern *intern, const char *text, size_t length, uint32_t *out_id,
                        lk_error *error);
/* The string of a number, NUL-terminated, valid until the table is destroyed. NULL: no such
 * number. */
const char *lk_intern_text(lk_intern *intern, uint32_t id);
