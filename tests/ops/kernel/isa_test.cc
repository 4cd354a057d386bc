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
#include "ops/kernel/isa_features.h"
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

// Whatever a virtual machine hides.
TEST(Isa, NeedsAllThatItsLoopsAreCompiledFor) {
  for (int bits = 0; bits < 16; bits++) {
    const lk_isa_features has = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                 (bits & 8) != 0};
    const lk_isa expected = (bits & 7) != 7   ? LK_ISA_BASE
                            : (bits & 8) == 0 ? LK_ISA_AVX2
                                              : LK_ISA_AVX512;
    EXPECT_EQ(lk_isa_best(has), int(expected)) << bits;
  }
  EXPECT_LE(int(lk_isa_get()), lk_isa_best({true, true, true, true}));
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
