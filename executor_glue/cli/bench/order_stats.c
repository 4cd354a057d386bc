/* Quantiles of a sample by its order statistics, with intervals that assume no distribution. */
#include "executor_glue/cli/bench/order_stats.h"

#include <math.h>

#define TAIL 0.025
/* Terms of the binomial sum that are smaller than this part of the largest one are left out. */
#define SMALLEST 1e-20

uint64_t order_rank(uint64_t count, uint32_t permille) {
  const uint64_t rank = (count * permille + 999) / 1000;
  return rank > 0 ? rank : 1;
}

/* Binomial probabilities, each by the one beside it and the largest being 1: no logarithm of a
 * factorial of millions loses digits. */
typedef struct binomial {
  double count, p;
} binomial;

/* Of k + 1, by that of k. */
static double up(const binomial *b, double k) {
  return (b->count - k) / (k + 1) * (b->p / (1 - b->p));
}

bool order_interval_of(uint64_t count, uint32_t permille, order_interval *out) {
  if (count < order_interval_needs(permille)) return false;
  const binomial b = {(double)count, (double)permille / 1000};
  const double mode = floor((b.count + 1) * b.p);
  double first = mode, weight = 1, total = 1;
  while (first > 0 && weight > SMALLEST) {
    weight /= up(&b, --first);
    total += weight;
  }
  const double first_weight = weight;
  double last = mode;
  for (weight = 1; last < b.count && weight > SMALLEST; last++) {
    weight *= up(&b, last);
    total += weight;
  }
  /* low: the largest l with P(K < l) <= 2.5 %. high: the smallest h with P(K >= h) <= 2.5 %. K is
   * how many values are below the quantile. */
  double below = 0, k = first;
  for (weight = first_weight; below + weight <= TAIL * total; k++) {
    below += weight;
    weight *= up(&b, k);
  }
  out->low = (uint64_t)k;
  for (below += weight; total - below > TAIL * total; k++) {
    weight *= up(&b, k);
    below += weight;
  }
  out->high = (uint64_t)k + 1;
  return true;
}

/* All values lie on one side of the quantile with p^n or (1-p)^n. */
uint64_t order_interval_needs(uint32_t permille) {
  const double p = (double)permille / 1000;
  return (uint64_t)ceil(log(TAIL) / log(fmax(p, 1 - p)));
}
