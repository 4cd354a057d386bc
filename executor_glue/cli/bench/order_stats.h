/* Quantiles of a sample by its order statistics, with intervals that assume no distribution.
 *
 * The interval of a quantile lies between two values of the sorted sample, whose ranks follow from
 * the binomial distribution: Hahn, Meeker, "Statistical Intervals", Wiley 1991, section 5.2. Each
 * end is missed with a probability of 2.5 % at most, so that the interval holds the quantile of
 * what was sampled with at least 95 %. The values have to be independent of each other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ranks of the sorted values, from 1. */
typedef struct order_interval {
  uint64_t low, high;
} order_interval;

/* Nearest rank: that of the smallest value which at least `permille` thousandths of `count` values
 * (at least 1) do not exceed. */
uint64_t order_rank(uint64_t count, uint32_t permille);

/* The interval of a quantile, 1 to 999 thousandths, of `count` values. False when there are too few
 * for one. Takes time as the square root of `count`. */
bool order_interval_of(uint64_t count, uint32_t permille, order_interval *out);

/* The fewest values that have an interval. */
uint64_t order_interval_needs(uint32_t permille);

#ifdef __cplusplus
}
#endif
