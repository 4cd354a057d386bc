// Sizes that come again get the engine that takes less time: when, once, and by measuring.
#include <atomic>
#include <memory>
#include <thread>

#include "tests/executor_glue/run/model_chain.h"
#include "tests/ops/engine/plain_engine.h"

namespace {

using ::testing::HasSubstr;

constexpr int kPairs = 2;
constexpr size_t kRecurring = 8; // runs of a size after which it counts as recurring

lk_tensor_desc desc(int64_t rows) {
  lk_tensor_desc made = {};
  made.dtype = LK_F32;
  made.rank = 2;
  made.dims[0] = rows;
  made.dims[1] = 4;
  return made;
}

class AutoRuns : public ::testing::TestWithParam<uint32_t> {
protected:
  AutoRuns() {
    const lk_engine table = engine_.table();
    LK_EXPECT_OK(chain_->api()->engine_register(chain_->context(), &table, LK_ENGINE_AUTO, LK_ERR));
  }
  ~AutoRuns() override {
    chain_.reset();
    EXPECT_EQ(engine_.builds - failed_, engine_.destroyed);
  }
  void run(lk_session *session, size_t rows) {
    const lk::Floats x = lk::chain_input(rows);
    lk::Floats y(x.size(), -1.0f);
    chain_->run(session, x, &y);
    EXPECT_TRUE(lk::all_close(lk::chain_expected(x, kPairs), y)) << rows << " rows";
  }
  uint64_t builds() { return chain_->stats().kind[LK_KIND_RUN].builds; }
  lk_status run_until(lk_session *session, size_t rows, const volatile int32_t *cancel) {
    return tune(session, rows, 0, cancel);
  }
  lk_status tune(lk_session *session, size_t rows, uint64_t ns = 1,
                 const volatile int32_t *cancel = nullptr) {
    lk_run_options options = {};
    options.struct_size = sizeof options;
    options.tune_ns = ns;
    options.cancel = cancel;
    return run_with(session, rows, options);
  }
  lk_status choose(lk_session *session, size_t rows, lk_profile *profile = nullptr) {
    lk_run_options options = {};
    options.struct_size = sizeof options;
    options.recurs = 1;
    options.profile = profile;
    return run_with(session, rows, options);
  }
  lk_status run_with(lk_session *session, size_t rows, const lk_run_options &options) {
    const lk::Floats x = lk::chain_input(rows);
    lk::Floats y(x.size(), -1.0f);
    lk_named_tensor in = {"x", {}}, out = {"y", {}};
    in.tensor.desc = out.tensor.desc = desc(int64_t(rows));
    in.tensor.data = const_cast<float *>(x.data());
    out.tensor.data = y.data();
    const lk_status status =
        lk_get_session_api(LK_SESSION_API_VERSION)->run(session, &in, 1, &out, 1, &options, LK_ERR);
    if (status == LK_OK) {
      EXPECT_TRUE(lk::all_close(lk::chain_expected(x, kPairs), y));
    }
    return status;
  }

  const std::string model_ = lk::chain_model(kPairs);
  lk::PlainEngine engine_;
  int failed_ = 0; // builds that gave no value
  std::unique_ptr<lk::Chain> chain_ = std::make_unique<lk::Chain>(
      lk_get_api(LK_API_VERSION), lk_get_session_api(LK_SESSION_API_VERSION), GetParam());
};

TEST_P(AutoRuns, ASizeThatRecursIsBoundOnceMore) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  for (size_t i = 1; i <= 3 * kRecurring; i++) {
    run(session, 3);
    EXPECT_EQ(builds(), i < kRecurring ? 1u : 2u) << "run " << i;
    EXPECT_EQ(engine_.offers > 0, i >= kRecurring);
  }
  lk_session_stats stats = {};
  stats.struct_size = sizeof stats;
  LK_ASSERT_OK(lk_get_session_api(LK_SESSION_API_VERSION)->stats(session, &stats, LK_ERR));
  EXPECT_EQ(stats.runs, 3 * kRecurring);
  EXPECT_EQ(stats.run_plan_hits, 3 * kRecurring - 1);
  EXPECT_EQ(engine_.builds, 1) << "both products are one work";
  EXPECT_EQ(engine_.runs, int(kPairs * 2 * kRecurring))
      << "the run after which it is built is native's";
}

