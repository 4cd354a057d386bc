/* Bytes side by side that repeat those of a block. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ops/kernel/copy_block.h"

enum { LK_SHORT_BYTES = 64 };

/* Up to LK_SHORT_BYTES: a call of memcpy takes as long as rows that are short. Two moves may lie
 * over each other. */
#define LK_EITHER_END(size)                                                                        \
  if (bytes >= (size)) {                                                                           \
    memcpy(to, from, size);                                                                        \
    memcpy(to + bytes - (size), from + bytes - (size), size);                                      \
    return;                                                                                        \
  }
static inline void lk_move_short(char *restrict to, const char *restrict from, size_t bytes) {
  LK_EITHER_END(32)
  LK_EITHER_END(16)
  LK_EITHER_END(8)
  LK_EITHER_END(4)
  LK_EITHER_END(2)
  if (bytes > 0) *to = *from;
}
#undef LK_EITHER_END

/* Repeats the first `size` of `bytes`, which are there. */
static inline void lk_repeat_first(char *to, size_t size, size_t bytes) {
  enum { MOST = 16 * 1024 }; /* that stays in the nearest cache */
  for (size_t done = size, step = size; done < bytes;) {
    const size_t more = step < bytes - done ? step : bytes - done;
    lk_copy_block(to + done, to, more);
    done += more;
    if (step < MOST) step *= 2;
  }
}

/* Repetitions of an element, to be put at any multiple of it. */
typedef struct lk_pattern {
  char bytes[LK_SHORT_BYTES];
} lk_pattern;

/* Whether an element of that size has a pattern. */
static inline bool lk_is_pattern(size_t size) {
  return size <= sizeof(uint64_t) && (size & (size - 1)) == 0;
}

static inline lk_pattern lk_pattern_of(const void *element, size_t size) {
  lk_pattern value;
  uint64_t word = 0;
  for (size_t i = 0; i < size; i++) word |= (uint64_t)((const uint8_t *)element)[i] << 8 * i;
  for (; size < sizeof word; size *= 2) word |= word << 8 * size;
  for (size_t i = 0; i < sizeof value; i += sizeof word) {
    memcpy(value.bytes + i, &word, sizeof word);
  }
  return value;
}

static inline void lk_pattern_put(char *to, const lk_pattern *of, size_t bytes) {
  enum { FIRST = 1024 }; /* calls of memcpy for fewer take longer */
  if (bytes > FIRST) {
    for (size_t i = 0; i < FIRST; i += sizeof *of) memcpy(to + i, of, sizeof *of);
    lk_repeat_first(to, FIRST, bytes);
    return;
  }
  for (; bytes >= sizeof *of; bytes -= sizeof *of, to += sizeof *of) memcpy(to, of, sizeof *of);
  lk_move_short(to, of->bytes, bytes);
}

/* `bytes` of repetitions of a block of `size` bytes, which are at least as many. */
static inline void lk_repeat(char *to, const void *block, size_t size, size_t bytes) {
  if (lk_is_pattern(size)) {
    const lk_pattern value = lk_pattern_of(block, size);
    lk_pattern_put(to, &value, bytes);
    return;
  }
  memcpy(to, block, size);
  lk_repeat_first(to, size, bytes);
}
