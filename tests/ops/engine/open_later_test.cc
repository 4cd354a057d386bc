// An engine that is opened at the first bind for a size that recurs.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/ops/engine/plain_engine.h"
#include "tests/plugin/handles.h"

extern "C" {
#include "base/alloc.h"
#include "keys/intern.h"

// As ops/engine/engines.h has them, which is no header of C++.
typedef struct lk_engines lk_engines;
typedef lk_status lk_engines_open_fn(void *arg);
lk_status lk_engines_create(const lk_allocator *allocator, lk_intern *intern,
                            lk_engines **out_engines, lk_error *error);
void lk_engines_destroy(lk_engines *engines);
lk_status lk_engines_add(lk_engines *engines, const lk_engine *engine, lk_error *error);
lk_status lk_engines_choose(lk_engines *engines, const char *name, bool is_auto, lk_error *error);
lk_status lk_engines_choose_later(lk_engines *engines, lk_engines_open_fn *open, void *arg,
                                  lk_error *error);
const char *lk_engines_chosen(const lk_engines *engines);
unsigned lk_engines_asks(lk_engines *engines, uint32_t bind_flags);
}

namespace {

constexpr unsigned kNative = 0, kCheaper = 1, kEngine = 2; // lk_plan_asks

class OpenLater : public ::testing::Test {
protected:
  OpenLater() {
    LK_EXPECT_OK(lk_intern_create(lk_allocator_default(), &words_, LK_ERR));
    LK_EXPECT_OK(lk_engines_create(lk_allocator_default(), words_, &engines_, LK_ERR));
    LK_EXPECT_OK(lk_engines_choose_later(engines_, open, this, LK_ERR));
  }
  ~OpenLater() override {
    lk_engines_destroy(engines_);
    lk_intern_destroy(words_);
  }
  static lk_status open(void *arg) {
    auto *self = static_cast<OpenLater *>(arg);
    self->opened_++;
    if (self->status_ != LK_OK) return self->status_;
    const lk_engine table = self->engine_.table();
    LK_EXPECT_OK(lk_engines_add(self->engines_, &table, LK_ERR));
    return lk_engines_choose(self->engines_, "plain", true, LK_ERR);
  }

  lk::PlainEngine engine_;
  lk_intern *words_ = nullptr;
  lk_engines *engines_ = nullptr;
  lk_status status_ = LK_OK;
  std::atomic<int> opened_{0};
};

TEST_F(OpenLater, IsNotOpenedForSizesThatAreNew) {
  EXPECT_STREQ(lk_engines_chosen(engines_), "auto");
  EXPECT_EQ(lk_engines_asks(engines_, 0), kNative);
  EXPECT_EQ(opened_, 0);
  EXPECT_EQ(lk_engines_asks(engines_, LK_BIND_RECURS), kCheaper);
  EXPECT_EQ(lk_engines_asks(engines_, LK_BIND_RECURS), kCheaper);
  EXPECT_EQ(lk_engines_asks(engines_, 0), kNative);
  EXPECT_EQ(opened_, 1);
  EXPECT_STREQ(lk_engines_chosen(engines_), "auto");
}

TEST_F(OpenLater, IsOpenedToMeasure) {
  EXPECT_EQ(lk_engines_asks(engines_, LK_BIND_ENGINE), kEngine);
  EXPECT_EQ(opened_, 1);
}

TEST_F(OpenLater, OfManyThreadsOneOpensIt) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] { EXPECT_EQ(lk_engines_asks(engines_, LK_BIND_RECURS), kCheaper); });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(opened_, 1);
}

TEST_F(OpenLater, OneThatIsNoGoodIsAskedForOnce) {
  status_ = LK_VERSION;
  EXPECT_EQ(lk_engines_asks(engines_, LK_BIND_RECURS), kNative);
  status_ = LK_OK;
  EXPECT_EQ(lk_engines_asks(engines_, LK_BIND_RECURS), kNative);
  EXPECT_EQ(opened_, 1);
  EXPECT_STREQ(lk_engines_chosen(engines_), "native");
}

TEST_F(OpenLater, IsTriedAgainWhereMemoryWasLacking) {
  status_ = LK_OUT_OF_MEMORY;
  EXPECT_EQ(lk_engines_asks(engines_, LK_BIND_RECURS), kNative);
  status_ = LK_OK;
  EXPECT_EQ(lk_engines_asks(engines_, LK_BIND_RECURS), kCheaper);
  EXPECT_EQ(opened_, 2);
}

TEST_F(OpenLater, WhatAHostChoosesTakesItsPlace) {
  LK_ASSERT_OK(lk_engines_choose(engines_, "native", false, LK_ERR));
  EXPECT_EQ(lk_engines_asks(engines_, LK_BIND_RECURS), kNative);
  EXPECT_EQ(opened_, 0);
}

} // namespace
