// Memory through an allocator: products that overflow, copies that grow, and failures that change
// nothing.
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "base/pages.h"
}

namespace {

TEST(Alloc, ZeroBytesMayBeFreed) {
  lk::FailingAllocator allocator;
  void *pointer = lk_alloc(allocator.get(), 0);
  EXPECT_NE(pointer, nullptr);
  lk_free(allocator.get(), pointer);
  lk_free(allocator.get(), nullptr);
}

TEST(Alloc, IsAligned) {
  for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
    void *pointer = lk_alloc_aligned(lk_allocator_default(), 3, alignment);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % alignment, 0u) << alignment;
    lk_free(lk_allocator_default(), pointer);
  }
}

TEST(Alloc, LinesAreZeroAndNobodyElses) {
  std::vector<char *> blocks;
  for (size_t size : {1, 8, 63, 64, 65, 200}) {
    auto *block = static_cast<char *>(lk_calloc_lines(lk_allocator_default(), size));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % LK_CACHE_LINE, 0u) << size;
    const size_t whole = (size + LK_CACHE_LINE - 1) / LK_CACHE_LINE * LK_CACHE_LINE;
    for (size_t i = 0; i < whole; i++) EXPECT_EQ(block[i], 0) << size << " " << i;
    std::fill(block, block + whole, '\x5a'); // a sanitizer knows whether that is ours
    blocks.push_back(block);
  }
  for (char *block : blocks) lk_free(lk_allocator_default(), block);
  EXPECT_EQ(lk_calloc_lines(lk_allocator_default(), SIZE_MAX), nullptr);
}

// A block that outlives a large one must not lie behind it: what is cut off a large block is merged
// with its neighbours, not kept for the next small one.
TEST(Alloc, SmallBlocksDoNotHoldWhatLargeOnesLeft) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers have an allocator of their own";
#endif
  const lk_allocator *allocator = lk_allocator_default();
  std::mt19937 random(1);
  std::vector<void *> small;
  lk_free(allocator, lk_alloc_aligned(allocator, 16 << 20, 64)); // glibc maps only larger ones now
  size_t sum = 0;
  const size_t before = mallinfo2().arena;
  for (int i = 0; i < 400; i++) {
    void *large = lk_alloc_aligned(allocator, (256 << 10) + random() % (3 << 20), 64);
    ASSERT_NE(large, nullptr);
    lk_free(allocator, large);
    for (int k = 0; k < 100; k++) {
      const size_t bytes = 16 + random() % 600;
      small.push_back(lk_alloc(allocator, bytes));
      sum += bytes + 16;
    }
  }
  /* 4 to 7 MiB by where the heap begins; 76 MiB where large blocks are aligned to 64 bytes. */
  EXPECT_LE(mallinfo2().arena - before, sum + (16 << 20));
  for (void *block : small) lk_free(allocator, block);
}

// What is large and comes and goes in changing sizes takes memory only while it is there.
TEST(Alloc, PagesGoBackToTheSystem) {
  const lk_allocator *allocator = lk_allocator_default();
  for (size_t bytes : {32 << 10, 256 << 10, (1 << 20) + 1, (4 << 20) - 4096, 4 << 20}) {
    auto *block = static_cast<char *>(lk_alloc_pages(allocator, bytes));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % LK_PAGE, 0u);
    EXPECT_GE(lk_block_bytes(block), bytes);
    EXPECT_LE(lk_block_bytes(block), bytes + size_t{2} * 4096);
    std::fill(block, block + bytes, '\x5a');
    unsigned char is_resident = 0;
    EXPECT_EQ(mincore(block, 1, &is_resident), 0);
    lk_free(allocator, block);
    EXPECT_EQ(mincore(block, 1, &is_resident), -1) << bytes;
    EXPECT_EQ(errno, ENOMEM); // nothing is mapped there
  }
}

TEST(Alloc, SmallPagesAreOrdinaryBlocks) {
  const lk_allocator *allocator = lk_allocator_default();
  for (size_t bytes : {0, 1, 100, 30000}) {
    void *block = lk_alloc_pages(allocator, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % LK_DATA_ALIGNMENT, 0u);
    EXPECT_EQ(lk_block_bytes(block), malloc_usable_size(block) + sizeof(size_t));
    lk_free(allocator, block);
  }
  EXPECT_EQ(lk_alloc_pages(allocator, SIZE_MAX), nullptr);
  EXPECT_EQ(lk_alloc_pages(allocator, SIZE_MAX / 2), nullptr);
}

