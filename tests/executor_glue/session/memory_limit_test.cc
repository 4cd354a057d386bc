// The limit of all that a context holds: what does not fit is refused, idle things go first, and
// the next request that fits works.
#include <malloc.h>

#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "tests/executor_glue/session/small_model.h"

extern "C" {
#include "base/machine_memory.h"
}

using lk::small::api;
using lk::small::Floats;
using lk::small::level2;
using lk::small::numbers;
using ::testing::HasSubstr;

namespace {

class MemoryLimit : public lk::small::Session {
protected:
  void open_limited(uint64_t memory_bytes, bool weights_apart = false) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.allocator = *allocator.get();
    options.threads = 1;
    options.memory_bytes = memory_bytes;
    options.weights_apart = weights_apart ? 1 : 0;
    LK_ASSERT_OK(api()->context_create(&options, &context, LK_ERR));
    open();
  }
  void limit(uint64_t bytes) { LK_ASSERT_OK(api()->memory_set_limit(context, bytes, LK_ERR)); }
  lk_status try_run(size_t rows) {
    Floats x = numbers(rows, 1);
    std::vector<lk_named_tensor> outputs = {{"y", {}}};
    const lk_status status = run({x_of(x)}, outputs);
    level2()->outputs_release(session, outputs.data(), 1);
    return status;
  }
};

TEST_F(MemoryLimit, RefusesWhatDoesNotFitAndGoesOn) {
  open_limited(LK_UNLIMITED);
  check(numbers(3, 1));
  const uint64_t held = stats().memory_bytes, limit_bytes = held + 100000;
  limit(limit_bytes);
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, try_run(100000));
  EXPECT_THAT(LK_MESSAGE,
              HasSubstr("of at most " + std::to_string(limit_bytes) + " bytes are in use"));
  const lk_stats after = stats();
  EXPECT_EQ(after.memory_limit_bytes, limit_bytes);
  EXPECT_GT(after.memory_refusals, 0u);
  EXPECT_GT(after.memory_refused_bytes, 100000u);
  EXPECT_LE(after.memory_peak_bytes, limit_bytes);
  EXPECT_EQ(after.kind[LK_KIND_RUN].evictions,
            0u); // it would not have fitted without others either
  check(numbers(3, 2));
  limit(LK_UNLIMITED);
  LK_EXPECT_OK(try_run(100000));
}

TEST_F(MemoryLimit, DropsWhatIsIdleFirst) {
  open_limited(LK_UNLIMITED);
  check(numbers(3, 1));
  const uint64_t before = stats().memory_bytes;
  LK_ASSERT_OK(try_run(5000));
  const uint64_t needed = stats().memory_peak_bytes - before;
  for (size_t rows = 1; rows <= 300; rows++) LK_ASSERT_OK(try_run(rows));
  LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
  for (size_t rows = 1; rows <= 300; rows++) LK_ASSERT_OK(try_run(rows));
  const lk_stats full = stats();
  EXPECT_GE(full.entries, 300u);
  // There is room for the large request alone, or for the small ones.
  limit(std::max(full.memory_bytes, before + 2 * needed) + 20000);
  const uint64_t refusals = stats().memory_refusals;
  for (size_t rows = 5000; rows < 12000 && stats().memory_refusals == refusals; rows += 100) {
    LK_ASSERT_OK(try_run(rows));
  }
  EXPECT_GT(stats().memory_refusals, refusals); // and the run that met it went on all the same
  EXPECT_LT(stats().entries, full.entries);
  EXPECT_LE(stats().memory_bytes, stats().memory_limit_bytes);
  check(numbers(7, 1));
}

