// Interned strings: equal numbers mean equal strings, as long as somebody uses them.
#include <algorithm>
#include <map>
#include <random>
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

void release(lk_intern *intern, uint32_t id) {
  lk_intern_release(intern, &id, 1);
}

TEST(Intern, ANameGoesWithItsLastUser) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  const uint32_t id = get(intern, "a");
  EXPECT_EQ(get(intern, "a"), id);
  lk_intern_retain(intern, &id, 1);
  release(intern, id);
  release(intern, id);
  EXPECT_STREQ(lk_intern_text(intern, id), "a");
  release(intern, id);
  EXPECT_EQ(lk_intern_text(intern, id), nullptr);
  EXPECT_EQ(get(intern, "b"), id); // its number is free
}

TEST(Intern, KnownWordsAreNotCounted) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  for (uint32_t id = 0; id < LK_N_WORDS; id++) {
    for (int i = 0; i < 3; i++) release(intern, id);
    EXPECT_NE(lk_intern_text(intern, id), nullptr);
  }
}

TEST(Intern, OneAfterTheOtherTakesNoMemory) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  release(intern, get(intern, "the first name"));
  const lk_intern_size at_first = lk_intern_size_get(intern);
  for (int i = 0; i < 300000; i++) release(intern, get(intern, "name" + std::to_string(i)));
  EXPECT_EQ(lk_intern_size_get(intern).names, 0u);
  EXPECT_EQ(lk_intern_size_get(intern).bytes, at_first.bytes);
}

TEST(Intern, ManyThatGoGiveTheirMemoryBack) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  const size_t at_first = lk_intern_size_get(intern).bytes;
  std::vector<uint32_t> ids;
  for (int i = 0; i < 100000; i++) ids.push_back(get(intern, "name" + std::to_string(i)));
  EXPECT_GT(lk_intern_size_get(intern).bytes, at_first + 4000000);
  std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
  for (const uint32_t id : ids) release(intern, id);
  EXPECT_EQ(lk_intern_size_get(intern).names, 0u);
  EXPECT_LT(lk_intern_size_get(intern).bytes, at_first + 100000);
}

// Whatever is used and given back in whatever order: the table is a plain map of counts.
TEST(Intern, AnsweredAsAPlainListInAnyHistory) {
  struct Known {
    uint32_t id = 0;
    uint64_t users = 0;
  };
  for (uint32_t seed = 0; seed < 200; seed++) {
    SCOPED_TRACE(seed);
    Intern intern;
    LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
    std::mt19937 random(seed);
    std::map<std::string, Known> used;
    std::map<uint32_t, std::string> by_id;
    const unsigned n_names = 1u << random() % 12, gets = 1 + random() % 9;
    for (int step = 0; step < 2000; step++) {
      const std::string text = std::string(random() % 3, 'x') + std::to_string(random() % n_names);
      const auto found = used.find(text);
      if (random() % 10 < gets) {
        const uint32_t id = get(intern, text);
        if (found != used.end()) {
          ASSERT_EQ(id, found->second.id);
        } else {
          ASSERT_TRUE(by_id.emplace(id, text).second) << "the number of a name that is in use";
        }
        used[text].id = id;
        used[text].users++;
      } else if (found != used.end() && random() % 4 == 0) {
        lk_intern_retain(intern, &found->second.id, 1);
        found->second.users++;
      } else if (found != used.end()) {
        release(intern, found->second.id);
        if (--found->second.users == 0) {
          ASSERT_EQ(lk_intern_text(intern, found->second.id), nullptr);
          by_id.erase(found->second.id);
          used.erase(found);
        }
      }
      if (step % 100 != 0) continue;
      ASSERT_EQ(lk_intern_size_get(intern).names, used.size());
      for (const auto &[id, name] : by_id) ASSERT_EQ(lk_intern_text(intern, id), name);
    }
    for (const auto &[text, known] : used) {
      for (uint64_t i = 0; i < known.users; i++) release(intern, known.id);
    }
    EXPECT_EQ(lk_intern_size_get(intern).names, 0u);
  }
}

TEST(Intern, ThreadsUseAndGiveBackTheSameNames) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 4; seed++) {
    threads.emplace_back([&intern, seed] {
      std::mt19937 random(seed);
      std::vector<std::pair<uint32_t, std::string>> mine;
      for (int step = 0; step < 20000; step++) {
        if (mine.size() < 50 && random() % 2 == 0) {
          const std::string text = "name" + std::to_string(random() % 400);
          mine.emplace_back(get(intern, text), text);
        } else if (!mine.empty()) {
          std::swap(mine[random() % mine.size()], mine.back());
          EXPECT_EQ(lk_intern_text(intern, mine.back().first), mine.back().second);
          release(intern, mine.back().first);
          mine.pop_back();
        }
      }
      for (const auto &each : mine) release(intern, each.first);
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(lk_intern_size_get(intern).names, 0u);
}

TEST(Intern, WordsOfAKeyAreUsedUntilTheirEnd) {
  Intern intern;
  LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  lk_words words;
  lk_words_begin(&words, intern);
  for (int i = 0; i < 100; i++) { // more than have room in it
    const std::string text = "name" + std::to_string(i % 40);
    uint32_t id = 0;
    LK_ASSERT_OK(lk_words_get(&words, text.data(), text.size(), &id, LK_ERR));
    EXPECT_EQ(lk_intern_text(intern, id), text);
  }
  EXPECT_EQ(lk_intern_size_get(intern).names, 40u);
  lk_words_end(&words);
  EXPECT_EQ(lk_intern_size_get(intern).names, 0u);
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
    lk_words words;
    lk_words_begin(&words, intern);
    for (int i = 0; status == LK_OK && i < 40; i++) {
      const std::string text = "name" + std::to_string(i);
      uint32_t id = 0;
      status = lk_words_get(&words, text.data(), text.size(), &id, LK_ERR);
    }
    lk_words_end(&words);
    lk_intern_destroy(intern);
    return status;
  });
}

} // namespace
