// The instruction set that kernels may use.
#include <signal.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/kernel/isa.h"
}

namespace {

TEST(Isa, NamesAreReadAsTheyAreGiven) {
  for (int i = 0; i < LK_ISA_COUNT; i++) {
    lk_isa found = LK_ISA_COUNT;
    EXPECT_TRUE(lk_isa_parse(lk_isa_name(static_cast<lk_isa>(i)), &found));
    EXPECT_EQ(found, i);
  }
  lk_isa found = LK_ISA_COUNT;
  EXPECT_TRUE(lk_isa_parse("AVX2", &found));
  EXPECT_EQ(found, LK_ISA_AVX2);
  EXPECT_TRUE(lk_isa_parse("amx", &found));
  EXPECT_EQ(found, LK_ISA_AVX512);
  found = LK_ISA_AVX2;
  for (const char *name : {"", "avx", "avx5", "avx512 ", "sse41", "amx8"}) {
    EXPECT_FALSE(lk_isa_parse(name, &found)) << name;
  }
  EXPECT_EQ(found, LK_ISA_AVX2) << "unchanged";
}

TEST(Isa, TheEnvironmentIsObeyed) {
  const char *name = std::getenv("LATCHKEY_MAX_ISA");
  lk_isa limit = LK_ISA_AVX512;
  if (name != nullptr) {
    ASSERT_TRUE(lk_isa_parse(name, &limit));
  }
  EXPECT_LE(lk_isa_get(), limit);
  if (name != nullptr && strcasecmp(name, "amx") != 0) {
    EXPECT_FALSE(lk_isa_has_amx()) << name;
  }
}

// A signal would not fit the alternate stack of a thread that has one too small.
TEST(Isa, TilesAreNotUsedWhereTheSystemRefusesThem) {
  std::vector<char> small(2048 + getauxval(AT_MINSIGSTKSZ) / 4);
  const pid_t child = fork();
  if (child == 0) {
    stack_t stack = {};
    stack.ss_sp = small.data();
    stack.ss_size = small.size();
    if (sigaltstack(&stack, nullptr) != 0) _exit(2); // the system knows of tiles already
    _exit(lk_isa_has_amx() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 1);
}

} // namespace
