/* Discrete Fourier transforms. A turn is a group of lines, which has scratch memory of its own. */
#include "ops/kernel/signal/dft.h"

#include <math.h>
#include <string.h>

#include "base/team/look.h"
#include "ops/kernel/block.h"
#include "ops/kernel/copy_long.h"
#include "ops/kernel/sizes.h"

#define TURN 6.28318530717958647692 /* once around, as an angle */

enum {
  GROUPS = 16,
  NUMBER = 128,          /* operations of a complex one: the logarithm of a length times a few */
  LARGEST_FACTOR = 48,   /* a transform of a larger prime number is a convolution */
  MOST_NUMBERS = 1 << 20 /* of the lines of all groups, where that makes them longer */
};

typedef struct number {
  double real, imaginary;
} number;

static int64_t lines_of(const lk_dft *self) {
  return self->outer * self->middle * self->inner;
}

/* The factor that a stage takes out of `n`. */
static int64_t factor_of(int64_t n) {
  if (n % 4 == 0) return 4;
  for (int64_t r = 2; r * r <= n; r++) {
    if (n % r == 0) return r;
  }
  return n;
}

/* The length of the convolution that a transform is, after Bluestein, "A linear filtering approach
 * to the computation of discrete Fourier transform" (1970): a power of two; 0: it is a transform by
 * its own factors. */
static int64_t padded_of(int64_t length) {
  for (int64_t rest = length, factor; rest > 1; rest /= factor) {
    factor = factor_of(rest);
    if (factor > LARGEST_FACTOR) return INT64_C(1) << lk_log_up((size_t)(2 * length - 1));
  }
  return 0;
}

void lk_dft_plan(lk_dft *self) {
  self->padded = padded_of(self->length);
}

static int64_t groups_of(const lk_dft *self) {
  const int64_t groups = lk_min(lines_of(self), GROUPS);
  return self->padded == 0 ? groups : lk_min(groups, lk_max(1, MOST_NUMBERS / self->padded));
}

/* The roots, and for each group two lines. Of a convolution: the roots of its length, the factors
 * that numbers are multiplied by before and behind it, the transform of what they are convolved
 * with, and the lines. */
int64_t lk_dft_scratch_size(const lk_dft *self) {
  const int64_t padded = self->padded, groups = groups_of(self);
  return padded == 0 ? 2 * self->length * (1 + 2 * groups)
                     : 2 * (self->length + padded * (2 + 2 * groups));
}

static number plus(number a, number b) {
  return (number){a.real + b.real, a.imaginary + b.imaginary};
}
static number minus(number a, number b) {
  return (number){a.real - b.real, a.imaginary - b.imaginary};
}
static number times(number a, number b) {
  return (number){a.real * b.real - a.imaginary * b.imaginary,
                  a.real * b.imaginary + a.imaginary * b.real};
}

/* ---- the transform ---- */

/* e^(2 pi i k / n), for 0 <= k <= n; `sign` is that of the angle. */
static number root_of(int64_t k, int64_t n, double sign) {
  /* angles up to half a turn are nearer to what they stand for */
  const bool is_behind = k > n - k;
  const double angle = TURN * ((double)(is_behind ? n - k : k) / (double)n);
  double sine, cosine;
  sincos(angle, &sine, &cosine);
  return (number){cosine, (is_behind ? -sign : sign) * sine};
}

/* The roots of 1: what all lines are multiplied by. */
static void find_roots(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_dft *self = loop->params;
  number *roots = loop->pointers[2];
  const double sign = self->is_inverse ? 1 : -1;
  for (int64_t k = begin; k < end; k++) roots[k] = root_of(k, self->length, sign);
}

/* One stage: what is `rest` times `factor` numbers, `step` of them side by side, becomes `factor`
 * transforms of `rest` numbers each. */
typedef struct stage {
  int64_t factor, rest, step, length;
  const number *roots;
} stage;

static void two(const stage *self, const number *from, number *to) {
  int64_t done = 0;
  const int64_t s = self->step, m = self->rest;
  for (int64_t p = 0; p < m; p++) {
    const number root = self->roots[p * s];
    for (int64_t q = 0, end; q < s; q = end) {
      end = lk_look_part(q, s, LK_LOOK_EACH);
      if (lk_look_more(&done, end - q, LK_LOOK_EACH)) return;
      for (int64_t i = q; i < end; i++) {
        const number a = from[i + s * p], b = from[i + s * (p + m)];
        to[i + s * 2 * p] = plus(a, b);
        to[i + s * (2 * p + 1)] = times(minus(a, b), root);
      }
    }
  }
}