TEST_P(AutoRuns, ARunThatSaysThatItsSizeRecursIsTheEngines) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  LK_ASSERT_OK(choose(session, 3));
  EXPECT_EQ(engine_.runs, kPairs);
  EXPECT_EQ(builds(), 1u);
  for (size_t i = 0; i < 2 * kRecurring; i++) run(session, 3);
  LK_ASSERT_OK(choose(session, 3));
  EXPECT_EQ(builds(), 1u) << "it is chosen for";
  EXPECT_EQ(engine_.runs, int(kPairs * (2 * kRecurring + 2)));
}

TEST_P(AutoRuns, ASizeThatIsThereIsChosenForAnew) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  run(session, 3);
  run(session, 3);
  EXPECT_EQ(engine_.offers, 0);
  LK_ASSERT_OK(choose(session, 3));
  EXPECT_EQ(engine_.runs, kPairs);
  EXPECT_EQ(builds(), 2u);
  run(session, 3);
  EXPECT_EQ(engine_.runs, 2 * kPairs) << "also a run that was kept";
  EXPECT_EQ(builds(), 2u);
}

// What the other run builds comes too late for it.
TEST_P(AutoRuns, ARunThatSaysThatItsSizeRecursDoesNotRelyOnOneThatBuilds) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  std::atomic<bool> is_first{true};
  engine_.within_offer = [&] {
    if (!is_first.exchange(false)) return;
    EXPECT_EQ(engine_.runs, 0);
    std::thread([&] { LK_EXPECT_OK(choose(session, 3)); }).join();
    EXPECT_EQ(engine_.runs, kPairs);
  };
  for (size_t i = 1; i <= kRecurring; i++) run(session, 3);
  EXPECT_FALSE(is_first);
  EXPECT_EQ(engine_.runs, kPairs);
  const uint64_t before = builds();
  for (size_t i = 0; i < 2 * kRecurring; i++) run(session, 3);
  EXPECT_EQ(engine_.runs, int(kPairs * (1 + 2 * kRecurring)));
  EXPECT_EQ(builds(), before);
}

TEST_P(AutoRuns, WithoutMemoryTheFormerPlanServes) {
  engine_.run_ratio = 0.5;
  engine_.build_status = LK_OUT_OF_MEMORY;
  lk_session *session = chain_->open(model_);
  run(session, 3);
  LK_ASSERT_OK(choose(session, 3));
  failed_ = engine_.builds;
  EXPECT_GT(failed_, 0);
  EXPECT_EQ(engine_.runs, 0);
}

// Beside what an operator took, what it was expected to take.
TEST_P(AutoRuns, AProfileHasWhatWasExpected) {
  engine_.run_ratio = 0.5;
  const lk_session_api *sessions = lk_get_session_api(LK_SESSION_API_VERSION);
  lk_profile *profile = nullptr;
  LK_ASSERT_OK(sessions->profile_create(nullptr, &profile, LK_ERR));
  lk_session *session = chain_->open(model_);
  for (int i = 0; i < 3; i++) LK_ASSERT_OK(choose(session, 3, profile));
  lk_engine_choice_info choice = {};
  choice.struct_size = sizeof choice;
  LK_ASSERT_OK(chain_->api()->engine_choice(chain_->context(), 0, &choice, LK_ERR));
  ASSERT_STREQ(choice.node, "product0");
  lk_profile_entry entry = {};
  entry.struct_size = sizeof entry;
  int products = 0;
  for (uint32_t i = 0; sessions->profile_entry(profile, i, &entry, nullptr) == LK_OK; i++) {
    const bool is_product = std::string(entry.op_type) == "MatMul";
    products += is_product ? 1 : 0;
    EXPECT_DOUBLE_EQ(entry.expected_ns, is_product ? 3 * choice.engine_ns : 0)
        << entry.output_name << ": without an offer nothing is known";
    EXPECT_EQ(entry.is_expected_measured, 0u);
    EXPECT_STREQ(entry.engine, is_product ? "plain" : "native");
    EXPECT_EQ(entry.works_ns, is_product ? entry.total_ns : 0) << "it is the only step";
  }
  EXPECT_EQ(products, kPairs);
  sessions->profile_destroy(profile);
}

