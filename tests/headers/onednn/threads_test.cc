// The library's threads as a thread pool of oneDNN's.
#include <latchkey/onednn_threads.h>

#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <stdexcept>

#include "tests/harness/wait.h"
#include "tests/headers/onednn/onednn_host.h"

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL

namespace {

using namespace lk;
using ::testing::Each;
using ::testing::StrEq;

constexpr int THREADS = 3;

class OnednnThreads : public OnednnHost {
protected:
  void SetUp() override {
    OnednnHost::SetUp();
    cache.threads = THREADS;
  }
  Stream stream_of(lk_dnnl_team &team) {
    Stream stream;
    LK_EXPECT_OK(lk_dnnl_team_stream(&cache, &team, stream.out(), LK_ERR));
    return stream;
  }
};

// As docs/onednn.md shows it.
lk_status run_on_threads(const lk_dnnl &cache, lk_dnnl_lease &lease, lk_error *error) {
  lk_dnnl_team team(cache); // before the stream that is made of it
  dnnl_stream_t stream = nullptr;
  lk_status status = lk_dnnl_team_stream(&cache, &team, &stream, error);
  const std::unique_ptr<dnnl_stream, decltype(&dnnl_stream_destroy)> end(stream,
                                                                         dnnl_stream_destroy);
  if (status == LK_OK) status = lk_dnnl_run(&lease, stream, error);
  return status;
}

// Who has taken which turn.
std::vector<std::thread::id> takers(lk_dnnl_team &team, int count) {
  std::vector<std::thread::id> ids(count);
  std::vector<std::atomic<int>> times(count);
  team.parallel_for(count, [&](int turn, int of) {
    EXPECT_EQ(of, count);
    ids[turn] = std::this_thread::get_id();
    times[turn]++;
  });
  for (const std::atomic<int> &of_turn : times) EXPECT_EQ(of_turn, 1);
  return ids;
}

TEST_F(OnednnThreads, AreThoseThatPrimitivesAreMadeFor) {
  lk_dnnl_team team(cache);
  EXPECT_EQ(team.get_num_threads(), THREADS);
  EXPECT_EQ(team.get_flags(), 0u) << "synchronous";
}

TEST_F(OnednnThreads, TakeTurnsAtOnce) {
  lk_dnnl_team team(cache);
  std::atomic<int> there{0};
  std::set<std::thread::id> ids;
  std::mutex lock;
  team.parallel_for(THREADS, [&](int, int) {
    there++;
    wait_until([&] { return there == THREADS; });
    const std::lock_guard<std::mutex> hold(lock);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), size_t(THREADS));
  EXPECT_EQ(ids.count(std::this_thread::get_id()), 1u);
}

TEST_F(OnednnThreads, TakeEachTurnOnce) {
  lk_dnnl_team team(cache);
  for (const int count : {0, 1, 2, THREADS, THREADS + 1, 100}) takers(team, count);
}

TEST_F(OnednnThreads, AreAskedForTwoTurnsAndMore) {
  lk_dnnl_team team(cache);
  const uint64_t before = api()->parallel_regions();
  takers(team, 0);
  EXPECT_THAT(takers(team, 1), Each(std::this_thread::get_id()));
  EXPECT_EQ(api()->parallel_regions(), before);
  takers(team, 2);
  EXPECT_EQ(api()->parallel_regions(), before + 1);
}

TEST_F(OnednnThreads, TakeTurnsWithinATurnAlone) {
  lk_dnnl_team team(cache);
  std::atomic<int> taken{0};
  team.parallel_for(THREADS, [&](int, int) {
    EXPECT_THAT(takers(team, 5), Each(std::this_thread::get_id()));
    taken++;
  });
  EXPECT_EQ(taken, THREADS);
}

TEST_F(OnednnThreads, TakeTurnsWithinARegionOfTheHostAlone) {
  lk_dnnl_team team(cache);
  api()->parallel_run(
      context, 2,
      [](void *arg, int32_t, int32_t) {
        EXPECT_THAT(takers(*static_cast<lk_dnnl_team *>(arg), 5), Each(std::this_thread::get_id()));
      },
      &team);
}

TEST_F(OnednnThreads, ThrowOnTheThreadThatWaits) {
  lk_dnnl_team team(cache);
  for (int thrower = 0; thrower < THREADS; thrower++) {
    std::atomic<int> there{0};
    const auto turn = [&](int index, int) {
      there++;
      wait_until([&] { return there == THREADS; }); // each on its own thread
      if (index == thrower) throw std::out_of_range("turn");
    };
    try {
      team.parallel_for(THREADS, turn);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::out_of_range &thrown) {
      EXPECT_THAT(thrown.what(), StrEq("turn"));
    }
  }
  EXPECT_THROW(team.parallel_for(THREADS, [](int, int) { throw std::bad_alloc(); }), std::bad_alloc)
      << "all of them, of which one counts";
  EXPECT_THROW(team.parallel_for(1, [](int, int) { throw 1; }), int);
  takers(team, 100); // nothing of that is left
}

// y = 3 * x + 1 of so many elements that all threads have turns.
class OnednnThreadsRun : public OnednnThreads {
protected:
  static constexpr int64_t SIZE = 1 << 20;

