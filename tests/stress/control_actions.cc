// What a thread does to the cache while others run: limits, clear, statistics, visits, and sleep.
#include <time.h>

#include "tests/stress/worker.h"

namespace stress {

Limits Worker::random_limits() {
  Limits limits;
  limits.entries = random_.of<uint64_t>({0, 1, 7, 40, 200, LK_UNLIMITED, LK_UNLIMITED});
  limits.bytes = random_.of<uint64_t>({0, 20000, 300000, 2 << 20, LK_UNLIMITED, LK_UNLIMITED});
  return limits;
}

// A context that begins and ends while this thread has tables in another one.
void Worker::use_other_context() {
  const uint32_t mode =
      random_.of<uint32_t>({LK_CACHE_OFF, LK_CACHE_THREAD, LK_CACHE_SHARED, LK_CACHE_SHARED});
  const Engine engine = random_.maybe() ? stage_->engine_ : kNative; // whose outputs are known
  note("a context of mode %u with engine %s begins", mode, engine_name(engine));
  {
    Stage other(mode, engine, static_cast<int32_t>(some(1, kMostThreads)), 1, random_.maybe(),
                stage_->models_);
    Worker worker(&other, random_.seed(), true);
    for (int64_t n = random_.in(2, 10); n > 0; n--) worker.act();
  }
  note("it has ended");
}

void Worker::control() {
  const std::shared_ptr<Session> session = stage_->sessions.pick(&random_);
  const std::shared_ptr<Host> host = stage_->hosts.pick(&random_);
  KnownExecutor *executor = session && random_.maybe() ? &session->executor
                            : host                     ? &host->executor
                                                       : nullptr;
  const Limits limits = random_limits();
  const auto note_limits = [&](const char *of) {
    note("limits of %s: %llu entries, %llu bytes", of,
         static_cast<unsigned long long>(limits.entries),
         static_cast<unsigned long long>(limits.bytes));
  };
  lk_error error;
  switch (random_.in(0, 11)) {
  case 0:
    note_limits("the context");
    stage_->limit(limits);
    break;
  case 1:
    note("no limits of the context");
    stage_->limit(Limits());
    break;
  case 2:
    if (executor == nullptr) break;
    note_limits("an executor");
    executor->limit(limits);
    break;
  case 3:
    if (executor == nullptr) break;
    note("no limits of an executor");
    executor->limit(Limits());
    break;
  case 11: {
    const int64_t processors = random_.in(1, 4);
    note("%lld processors", static_cast<long long>(processors));
    STRESS_CHECK(lk::api()->processors_set(static_cast<int32_t>(processors), &error) == LK_OK,
                 "processors: %s", error.message);
    break;
  }
  case 4:
    note("clear");
    STRESS_CHECK(lk::api()->cache_clear(stage_->context(), nullptr, &error) == LK_OK, "clear: %s",
                 error.message);
    break;
  case 5:
    if (executor == nullptr) break;
    note("clear of an executor");
    STRESS_CHECK(lk::api()->cache_clear(stage_->context(), executor->get(), &error) == LK_OK,
                 "clear: %s", error.message);
    break;
  case 6:
    note("visit");
    stage_->visit();
    break;
  case 7:
    note("limit of packed weights");
    STRESS_CHECK(lk::api()->cache_set_weights_capacity(
                     stage_->context(), random_.of<uint64_t>({0, 1000, LK_UNLIMITED}), &error) ==
                     LK_OK,
                 "limit of packed weights: %s", error.message);
    break;
  case 8: {
    note("sleep"); // while others end what this thread has in its tables
    const timespec time = {0, static_cast<long>(some(0, 3000000))};
    nanosleep(&time, nullptr);
    break;
  }
  case 9:
    if (!inner_ && one_in(4)) use_other_context();
    break;
  default:
    note("statistics");
    stage_->check_sums();
    if (executor != nullptr) stage_->check_sums(executor->get());
  }
}

} // namespace stress
