// Addresses of executors and ids of threads are reused. The new owner finds nothing of the old one.
#include <pthread.h>

#include <set>
#include <thread>

#include "tests/harness/recycler.h"
#include "tests/isolation/node_model.h"

namespace {

using lk::api;
using lk::Context;
using lk::Model;

class Reuse : public ::testing::TestWithParam<uint32_t> {
protected:
  Reuse() {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.cache_mode = GetParam();
    options.allocator = recycler.get();
    options.threads = 1;
    LK_EXPECT_OK(api()->context_create(&options, context.out(), LK_ERR));
  }
  lk::Recycler recycler;
  Context context;
};
LK_IN_BOTH_MODES(Reuse);

// The plans of the executors before are still held: nothing but their identity keeps them apart.
TEST_P(Reuse, AddressesOfExecutorsWhosePlansAreStillThere) {
  std::set<const void *> addresses;
  const unsigned count = 30;
  for (unsigned i = 0; i < count; i++) {
    const Model model(context, i);
    addresses.insert(model.executor.get());
    for (int64_t rows : {3, 5, 3}) model.check(rows);
    std::thread([&] { model.check(3); }).join();
  }
  EXPECT_LT(addresses.size(), count) << "no address was reused: nothing is shown";
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].entries, 0u);
}

// Many at a time, each thread with executors of its own, from one allocator.
TEST_P(Reuse, AddressesOfExecutorsOnManyThreads) {
  std::mutex lock;
  std::set<const void *> addresses;
  std::vector<std::thread> threads;
  const unsigned each = 40;
  for (unsigned t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < each; i++) {
        const Model model(context, 100 * t + i);
        for (int64_t rows : {3, 3}) model.check(rows);
        const std::lock_guard<std::mutex> guard(lock);
        addresses.insert(model.executor.get());
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_LT(addresses.size(), 4 * each);
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].entries, 0u);
}

// A thread with the id and the thread-local memory of one that has ended. The old one's entries are
// gone in per-thread mode, and belong to all threads in shared mode.
TEST_P(Reuse, IdsOfThreads) {
  const Model model(context, 1);
  std::set<pthread_t> ids;
  unsigned count = 0;
  while (count < 20 || ids.size() == count) {
    ASSERT_LT(count, 10000u) << "no id was reused: nothing is shown";
    std::thread([&] {
      ids.insert(pthread_self());
      const lk_stats before = lk::stats(context);
      model.check(3);
      const lk_stats first = lk::stats(context);
      model.check(3);
      const lk_stats second = lk::stats(context);
      const bool known = count > 0 && GetParam() == LK_CACHE_SHARED;
      const auto name = LK_KIND_NAME;
      EXPECT_EQ(first.kind[name].misses - before.kind[name].misses, known ? 0u : 1u);
      EXPECT_EQ(second.kind[name].misses, first.kind[name].misses);
      EXPECT_EQ(second.kind[name].hits, first.kind[name].hits + 1);
    }).join();
    count++;
    EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].entries,
              GetParam() == LK_CACHE_SHARED ? 1u : 0u);
  }
}

// The same with two models, a shape each: the thread with the reused id asks for the other model.
TEST_P(Reuse, IdsOfThreadsThatRunOtherModels) {
  const Model a(context, 1), b(context, 2);
  std::set<pthread_t> ids;
  unsigned count = 0;
  while (count < 20 || ids.size() == count) {
    ASSERT_LT(count, 10000u);
    std::thread([&] {
      ids.insert(pthread_self());
      const Model &model = count % 2 == 0 ? a : b;
      for (int64_t rows : {1, 2, 1}) model.check(rows);
    }).join();
    count++;
  }
}

} // namespace