  void SetUp() override {
    OnednnThreads::SetUp();
    std::iota(x.begin(), x.end(), 0.0F);
    ref = get_linear(cache, SIZE, 3);
    LK_ASSERT_OK(lk_dnnl_lease_begin(&cache, ref, &lease, LK_ERR));
    LK_ASSERT_OK(lk_dnnl_set(&lease, DNNL_ARG_SRC, x.data(), LK_ERR));
    LK_ASSERT_OK(lk_dnnl_set(&lease, DNNL_ARG_DST, y.data(), LK_ERR));
  }
  void TearDown() override {
    lk_dnnl_lease_end(&lease);
    OnednnThreads::TearDown();
  }
  void run_on_team() {
    const uint64_t before = api()->parallel_regions();
    LK_ASSERT_OK(run_on_threads(cache, lease, LK_ERR));
    EXPECT_GT(api()->parallel_regions(), before);
    for (int64_t i = 0; i < SIZE; i++) ASSERT_EQ(y[i], 3 * x[i] + 1) << i;
  }

  std::vector<float> x = std::vector<float>(SIZE), y = x;
  Ref ref;
  lk_dnnl_lease lease = {};
};

TEST_F(OnednnThreadsRun, RunsPrimitives) {
  run_on_team();
}

// oneDNN keeps the team of a primitive that an exception ends: on this thread it would be called
// for all that is built and run afterwards.
TEST_F(OnednnThreadsRun, ThrowsAndLeavesNothingOfTheTeam) {
  lk_api throwing = *api();
  throwing.parallel_run = [](lk_context *, int32_t, lk_parallel_fn, void *) {
    throw std::out_of_range("turn");
  };
  lk_dnnl with_throwing = cache;
  with_throwing.api = &throwing;
  EXPECT_THROW((void)run_on_threads(with_throwing, lease, LK_ERR), std::out_of_range);
  EXPECT_NE(get_linear(cache, SIZE, 5), nullptr);
  run_on_team();
}

TEST_F(OnednnThreads, ServeSeveralStreamsAtOnce) {
  constexpr int64_t SIZE = 1 << 16;
  lk_dnnl_team team(cache);
  std::atomic<int> wrong{0};
  std::vector<std::thread> hosts;
  for (int host = 0; host < 3; host++) {
    hosts.emplace_back([&, host] {
      const Stream stream = stream_of(team);
      const Ref ref = get_linear(cache, SIZE, 3);
      std::vector<float> x(SIZE, float(host)), y(SIZE);
      for (int i = 0; i < repeats(100); i++) {
        std::fill(y.begin(), y.end(), -1.0F);
        LK_EXPECT_OK(
            run(cache, ref, stream, {{DNNL_ARG_SRC, x.data()}, {DNNL_ARG_DST, y.data()}}, LK_ERR));
        for (const float value : y) wrong += value != 3 * float(host) + 1;
      }
    });
  }
  for (std::thread &host : hosts) host.join();
  EXPECT_EQ(wrong, 0);
}

// The library calls oneDNN then, which calls the library's threads.
TEST_F(OnednnThreads, PackWeights) {
  constexpr int64_t SIZE = 512;
  lk_dnnl_team team(cache);
  const Stream stream = stream_of(team);
  const Desc plain = desc_of({SIZE, SIZE}, dnnl_f32, dnnl_ab),
             turned = desc_of({SIZE, SIZE}, dnnl_f32, dnnl_ba);
  std::vector<float> numbers(SIZE * SIZE);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  lk_constant *weights = nullptr;
  lk_packed *packed = nullptr;
  LK_ASSERT_OK(api()->constant_create(context, numbers.data(), numbers.size() * sizeof(float), 0,
                                      &weights, LK_ERR));
  const uint64_t before = api()->parallel_regions();
  LK_ASSERT_OK(lk_dnnl_pack(&cache, weights, numbers.size() * sizeof(float), plain, turned, stream,
                            &packed, LK_ERR));
  EXPECT_GT(api()->parallel_regions(), before);
  const auto *data = static_cast<const float *>(api()->packed_data(packed));
  for (int64_t i = 0; i < SIZE * SIZE; i++) {
    ASSERT_EQ(data[i], numbers[i % SIZE * SIZE + i / SIZE]) << i;
  }
  api()->packed_release(packed);
  api()->constant_release(weights);
}

TEST_F(OnednnThreads, NeedAnEngine) {
  lk_dnnl_team team(cache);
  dnnl_stream_t stream = nullptr;
  lk_dnnl none = cache;
  none.engine = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_dnnl_team_stream(&none, &team, &stream, LK_ERR));
}

} // namespace

#endif
