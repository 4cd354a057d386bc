// Measured times: added up by work, damaged lines, what is saved, threads, forks and no memory.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "tests/ops/engine/tuning_util.h"

namespace {

using lk::line_of;
using lk::Times;
using ::testing::HasSubstr;

const lk_tuned nothing = {};

TEST(Tuning, AddsUpWhatIsNotedOfAWork) {
  const Times times;
  EXPECT_TRUE(lk_tuning_is_empty(times.tuning));
  EXPECT_TRUE(times.find(1) == nothing);
  LK_ASSERT_OK(times.note(1, 100, 50));
  EXPECT_FALSE(lk_tuning_is_empty(times.tuning));
  LK_ASSERT_OK(times.note(2, 7, 8));
  LK_ASSERT_OK(times.note(1, 10, 0.5));
  EXPECT_TRUE(times.find(1) == (lk_tuned{110, 50.5, 2}));
  EXPECT_TRUE(times.find(2) == (lk_tuned{7, 8, 1}));
  EXPECT_TRUE(times.find(3) == nothing);
  EXPECT_EQ(times.works(), 2u);
  EXPECT_EQ(times.skipped(), 0u);
}

TEST(Tuning, RefusesWhatIsNoTime) {
  const Times times;
  const double infinity = std::numeric_limits<double>::infinity();
  const double none[] = {0, -0.0, -1, infinity, -infinity, std::nan(""), 1e301};
  LK_ASSERT_OK(times.note(1, 5, 6));
  for (const double each : none) {
    for (const int number : {1, 2}) {
      LK_EXPECT_STATUS(LK_OUT_OF_RANGE, times.note(number, each, 1));
      LK_EXPECT_STATUS(LK_OUT_OF_RANGE, times.note(number, 1, each));
      EXPECT_THAT(LK_MESSAGE, HasSubstr("finite numbers above 0 are needed"));
    }
  }
  LK_ASSERT_OK(times.note(3, 1e300, 1));
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, times.note(3, 1e299, 1));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("too much beside what was noted"));
  EXPECT_TRUE(times.find(1) == (lk_tuned{5, 6, 1}));
  EXPECT_TRUE(times.find(3) == (lk_tuned{1e300, 1, 1}));
  EXPECT_EQ(times.works(), 2u);
}

TEST(Tuning, TellsAnotherProcessByItsText) {
  const Times first, second;
  for (int i = 1; i <= 50; i++) LK_ASSERT_OK(first.note(i, i + 0.1, i / 3.0));
  LK_ASSERT_OK(second.read(first.write()));
  EXPECT_EQ(second.works(), 50u);
  EXPECT_EQ(second.skipped(), 0u);
  for (int i = 1; i <= 50; i++) EXPECT_TRUE(second.find(i) == first.find(i)) << i;
}

TEST(Tuning, AddsUpWhatJoinedFilesSay) {
  const Times first, second, both;
  LK_ASSERT_OK(first.note(1, 1, 2));
  LK_ASSERT_OK(first.note(2, 3, 4));
  LK_ASSERT_OK(second.note(2, 50, 60));
  LK_ASSERT_OK(both.note(1, 0.5, 0.5));
  LK_ASSERT_OK(both.read(first.write() + "# another\n\n" + second.write()));
  EXPECT_TRUE(both.find(1) == (lk_tuned{1.5, 2.5, 2}));
  EXPECT_TRUE(both.find(2) == (lk_tuned{53, 64, 2}));
  EXPECT_EQ(both.works(), 2u);
}

TEST(Tuning, IgnoresEmptyLinesAndComments) {
  const Times times;
  LK_ASSERT_OK(times.read(""));
  LK_ASSERT_OK(times.read("\n\n# one\n#\n\n" + line_of(1, "1 2") + "\n\n#last"));
  EXPECT_EQ(times.works(), 1u);
  EXPECT_EQ(times.skipped(), 0u);
  LK_ASSERT_OK(times.read(" # not one\nwords\n" + line_of(2, "1 2") + "\r\n"));
  EXPECT_EQ(times.works(), 1u);
  EXPECT_EQ(times.skipped(), 3u);
}

