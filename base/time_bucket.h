/* Counts of times by how long they are, as LK_TIME_BUCKETS says. */
#pragma once

#include <latchkey/context.h>

/* The bucket that counts a time of `ns`: how many bits its microseconds have. */
static inline uint32_t lk_time_bucket(uint64_t ns) {
  const uint64_t us = ns / 1000;
  const uint32_t bits = us > 0 ? 64 - (uint32_t)__builtin_clzll(us) : 0;
  return bits < LK_TIME_BUCKETS ? bits : LK_TIME_BUCKETS - 1;
}
