// The limits of a control group, from folders as Linux lays them out.
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/machine_memory.h"
#include "base/team/processors.h"
}

namespace {

class Groups : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "groups-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string &path, const std::string &text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  int quota() const { return lk_processors_quota((root / "membership").c_str(), root.c_str()); }

  std::filesystem::path root;
};

TEST_F(Groups, QuotaIsRoundedUp) {
  write("membership", "0::/\n");
  const std::pair<const char *, int> cases[] = {{"max 100000\n", 0},    {"200000 100000\n", 2},
                                                {"150000 100000\n", 2}, {"1000 100000\n", 1},
                                                {"100001 50000", 3},    {"", 0},
                                                {"0 100000\n", 0},      {"12\n", 0},
                                                {"-1 100000\n", 0}};
  for (const auto &one : cases) {
    write("cpu.max", one.first);
    EXPECT_EQ(quota(), one.second) << one.first;
  }
}

TEST_F(Groups, ParentsHoldToo) {
  write("membership", "9:name=systemd:/\n1:cpu:/other\n0::/a/b\n");
  EXPECT_EQ(quota(), 0);
  write("other/cpu.max", "100000 100000\n");
  EXPECT_EQ(quota(), 0);
  write("a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 4);
  write("a/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3);
  write("a/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 4);
  write("cpu.max", "100000 100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(Groups, WithoutThemThereIsNoQuota) {
  EXPECT_EQ(quota(), 0); // no such file
  write("membership", "1:cpu:/a\n");
  write("a/cpu.max", "100000 100000\n");
  EXPECT_EQ(quota(), 0); // version 1
  write("membership", "0::" + std::string("/a") + std::string(5000, 'x'));
  EXPECT_EQ(quota(), 0);
}

TEST_F(Groups, MemoryHasALimitToo) {
  const auto limit = [&] {
    return lk_machine_memory_limit((root / "membership").c_str(), root.c_str());
  };
  write("membership", "0::/a/b\n");
  EXPECT_EQ(limit(), 0u);
  for (const char *none : {"max\n", "", "0\n", "-1\n", "much\n"}) {
    write("a/b/memory.max", none);
    EXPECT_EQ(limit(), 0u) << none;
  }
  write("a/b/memory.max", "8589934592\n");
  EXPECT_EQ(limit(), UINT64_C(8589934592));
  write("a/memory.max", "1048576\n");
  EXPECT_EQ(limit(), 1048576u);
}

TEST(MachineMemory, IsThatOfTheMachineAtMost) {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  EXPECT_GT(lk_machine_memory(nullptr), 0u);
  EXPECT_LE(lk_machine_memory(nullptr), pages * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE)));
}

TEST(Processors, AreNoMoreThanTheSchedulerMayChoose) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(lk_processors_allowed(), 1);
  EXPECT_LE(lk_processors_allowed(), CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) == 0; i++) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(lk_processors_allowed(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

} // namespace