TEST(Tuning, SkipsALineByWhichThereWouldBeTooMuch) {
  const Times times;
  LK_ASSERT_OK(times.read(line_of(1, "1e300 1e299") + "\n" + line_of(1, "1e299 1") + "\n" +
                          line_of(1, "1 1e300") + "\n" + line_of(1, "1 1e298")));
  EXPECT_TRUE(times.find(1) == (lk_tuned{1e300, 1e299 + 1e298, 2}));
  EXPECT_EQ(times.skipped(), 2u);
}

TEST(TuningClasses, AddUpWhatIsKnownOfTheirWorks) {
  const Times times;
  EXPECT_TRUE(times.find_class(8) == nothing);
  LK_ASSERT_OK(times.note(5, 100, 50));
  LK_ASSERT_OK(times.read(line_of(8, "300 100", 2)));
  LK_ASSERT_OK(times.note(9, 7, 8));
  EXPECT_TRUE(times.find_class(8) == (lk_tuned{400, 150, 3}));
  EXPECT_TRUE(times.find_class(16) == (lk_tuned{7, 8, 1}));
  for (const int64_t other : {1, 2, 4, 32}) EXPECT_TRUE(times.find_class(other) == nothing);
  LK_ASSERT_OK(times.note(5, 100, 50));
  EXPECT_TRUE(times.find_class(8) == (lk_tuned{500, 200, 4}));
  EXPECT_TRUE(times.find(8) == (lk_tuned{300, 100, 2}));
  EXPECT_TRUE(times.find(6) == nothing) << "of which nothing was measured itself";
  EXPECT_TRUE(times.find_class(lk::work_text(5)) == nothing) << "which is no class";
  EXPECT_EQ(times.works(), 3u);
}

// An engine in another state measures other things. Text that no key of a work is has no class.
TEST(TuningClasses, AreOfTheEnginesState) {
  const Times times;
  const std::string front = "value:fixed=96;op=element;precision=f32;";
  LK_ASSERT_OK(times.read(lk::sealed("10 20 1 " + lk::work_text(5, "2"))));
  LK_ASSERT_OK(
      times.read(lk::sealed("1 2 1 value:op=element;precision=f32;engine=name:test,state:1;"
                            "tensor.src=5x3:f32")));
  LK_ASSERT_OK(times.read(lk::sealed("1 2 1 value:op=element;precision=f32;tensor.src=5x3:f32")));
  LK_ASSERT_OK(times.read(lk::sealed("1 2 1 value:fixed=96;op=element;out=x;precision=f32;"
                                     "engine=name:test,state:1;tensor.src=5x3:f32")));
  EXPECT_EQ(times.works(), 4u);
  EXPECT_TRUE(times.find_class(8) == nothing);
  EXPECT_TRUE(times.find_class(front + "engine=name:test,state:2;tensor.src=8x4:f32") ==
              (lk_tuned{10, 20, 1}));
}

TEST(TuningClasses, KeepWhatTheyHaveWhereThereWouldBeTooMuch) {
  const Times times;
  LK_ASSERT_OK(times.note(5, 1e300, 1));
  LK_ASSERT_OK(times.note(6, 1e299, 1));
  EXPECT_TRUE(times.find(6) == (lk_tuned{1e299, 1, 1}));
  EXPECT_TRUE(times.find_class(8) == (lk_tuned{1e300, 1, 1}));
}

TEST(TuningClasses, AreTheSumsOfAnyWorks) {
  const Times times, read;
  std::mt19937 random(5);
  std::map<int64_t, lk_tuned> sums;
  for (int i = 0; i < 3000; i++) {
    const auto number = int64_t(1 + random() % 300);
    const lk_tuned noted = {double(1 + random() % 1000), double(1 + random() % 1000), 1};
    int64_t power = 1;
    while (power < number) power *= 2;
    lk_tuned &sum = sums[power];
    sum = {sum.native_ns + noted.native_ns, sum.engine_ns + noted.engine_ns, sum.count + 1};
    LK_ASSERT_OK(times.note(number, noted.native_ns, noted.engine_ns));
  }
  LK_ASSERT_OK(read.read(times.write()));
  for (const auto &[power, sum] : sums) {
    EXPECT_TRUE(times.find_class(power) == sum) << power;
    EXPECT_TRUE(read.find_class(power) == sum) << power;
  }
  EXPECT_EQ(sums.size(), 10u);
}