static void four(const stage *self, const number *from, number *to) {
  int64_t done = 0;
  const int64_t s = self->step, m = self->rest;
  const number quarter = self->roots[self->length / 4]; /* i or -i */
  for (int64_t p = 0; p < m; p++) {
    const number *roots = self->roots;
    const number first = roots[p * s], second = roots[2 * p * s], third = roots[3 * p * s];
    for (int64_t q = 0; q < s; q++) {
      if (q % LK_LOOK_EACH == 0 && lk_look_more(&done, lk_min(s - q, LK_LOOK_EACH), LK_LOOK_EACH)) {
        return;
      }
      const number *at = from + q + s * p;
      const number a = at[0], b = at[s * m], c = at[2 * s * m], d = at[3 * s * m];
      const number ac = plus(a, c), bd = plus(b, d), less = minus(a, c);
      const number turned = {-minus(b, d).imaginary * quarter.imaginary,
                             minus(b, d).real * quarter.imaginary};
      number *out = to + q + s * 4 * p;
      out[0] = plus(ac, bd);
      out[s] = times(plus(less, turned), first);
      out[2 * s] = times(minus(ac, bd), second);
      out[3 * s] = times(minus(less, turned), third);
    }
  }
}

/* A small odd factor, whose numbers and roots stay in registers. */
#define BY_FACTOR(r)                                                                               \
  static void by_##r(const stage *self, const number *from, number *to) {                          \
    int64_t done = 0;                                                                              \
    const int64_t s = self->step, m = self->rest, next = self->length / (r);                       \
    number turns[r], roots[r], x[r];                                                               \
    for (int j = 0; j < (r); j++) turns[j] = self->roots[j * next];                                \
    for (int64_t p = 0; p < m; p++) {                                                              \
      for (int j = 0; j < (r); j++) roots[j] = self->roots[p * j * s];                             \
      for (int64_t q = 0; q < s; q++) {                                                            \
        if (lk_look_more(&done, r, LK_LOOK_EACH)) return;                                          \
        for (int j = 0; j < (r); j++) x[j] = from[q + s * (p + m * j)];                            \
        _Pragma("GCC unroll 8") for (int k = 0; k < (r); k++) {                                    \
          number sum = x[0];                                                                       \
          _Pragma("GCC unroll 8") for (int j = 1; j < (r); j++) {                                  \
            sum = plus(sum, times(x[j], turns[j * k % (r)]));                                      \
          }                                                                                        \
          to[q + s * ((r)*p + k)] = times(sum, roots[k]);                                          \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }
BY_FACTOR(3)
BY_FACTOR(5)
BY_FACTOR(7)

static void any(const stage *self, const number *from, number *to) {
  int64_t done = 0;
  const int64_t s = self->step, m = self->rest, r = self->factor, next = self->length / r;
  for (int64_t p = 0; p < m; p++) {
    for (int64_t k = 0; k < r; k++) {
      const number root = self->roots[p * k * s];
      for (int64_t q = 0; q < s; q++) {
        number sum = from[q + s * p];
        for (int64_t j = 1, at = k; j < r && !lk_look_after(j, LK_LOOK_EACH);
             j++, at = at + k < r ? at + k : at + k - r) {
          sum = plus(sum, times(from[q + s * (p + m * j)], self->roots[at * next]));
        }
        to[q + s * (r * p + k)] = times(sum, root);
        if (lk_look_more(&done, r, LK_LOOK_FEW)) return;
      }
    }
  }
}

double lk_dft_operations(const lk_dft *self) {
  const int64_t padded = self->padded, length = padded > 0 ? padded : self->length;
  double of_number = 0; /* an addition and a product of two complex numbers take 8 */
  for (int64_t rest = length, factor; rest > 1; rest /= factor) {
    factor = factor_of(rest);
    of_number += 8 * (double)factor;
  }
  return of_number * (double)length * (double)lines_of(self) * (padded > 0 ? 2 : 1);
}

typedef void stage_fn(const stage *self, const number *from, number *to);

static stage_fn *stage_for(int64_t factor) {
  switch (factor) {
  case 2:
    return two;
  case 3:
    return by_3;
  case 4:
    return four;
  case 5:
    return by_5;
  case 7:
    return by_7;
  default:
    return any;
  }
}

/* Where the result lies: one of the two. */
static number *transform(int64_t length, const number *roots, number *line, number *other) {
  stage next = {.rest = length, .step = 1, .length = length, .roots = roots};
  while (next.rest > 1) {
    next.factor = factor_of(next.rest);
    next.rest /= next.factor;
    stage_for(next.factor)(&next, line, other);
    next.step *= next.factor;
    number *const kept = line;
    line = other;
    other = kept;
  }
  return line;
}

/* ---- transforms as convolutions ---- */

/* 2 j k = j^2 + k^2 - (k - j)^2, so that number k of a transform is a factor of k times the sum
 * over j of number j, times the factor of j, over the factor of k - j. */
typedef struct chirp {
  int64_t length, padded;
  const number *roots, *factors, *filter; /* of `padded`; of `length`; a transform of `padded` */
} chirp;

static chirp chirp_of(const lk_dft *self, void *const *pointers) {
  const int64_t padded = self->padded;
  const number *scratch = pointers[2];
  return (chirp){.length = self->length,
                 .padded = padded,
                 .roots = scratch,
                 .filter = scratch + padded,
                 .factors = scratch + 2 * padded};
}

/* e^(pi i k^2 / n); k^2 is cut to a turn while it is a whole number. */
static void find_factors(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_dft *self = loop->params;
  const int64_t n = self->length, padded = self->padded;
  number *factors = (number *)loop->pointers[2] + 2 * padded;
  for (int64_t k = begin; k < end; k++) {
    factors[k] = root_of(k * k % (2 * n), 2 * n, self->is_inverse ? 1 : -1);
  }
}
static void find_padded_roots(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_dft *self = loop->params;
  const int64_t padded = self->padded;
  number *roots = loop->pointers[2];
  for (int64_t k = begin; k < end; k++) roots[k] = root_of(k, padded, -1);
}

/* One over the factor of |l| for l = 1 - n to n - 1, those below 0 behind the others. The lines of
 * the first group are free so far. */
static void find_filter(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_dft *self = loop->params;
  const int64_t n = self->length, padded = self->padded;
  const chirp all = chirp_of(self, loop->pointers);
  number *filter = (number *)loop->pointers[2] + padded;
  number *line = (number *)loop->pointers[2] + 2 * padded + n;
  if (begin == end) return;
  lk_fill_long(line, 0, (size_t)padded * sizeof *line);
  for (int64_t k = 0; k < n && !lk_look_after(k, LK_LOOK_EACH); k++) {
    const number over = {all.factors[k].real, -all.factors[k].imaginary};
    line[k] = over;
    if (k > 0) line[padded - k] = over;
  }
  const number *done = transform(padded, all.roots, line, line + padded);
  lk_copy_long(filter, done, (size_t)padded * sizeof *filter);
}

/* Where the result lies: one of the two, which have room for `padded` numbers each. */
static number *transform_by_chirp(const chirp *self, number *line, number *other) {
  const int64_t n = self->length, m = self->padded;
  for (int64_t i = 0; i < n && !lk_look_after(i, LK_LOOK_EACH); i++) {
    line[i] = times(line[i], self->factors[i]);
  }
  lk_fill_long(line + n, 0, (size_t)(m - n) * sizeof *line);
  number *there = transform(m, self->roots, line, other);
  /* with real and imaginary parts in each other's places, forwards is back */
  for (int64_t i = 0; i < m && !lk_look_after(i, LK_LOOK_EACH); i++) {
    const number product = times(there[i], self->filter[i]);
    there[i] = (number){product.imaginary, product.real};
  }
  number *back = transform(m, self->roots, there, there == line ? other : line);
  const double divisor = (double)m; /* a power of two */
  for (int64_t i = 0; i < n && !lk_look_after(i, LK_LOOK_EACH); i++) {
    const number sum = {back[i].imaginary / divisor, back[i].real / divisor};
    back[i] = times(sum, self->factors[i]);
  }
  return back;
}

/* ---- lines ---- */

#define MOVES(name, type)                                                                          \
  static void load_##name(const lk_dft *self, void *const *pointers, int64_t at, number *line) {   \
    const type *from = pointers[0], *window = self->has_window ? pointers[3] : NULL;               \
    const bool is_complex = self->is_complex;                                                      \
    const int64_t given = self->given, along = self->from.along;                                   \
    for (int64_t i = 0; i < given && !lk_look_after(i, LK_LOOK_EACH); i++, at += along) {          \
      const double factor = window != NULL ? (double)window[i] : 1;                                \
      line[i].real = factor * (double)from[at];                                                    \
      line[i].imaginary = is_complex ? factor * (double)from[at + 1] : 0;                          \
    }                                                                                              \
  }                                                                                                \
  static void store_##name(const lk_dft *self, const number *line, void *memory, int64_t at) {     \
    type *to = memory;                                                                             \
    const bool is_real = self->is_real;                                                            \
    const int64_t wanted = self->wanted, along = self->to.along;                                   \
    for (int64_t i = 0; i < wanted && !lk_look_after(i, LK_LOOK_EACH); i++, at += along) {         \
      to[at] = (type)line[i].real;                                                                 \
      if (!is_real) to[at + 1] = (type)line[i].imaginary;                                          \
    }                                                                                              \
  }
