// What steps are guessed to take: that more work takes longer, and that nothing gets slower for
// being allowed more threads. The figures themselves are judged by benchmarks/branches.py.
#include <string>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/step_cost.h"
}

namespace {

using Dims = std::vector<int64_t>;

double bytes(const Dims &dims) {
  double count = 1;
  for (const int64_t dim : dims) count *= double(dim);
  return count * sizeof(float);
}

double cost(double flops, const std::vector<Dims> &inputs, const Dims &output) {
  double sum = bytes(output);
  for (const Dims &dims : inputs) sum += bytes(dims);
  return lk_step_cost(flops, sum);
}

double matmul(int64_t rows, int64_t size) {
  return cost(2.0 * double(rows * size) * double(size), {{rows, size}, {size, size}}, {rows, size});
}

double convolution(int64_t channels, int64_t size) {
  return cost(2.0 * double(channels * size * size) * double(channels * 9),
              {{1, channels, size, size}, {channels, channels, 3, 3}}, {1, channels, size, size});
}

double relu(int64_t count) {
  return cost(0, {{count}}, {count});
}

TEST(RunCost, FollowsTheArithmeticOfLargeOperators) {
  // Four and eight times the multiplications: beside those, what every step costs is nothing.
  EXPECT_NEAR(convolution(64, 112) / convolution(64, 56), 4, 0.1);
  EXPECT_NEAR(matmul(1024, 1024) / matmul(512, 512), 8, 0.3);
}

TEST(RunCost, FollowsTheBytesOfWhatComputesLittle) {
  EXPECT_NEAR(relu(8 << 20) / relu(4 << 20), 2, 0.05);
  // One row: the matrix is read once, and hardly anything is computed with it.
  EXPECT_NEAR(matmul(1, 2048) / matmul(1, 1024), 4, 0.1);
  EXPECT_GT(convolution(64, 56), 20 * relu(64 * 56 * 56));
}

TEST(RunCost, OfNothingIsWhatEveryStepCosts) {
  EXPECT_GT(relu(0), 0);
  EXPECT_EQ(lk_step_cost(0, 0), relu(0));
}

TEST(RunCost, MoreThreadsNeverCostMore) {
  // So a chain is never thought to be faster for one thread in each operator.
  for (const double alone : {relu(0), relu(100), matmul(1, 64), matmul(64, 64), matmul(512, 512)}) {
    double fewer = alone;
    for (int32_t threads = 1; threads <= 64; threads *= 2) {
      const double shared = lk_step_cost_shared(alone, threads);
      EXPECT_LE(shared, fewer);
      EXPECT_GT(shared, 0);
      fewer = shared;
    }
  }
  EXPECT_NEAR(lk_step_cost_shared(matmul(2048, 2048), 2) / matmul(2048, 2048), 0.5, 0.01);
  EXPECT_EQ(lk_step_cost_shared(relu(100), 2), relu(100)) << "a team would cost more";
}

} // namespace
