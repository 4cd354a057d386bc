// Memory that is taken piece by piece, and given back all together.
#include <cstring>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/bump.h"
}

namespace {

TEST(Bump, PiecesAreAlignedAndApart) {
  lk::FailingAllocator allocator;
  lk_bump bump = lk_bump_begin(allocator.get(), nullptr, 0, 512);
  std::vector<std::pair<unsigned char *, size_t>> pieces;
  for (size_t i = 0; i < 300; i++) {
    const size_t bytes = i * 37 % 200; // some have a chunk of their own
    auto *piece = static_cast<unsigned char *>(lk_bump_alloc(&bump, bytes));
    ASSERT_NE(piece, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % alignof(std::max_align_t), 0u);
    std::memset(piece, int(i % 251), bytes);
    pieces.emplace_back(piece, bytes);
  }
  for (size_t i = 0; i < pieces.size(); i++) {
    for (size_t b = 0; b < pieces[i].second; b++) ASSERT_EQ(pieces[i].first[b], i % 251);
  }
  EXPECT_GT(allocator.live_blocks(), 1u);
  EXPECT_LT(allocator.live_blocks(), 200u);
  lk_bump_end(&bump);
  EXPECT_EQ(allocator.live_blocks(), 0u);
}

TEST(Bump, UsesTheCallersRoomFirst) {
  lk::FailingAllocator allocator;
  alignas(std::max_align_t) unsigned char room[256];
  for (size_t shift = 0; shift < 20; shift++) {
    lk_bump bump = lk_bump_begin(allocator.get(), room + shift, sizeof room - shift, 128);
    const size_t before = allocator.allocations();
    auto *first = static_cast<unsigned char *>(lk_bump_alloc(&bump, 100));
    EXPECT_GE(first, room + shift);
    EXPECT_LE(first + 100, room + sizeof room);
    EXPECT_EQ(allocator.allocations(), before);
    while (allocator.allocations() == before) {
      auto *piece = static_cast<unsigned char *>(lk_bump_alloc(&bump, 16));
      const bool in_room = allocator.allocations() == before;
      EXPECT_TRUE(!in_room || piece + 16 <= room + sizeof room);
    }
    lk_bump_end(&bump);
  }
  lk_bump tiny = lk_bump_begin(allocator.get(), room + 1, 3, 128); // less than an alignment
  EXPECT_NE(lk_bump_alloc(&tiny, 1), nullptr);
  EXPECT_EQ(allocator.live_blocks(), 1u);
  lk_bump_end(&tiny);
}

TEST(Bump, ArraysGrowAndKeepWhatTheyHave) {
  lk::FailingAllocator allocator;
  lk_bump bump = lk_bump_begin(allocator.get(), nullptr, 0, 256);
  int *items = nullptr;
  size_t capacity = 0;
  for (size_t i = 0; i < 1000; i++) {
    ASSERT_TRUE(LK_BUMP_GROW(&bump, items, i, capacity));
    items[i] = int(i);
  }
  for (size_t i = 0; i < 1000; i++) EXPECT_EQ(items[i], int(i));
  EXPECT_LE(capacity, 2000u);
  lk_bump_end(&bump);
}

TEST(Bump, AbsorbedPiecesStayWhereTheyAre) {
  lk::FailingAllocator allocator;
  lk_bump bump = lk_bump_begin(allocator.get(), nullptr, 0, 64), other = bump, none = bump;
  auto *mine = static_cast<int *>(lk_bump_alloc(&bump, sizeof(int)));
  auto *given = static_cast<int *>(lk_bump_alloc(&other, sizeof(int)));
  ASSERT_NE(lk_bump_alloc(&other, 1000), nullptr);
  ASSERT_TRUE(mine != nullptr && given != nullptr);
  *mine = 1;
  *given = 2;
  lk_bump_absorb(&bump, &other);
  lk_bump_absorb(&bump, &none);
  ASSERT_NE(lk_bump_alloc(&other, 16), nullptr); // which is empty, and can begin again
  lk_bump_end(&other);
  EXPECT_EQ(*mine, 1);
  EXPECT_EQ(*given, 2);
  lk_bump_end(&bump);
}

TEST(Bump, WithoutMemoryChangesNothing) {
  lk::FailingAllocator allocator;
  lk_bump bump = lk_bump_begin(allocator.get(), nullptr, 0, 256);
  int *items = nullptr;
  size_t capacity = 0;
  ASSERT_TRUE(LK_BUMP_GROW(&bump, items, 0, capacity));
  items[0] = 7;
  const size_t room = capacity;
  allocator.fail_at(1, true);
  EXPECT_EQ(lk_bump_alloc(&bump, 1000), nullptr);
  EXPECT_EQ(lk_bump_alloc(&bump, SIZE_MAX), nullptr);
  EXPECT_EQ(lk_bump_alloc(&bump, SIZE_MAX - 20), nullptr);
  while (lk_bump_alloc(&bump, 16) != nullptr) {
  }
  EXPECT_FALSE(LK_BUMP_GROW(&bump, items, room, capacity));
  EXPECT_EQ(capacity, room);
  EXPECT_EQ(items[0], 7);
  allocator.fail_never();
  EXPECT_TRUE(LK_BUMP_GROW(&bump, items, room, capacity));
  EXPECT_EQ(items[0], 7);
  // With what surrounds a piece, it is more than a size can say.
  for (size_t less = 0; less <= 16; less++) {
    EXPECT_EQ(lk_bump_alloc(&bump, SIZE_MAX - less), nullptr);
  }
  lk_bump_end(&bump);
}

} // namespace