MOVES(f32, float)
MOVES(f64, double)

static void load(const lk_dft *self, void *const *pointers, int64_t at, number *line) {
  (self->is_f64 ? load_f64 : load_f32)(self, pointers, at, line);
  const int64_t left = self->length - self->given;
  if (left > 0) lk_fill_long(line + self->given, 0, (size_t)left * sizeof *line);
  if (!self->is_mirrored) return;
  line[0].imaginary = 0;
  for (int64_t i = 1; 2 * i <= self->length && !lk_look_after(i, LK_LOOK_EACH); i++) {
    if (2 * i == self->length) line[i].imaginary = 0;
    line[self->length - i] = (number){line[i].real, -line[i].imaginary};
  }
}

static void store(const lk_dft *self, number *line, void *memory, int64_t at) {
  const double divisor = (double)self->length;
  const int64_t divided = self->is_inverse ? self->wanted : 0;
  for (int64_t i = 0; i < divided && !lk_look_after(i, LK_LOOK_EACH); i++) {
    line[i] = (number){line[i].real / divisor, line[i].imaginary / divisor};
  }
  (self->is_f64 ? store_f64 : store_f32)(self, line, memory, at);
}

static int64_t place_of(const lk_dft *self, const lk_dft_steps *steps, int64_t index) {
  const int64_t inner = index % self->inner, rest = index / self->inner;
  return rest / self->middle * steps->outer + rest % self->middle * steps->middle +
         inner * steps->inner;
}

