// The histogram of latencies against exact percentiles of the sorted values.
#include "executor_glue/cli/load/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using Values = std::vector<uint64_t>;

std::unique_ptr<histogram> histogram_of(const Values &values) {
  auto result = std::make_unique<histogram>();
  histogram_clear(result.get());
  for (uint64_t value : values) histogram_record(result.get(), value);
  return result;
}

// Nearest rank.
uint64_t exact(const Values &sorted, uint64_t permille) {
  const uint64_t rank = (sorted.size() * permille + 999) / 1000;
  return sorted[rank > 0 ? rank - 1 : 0];
}

void expect_percentiles(Values values) {
  const auto got = histogram_of(values);
  std::sort(values.begin(), values.end());
  uint64_t before = 0;
  for (uint64_t permille = 0; permille <= 1000; permille++) {
    const uint64_t value = histogram_percentile(got.get(), permille);
    const auto expected = static_cast<double>(exact(values, permille));
    ASSERT_NEAR(expected, static_cast<double>(value), expected / 256) << permille;
    ASSERT_LE(before, value) << permille;
    before = value;
  }
  EXPECT_EQ(values.back(), histogram_percentile(got.get(), 1000));
  EXPECT_EQ(values.size(), got->count);
}

TEST(Histogram, PercentilesOfManyDistributions) {
  std::mt19937_64 random(1);
  for (const double sigma : {0.01, 0.5, 3.0}) {
    std::lognormal_distribution<double> draw(std::log(2e6), sigma);
    Values values;
    for (int i = 0; i < 20000; i++) values.push_back(static_cast<uint64_t>(draw(random)));
    expect_percentiles(values);
  }
  Values values;
  for (uint64_t i = 0; i < 5000; i++) values.push_back(i);
  expect_percentiles(values);
}

TEST(Histogram, AFewValues) {
  expect_percentiles({1234567});
  expect_percentiles({0});
  expect_percentiles({3, 3, 3});
  expect_percentiles({10, 1000000000, 20});
}

TEST(Histogram, EveryPowerOfTwoAndItsNeighbours) {
  for (int bit = 0; bit < HISTOGRAM_OCTAVE; bit++) {
    for (int64_t offset : {-1, 0, 1}) {
      const uint64_t value = (UINT64_C(1) << bit) + static_cast<uint64_t>(offset);
      // Neither is the smallest or the largest, to which results are clamped.
      const Values values = {value / 2, value, 2 * value + 1};
      const uint64_t got = histogram_percentile(histogram_of(values).get(), 500);
      EXPECT_NEAR(static_cast<double>(value), static_cast<double>(got),
                  static_cast<double>(value) / 256);
    }
  }
}

TEST(Histogram, WhatIsTooLongIsCountedAsTheLongest) {
  const uint64_t longest = std::numeric_limits<uint64_t>::max() / 4;
  const auto got = histogram_of({5, longest - 1, longest});
  EXPECT_EQ(3u, got->count);
  EXPECT_EQ(longest, got->max);
  EXPECT_EQ(longest, histogram_percentile(got.get(), 999));
  EXPECT_EQ(5u, histogram_percentile(got.get(), 100));
}

TEST(Histogram, MergedIsAsIfRecordedInOne) {
  Values all, parts[3];
  std::mt19937_64 random(2);
  for (int i = 0; i < 9000; i++) {
    const uint64_t value = random() >> (20 + random() % 40);
    all.push_back(value);
    parts[random() % 3].push_back(value);
  }
  const auto merged = histogram_of({});
  for (const Values &part : parts) histogram_merge(merged.get(), histogram_of(part).get());
  histogram_merge(merged.get(), histogram_of({}).get());
  const auto whole = histogram_of(all);
  EXPECT_EQ(whole->count, merged->count);
  EXPECT_EQ(whole->sum, merged->sum);
  EXPECT_EQ(*std::min_element(all.begin(), all.end()), merged->min);
  EXPECT_EQ(*std::max_element(all.begin(), all.end()), merged->max);
  for (uint64_t permille = 0; permille <= 1000; permille++) {
    EXPECT_EQ(histogram_percentile(whole.get(), permille),
              histogram_percentile(merged.get(), permille));
  }
}

TEST(Histogram, TheMeanIsExact) {
  EXPECT_DOUBLE_EQ(1000003.0, histogram_mean(histogram_of({1000001, 1000002, 1000006}).get()));
}

TEST(Histogram, NothingIsZero) {
  const auto empty = histogram_of({});
  EXPECT_EQ(0u, histogram_percentile(empty.get(), 999));
  EXPECT_EQ(0.0, histogram_mean(empty.get()));
  const auto used = histogram_of({7, 8});
  histogram_clear(used.get());
  EXPECT_EQ(0u, used->count);
  EXPECT_EQ(0u, used->max);
  EXPECT_EQ(0u, histogram_percentile(used.get(), 500));
}

} // namespace
