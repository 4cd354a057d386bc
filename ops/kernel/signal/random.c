/* Random numbers. A turn is two of them: one block of bits. */
#include "ops/kernel/signal/random.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "base/team/look.h"
#include "ops/kernel/sizes.h"

#define TURN 6.28318530717958647692 /* once around, as an angle */

enum { ROUNDS = 10, STEP = 256 /* operations of these rounds, or to find a class */ };

void lk_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]) {
  uint32_t k[2] = {key[0], key[1]};
  memcpy(out, counter, 4 * sizeof *out);
  for (int round = 0; round < ROUNDS; round++) {
    const uint64_t a = UINT64_C(0xD2511F53) * out[0], b = UINT64_C(0xCD9E8D57) * out[2];
    const uint32_t next[4] = {(uint32_t)(b >> 32) ^ out[1] ^ k[0], (uint32_t)b,
                              (uint32_t)(a >> 32) ^ out[3] ^ k[1], (uint32_t)a};
    memcpy(out, next, sizeof next);
    k[0] += 0x9E3779B9U;
    k[1] += 0xBB67AE85U;
  }
}

/* From 0 up to 1. */
static double fraction(uint64_t random, uint32_t bits) {
  return ldexp((double)(random >> (64 - bits)), -(int)bits);
}

static void make_two(const lk_random *self, const uint64_t random[2], double two[2]) {
  if (self->is_normal) { /* Box and Muller; 1 - fraction is not 0 */
    const double length = sqrt(-2 * log(1 - fraction(random[0], 53)));
    const double angle = TURN * fraction(random[1], 53);
    two[0] = self->first + self->second * (length * cos(angle));
    two[1] = self->first + self->second * (length * sin(angle));
  } else {
    for (int i = 0; i < 2; i++) {
      two[i] = self->first + (self->second - self->first) * fraction(random[i], self->bits);
    }
  }
}

static void make_blocks(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_random *self = loop->params;
  uint32_t key[2], bits[4];
  memcpy(key, loop->pointers[1], sizeof key);
  for (int64_t i = begin; i < end; i++) {
    const uint32_t counter[4] = {(uint32_t)i, (uint32_t)((uint64_t)i >> 32)};
    double two[2];
    lk_philox(key, counter, bits);
    const uint64_t random[] = {(uint64_t)bits[0] << 32 | bits[1],
                               (uint64_t)bits[2] << 32 | bits[3]};
    make_two(self, random, two);
    memcpy((double *)loop->pointers[0] + 2 * i, two,
           (size_t)lk_min(2, self->count - 2 * i) * sizeof *two);
  }
}

lk_status lk_random_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_random *self = params;
  const int64_t blocks = lk_div_up(self->count, 2);
  const uint32_t given[2] = {self->seed, 0};
  memcpy(pointers[1], given, sizeof given);
  if (!self->has_seed && getentropy(pointers[1], sizeof given) != 0) {
    return lk_fail(error, LK_IO, "failed to read the system's entropy: %s", strerror(errno));
  }
  return lk_kernel_turns(blocks, lk_sharing_pays_for(blocks, STEP), make_blocks, params, pointers);
}

/* ---- classes ---- */

/* Running sums of the powers of e of a row, after the largest is subtracted. */
static void add_up(double *row, int64_t classes) {
  double largest = -INFINITY, sum = 0;
  for (int64_t i = 0; i < classes && !lk_look_after(i, LK_LOOK_EACH); i++) {
    largest = fmax(largest, row[i]);
  }
  for (int64_t i = 0; i < classes && !lk_look_after(i, LK_LOOK_EACH); i++) {
    row[i] = sum += exp(row[i] - largest);
  }
}

/* The first class whose sum is beyond a number; of NaN, the last one. */
static int64_t find_class(const double *sums, int64_t classes, double number) {
  int64_t first = 0, last = classes - 1;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (sums[middle] > number) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

static void choose_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_multinomial *self = loop->params;
  int64_t done = 0;
  for (int64_t row = begin; row < end; row++) {
    double *sums = (double *)loop->pointers[0] + row * self->classes;
    add_up(sums, self->classes);
    const double total = sums[self->classes - 1];
    for (int64_t i = row * self->samples; i < (row + 1) * self->samples; i++) {
      if (lk_look_more(&done, 1, LK_LOOK_FEW)) return;
      const double number = total * ((const double *)loop->pointers[1])[i];
      const int64_t found = find_class(sums, self->classes, number);
      if (self->wide) {
        ((int64_t *)loop->pointers[2])[i] = found;
      } else {
        ((int32_t *)loop->pointers[2])[i] = (int32_t)found;
      }
    }
  }
}

lk_status lk_multinomial_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_multinomial *self = params;
  const int64_t steps = self->rows * (self->classes + self->samples);
  return lk_kernel_turns(self->rows, lk_sharing_pays_for(steps, STEP), choose_rows, params,
                         pointers);
}
