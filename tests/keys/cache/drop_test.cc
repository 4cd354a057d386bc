// The end of an executor: its entries go, from the tables of threads that sleep too. What belongs
// to others, or to nobody, stays.
#include <future>

#include "tests/keys/cache/cache_util.h"

namespace {

using namespace lk;
using ::testing::UnorderedElementsAre;

class CacheDropTest : public CacheTest {
protected:
  // A plan `number` of an executor, that needs another one.
  void plan(lk_quota *quota, uint64_t number, uint64_t needed) {
    Get get{&probe, 0, 100, LK_OK, [&](Value *built, lk_error *error) {
              return need(cache, built, Key(needed, LK_KIND_NAME), {&probe, 0, 100, LK_OK, {}},
                          error, quota);
            }};
    Ref ref;
    LK_EXPECT_OK(get.run(cache, quota, Key(number, LK_KIND_RUN), ref.out(), nullptr, LK_ERR));
  }
};
LK_BOTH_MODES(CacheDropTest);

TEST_P(CacheDropTest, ItsEntriesGoAndNoOthers) {
  make();
  for (const bool by_clear : {false, true}) {
    Quota mine, others;
    LK_ASSERT_OK(lk_quota_create(cache, mine.out(), LK_ERR));
    LK_ASSERT_OK(lk_quota_create(cache, others.out(), LK_ERR));
    touch(cache, &probe, Key(10)); // nobody's
    plan(mine, 1, 11);
    plan(mine, 2, 12);
    plan(others, 3, 13);
    Ref held;
    Get get{&probe, 0, 100, LK_OK, {}};
    LK_ASSERT_OK(get.run(cache, mine, Key(11, LK_KIND_NAME), held.out(), nullptr, LK_ERR));
    if (by_clear) {
      lk_cache_clear(cache, mine);
    } else {
      mine.reset();
    }
    EXPECT_THAT(numbers(cache), UnorderedElementsAre(3, 10, 13));
    EXPECT_EQ(value_of(held)->state, Value::ALIVE);
    held.reset();
    others.reset();
    EXPECT_THAT(numbers(cache), UnorderedElementsAre(10));
    lk_cache_clear(cache, nullptr);
    EXPECT_EQ(probe.alive(), 0);
  }
}

TEST_P(CacheDropTest, FromTheTablesOfThreadsThatSleepToo) {
  make();
  Quota mine, others;
  LK_ASSERT_OK(lk_quota_create(cache, mine.out(), LK_ERR));
  LK_ASSERT_OK(lk_quota_create(cache, others.out(), LK_ERR));
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> asleep{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      plan(mine, 1, 11);
      plan(others, 2, 12);
      asleep++;
      gone.wait();
      EXPECT_TRUE(touch(cache, &probe, Key(2, LK_KIND_RUN), 100, others));
    });
  }
  wait_until([&] { return asleep == 4; });
  const int each = shared() ? 1 : 4;
  EXPECT_EQ(probe.alive(), 4 * each);
  mine.reset();
  EXPECT_EQ(probe.alive(), 2 * each);
  go.set_value();
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(probe.alive(), shared() ? 2 : 0);
}

} // namespace
