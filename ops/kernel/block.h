/* Blocks of bytes, by how they are moved best. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum lk_block_class {
  LK_BLOCK_1, /* of exactly so many bytes: a load and a store */
  LK_BLOCK_2,
  LK_BLOCK_4,
  LK_BLOCK_8,
  LK_BLOCK_16,
  LK_BLOCK_TO_4, /* of up to so many, and more than half of them: two that may overlap */
  LK_BLOCK_TO_8,
  LK_BLOCK_TO_16,
  LK_BLOCK_TO_32,
  LK_BLOCK_TO_64,
  LK_BLOCK_VECTORS, /* of 64 and more */
  LK_BLOCK_LARGE,   /* of so many that a call of memcpy pays */
  LK_BLOCK_CLASSES
} lk_block_class;

/* The binary logarithm of a number from 1 on, rounded up. */
static inline uint32_t lk_log_up(size_t number) {
  return number > 1 ? 64 - (uint32_t)__builtin_clzl(number - 1) : 0;
}

static inline lk_block_class lk_block_class_of(size_t block) {
  const uint32_t log = lk_log_up(block);
  if (block >= 1024) return LK_BLOCK_LARGE;
  if (block >= 64) return LK_BLOCK_VECTORS;
  return (lk_block_class)(log <= 4 && block == (size_t)1 << log ? LK_BLOCK_1 + log
                                                                : LK_BLOCK_TO_4 + log - 2);
}
