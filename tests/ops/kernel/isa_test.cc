// The instruction set that kernels may use.
#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/kernel/isa.h"
}

namespace {

TEST(Isa, NamesAreReadAsTheyAreGiven) {
  for (const char *name : {"sse2", "avx2", "AVX2", "avx512_core", "avx512", "amx"}) {
    EXPECT_TRUE(lk_isa_is_name(name)) << name;
  }
  for (const char *name : {"", "avx", "avx5", "avx512 ", "sse41", "amx8"}) {
    EXPECT_FALSE(lk_isa_is_name(name)) << name;
  }
  EXPECT_TRUE(lk_isa_is_name(lk_isa_in_use()));
}

TEST(Isa, TheEnvironmentIsObeyed) {
  const std::vector<std::string> names = {"sse2", "avx2", "avx512_core", "avx512", "amx"};
  auto place = [&](const char *name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  const char *name = std::getenv("LATCHKEY_MAX_ISA");
  const auto limit = name != nullptr ? place(name) : place("amx");
  ASSERT_LE(limit, place("amx")) << name;
  EXPECT_LE(place(lk_isa_in_use()), limit);
  if (limit < place("amx")) {
    EXPECT_FALSE(lk_isa_has_amx());
  }
  if (limit < place("avx512")) {
    EXPECT_FALSE(lk_isa_has_vnni() || lk_isa_has_vbmi() || lk_isa_has_bf16());
    EXPECT_FALSE(lk_isa_multiplies_bytes());
  }
  EXPECT_LE(int(lk_isa_get()), std::min<int>(int(limit), LK_ISA_AVX512));
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