// A process may have so many mappings and no more: beyond a share of them, blocks are ordinary.
TEST(Alloc, PagesAreOfSoManyBlocksAlone) {
  const lk_allocator *allocator = lk_allocator_default();
  std::vector<void *> blocks;
  auto is_paged = [&] {
    blocks.push_back(lk_alloc_pages(allocator, 40 << 10));
    return blocks.back() != nullptr && lk_pages_may_lie_at(blocks.back());
  };
  while (blocks.size() <= LK_PAGES_MANY && is_paged()) {
  }
  EXPECT_EQ(blocks.size(), LK_PAGES_MANY + 1u);
  ASSERT_NE(blocks.back(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % LK_DATA_ALIGNMENT, 0u);
  memset(blocks.back(), 7, 40 << 10);
  EXPECT_FALSE(is_paged());
  lk_free(allocator, blocks.front());
  blocks.front() = nullptr;
  EXPECT_TRUE(is_paged());
  for (void *block : blocks) lk_free(allocator, block);
}

// An address tells blocks with pages of their own from those of the C library: of 40 MiB in small
// blocks some dozen lay at such addresses, and of large blocks that are as far apart all would.
TEST(Alloc, BlocksOfMallocLieElsewhere) {
  const lk_allocator *allocator = lk_allocator_default();
  std::mt19937 random(3);
  std::vector<void *> blocks;
  for (size_t sum = 0; sum < (size_t(lk::repeats(40)) << 20);) {
    const size_t bytes = 24 + random() % 3 * 16;
    blocks.push_back(lk_alloc(allocator, bytes));
    sum += bytes;
  }
  for (int i = 0; i < 40; i++) {
    for (size_t bytes : {size_t{2} << 20, (size_t{2} << 20) - 16, (size_t{2} << 20) - 4096}) {
      for (size_t alignment : {16, 64, 2048})
        blocks.push_back(lk_alloc_aligned(allocator, bytes, alignment));
    }
  }
  for (void *block : blocks) {
    ASSERT_NE(block, nullptr);
    EXPECT_FALSE(lk_pages_may_lie_at(block));
    lk_free(allocator, block);
  }
}

// glibc gives a block that was freed last to the next who asks for its size.
TEST(Alloc, BlocksOfMallocAreGivenBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers have an allocator of their own";
#endif
  const lk_allocator *allocator = lk_allocator_default();
  constexpr size_t kBytes = 40;
  std::vector<void *> blocks;
  do {
    blocks.push_back(malloc(kBytes));
    ASSERT_LT(blocks.size(), 4u << 20);
  } while (!lk_pages_may_lie_at(blocks.back()));
  void *const there = blocks.back();
  free(there);
  void *const elsewhere = lk_alloc(allocator, kBytes);
  EXPECT_NE(elsewhere, there);
  blocks.back() = malloc(kBytes);
  EXPECT_EQ(blocks.back(), there);
  lk_free(allocator, elsewhere);
  blocks.push_back(malloc(malloc_usable_size(elsewhere)));
  EXPECT_EQ(blocks.back(), elsewhere);
  for (void *block : blocks) free(block);
}

TEST(Alloc, CallocZeroesAndRefusesProductsThatOverflow) {
  lk::FailingAllocator allocator;
  auto *bytes = static_cast<unsigned char *>(lk_calloc(allocator.get(), 7, 3));
  for (int i = 0; i < 21; i++) EXPECT_EQ(bytes[i], 0);
  lk_free(allocator.get(), bytes);
  EXPECT_EQ(lk_calloc(allocator.get(), SIZE_MAX / 2, 3), nullptr);
  EXPECT_EQ(allocator.allocations(), 1u);
}

TEST(Alloc, ReallocKeepsTheOldBlockWhenThereIsNoMemory) {
  lk::FailingAllocator allocator;
  char *text = lk_strndup(allocator.get(), "latchkey", 5);
  EXPECT_STREQ(text, "latch");
  allocator.fail_at(1);
  EXPECT_EQ(lk_realloc(allocator.get(), text, 6, 100), nullptr);
  EXPECT_STREQ(text, "latch");
  auto *grown = static_cast<char *>(lk_realloc(allocator.get(), text, 6, 100));
  EXPECT_STREQ(grown, "latch");
  lk_free(allocator.get(), grown);
}

TEST(Alloc, GrowMakesRoomForOneMore) {
  lk::FailingAllocator allocator;
  int *items = nullptr;
  size_t count = 0, capacity = 0;
  for (; count < 100; count++) {
    ASSERT_TRUE(LK_GROW(allocator.get(), items, count, capacity));
    ASSERT_LT(count, capacity);
    items[count] = static_cast<int>(count);
  }
  for (int i = 0; i < 100; i++) EXPECT_EQ(items[i], i);
  EXPECT_LT(allocator.allocations(), 10u) << "it doubles";
  count = capacity;
  allocator.fail_at(1);
  const size_t before = capacity;
  EXPECT_FALSE(LK_GROW(allocator.get(), items, count, capacity));
  EXPECT_EQ(capacity, before);
  EXPECT_EQ(items[99], 99);
  lk_free(allocator.get(), items);
}

} // namespace
