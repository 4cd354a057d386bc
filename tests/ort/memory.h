// How much memory the process has.
#ifndef LK_TESTS_ORT_MEMORY_H
#define LK_TESTS_ORT_MEMORY_H

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>

// Sanitizers keep freed memory for a while, and memory of their own beside all that is used.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LK_TEST_MEASURES_MEMORY 1

namespace ort {

// Without what is free, which malloc keeps for the next who asks: reading a model leaves much of it.
inline double resident_megabytes() {
  (void)malloc_trim(0);
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  EXPECT_NE(file, nullptr);
  EXPECT_EQ(fscanf(file, "%ld %ld", &pages, &resident), 2);
  fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

} // namespace ort

#endif
#endif
