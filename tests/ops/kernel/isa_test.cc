// The instruction set that kernels may use.
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
  for (const char *name : {"", "avx", "avx5", "avx512 ", "sse41"}) {
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
}

} // namespace
