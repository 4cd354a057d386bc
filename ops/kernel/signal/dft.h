/* Discrete Fourier transforms of any length along lines of a tensor, in f64: a Stockham transform
 * of the prime factors of the length, which needs no permutation. A factor r costs about r
 * operations for each number. Where one is so large that this is too much, the whole line is a
 * convolution, by transforms of a power of two that is at least twice as long.
 *
 * Bound: about 5 n log2 n operations for a line of small factors, and some times as many for a
 * convolution. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

/* Steps are in elements: to the next line of each of three dimensions, and along a line. */
typedef struct lk_dft_steps {
  int64_t outer, middle, inner, along;
} lk_dft_steps;

typedef struct lk_dft {
  int64_t outer, middle, inner; /* lines */
  int64_t length;               /* of the transform */
  int64_t given, wanted; /* numbers of a line of the input, at most `length`; of the output */
  lk_dft_steps from, to;
  bool is_complex;  /* the input; else there are no imaginary parts */
  bool is_inverse;  /* divided by the length */
  bool is_mirrored; /* the other half of the input are the conjugates of this one */
  bool is_real;     /* the output has no imaginary parts */
  bool is_f64;      /* input, output and window, else f32 */
  bool has_window;  /* a factor for each number of a line of the input */
  int64_t padded;   /* by lk_dft_plan: the length of the convolution that it is; 0: it is none */
} lk_dft;

/* Sets the last member by the length. */
void lk_dft_plan(lk_dft *self);

/* Elements of f64 of scratch memory that a run needs. */
int64_t lk_dft_scratch_size(const lk_dft *self);

/* Flops of a run. */
double lk_dft_operations(const lk_dft *self);

/* Params: lk_dft. Pointers: from, to, scratch memory, and the window where there is one. */
lk_status lk_dft_kernel(const void *params, void *const *pointers, lk_error *error);
