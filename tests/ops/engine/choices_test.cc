// What was chosen for nodes: the newest of each node and kind, in order, up to a limit.
#include <thread>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/engine/choices.h"
}

namespace {

class Choices : public ::testing::Test {
protected:
  Choices() { LK_EXPECT_OK(lk_choices_create(lk_allocator_default(), &choices, LK_ERR)); }
  ~Choices() override { lk_choices_destroy(choices); }
  void note(const std::string &node, const char *work, double native_ns, uint32_t index = 0) {
    lk_engine_choice_info numbers = {};
    numbers.native_ns = native_ns;
    numbers.index = index;
    lk_choices_note(choices, node.c_str(), work, "test", "slower", &numbers, false);
  }
  std::vector<lk_engine_choice_info> all() {
    std::vector<lk_engine_choice_info> found;
    lk_engine_choice_info info;
    while (lk_choices_get(choices, uint32_t(found.size()), &info)) found.push_back(info);
    return found;
  }
  lk_choices *choices = nullptr;
};

TEST_F(Choices, HaveWhatIsNoted) {
  lk_engine_choice_info numbers = {};
  numbers.native_ns = 3, numbers.engine_ns = 2, numbers.build_ns = 100;
  numbers.is_engine = 1, numbers.is_measured = 1;
  EXPECT_TRUE(all().empty());
  lk_choices_note(choices, "y", "conv", "test", "", &numbers, false);
  const auto found = all();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].struct_size, sizeof found[0]);
  EXPECT_STREQ(found[0].node, "y");
  EXPECT_STREQ(found[0].work, "conv");
  EXPECT_STREQ(found[0].engine, "test");
  EXPECT_STREQ(found[0].reason, "");
  EXPECT_EQ(found[0].native_ns, 3);
  EXPECT_EQ(found[0].engine_ns, 2);
  EXPECT_EQ(found[0].build_ns, 100);
  EXPECT_EQ(found[0].is_engine, 1u);
  EXPECT_EQ(found[0].is_measured, 1u);
}

TEST_F(Choices, TellTheFirstReferenceOfAWork) {
  lk_engine_choice_info numbers = {};
  const auto note = [&](const char *node, bool is_reference) {
    return lk_choices_note(choices, node, "conv", "test", "", &numbers, is_reference);
  };
  EXPECT_FALSE(note("a", false));
  EXPECT_TRUE(note("a", true));
  EXPECT_FALSE(note("a", false));
  EXPECT_FALSE(note("a", true));
  EXPECT_TRUE(note("b", true));
  numbers.index = 1;
  EXPECT_TRUE(note("b", true));
}

TEST_F(Choices, TheNewestStandsWhereTheFirstStood) {
  note("a", "conv", 1);
  note("b", "conv", 2);
  note("a", "product", 3);
  note("a", "conv", 4);
  const auto found = all();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_STREQ(found[0].node, "a");
  EXPECT_EQ(found[0].native_ns, 4);
  EXPECT_STREQ(found[1].node, "b");
  EXPECT_STREQ(found[2].work, "product");
}

TEST_F(Choices, TellWorksOfOneKindApart) {
  note("a", "product", 1, 0);
  note("a", "product", 2, 1);
  note("a", "product", 3, 0);
  const auto found = all();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].native_ns, 3);
  EXPECT_EQ(found[1].native_ns, 2);
  EXPECT_EQ(found[1].index, 1u);
}

TEST_F(Choices, TellNamesApartWhereverTheyEnd) {
  note("ab", "c", 1);
  note("a", "bc", 2);
  note("", "abc", 3);
  EXPECT_EQ(all().size(), 3u);
}

TEST_F(Choices, CutLongTextsAndTellWholeNamesApart) {
  const std::string text(1000, 'x');
  lk_engine_choice_info numbers = {};
  lk_choices_note(choices, text.c_str(), text.c_str(), text.c_str(), text.c_str(), &numbers, false);
  lk_choices_note(choices, (text + "y").c_str(), text.c_str(), nullptr, nullptr, &numbers, false);
  lk_choices_note(choices, nullptr, nullptr, nullptr, nullptr, &numbers, false);
  lk_choices_note(choices, "", "", "last", nullptr, &numbers, false);
  const auto found = all();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(strlen(found[0].node), sizeof found[0].node - 1);
  EXPECT_EQ(strlen(found[0].work), sizeof found[0].work - 1);
  EXPECT_EQ(strlen(found[0].engine), sizeof found[0].engine - 1);
  EXPECT_EQ(strlen(found[0].reason), sizeof found[0].reason - 1);
  EXPECT_STREQ(found[1].node, found[0].node);
  EXPECT_STREQ(found[1].reason, "");
  EXPECT_STREQ(found[2].node, "");
  EXPECT_STREQ(found[2].engine, "last");
}

TEST_F(Choices, KeepNoMoreThanTheyMay) {
  for (int i = 0; i < 5000; i++) note(std::to_string(i), "conv", i);
  note("1", "conv", -1);
  note("4999", "conv", -1);
  const auto found = all();
  ASSERT_EQ(found.size(), 4096u);
  EXPECT_EQ(found[1].native_ns, -1);
  EXPECT_STREQ(found[4095].node, "4095");
}

TEST_F(Choices, ByManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([this] {
      for (int i = 0; i < 1000; i++) {
        note(std::to_string(i % 10), "conv", i % 10);
        lk_engine_choice_info info;
        ASSERT_TRUE(lk_choices_get(choices, 0, &info));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  const auto found = all();
  ASSERT_EQ(found.size(), 10u);
  for (const lk_engine_choice_info &each : found) {
    EXPECT_EQ(each.native_ns, std::stod(each.node));
  }
}

TEST(ChoicesFaults, WhatThereIsNoMemoryForIsNotKept) {
  lk::fail_every_allocation([](lk::FailingAllocator &failing) {
    lk_choices *choices = nullptr;
    lk_engine_choice_info info = {};
    lk_status status = lk_choices_create(failing.get(), &choices, LK_ERR);
    uint32_t kept = 0;
    for (int i = 0; status == LK_OK && i < 100; i++) {
      lk_choices_note(choices, std::to_string(i).c_str(), "conv", "test", "", &info, false);
    }
    while (status == LK_OK && lk_choices_get(choices, kept, &info)) kept++;
    EXPECT_EQ(kept, status != LK_OK ? 0u : failing.failed() ? 99u : 100u);
    lk_choices_destroy(choices);
    return failing.failed() ? LK_OUT_OF_MEMORY : status;
  });
}

} // namespace
