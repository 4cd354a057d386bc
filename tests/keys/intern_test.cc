// Interned strings: equal numbers mean equal strings, for good.
#include <set>
#include <thread>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "keys/intern.h"
}

namespace {

using Intern = lk::Owned<lk_intern, lk_intern_destroy>;

uint32_t get(lk_intern *intern, const std::string &text) {
  uint32_t id = UINT32_MAX;
  LK_EXPECT_OK(lk_intern_get(intern, text.data(), text.size(), &id, LK_ERR));
  return id;
}

TEST(Intern, KnownWordsHaveTheirNumbers) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  const char *const texts[] = {
#define W(symbol, text) text,
#include "keys/words.inc"
#undef W
  };
  for (uint32_t i = 0; i < LK_N_WORDS; i++) {
    EXPECT_EQ(get(intern, texts[i]), i);
    EXPECT_STREQ(lk_intern_text(intern, i), texts[i]);
  }
  EXPECT_EQ(get(intern, ""), static_cast<uint32_t>(LK_WORD_NONE));
  EXPECT_EQ(lk_intern_text(intern, LK_N_WORDS), nullptr);
}

TEST(Intern, ANumberIsAString) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  std::vector<const char *> texts;
  for (int i = 0; i < 5000; i++) {
    const uint32_t id = get(intern, "name" + std::to_string(i));
    EXPECT_EQ(id, static_cast<uint32_t>(LK_N_WORDS + i));
    texts.push_back(lk_intern_text(intern, id));
  }
  for (int i = 0; i < 5000; i++) { // pointers stay, however the table grew
    EXPECT_EQ(texts[i], "name" + std::to_string(i));
    EXPECT_EQ(get(intern, "name" + std::to_string(i)), static_cast<uint32_t>(LK_N_WORDS + i));
  }
  EXPECT_NE(get(intern, "a"), get(intern, "a "));
}

TEST(Intern, LengthCountsNotTheTerminator) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  uint32_t id = 0;
  LK_ASSERT_OK(lk_intern_get(intern, "abcdef", 3, &id, LK_ERR));
  EXPECT_STREQ(lk_intern_text(intern, id), "abc");
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_intern_get(intern, "a\0b", 3, &id, LK_ERR));
}

TEST(Intern, ThreadsAgree) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  std::vector<std::vector<uint32_t>> ids(4);
  std::vector<std::thread> threads;
  for (auto &mine : ids) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; i++) {
        mine.push_back(get(intern, "shared" + std::to_string(i)));
        EXPECT_EQ(lk_intern_text(intern, mine.back()), "shared" + std::to_string(i));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const auto &other : ids) EXPECT_EQ(other, ids[0]);
  EXPECT_EQ(std::set<uint32_t>(ids[0].begin(), ids[0].end()).size(), 1000u);
}

TEST(Intern, TellsOfEachFailedAllocation) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    lk_intern *intern = nullptr;
    lk_status status = lk_intern_create(allocator.get(), &intern, LK_ERR);
    for (int i = 0; status == LK_OK && i < 300; i++) {
      const std::string text = "name" + std::to_string(i);
      uint32_t id = 0, again = 0;
      status = lk_intern_get(intern, text.data(), text.size(), &id, LK_ERR);
      if (status != LK_OK) { // the table is whole: the same again succeeds
        EXPECT_EQ(lk_intern_get(intern, text.data(), text.size(), &again, nullptr), LK_OK);
        EXPECT_EQ(again, static_cast<uint32_t>(LK_N_WORDS + i));
      }
    }
    lk_intern_destroy(intern);
    return status;
  });
}

} // namespace
