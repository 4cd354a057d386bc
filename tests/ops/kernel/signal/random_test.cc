// The generator of random bits against the known answers of its authors (Random123, kat_vectors),
// and what kernels do at the edges.
#include <cmath>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/kernel/signal/random.h"
}

namespace {

std::vector<uint32_t> bits(std::vector<uint32_t> counter, std::vector<uint32_t> key) {
  std::vector<uint32_t> out(4);
  lk_philox(key.data(), counter.data(), out.data());
  return out;
}

TEST(Philox, GivesTheKnownAnswers) {
  const uint32_t all = UINT32_MAX;
  EXPECT_EQ(bits({0, 0, 0, 0}, {0, 0}),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(bits({all, all, all, all}, {all, all}),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(bits({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, OfAnOddCountWritesNoMore) {
  lk_random random{};
  random.count = 5;
  random.is_normal = random.has_seed = true;
  random.second = 1;
  std::vector<double> to(6, 42);
  uint32_t key[2];
  void *const pointers[] = {to.data(), key};
  LK_ASSERT_OK(lk_random_kernel(&random, pointers, LK_ERR));
  for (int i = 0; i < 5; i++) EXPECT_TRUE(std::isfinite(to[size_t(i)]) && to[size_t(i)] != 42);
  EXPECT_EQ(to[5], 42);
}

// A seed gives the same numbers in every version: the Box-Muller transform of Philox's bits.
TEST(Random, OfASeedIsWhatItEverWas) {
  lk_random random{};
  random.count = 4;
  random.is_normal = random.has_seed = true;
  random.first = 3;
  random.second = 2;
  random.seed = 7;
  std::vector<double> to(4);
  uint32_t key[2];
  void *const pointers[] = {to.data(), key};
  LK_ASSERT_OK(lk_random_kernel(&random, pointers, LK_ERR));
  const double expected[] = {6.7477593839660246, 6.2698224119069685, 3.9646320949580258,
                             4.8026197064657872};
  for (size_t i = 0; i < 4; i++) EXPECT_NEAR(to[i], expected[i], 1e-12) << i;
}

TEST(Multinomial, OfNaNIsAClass) {
  lk_multinomial step{};
  step.rows = 1;
  step.classes = 3;
  step.samples = 2;
  std::vector<double> chances(3, std::nan("")), numbers = {0, 0.9};
  int32_t to[2] = {-1, -1};
  void *const pointers[] = {chances.data(), numbers.data(), to};
  LK_ASSERT_OK(lk_multinomial_kernel(&step, pointers, LK_ERR));
  EXPECT_EQ(to[0], 2);
  EXPECT_EQ(to[1], 2);
}

} // namespace
