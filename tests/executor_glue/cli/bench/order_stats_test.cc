// Order statistics against published tables, exact sums of small binomials, and simulation.
#include "executor_glue/cli/bench/order_stats.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

// P(low <= K < high) of K by the binomial distribution, by logarithms of factorials.
double coverage(uint64_t count, double p, uint64_t low, uint64_t high) {
  const auto n = static_cast<double>(count);
  double sum = 0;
  for (uint64_t k = low; k < high; k++) {
    const auto x = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                    x * std::log(p) + (n - x) * std::log1p(-p));
  }
  return sum;
}

struct Row {
  uint64_t count, low, high;
};

// Ranks of 95 % intervals of the median, as tables for the sign test have them: Conover,
// "Practical Nonparametric Statistics"; Campbell, Gardner, BMJ 296 (1988).
TEST(OrderStats, MediansAreThoseOfTheTables) {
  const Row rows[] = {{6, 1, 6},    {7, 1, 7},    {8, 1, 8},    {9, 2, 8},    {10, 2, 9},
                      {11, 2, 10},  {12, 3, 10},  {13, 3, 11},  {14, 3, 12},  {15, 4, 12},
                      {20, 6, 15},  {25, 8, 18},  {30, 10, 21}, {40, 14, 27}, {50, 18, 33},
                      {60, 22, 39}, {70, 27, 44}, {80, 31, 50}, {90, 36, 55}, {100, 40, 61}};
  for (const Row &row : rows) {
    order_interval got = {0, 0};
    ASSERT_TRUE(order_interval_of(row.count, 500, &got)) << row.count;
    EXPECT_EQ(row.low, got.low) << row.count;
    EXPECT_EQ(row.high, got.high) << row.count;
  }
}

TEST(OrderStats, TheFewestValuesAreThoseThatCanBeOnOneSide) {
  const uint32_t permille[] = {500, 900, 950, 990, 999, 100};
  const uint64_t needs[] = {6, 36, 72, 368, 3688, 36};
  for (int i = 0; i < 6; i++) {
    order_interval got = {0, 0};
    EXPECT_EQ(needs[i], order_interval_needs(permille[i])) << permille[i];
    EXPECT_FALSE(order_interval_of(needs[i] - 1, permille[i], &got)) << permille[i];
    ASSERT_TRUE(order_interval_of(needs[i], permille[i], &got)) << permille[i];
    EXPECT_LE(1U, got.low);
    EXPECT_LE(got.low, got.high);
    EXPECT_LE(got.high, needs[i]);
  }
  order_interval got = {0, 0};
  EXPECT_FALSE(order_interval_of(0, 500, &got));
}

// Each end is as near as 2.5 % allow: one rank nearer would be too near.
TEST(OrderStats, EndsMissByTwoAndAHalfPercentAtMost) {
  for (const uint32_t permille : {1U, 100U, 500U, 900U, 950U, 990U, 999U}) {
    const double p = permille / 1000.0;
    for (const uint64_t count : {6U, 50U, 400U, 1000U, 5000U, 40000U}) {
      order_interval got = {0, 0};
      if (!order_interval_of(count, permille, &got)) continue;
      EXPECT_LE(coverage(count, p, 0, got.low), 0.025 + 1e-9) << count << " " << permille;
      EXPECT_GT(coverage(count, p, 0, got.low + 1), 0.025 - 1e-9) << count << " " << permille;
      EXPECT_LE(coverage(count, p, got.high, count + 1), 0.025 + 1e-9) << count << " " << permille;
      EXPECT_GT(coverage(count, p, got.high - 1, count + 1), 0.025 - 1e-9)
          << count << " " << permille;
    }
  }
}

TEST(OrderStats, MillionsAreNear) {
  order_interval got = {0, 0};
  ASSERT_TRUE(order_interval_of(10000000, 500, &got));
  const double half = 1.959964 * std::sqrt(1e7 / 4); // the normal distribution
  EXPECT_NEAR(5e6 - half, static_cast<double>(got.low), 2);
  EXPECT_NEAR(5e6 + half, static_cast<double>(got.high), 2);
}

// Of latencies that are skewed, as latencies are: nothing is assumed of how they are distributed.
TEST(OrderStats, IntervalsHoldTheQuantileInNearlyNineteenOfTwentySamples) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(0, 1);
  const struct {
    uint32_t permille;
    double quantile; // exp of the normal distribution's
  } cases[] = {{500, 1.0}, {900, std::exp(1.2815516)}, {990, std::exp(2.3263479)}};
  constexpr int kTimes = 2000;
  std::vector<double> values(500);
  int held[3] = {0, 0, 0};
  for (int t = 0; t < kTimes; t++) {
    for (double &value : values) value = latency(random);
    std::sort(values.begin(), values.end());
    for (int c = 0; c < 3; c++) {
      order_interval got = {0, 0};
      ASSERT_TRUE(order_interval_of(values.size(), cases[c].permille, &got));
      held[c] +=
          values[got.low - 1] <= cases[c].quantile && cases[c].quantile <= values[got.high - 1];
    }
  }
  for (int c = 0; c < 3; c++) {
    // Four standard deviations below 95 %; above, what ranks that are whole numbers add.
    EXPECT_GE(held[c], kTimes * 0.95 - 4 * std::sqrt(kTimes * 0.95 * 0.05)) << cases[c].permille;
    EXPECT_LE(held[c], kTimes * 0.985) << cases[c].permille;
  }
}

TEST(OrderStats, RanksAreTheNearest) {
  EXPECT_EQ(1U, order_rank(1, 1));
  EXPECT_EQ(1U, order_rank(1, 999));
  EXPECT_EQ(50U, order_rank(100, 500));
  EXPECT_EQ(99U, order_rank(100, 990));
  EXPECT_EQ(100U, order_rank(100, 999));
  EXPECT_EQ(6U, order_rank(11, 500));
}

} // namespace
