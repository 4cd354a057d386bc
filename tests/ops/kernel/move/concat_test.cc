// Concatenations of rows against plain loops.
#include <cstddef>
#include <cstring>
#include <random>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/move/concat.h"
}

namespace {

using Bytes = std::vector<char>;

struct Case {
  lk_concat concat = {};
  std::vector<Bytes> from;
  Bytes to, expected;
};

Case make(int64_t rows, const std::vector<size_t> &blocks, std::mt19937 &random) {
  Case made;
  made.concat.rows = rows;
  made.concat.count = uint32_t(blocks.size());
  std::copy(blocks.begin(), blocks.end(), made.concat.blocks);
  for (size_t block : blocks) {
    made.from.emplace_back(size_t(rows) * block);
    for (char &byte : made.from.back()) byte = static_cast<char>(random());
  }
  for (int64_t row = 0; row < rows; row++) {
    for (size_t i = 0; i < blocks.size(); i++) {
      const auto at = made.from[i].begin() + long(size_t(row) * blocks[i]);
      made.expected.insert(made.expected.end(), at, at + long(blocks[i]));
    }
  }
  return made;
}

void run(Case &made, lk_isa isa) {
  lk_concat_plan_for(&made.concat, isa);
  made.to.assign(made.expected.size() + 64, '.');
  std::vector<void *> pointers;
  for (Bytes &each : made.from) pointers.push_back(each.data());
  pointers.push_back(made.to.data());
  /* no more of the params than is said to be needed */
  Bytes params(offsetof(lk_concat, blocks) + made.from.size() * sizeof made.concat.blocks[0]);
  std::memcpy(params.data(), &made.concat, params.size());
  LK_ASSERT_OK(lk_concat_kernel(params.data(), pointers.data(), LK_ERR));
  const Bytes guard(64, '.');
  ASSERT_TRUE(std::equal(guard.begin(), guard.end(), made.to.end() - 64));
  made.to.resize(made.expected.size());
  ASSERT_EQ(made.to, made.expected);
}

TEST(ConcatKernel, PutsRandomBlocksBehindEachOther) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; i++) {
    std::vector<size_t> blocks(1 + random() % 6);
    for (size_t &block : blocks) {
      block = 1 + random() % (random() % 4 == 0 ? 5000 : random() % 2 == 0 ? 200 : 20);
    }
    Case made = make(1 + random() % (random() % 2 == 0 ? 200 : 3), blocks, random);
    for (int isa = LK_ISA_BASE; isa <= lk_isa_get(); isa++) {
      SCOPED_TRACE(std::to_string(i) + ", instruction set " + std::to_string(isa));
      ASSERT_NO_FATAL_FAILURE(run(made, lk_isa(isa)));
    }
  }
}

// Rows of an element of each: vectors of them, and what is left.
TEST(ConcatKernel, InterleavesElements) {
  std::mt19937 random(6);
  for (const size_t sources : {2, 3, 4, 5}) {
    for (const size_t block : {1, 2, 3, 4, 7, 8, 9, 16}) {
      for (const int64_t rows : {1, 3, 16, 31, 500, 20000}) {
        SCOPED_TRACE(std::to_string(rows) + " of " + std::to_string(sources) + " times " +
                     std::to_string(block));
        Case made = make(rows, std::vector<size_t>(sources, block), random);
        ASSERT_NO_FATAL_FAILURE(run(made, lk_isa_get()));
      }
    }
  }
}

// A turn has 32 KiB: rows of more than half of it, of all of it, and of some turns.
TEST(ConcatKernel, TakesRowsThatFillTurns) {
  std::mt19937 random(7);
  const std::vector<std::vector<size_t>> all = {{20000, 1}, {32767}, {32768},        {32769},
                                                {32764, 4}, {65536}, {40000, 25536}, {98304}};
  for (const std::vector<size_t> &blocks : all) {
    SCOPED_TRACE(testing::PrintToString(blocks));
    Case made = make(3, blocks, random);
    ASSERT_NO_FATAL_FAILURE(run(made, lk_isa_get()));
  }
}

TEST(ConcatKernel, CutsLongRowsAndIsSharedByThreads) {
  std::mt19937 random(6);
  const int before = lk_team_begin(3);
  for (const auto &[rows, blocks] : {std::pair<int64_t, std::vector<size_t>>{1, {300000, 5, 70001}},
                                     {3, {40000, 32768, 1, 90000}},
                                     {2000, {96, 192, 4}}}) {
    Case made = make(rows, blocks, random);
    run(made, lk_isa_get());
    EXPECT_TRUE(made.concat.shared);
  }
  lk_team_end(before);
}

} // namespace
