// How much memory the process has, and whether that grows.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

// Sanitizers keep freed memory for a while, and memory of their own beside all that is used.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LK_TEST_MEASURES_MEMORY 1

namespace ort {

// Without the free blocks that malloc keeps: reading a model leaves many of them.
inline double resident_megabytes() {
  (void)malloc_trim(0);
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  EXPECT_NE(file, nullptr);
  EXPECT_EQ(fscanf(file, "%ld %ld", &pages, &resident), 2);
  fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Repeats it; returns the memory at the end as a multiple of the memory in the middle.
template <typename Body> double memory_growth(size_t times, Body body) {
  std::vector<double> megabytes;
  while (megabytes.size() < times) {
    body(megabytes.size());
    megabytes.push_back(resident_megabytes());
  }
  const size_t tenth = times / 10;
  const auto mean_of_tenth = [&](size_t from) {
    const auto begin = megabytes.begin() + static_cast<ptrdiff_t>(from);
    return std::accumulate(begin, begin + static_cast<ptrdiff_t>(tenth), 0.0) /
           static_cast<double>(tenth);
  };
  return mean_of_tenth(times - tenth) / mean_of_tenth((times - tenth) / 2);
}

// The least of three times, or the first that is within `limit`: what leaks does so each time,
// while on a busy machine threads meet in malloc, which makes a further arena then.
template <typename Body> double least_memory_growth(size_t times, double limit, Body body) {
  double least = memory_growth(times, body);
  for (int i = 1; i < 3 && least >= limit; i++) {
    least = std::min(least, memory_growth(times, body));
  }
  return least;
}

} // namespace ort

#else
#define LK_TEST_SANITIZER_HAS_MEMORY "the sanitizer has memory of its own beside what is used"
#endif