TEST(Tuning, CountsTheWorksOfAnEngine) {
  const Times times;
  lk_key_engine engine;
  ASSERT_TRUE(lk_value_key_engine(times.key(1), &engine));
  EXPECT_EQ(lk_tuning_fitting(times.tuning, &engine), 0u);
  LK_ASSERT_OK(times.read(line_of(1, "1 2") + "\n" + line_of(2, "1 2") + "\n" + line_of(1, "3 4")));
  LK_ASSERT_OK(times.read(lk::sealed("1 2 1 " + lk::work_text(5, "2"))));
  LK_ASSERT_OK(times.read(lk::sealed("1 2 1 value:op=element;precision=f32;tensor.src=5x3:f32")));
  EXPECT_EQ(times.works(), 4u);
  EXPECT_EQ(lk_tuning_fitting(times.tuning, &engine), 2u);
  engine.device_index = 1;
  EXPECT_EQ(lk_tuning_fitting(times.tuning, &engine), 0u);
}

// Lines that say something: a changed byte may make two of one, or a comment.
uint64_t lines_of(const std::string &text) {
  uint64_t lines = 0;
  std::istringstream from(text);
  for (std::string line; std::getline(from, line);) lines += !line.empty() && line[0] != '#';
  return lines;
}

// A byte that is changed takes its line with it, and no other.
TEST(Tuning, SkipsOneDamagedLine) {
  const std::string before = line_of(1, "10 20") + "\n", after = "\n" + line_of(3, "30 40");
  const std::string line = line_of(2, "1500 0.25");
  for (size_t at = 0; at < line.size(); at++) {
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      const Times times;
      std::string changed = line;
      changed[at] = char(changed[at] ^ change);
      LK_ASSERT_OK(times.read(before + changed + after));
      ASSERT_EQ(times.works(), 2u) << changed;
      ASSERT_TRUE(times.find(1) == (lk_tuned{10, 20, 1})) << changed;
      ASSERT_TRUE(times.find(3) == (lk_tuned{30, 40, 1})) << changed;
      ASSERT_EQ(times.skipped(), lines_of(changed)) << changed;
    }
    const Times times;
    std::string changed = line;
    changed.erase(at, 1);
    LK_ASSERT_OK(times.read(before + changed + after));
    ASSERT_EQ(times.works(), 2u) << changed;
    ASSERT_EQ(times.skipped(), 1u) << changed;
  }
}

TEST(Tuning, ReadsTheWholeLinesOfATextThatIsCut) {
  const std::string text = line_of(1, "1 2") + "\n" + line_of(2, "3 4") + "\n" + line_of(3, "5 6");
  const size_t first = text.find('\n'), second = text.find('\n', first + 1);
  for (size_t bytes = 0; bytes <= text.size(); bytes++) {
    const Times times;
    LK_ASSERT_OK(times.read(text.substr(0, bytes)));
    const uint64_t whole = (bytes >= first) + (bytes >= second) + (bytes == text.size());
    const bool is_at_an_end = bytes == 0 || bytes == first || bytes == first + 1 ||
                              bytes == second || bytes == second + 1 || bytes == text.size();
    ASSERT_EQ(times.works(), whole) << bytes;
    ASSERT_EQ(times.skipped(), is_at_an_end ? 0u : 1u) << bytes;
  }
}

TEST(Tuning, WritesWhatIsNotSavedYet) {
  const Times times;
  EXPECT_EQ(times.write(), "");
  LK_ASSERT_OK(times.read(line_of(1, "1 2") + "\n" + line_of(2, "1 2")));
  EXPECT_EQ(times.write(), "") << "what was read counts as saved";
  LK_ASSERT_OK(times.note(1, 10, 20));
  LK_ASSERT_OK(times.note(1, 10, 20));
  const std::string all = line_of(1, "20 40", 2) + "\n";
  EXPECT_EQ(times.write(false), all);
  EXPECT_EQ(times.write(false), all) << "what could not be saved is written again";
  EXPECT_EQ(times.write(true), all);
  EXPECT_EQ(times.write(), "");
  EXPECT_TRUE(times.find(1) == (lk_tuned{21, 42, 3}));
  LK_ASSERT_OK(times.note(1, 3, 4));
  EXPECT_EQ(times.write(), line_of(1, "3 4") + "\n");
}