TEST_P(AutoRuns, SizesCountForThemselves) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  for (size_t rows = 1; rows <= 20; rows++) run(session, rows);
  EXPECT_EQ(engine_.offers, 0);
  for (size_t i = 0; i < kRecurring; i++) run(session, 5);
  EXPECT_GT(engine_.builds, 0);
  EXPECT_EQ(builds(), 21u);
}

// Else the last bits of its results would change each time that it is evicted.
TEST_P(AutoRuns, AChoiceOutlivesItsPlan) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  for (size_t i = 0; i < kRecurring; i++) run(session, 3);
  EXPECT_EQ(engine_.builds, 1);
  for (int times = 1; times <= 3; times++) {
    LK_ASSERT_OK(chain_->api()->cache_clear(chain_->context(), nullptr, LK_ERR));
    run(session, 3);
    EXPECT_EQ(engine_.runs, times * kPairs);
    run(session, 4);
    EXPECT_EQ(engine_.runs, times * kPairs) << "another size has none";
  }
  EXPECT_EQ(builds(), 8u);
}

TEST_P(AutoRuns, WithoutTheMemoryForItAChoiceIsNatives) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  for (size_t i = 0; i < kRecurring; i++) run(session, 3);
  LK_ASSERT_OK(chain_->api()->cache_clear(chain_->context(), nullptr, LK_ERR));
  engine_.build_status = LK_OUT_OF_MEMORY;
  run(session, 3);
  failed_ = engine_.builds - 1;
  EXPECT_GT(failed_, 0);
  EXPECT_EQ(engine_.runs, 0);
}

// A size that is fixed is asked for at once. Where there is no memory for a plan, native's serves,
// until a run says that its size recurs, or enough of them have.
TEST_P(AutoRuns, AFixedSizeIsTriedAgain) {
  const std::string model = lk::chain_model(kPairs, "3");
  lk_profile *profile = nullptr; // with which runs are not kept
  LK_ASSERT_OK(
      lk_get_session_api(LK_SESSION_API_VERSION)->profile_create(nullptr, &profile, LK_ERR));
  engine_.run_ratio = 0.5;
  engine_.pack_status = LK_OUT_OF_MEMORY;
  lk_run_options options = {};
  options.struct_size = sizeof options;
  options.profile = profile;
  lk_session *says = chain_->open(model), *counts = chain_->open(model);
  for (lk_session *session : {says, counts}) LK_ASSERT_OK(run_with(session, 3, options));
  EXPECT_GT(engine_.packs, 0);
  engine_.pack_status = LK_OK;
  LK_ASSERT_OK(run_with(says, 3, options));
  EXPECT_EQ(engine_.runs, 0);
  LK_ASSERT_OK(choose(says, 3));
  EXPECT_EQ(engine_.runs, kPairs);
  for (size_t i = 2; i <= kRecurring; i++) LK_ASSERT_OK(run_with(counts, 3, options));
  EXPECT_EQ(engine_.runs, kPairs);
  LK_ASSERT_OK(run_with(counts, 3, options));
  EXPECT_EQ(engine_.runs, 2 * kPairs);
  lk_get_session_api(LK_SESSION_API_VERSION)->profile_destroy(profile);
}

