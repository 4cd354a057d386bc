// Reasons why works are left: each once, in order, by any thread, and a bound on how many.
#include <thread>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/engine/left.h"
}

namespace {

class Left : public ::testing::Test {
protected:
  Left() { LK_EXPECT_OK(lk_left_create(lk_allocator_default(), &left, LK_ERR)); }
  ~Left() override { lk_left_destroy(left); }
  std::vector<lk_engine_left_info> all() {
    std::vector<lk_engine_left_info> found;
    lk_engine_left_info info;
    while (lk_left_get(left, uint32_t(found.size()), &info)) found.push_back(info);
    return found;
  }
  lk_left *left = nullptr;
};

TEST_F(Left, CountsByKindAndReason) {
  lk_left_note(left, "conv", false, "a", "first");
  lk_left_note(left, "pool", false, "a", "second");
  lk_left_note(left, "conv", false, "b", nullptr);
  lk_left_note(left, "conv", false, "a", "third");
  lk_left_note(left, "conv", false, nullptr, "fourth");
  lk_left_note(left, "conv", true, "a", "fifth");
  const auto found = all();
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[4].is_part, 1u);
  EXPECT_STREQ(found[0].node, "first");
  EXPECT_EQ(found[0].works, 2u);
  EXPECT_STREQ(found[1].work, "pool");
  EXPECT_STREQ(found[2].node, "");
  EXPECT_STREQ(found[3].reason, "");
}

TEST_F(Left, CutsLongTexts) {
  const std::string text(1000, 'x');
  lk_left_note(left, text.c_str(), false, text.c_str(), text.c_str());
  lk_left_note(left, text.c_str(), false, text.c_str(), text.c_str());
  const auto found = all();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(strlen(found[0].reason), sizeof found[0].reason - 1);
  EXPECT_EQ(found[0].works, 2u);
}

TEST_F(Left, CountsTogetherWhatIsBeyondItsEnd) {
  uint64_t works = 0;
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < 100; i++) {
      lk_left_note(left, "conv", false, ("reason " + std::to_string(i)).c_str(), "y");
    }
  }
  const auto found = all();
  for (const lk_engine_left_info &each : found) works += each.works;
  EXPECT_EQ(works, 200u);
  ASSERT_LT(found.size(), 100u);
  EXPECT_STREQ(found.back().work, "others");
  EXPECT_EQ(found.back().is_part, 0u);
  EXPECT_EQ(found.back().works, 2 * (100 - (found.size() - 1)));
}

TEST_F(Left, ByManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([this] {
      for (int i = 0; i < 1000; i++) {
        lk_left_note(left, "conv", false, i % 2 == 0 ? "even" : "odd", "y");
        lk_engine_left_info info;
        (void)lk_left_get(left, 0, &info);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  const auto found = all();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].works + found[1].works, 4000u);
}

} // namespace