TEST(Tuning, TwoSavesAtOnceWriteNothingTwice) {
  const Times times;
  lk_tuning_lines first, second, third;
  LK_ASSERT_OK(times.note(1, 1, 2));
  LK_ASSERT_OK(times.note(2, 3, 4));
  LK_ASSERT_OK(lk_tuning_write(times.tuning, &first, LK_ERR));
  LK_ASSERT_OK(times.note(2, 50, 60));
  LK_ASSERT_OK(lk_tuning_write(times.tuning, &second, LK_ERR));
  LK_ASSERT_OK(lk_tuning_write(times.tuning, &third, LK_ERR));
  EXPECT_EQ(first.works, 2u);
  EXPECT_EQ(second.works, 1u);
  EXPECT_EQ(std::string(second.text, second.bytes), line_of(2, "50 60") + "\n");
  EXPECT_EQ(third.works, 0u);
  EXPECT_EQ(third.text, nullptr);
  lk_tuning_settle(times.tuning, &third, true);
  lk_tuning_settle(times.tuning, &second, true);
  lk_tuning_settle(times.tuning, &first, false);
  EXPECT_EQ(times.write(), line_of(1, "1 2") + "\n" + line_of(2, "3 4") + "\n");
  EXPECT_TRUE(times.find(2) == (lk_tuned{53, 64, 2}));
}

// Numbers of names that nobody uses are given to others.
TEST(Tuning, UsesTheNamesInItsKeysUntilItsEnd) {
  Times times;
  lk_words words;
  uint32_t id = 0;
  const size_t before = lk_intern_size_get(times.intern).names;
  LK_ASSERT_OK(times.note(1, 1, 2)); // the key, which used them, is gone
  LK_ASSERT_OK(times.read(line_of(2, "1 2")));
  lk_words_begin(&words, times.intern);
  for (int i = 0; i < 100; i++) {
    const std::string other = "other" + std::to_string(i);
    LK_ASSERT_OK(lk_words_get(&words, other.data(), other.size(), &id, LK_ERR));
  }
  EXPECT_EQ(times.write(), line_of(1, "1 2") + "\n");
  EXPECT_TRUE(times.find(2) == (lk_tuned{1, 2, 1}));
  lk_words_end(&words);
  EXPECT_GT(lk_intern_size_get(times.intern).names, before);
  times.tuning.reset();
  EXPECT_EQ(lk_intern_size_get(times.intern).names, before);
}

TEST(Tuning, KeepsNoMoreWorksThanItMay) {
  const Times times;
  const int most = 65536;
  std::string text;
  for (int i = 1; i < most; i++) text += line_of(i, "1 2") + "\n";
  LK_ASSERT_OK(times.read(text));
  EXPECT_EQ(times.skipped(), 0u);
  LK_ASSERT_OK(times.note(most, 1, 2));
  EXPECT_EQ(times.works(), uint64_t(most));
  EXPECT_EQ(times.skipped(), 0u);
  LK_ASSERT_OK(times.note(most + 1, 1, 2));
  EXPECT_EQ(times.skipped(), 1u);
  LK_ASSERT_OK(times.read(line_of(most + 2, "1 2") + "\n" + line_of(5, "1 2")));
  EXPECT_EQ(times.skipped(), 2u);
  EXPECT_EQ(times.works(), uint64_t(most));
  EXPECT_TRUE(times.find(5) == (lk_tuned{2, 4, 2}));
  EXPECT_TRUE(times.find(most + 1) == nothing);
  LK_ASSERT_OK(times.note(7, 1, 2));
  EXPECT_EQ(times.write(), line_of(7, "1 2") + "\n" + line_of(most, "1 2") + "\n");
}