static void do_groups(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_dft *self = loop->params;
  const int64_t n = self->length, padded = self->padded;
  const int64_t lines = lines_of(self), each = lk_div_up(lines, groups_of(self));
  const int64_t before = padded > 0 ? 2 * padded + n : n, room = padded > 0 ? padded : n;
  const chirp all = chirp_of(self, loop->pointers);
  number *roots = loop->pointers[2];
  for (int64_t group = begin; group < end; group++) {
    number *line = roots + before + 2 * room * group, *other = line + room;
    for (int64_t i = group * each; i < lk_min(lines, (group + 1) * each); i++) {
      if (lk_team_is_stopped()) return;
      load(self, loop->pointers, place_of(self, &self->from, i), line);
      number *result =
          padded > 0 ? transform_by_chirp(&all, line, other) : transform(n, roots, line, other);
      store(self, result, loop->pointers[1], place_of(self, &self->to, i));
    }
  }
}

lk_status lk_dft_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_dft *self = params;
  const int64_t n = self->length, padded = self->padded;
  (void)error;
  if (padded > 0) {
    const bool shared = lk_sharing_pays_for(padded, NUMBER);
    (void)lk_kernel_turns(padded, shared, find_padded_roots, params, pointers);
    (void)lk_kernel_turns(n, shared, find_factors, params, pointers);
    (void)lk_kernel_turns_looking(1, false, find_filter, params, pointers);
  } else {
    (void)lk_kernel_turns(n, lk_sharing_pays_for(n, NUMBER), find_roots, params, pointers);
  }
  return lk_kernel_turns_looking(groups_of(self), lk_sharing_pays_for(lines_of(self) * n, NUMBER),
                                 do_groups, params, pointers);
}
