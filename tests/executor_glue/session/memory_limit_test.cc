// The limit of all that a context holds: what does not fit is refused, idle things go first, and
// the next request that fits works.
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