// What is noted is found, or its failure has changed nothing; saving loses nothing.
TEST(TuningFaults, EachAllocationThatFailsIsTold) {
  lk::fail_every_allocation([&](lk::FailingAllocator &failing) {
    lk::OwnedIntern intern;
    lk::OwnedTuning tuning;
    lk_key *key = nullptr;
    lk_tuned found;
    lk_tuning_lines lines = {};
    const lk_tuned times = {1, 2, 1};
    const std::string text = line_of(2, "3 4") + "\n" + line_of(3, "5 6");
    lk_status status = lk_intern_create(failing.get(), intern.out(), LK_ERR);
    if (status == LK_OK) status = lk_tuning_create(failing.get(), intern, tuning.out(), LK_ERR);
    if (status == LK_OK) {
      status = lk_key_parse(intern, failing.get(), lk::work_text(1).c_str(), &key, LK_ERR);
    }
    if (status == LK_OK) {
      status = lk_tuning_note(tuning, key, &times, LK_ERR);
      EXPECT_EQ(status == LK_OK, lk_tuning_find(tuning, key, &found));
      EXPECT_EQ(lk_tuning_works(tuning), status == LK_OK ? 1u : 0u);
    }
    if (status == LK_OK) {
      status = lk_tuning_read(tuning, text.data(), text.size(), LK_ERR);
      EXPECT_EQ(lk_tuning_skipped(tuning), 0u);
    }
    if (status == LK_OK) {
      status = lk_tuning_write(tuning, &lines, LK_ERR);
      if (status != LK_OK) {
        EXPECT_EQ(lines.text, nullptr);
        failing.fail_never();
        lk_tuning_lines again;
        LK_EXPECT_OK(lk_tuning_write(tuning, &again, LK_ERR));
        EXPECT_EQ(again.works, 1u);
        lk_tuning_settle(tuning, &again, true);
      }
      lk_tuning_settle(tuning, &lines, true);
    }
    lk_key_destroy(failing.get(), key);
    return status;
  });
}

// Whole numbers, so that sums are exact in any order.
TEST(TuningThreads, WhatTheyNoteIsSavedOnce) {
  const Times times, read;
  enum { NOTERS = 3, SAVERS = 3, WORKS = 20 };
  const int notes = lk::repeats(2000);
  std::atomic<int> noting{NOTERS};
  std::vector<std::string> saved(SAVERS);
  std::vector<std::thread> threads;
  for (int t = 0; t < NOTERS; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < notes; i++) {
        const int work = 1 + (i * (t + 1)) % WORKS;
        LK_EXPECT_OK(times.note(work, 1, 2));
        EXPECT_GE(times.find(work).native_ns, 1);
      }
      noting--;
    });
  }
  for (int t = 0; t < SAVERS; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; noting > 0; i++) {
        const bool is_saved = (i + t) % 3 != 0;
        const std::string text = times.write(is_saved);
        if (is_saved) saved[size_t(t)] += text;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const std::string &text : saved) LK_ASSERT_OK(read.read(text));
  LK_ASSERT_OK(read.read(times.write()));
  EXPECT_EQ(read.skipped(), 0u);
  double sum = 0;
  for (int work = 1; work <= WORKS; work++) {
    EXPECT_TRUE(read.find(work) == times.find(work)) << work;
    sum += read.find(work).native_ns;
  }
  EXPECT_EQ(sum, double(NOTERS * notes));
  double of_classes = 0;
  for (const int64_t power : {1, 2, 4, 8, 16, 32}) {
    of_classes += times.find_class(power).native_ns;
    EXPECT_TRUE(read.find_class(power) == times.find_class(power)) << power;
  }
  EXPECT_EQ(of_classes, sum);
}

TEST(TuningFork, AChildFindsNotesAndSaves) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork";
#elif defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer's own allocator does not outlive a fork";
#endif
  const Times times;
  std::atomic<bool> goes_on{true};
  std::vector<std::thread> threads;
  LK_ASSERT_OK(times.note(1, 1, 2));
  (void)times.write();
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; goes_on; i++) {
        LK_EXPECT_OK(times.note(2 + i % 50, 1, 2));
        if (t == 0) (void)times.write(i % 2 == 0);
      }
    });
  }
  for (int i = 0; i < 50; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      LK_EXPECT_OK(times.note(1, 10, 20));
      EXPECT_TRUE(times.find(1) == (lk_tuned{11, 22, 2}));
      EXPECT_THAT(times.write(), HasSubstr(line_of(1, "10 20") + "\n"));
      std::thread([&] { LK_EXPECT_OK(times.note(1, 10, 20)); }).join();
      _exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  goes_on = false;
  for (std::thread &thread : threads) thread.join();
}

} // namespace
