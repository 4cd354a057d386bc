// Runs within each other, on one thread and on others.
#include <thread>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "executor_glue/ort/run_stops.h"
}

namespace {

TEST(RunStops, AreThoseOfTheInnermostRun) {
  const uint8_t outer = 0, inner = 0;
  EXPECT_EQ(lk_ort_run_stop(), nullptr);
  lk_ort_run_enter(&outer);
  EXPECT_EQ(lk_ort_run_stop(), &outer);
  for (int i = 0; i < 3; i++) {
    lk_ort_run_enter(&inner);
    EXPECT_EQ(lk_ort_run_stop(), &inner);
    lk_ort_run_enter(nullptr); // one that nothing ends
    EXPECT_EQ(lk_ort_run_stop(), nullptr);
    lk_ort_run_leave();
    EXPECT_EQ(lk_ort_run_stop(), &inner);
    lk_ort_run_leave();
    EXPECT_EQ(lk_ort_run_stop(), &outer) << "an inner run has ended, the outer one has not";
  }
  lk_ort_run_leave();
  EXPECT_EQ(lk_ort_run_stop(), nullptr);
}

TEST(RunStops, AreEachThreadsOwn) {
  const uint8_t stop = 0;
  lk_ort_run_enter(&stop);
  std::thread([] {
    const uint8_t mine = 0;
    EXPECT_EQ(lk_ort_run_stop(), nullptr);
    lk_ort_run_enter(&mine);
    EXPECT_EQ(lk_ort_run_stop(), &mine);
    lk_ort_run_leave();
  }).join();
  EXPECT_EQ(lk_ort_run_stop(), &stop);
  lk_ort_run_leave();
}

TEST(RunStops, AreLostBeyondTheLastPlaceAndFoundAgain) {
  const std::vector<uint8_t> stops(LK_ORT_NESTED_RUNS + 5);
  for (size_t i = 0; i < stops.size(); i++) {
    lk_ort_run_enter(&stops[i]);
    EXPECT_EQ(lk_ort_run_stop(), i < LK_ORT_NESTED_RUNS ? &stops[i] : nullptr);
  }
  for (size_t i = stops.size(); i-- > 0;) {
    EXPECT_EQ(lk_ort_run_stop(), i < LK_ORT_NESTED_RUNS ? &stops[i] : nullptr);
    lk_ort_run_leave();
  }
  EXPECT_EQ(lk_ort_run_stop(), nullptr);
  lk_ort_run_leave(); // one too many
  EXPECT_EQ(lk_ort_run_stop(), nullptr);
}

} // namespace
