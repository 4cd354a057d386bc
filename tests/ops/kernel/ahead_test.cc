// What kernels fetch for those that come after them: who fetches which part.
#include <gtest/gtest.h>

#include <vector>

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/kernel.h"
}

namespace {

struct Fetched {
  lk_kernel_ahead ahead;
  int64_t count; // turns
  std::vector<lk_kernel_ahead> parts;
  int64_t threads = 0;
};

// By the first thread of a region, for all turns.
void ask_for_all(void *arg) {
  auto *self = static_cast<Fetched *>(arg);
  if (lk_team_rank() != 0) return;
  lk_kernel_loop loop = {nullptr, nullptr, self->ahead};
  self->threads = lk_team_size();
  for (int64_t turn = 0; turn < self->count; turn++) {
    const lk_kernel_ahead part = lk_kernel_ahead_of(&loop, turn, self->count);
    if (part.at != nullptr) self->parts.push_back(part);
  }
}

TEST(KernelAhead, IsFetchedByThreadsPartByPart) {
  static const char memory[1000] = {};
  for (const int threads : {1, 2, 3}) {
    for (int64_t count = 1; count < 20; count++) {
      Fetched all = {{memory, sizeof memory}, count, {}};
      const int before = lk_team_begin(threads);
      lk_team_run(ask_for_all, &all, threads);
      lk_team_end(before);
      SCOPED_TRACE(testing::Message() << count << " turns, " << threads << " threads");
      ASSERT_EQ(all.parts.size(), size_t(std::min(count, all.threads)));
      if (count < all.threads) continue; // threads without a turn fetch nothing
      const char *at = memory;
      for (const lk_kernel_ahead &part : all.parts) {
        EXPECT_EQ(part.at, at);
        at += part.bytes;
      }
      EXPECT_EQ(at, memory + sizeof memory);
    }
  }
}

TEST(KernelAhead, IsOfTheThreadAndUntilItIsTakenBack) {
  const lk_kernel_ahead nothing = lk_kernel_get_ahead();
  EXPECT_EQ(nothing.at, nullptr);
  const lk_kernel_ahead ahead = {"weights", 7};
  lk_kernel_set_ahead(&ahead);
  EXPECT_EQ(lk_kernel_get_ahead().at, ahead.at);
  EXPECT_EQ(lk_kernel_get_ahead().bytes, ahead.bytes);
  lk_kernel_set_ahead(nullptr);
  EXPECT_EQ(lk_kernel_get_ahead().at, nullptr);
  lk_kernel_loop loop = {nullptr, nullptr, lk_kernel_get_ahead()};
  EXPECT_EQ(lk_kernel_ahead_of(&loop, 0, 1).at, nullptr);
}

} // namespace