// The run that would build has failed: the next one does, and not the 64th.
TEST_P(AutoRuns, ARunThatFailsLeavesTheBuildToTheNextOne) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  for (size_t i = 1; i < kRecurring; i++) run(session, 3);
  lk_named_tensor in = {"x", {}}, out = {"y", {}};
  lk::Floats x = lk::chain_input(3), y(4);
  in.tensor = {desc(3), x.data()};
  out.tensor = {desc(1), y.data()}; // too small
  LK_EXPECT_STATUS(
      LK_INVALID_ARGUMENT,
      lk_get_session_api(LK_SESSION_API_VERSION)->run(session, &in, 1, &out, 1, nullptr, LK_ERR));
  EXPECT_EQ(engine_.offers, 0);
  run(session, 3);
  EXPECT_GT(engine_.offers, 0);
  EXPECT_EQ(builds(), 2u);
}

TEST_P(AutoRuns, WhatTakesMoreTimeStaysNatives) {
  engine_.run_ratio = 1;
  lk_session *session = chain_->open(model_);
  for (size_t i = 0; i < 2 * kRecurring; i++) run(session, 3);
  EXPECT_GT(engine_.offers, 0);
  EXPECT_EQ(engine_.builds, 0);
  EXPECT_EQ(builds(), 1u) << "the plan that there is does";
}

TEST_P(AutoRuns, WhatCannotBeBuiltIsNatives) {
  engine_.run_ratio = 0.5;
  engine_.build_status = LK_OUT_OF_MEMORY;
  failed_ = kPairs;
  lk_session *session = chain_->open(model_);
  for (size_t i = 0; i < 3 * kRecurring; i++) run(session, 3);
  EXPECT_EQ(engine_.builds, failed_);
  EXPECT_EQ(engine_.runs, 0);
  EXPECT_EQ(builds(), 1u);
  engine_.build_status = LK_OK;
  for (size_t i = 0; i <= kRecurring; i++) run(session, 4);
  EXPECT_GT(engine_.runs, 0) << "it is asked for other sizes";
}

// Plain loops are no match for native's product, whatever they say of themselves.
TEST_P(AutoRuns, MeasuringFindsWhoTakesLessTime) {
  engine_.run_ratio = 0.1;
  lk_session *session = chain_->open(model_);
  LK_ASSERT_OK(tune(session, 4096));
  const lk_stats stats = chain_->stats();
  EXPECT_EQ(stats.tuning_works, 1u);
  EXPECT_EQ(stats.choices_measured, uint64_t(kPairs));
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  LK_ASSERT_OK(chain_->api()->engine_choice(chain_->context(), 0, &info, LK_ERR));
  EXPECT_EQ(info.is_measured, 1u);
  EXPECT_EQ(info.is_engine != 0, info.engine_ns <= info.native_ns * 0.97);
  const uint64_t before = builds();
  const int runs = engine_.runs;
  for (size_t i = 0; i < 2 * kRecurring; i++) run(session, 4096);
  EXPECT_EQ(builds(), before) << "it is what was built by measured times";
  EXPECT_EQ(engine_.runs > runs, info.is_engine != 0);
}

// Each size is measured, also when the time for it is over.
TEST_P(AutoRuns, EachRunThatIsToMeasureDoes) {
  lk_session *session = chain_->open(model_);
  for (uint64_t works = 1; works <= 3; works++) {
    LK_ASSERT_OK(tune(session, 10 * works));
    EXPECT_EQ(chain_->stats().tuning_works, works);
  }
  LK_ASSERT_OK(tune(session, 10, UINT64_C(1) << 20));
  EXPECT_EQ(chain_->stats().tuning_works, 3u);
}

// The plan of a size is built anew by who measures it, whatever others build meanwhile.
TEST_P(AutoRuns, MeasuresWhileOthersRun) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++) {
    threads.emplace_back([&] {
      for (size_t rows = 1; !is_over; rows = rows % 5 + 1) run(session, rows);
    });
  }
  for (size_t rows = 1; rows <= 5; rows++) LK_EXPECT_OK(tune(session, rows));
  is_over = true;
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(chain_->stats().tuning_works, 5u);
}

