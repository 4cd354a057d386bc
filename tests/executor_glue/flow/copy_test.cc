// What stages copy by themselves: all of it, or less where the run has to end meanwhile.
#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "executor_glue/flow/copy.h"
}

namespace {

using ::testing::HasSubstr;

const lk_api *api() {
  return lk_get_api(LK_API_VERSION);
}

class FlowCopy : public ::testing::Test {
protected:
  void SetUp() override { std::iota(from.begin(), from.end(), uint8_t(1)); }
  // How many bytes were written.
  int64_t written() const {
    return int64_t(to.size()) - std::count(to.begin(), to.end(), uint8_t(0));
  }
  lk_status copy_cancelled(const lk_flow_pieces &pieces) {
    const volatile int32_t flag = 1;
    lk_watch watch = {};
    lk_thread_watch room;
    watch.struct_size = sizeof watch;
    watch.cancel = &flag;
    LK_EXPECT_OK(api()->thread_watch(&room, &watch, LK_ERR));
    const lk_status status = lk_flow_copy(api(), from.data(), to.data(), &pieces, LK_ERR);
    api()->thread_unwatch(&room);
    return status;
  }
  static constexpr size_t kBytes = 8 << 20;
  std::vector<uint8_t> from = std::vector<uint8_t>(kBytes), to = std::vector<uint8_t>(kBytes);
};

TEST_F(FlowCopy, TakesPiecesApartAndTogether) {
  const lk_flow_pieces every_second = {3, 2, 4, 2};
  LK_ASSERT_OK(lk_flow_copy(api(), from.data(), to.data(), &every_second, LK_ERR));
  EXPECT_EQ(std::vector<uint8_t>(to.begin(), to.begin() + 7),
            (std::vector<uint8_t>{1, 2, 5, 6, 9, 10, 0}));
  LK_ASSERT_OK(lk_flow_copy_bytes(api(), from.data(), to.data(), kBytes, LK_ERR));
  EXPECT_EQ(to, from);
}

TEST_F(FlowCopy, OfNothingIsDone) {
  const lk_flow_pieces empty = {SIZE_MAX, 0, 0, 0}, none = {0, 4, 4, 4};
  LK_EXPECT_OK(lk_flow_copy(api(), nullptr, nullptr, &empty, LK_ERR));
  LK_EXPECT_OK(lk_flow_copy(api(), nullptr, nullptr, &none, LK_ERR));
}

TEST_F(FlowCopy, EndsWithinALargePiece) {
  LK_EXPECT_STATUS(LK_CANCELLED, copy_cancelled({1, kBytes, 0, 0}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("cancelled"));
  EXPECT_LT(written(), int64_t(kBytes) / 4);
}

TEST_F(FlowCopy, EndsAmongSmallPieces) {
  LK_EXPECT_STATUS(LK_CANCELLED, copy_cancelled({kBytes, 1, 1, 1}));
  EXPECT_LT(written(), int64_t(kBytes) / 4);
}

} // namespace
