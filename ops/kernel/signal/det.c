/* Determinants. A turn is a matrix. */
#include "ops/kernel/signal/det.h"

#include <math.h>

#include "base/team/team.h"

/* The row from `k` on whose element of column `k` is the largest; the first that is NaN. */
static int64_t find_pivot(const double *matrix, int64_t n, int64_t k) {
  int64_t pivot = k;
  for (int64_t i = k; i < n; i++) {
    const double size = fabs(matrix[i * n + k]);
    if (isnan(size)) return i;
    if (size > fabs(matrix[pivot * n + k])) pivot = i;
  }
  return pivot;
}

/* Takes `factor` times a row of `count` from another one. */
static void subtract(double *restrict from, const double *restrict row, double factor,
                     int64_t count) {
  for (int64_t j = 0; j < count; j++) from[j] -= factor * row[j];
}

/* What is stopped gives some number. */
static double determinant(double *matrix, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n && !lk_team_is_stopped(); k++) {
    const int64_t pivot = find_pivot(matrix, n, k);
    double *row = matrix + k * n, *other = matrix + pivot * n;
    if (pivot != k) {
      product = -product;
      for (int64_t j = k; j < n; j++) {
        const double kept = row[j];
        row[j] = other[j];
        other[j] = kept;
      }
    }
    product *= row[k];
    if (row[k] == 0) return 0;
    for (int64_t i = k + 1; i < n; i++) {
      double *below = matrix + i * n;
      subtract(below + k + 1, row + k + 1, below[k] / row[k], n - k - 1);
    }
  }
  return product;
}

static void eliminate(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_det *self = loop->params;
  for (int64_t i = begin; i < end; i++) {
    double *matrix = (double *)loop->pointers[0] + i * self->n * self->n;
    ((double *)loop->pointers[1])[i] = determinant(matrix, self->n);
  }
}

lk_status lk_det_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_det *self = params;
  const double n = (double)self->n, work = (double)self->matrices * n * n * n / 3;
  return lk_kernel_turns(self->matrices, lk_sharing_pays(work * LK_SHARING_ELEMENT), eliminate,
                         params, pointers);
}