TEST_P(AutoRuns, AnOfferThatIsNoneEndsTheRunAndNoOther) {
  engine_.run_ratio = 0.5;
  engine_.bad_offer = 1;
  lk_session *session = chain_->open(model_);
  for (size_t i = 1; i < kRecurring; i++) run(session, 3);
  const lk::Floats x = lk::chain_input(3);
  LK_EXPECT_STATUS(LK_INTERNAL, tune(session, 3));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("engine 'plain'"));
  engine_.bad_offer = 0;
  for (size_t i = 0; i < kRecurring; i++) run(session, 3);
  EXPECT_GT(engine_.runs, 0);
}

// Where the plan for what was measured cannot be built, the former one stays, for good.
TEST_P(AutoRuns, MeasuringThatFailsInTheEndChangesNothing) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  LK_ASSERT_OK(choose(session, 3));
  int left = 2 * kPairs; // offers of what is measured
  engine_.within_offer = [&] { engine_.bad_offer = left-- > 0 ? 0 : 1; };
  LK_EXPECT_STATUS(LK_INTERNAL, tune(session, 3));
  EXPECT_EQ(left, -1);
  engine_.within_offer = [] {};
  engine_.bad_offer = 0;
  const uint64_t before = builds();
  for (size_t i = 0; i < 9 * kRecurring; i++) run(session, 3);
  EXPECT_EQ(builds(), before);
}

TEST_P(AutoRuns, MeasuringEndsWhenItIsToAndLeavesNothing) {
  lk_session *session = chain_->open(model_);
  const volatile int32_t cancel = 1;
  LK_EXPECT_STATUS(LK_CANCELLED, tune(session, 64, UINT64_C(1) << 60, &cancel));
  EXPECT_EQ(chain_->stats().tuning_works, 0u);
  run(session, 64);
  lk_session *without = chain_->open(model_, -1);
  LK_EXPECT_STATUS(LK_UNSUPPORTED, tune(without, 64));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("run plans or the cache are off"));
}

// A run is never late for what later runs have of it.
TEST_P(AutoRuns, ABuildThatIsStoppedCostsNoRun) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  volatile int32_t cancel = 0;
  engine_.within_build = [&] { cancel = 1; };
  for (size_t i = 1; i < kRecurring; i++) run(session, 3);
  LK_ASSERT_OK(run_until(session, 3, &cancel));
  EXPECT_EQ(cancel, 1);
  engine_.within_build = [] {};
  EXPECT_EQ(engine_.runs, 0);
  for (size_t i = 0; i < 9 * kRecurring; i++) run(session, 3);
  EXPECT_GT(engine_.runs, 0) << "it is tried again";
}

TEST_P(AutoRuns, ThreadsAgreeOnOneBuild) {
  engine_.run_ratio = 0.5;
  lk_session *session = chain_->open(model_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      for (size_t k = 0; k < 4 * kRecurring; k++) run(session, 3);
    });
  }
  for (std::thread &thread : threads) thread.join();
  if (GetParam() == LK_CACHE_SHARED) {
    EXPECT_EQ(engine_.builds, 1);
    EXPECT_LE(builds(), 4u) << "a thread may build what another has just dropped";
  } else {
    EXPECT_EQ(engine_.builds, 4) << "each thread its own";
  }
}

INSTANTIATE_TEST_SUITE_P(, AutoRuns, ::testing::Values(LK_CACHE_SHARED, LK_CACHE_THREAD));

TEST(Auto, NeedsAnEngineToChoose) {
  lk::Chain chain(lk_get_api(LK_API_VERSION), lk_get_session_api(LK_SESSION_API_VERSION),
                  LK_CACHE_SHARED);
  const std::string model = lk::chain_model(1);
  lk_session *session = chain.open(model);
  lk_run_options options = {};
  options.struct_size = sizeof options;
  options.tune_ns = 1;
  lk_named_tensor in = {"x", {}}, out = {"y", {}};
  float x[4] = {1, 2, 3, 4}, y[4];
  in.tensor = {desc(1), x};
  out.tensor = {desc(1), y};
  LK_EXPECT_STATUS(
      LK_UNSUPPORTED,
      lk_get_session_api(LK_SESSION_API_VERSION)->run(session, &in, 1, &out, 1, &options, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the engine of the context is 'native', 'auto' is needed"));
}

} // namespace
