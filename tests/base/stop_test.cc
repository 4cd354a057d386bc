// What ends a computation early.
#include "tests/harness/lk_test.h"

extern "C" {
#include "base/clock.h"
#include "base/stop.h"
}

#include <thread>

namespace {

lk_stop stop_of(const lk_wait_limit &limit, lk_should_stop_fn ask = nullptr, void *arg = nullptr) {
  lk_stop stop;
  lk_stop_init(&stop, &limit, ask, arg);
  return stop;
}

int32_t count(void *arg) {
  return ++*static_cast<int *>(arg) >= 3;
}

void pass_time() {
  const uint64_t until = lk_now_ns() + LK_STOP_ASK_NS;
  while (lk_now_ns() < until) std::this_thread::yield();
}

TEST(Stop, FlagsAndDeadlinesStay) {
  volatile int32_t cancel = 0;
  volatile uint8_t flag = 0;
  lk_stop stop = stop_of({&cancel, &flag, lk_now_ns() + UINT64_C(1000000000000)});
  EXPECT_EQ(lk_stop_look(&stop), 0);
  flag = 1;
  EXPECT_EQ(lk_stop_look(&stop), LK_WAIT_CANCELLED);
  flag = 0;
  EXPECT_EQ(lk_stop_look(&stop), LK_WAIT_CANCELLED);
  cancel = 1;
  stop = stop_of({&cancel, nullptr, 0});
  EXPECT_EQ(lk_stop_look(&stop), LK_WAIT_CANCELLED);
  stop = stop_of({nullptr, nullptr, 1});
  EXPECT_EQ(lk_stop_look(&stop), LK_WAIT_DEADLINE);
  EXPECT_EQ(lk_wait_limit_status(LK_WAIT_DEADLINE), LK_DEADLINE);
  EXPECT_EQ(lk_wait_limit_status(LK_WAIT_CANCELLED), LK_CANCELLED);
  EXPECT_EQ(lk_wait_limit_status(0), LK_OK);
}

TEST(Stop, AsksNowAndThen) {
  int asked = 0;
  lk_stop stop = stop_of({}, count, &asked);
  pass_time();
  const uint64_t begin = lk_now_ns();
  EXPECT_EQ(lk_stop_look(&stop), 0);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(lk_stop_look(&stop), 0);
  const bool was_away = lk_now_ns() - begin >= LK_STOP_ASK_NS;
  EXPECT_TRUE(asked == 1 || was_away) << asked;
  stop = stop_of({}, count, &asked); // the time between questions is the thread's
  asked = 1;
  pass_time();
  EXPECT_EQ(lk_stop_look(&stop), 0);
  EXPECT_EQ(asked, 2);
  pass_time();
  EXPECT_EQ(lk_stop_look(&stop), LK_WAIT_CANCELLED);
  pass_time();
  EXPECT_EQ(lk_stop_look(&stop), LK_WAIT_CANCELLED);
  EXPECT_EQ(asked, 3);
}

TEST(Stop, AsksOnItsOwnThreadAlone) {
  int asked = 2; // the next answer stops
  lk_stop stop = stop_of({}, count, &asked);
  pass_time();
  std::thread([&] { EXPECT_EQ(lk_stop_look(&stop), 0); }).join();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(lk_stop_look(&stop), LK_WAIT_CANCELLED);
  std::thread([&] { EXPECT_EQ(lk_stop_look(&stop), LK_WAIT_CANCELLED); }).join();
}

TEST(Stop, OfAnOuterOneIsItsOwn) {
  volatile int32_t cancel = 0;
  lk_stop outer = stop_of({}), middle = stop_of({&cancel, nullptr, 0}), inner = stop_of({});
  inner.outer = &middle;
  middle.outer = &outer;
  EXPECT_EQ(lk_stop_look(&inner), 0);
  outer.limit.deadline_ns = 1;
  EXPECT_EQ(lk_stop_look(&inner), LK_WAIT_DEADLINE);
  cancel = 1;
  EXPECT_EQ(lk_stop_look(&middle), LK_WAIT_DEADLINE) << "it stays";
  EXPECT_EQ(lk_stop_look(&outer), LK_WAIT_DEADLINE);
}

// Hosts that are asked are asked at the same time, so that none of them takes the turn of another.
TEST(Stop, AsksAnOuterOneToo) {
  int asked_outer = 0, asked_inner = INT_MIN;
  lk_stop outer = stop_of({}, count, &asked_outer), inner = stop_of({}, count, &asked_inner);
  inner.outer = &outer;
  for (int i = 1; i < 3; i++) {
    pass_time();
    EXPECT_EQ(lk_stop_look(&inner), 0);
    EXPECT_EQ(asked_outer, i);
    EXPECT_EQ(asked_inner, INT_MIN + i);
  }
  pass_time();
  EXPECT_EQ(lk_stop_look(&inner), LK_WAIT_CANCELLED);
  EXPECT_EQ(lk_stop_look(&outer), LK_WAIT_CANCELLED);
}

TEST(Stop, IsSetByAnyOfThem) {
  volatile int32_t cancel = 0;
  volatile uint8_t flag = 0;
  const lk_wait_limit none = {},
                      flags[] = {{&cancel, nullptr, 0}, {nullptr, &flag, 0}, {nullptr, nullptr, 1}};
  EXPECT_FALSE(lk_stop_is_set(&none, nullptr));
  EXPECT_TRUE(lk_stop_is_set(&none, count));
  for (const lk_wait_limit &limit : flags) EXPECT_TRUE(lk_stop_is_set(&limit, nullptr));
}

} // namespace
