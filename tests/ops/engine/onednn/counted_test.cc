// What counted.c, which is linked in, counts of each function that the linker sends to it.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/engine/onednn/counted.h"
#include "ops/engine/onednn/wrapped.h"

// As the linker names the C library's functions where it wraps them. While it `fails`, there is no
// memory.
static bool fails;
void *__real_malloc(size_t size) {
  return fails ? nullptr : malloc(size);
}
void *__real_calloc(size_t count, size_t size) {
  return fails ? nullptr : calloc(count, size);
}
void *__real_realloc(void *old, size_t size) {
  return fails ? nullptr : realloc(old, size);
}
void *__real_aligned_alloc(size_t alignment, size_t size) {
  return fails ? nullptr : aligned_alloc(alignment, size);
}
void *__real_memalign(size_t alignment, size_t size) {
  return fails ? nullptr : memalign(alignment, size);
}
int __real_posix_memalign(void **out, size_t alignment, size_t size) {
  return fails ? ENOMEM : posix_memalign(out, alignment, size);
}
void __real_free(void *block) {
  free(block);
}
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return fails ? MAP_FAILED : mmap(at, bytes, protection, flags, fd, offset);
}
int __real_munmap(void *at, size_t bytes) {
  return munmap(at, bytes);
}
}

namespace {

const size_t kPage = size_t(sysconf(_SC_PAGESIZE));

// What is counted while `build` runs.
template <typename Build> uint64_t counted(const Build &build) {
  lk_counted into;
  lk_counted_begin(&into);
  build();
  return lk_counted_end(nullptr);
}

void *map(size_t bytes) {
  return __wrap_mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

TEST(Counted, EachAllocationAsLargeAsItIs) {
  std::vector<void *> blocks;
  size_t usable = 0;
  const uint64_t bytes = counted([&] {
    void *aligned = nullptr;
    EXPECT_EQ(__wrap_posix_memalign(&aligned, 64, 3000), 0);
    blocks = {__wrap_malloc(1000),
              __wrap_calloc(10, 200),
              __wrap_aligned_alloc(64, 640),
              __wrap_memalign(64, 700),
              aligned,
              __wrap_realloc(nullptr, 400)};
  });
  for (void *block : blocks) {
    ASSERT_NE(block, nullptr);
    usable += malloc_usable_size(block);
    __wrap_free(block);
  }
  EXPECT_EQ(bytes, usable);
  EXPECT_GE(bytes, 7740u);
}

TEST(Counted, OfARenewedBlockWhatItHasThen) {
  void *block = nullptr;
  const uint64_t bytes = counted([&] {
    block = __wrap_malloc(1000);
    block = __wrap_realloc(block, 100000);
    block = __wrap_realloc(block, 50);
  });
  EXPECT_EQ(bytes, malloc_usable_size(block));
  __wrap_free(block);
}

TEST(Counted, LessWhatIsFreed) {
  EXPECT_EQ(counted([] { __wrap_free(__wrap_malloc(1000)); }), 0u);
  EXPECT_EQ(counted([] { __wrap_free(nullptr); }), 0u);
  void *earlier = __wrap_malloc(1000);
  EXPECT_EQ(counted([&] { __wrap_free(earlier); }), 0u) << "never below nothing";
}

TEST(Counted, WhatFailsIsNothing) {
  void *block = nullptr;
  const uint64_t kept = counted([&] {
    void *none = nullptr;
    block = __wrap_malloc(1000);
    fails = true;
    EXPECT_EQ(__wrap_malloc(10), nullptr);
    EXPECT_EQ(__wrap_calloc(10, 10), nullptr);
    EXPECT_EQ(__wrap_realloc(block, 2000), nullptr);
    EXPECT_EQ(__wrap_aligned_alloc(64, 64), nullptr);
    EXPECT_EQ(__wrap_memalign(64, 64), nullptr);
    EXPECT_EQ(__wrap_posix_memalign(&none, 64, 64), ENOMEM);
    EXPECT_EQ(map(kPage), MAP_FAILED);
    fails = false;
  });
  EXPECT_EQ(kept, malloc_usable_size(block));
  __wrap_free(block);
}

// Pages that nobody has written to take no memory.
TEST(Counted, OfMappingsThePagesThatAreThere) {
  char *mapping = nullptr, *last = nullptr;
  const uint64_t bytes = counted([&] {
    mapping = static_cast<char *>(map(8 * kPage));
    mapping[0] = mapping[3 * kPage] = 1;
    last = static_cast<char *>(map(kPage + 1));
    last[kPage] = 1;
    char *gone = static_cast<char *>(map(kPage));
    gone[0] = 1;
    EXPECT_EQ(__wrap_munmap(gone, kPage), 0);
  });
  EXPECT_EQ(bytes, 3 * kPage);
  EXPECT_EQ(munmap(mapping, 8 * kPage), 0);
  EXPECT_EQ(munmap(last, kPage + 1), 0);
}

TEST(Counted, MappingsBeyondTheListCountWhole) {
  std::vector<void *> mappings;
  const uint64_t bytes = counted([&] {
    for (int i = 0; i < LK_COUNTED_MAPPINGS + 2; i++) mappings.push_back(map(4 * kPage));
  });
  EXPECT_EQ(bytes, 2 * 4 * kPage);
  for (void *mapping : mappings) EXPECT_EQ(munmap(mapping, 4 * kPage), 0);
}

TEST(Counted, OfThisThreadAlone) {
  void *other = nullptr, *after = nullptr;
  EXPECT_EQ(counted([&] { std::thread([&] { other = __wrap_malloc(1000); }).join(); }), 0u);
  after = __wrap_malloc(1000); // nothing is counted any more
  __wrap_free(after);
  __wrap_free(other);
}

} // namespace