// What a request needs alone it gets, whatever came before: other sizes, other models, requests
// that were refused.
TEST_F(MemoryLimit, WhatFitsAloneFitsAfterAnyHistory) {
  constexpr uint64_t RECORDS = 8192; // that stay: of sizes, and of names
  constexpr size_t sizes[] = {1, 30, 100, 300, 1000, 3000, 10000, 30000};
  open_limited(LK_UNLIMITED);
  check(numbers(3, 1));
  const uint64_t held = stats().memory_bytes;
  const auto reopen = [&](uint64_t bytes_) {
    level2()->close(session);
    session = nullptr;
    api()->context_destroy(context);
    open_limited(LK_UNLIMITED);
    limit(bytes_);
  };
  for (const uint64_t more : {30000, 100000, 400000}) {
    SCOPED_TRACE(more);
    std::map<size_t, bool> fits;
    for (const size_t rows : sizes) {
      reopen(held + more - RECORDS);
      fits[rows] = try_run(rows) == LK_OK;
      lk::test_error().passed = false;
    }
    EXPECT_TRUE(fits[1]);
    EXPECT_FALSE(fits[30000]);
    reopen(held + more);
    std::mt19937 random(static_cast<unsigned>(more));
    for (int step = 0; step < 150 && !HasFailure(); step++) {
      const unsigned dice = random() % 10;
      if (dice == 0) {
        LK_EXPECT_OK(api()->cache_clear(context, nullptr, LK_ERR));
      } else if (dice == 1) { // another model, which may fit
        const std::string other = lk::small::model_bytes(float(step));
        lk_session *second = nullptr;
        const lk_status status =
            level2()->open_memory(context, other.data(), other.size(), nullptr, &second, LK_ERR);
        EXPECT_TRUE(status == LK_OK || status == LK_OUT_OF_MEMORY) << LK_MESSAGE;
        lk::test_error().passed = false;
        level2()->close(second);
      } else {
        const size_t rows = sizes[random() % std::size(sizes)];
        const lk_status status = try_run(rows);
        EXPECT_TRUE(status == LK_OK || !fits[rows]) << rows << " rows: " << LK_MESSAGE;
        if (status != LK_OK) {
          EXPECT_EQ(status, LK_OUT_OF_MEMORY);
          EXPECT_THAT(LK_MESSAGE, HasSubstr("of at most " + std::to_string(held + more)));
        }
        lk::test_error().passed = false;
      }
      EXPECT_LE(stats().memory_bytes, held + more);
      EXPECT_LE(stats().memory_peak_bytes, held + more);
    }
    check(numbers(7, 1));
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // whose own memory is more

uint64_t resident() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * 4096;
}

// Of requests of any sizes, on several threads, of which many do not fit.
TEST_F(MemoryLimit, ResidentMemoryGrowsByItAndALittle) {
  constexpr uint64_t LIMIT = uint64_t{24} << 20;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.memory_bytes = LIMIT;
  LK_ASSERT_OK(api()->context_create(&options, &context, LK_ERR));
  std::vector<Floats> inputs;
  for (int i = 0; i < 30; i++) inputs.push_back(numbers(size_t{1000} << i / 3, 1));
  std::atomic<int> refused{0}, served{0}, wrong{0};
  std::vector<std::thread> threads;
  (void)malloc_trim(0);
  const uint64_t before = resident();
  std::atomic<uint64_t> most{before};
  open();
  for (unsigned t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 60; i++) {
        Floats &x = inputs[random() % inputs.size()];
        std::vector<lk_named_tensor> outputs = {{"y", {}}, {"s", {}}, {"t", {}}};
        lk_named_tensor input = x_of(x);
        const lk_status status =
            level2()->run(session, &input, 1, outputs.data(), 3, nullptr, nullptr);
        wrong += status != LK_OK && status != LK_OUT_OF_MEMORY;
        (status == LK_OK ? served : refused)++;
        uint64_t now = resident(), known = most;
        while (now > known && !most.compare_exchange_weak(known, now)) {
        }
        level2()->outputs_release(session, outputs.data(), 3);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(served, 90);
  EXPECT_GT(most - before, LIMIT / 3) << "the requests are too small to show anything";
  EXPECT_LE(most - before, LIMIT + LIMIT / 20);
}

#endif

TEST_F(MemoryLimit, OpeningCountsToo) {
  open_limited(LK_UNLIMITED);
  check(numbers(3, 1));
  const uint64_t held = stats().memory_bytes;
  limit(held + 6000); // a request fits, another model does not
  lk_session *second = nullptr;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, level2()->open_memory(context, bytes.data(), bytes.size(),
                                                           nullptr, &second, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("bytes are in use"));
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(stats().memory_bytes, held);
  check(numbers(3, 1));
}

TEST_F(MemoryLimit, WeightsMayCountApart) {
  open_limited(LK_UNLIMITED);
  check(numbers(3, 1));
  const uint64_t together = stats().memory_bytes, weights = stats().weights_bytes;
  EXPECT_GT(weights, 0u);
  level2()->close(session);
  session = nullptr;
  api()->context_destroy(context);
  open_limited(LK_UNLIMITED, true);
  check(numbers(3, 1));
  EXPECT_EQ(stats().weights_bytes, weights);
  EXPECT_LE(stats().memory_bytes, together - weights);
}

TEST_F(MemoryLimit, IsTheMachinesByDefault) {
  for (const uint64_t unset : {LK_UNSET, uint64_t{0}}) {
    open_limited(unset);
    EXPECT_EQ(stats().memory_limit_bytes, lk_machine_memory(nullptr));
    level2()->close(session);
    session = nullptr;
    api()->context_destroy(context);
  }
  open_limited(LK_UNSET);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->memory_set_limit(context, 0, LK_ERR));
  LK_EXPECT_OK(api()->memory_set_limit(context, LK_UNSET, LK_ERR));
  EXPECT_EQ(stats().memory_limit_bytes, lk_machine_memory(nullptr));
}

} // namespace
