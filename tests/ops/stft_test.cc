// What random nodes (tests/rows) do not show of STFT: a frame is the whole signal where neither its
// length nor a window is given.
#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::OpTester;

TEST(Stft, WithoutALengthAndAWindowHasOneFrame) {
  const std::vector<float> ones(8, 1);
  for (const int64_t step : {1, 3}) {
    OpTester("STFT", 17)
        .input(lk::floats({1, 8, 1}, ones))
        .constant(lk::tensor<int64_t>({}, {step}))
        .expect(lk::floats({1, 1, 5, 2}, {8, 0, 0, 0, 0, 0, 0, 0, 0, 0}))
        .run();
  }
}

} // namespace
