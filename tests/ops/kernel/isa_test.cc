// The instruction set that kernels may use is limited by the names that oneDNN knows.
#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/kernel/isa.h"
}

namespace {

TEST(Isa, LimitsAreThoseOfOneDnn) {
  EXPECT_EQ(lk_isa_limit("SSE41"), LK_ISA_BASE);
  EXPECT_EQ(lk_isa_limit("AVX"), LK_ISA_BASE);
  EXPECT_EQ(lk_isa_limit("avx2"), LK_ISA_AVX2);
  EXPECT_EQ(lk_isa_limit("AVX2_VNNI"), LK_ISA_AVX2);
  EXPECT_EQ(lk_isa_limit("AVX512_CORE_BF16"), LK_ISA_AVX512);
  EXPECT_EQ(lk_isa_limit("ALL"), LK_ISA_AVX512);
  EXPECT_EQ(lk_isa_limit(nullptr), LK_ISA_AVX512);
}

TEST(Isa, TheEnvironmentIsObeyed) {
  EXPECT_LE(lk_isa_get(), lk_isa_limit(std::getenv("ONEDNN_MAX_CPU_ISA")));
}

} // namespace
