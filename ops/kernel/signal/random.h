/* Random numbers, each a function of a key and of its place: so it is one, to the bit, whichever
 * thread makes it. By Philox 4x32-10: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3
 * (2011).
 *
 * Bound: the ten rounds for two numbers; of normal ones, a logarithm and a cosine. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_random {
  int64_t count;
  bool is_normal; /* first: the mean, second: the deviation; else from first up to second */
  bool has_seed;  /* the same numbers in each run; else others, from the entropy of the system */
  uint32_t seed;
  uint32_t bits; /* of uniform numbers, at most 53: what the type that they are cast to has */
  double first, second;
} lk_random;

/* The block of random bits of a key and a counter. */
void lk_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* Params: lk_random. Pointers: to, of f64, and the key of a run, 8 bytes. LK_IO: the system has no
 * entropy. */
lk_status lk_random_kernel(const void *params, void *const *pointers, lk_error *error);

/* Which class each of some numbers from 0 to 1 stands for. */
typedef struct lk_multinomial {
  int64_t rows, classes, samples;
  bool wide; /* the output is i64, else i32 */
} lk_multinomial;

/* Params: lk_multinomial. Pointers: logarithms of f64 [rows][classes], up to a number for each row,
 * which are overwritten; numbers of f64 [rows][samples]; to. */
lk_status lk_multinomial_kernel(const void *params, void *const *pointers, lk_error *error);
