// What must hold of statistics and entries: at any moment, and when no thread is in a call.
#include "tests/stress/stage.h"

namespace stress {
namespace {

unsigned long long ull(uint64_t value) {
  return value;
}

struct Visit {
  lk_context *context;
  std::vector<Stage::Seen> entries;
};

void see(void *arg, const lk_entry_info *info) {
  auto *visit = static_cast<Visit *>(arg);
  std::string text(512, '\0');
  size_t length = 0;
  for (int tries = 0; tries < 2; tries++) {
    lk_error error;
    const lk_status status =
        lk::api()->key_print(visit->context, info->key, text.data(), text.size(), &length, &error);
    STRESS_CHECK(status == LK_OK, "printing a key: %s", error.message);
    if (length < text.size()) break;
    text.resize(length + 1);
  }
  text.resize(length);
  visit->entries.push_back({text, *info});
}

} // namespace

lk_stats Stage::stats(lk_executor *executor) {
  lk_stats result{};
  result.struct_size = sizeof result;
  lk_error error;
  const lk_status status = lk::api()->cache_stats(context_, executor, &result, &error);
  STRESS_CHECK(status == LK_OK, "statistics: %s", error.message);
  return result;
}

std::vector<Stage::Seen> Stage::visit() {
  Visit visit{context_, {}};
  lk_error error;
  const lk_status status = lk::api()->cache_visit(context_, see, &visit, &error);
  STRESS_CHECK(status == LK_OK, "a visit: %s", error.message);
  return std::move(visit.entries);
}

void Stage::check_sums(lk_executor *executor) {
  const lk_stats now = stats(executor);
  uint64_t entries = 0, bytes = 0;
  for (const lk_kind_stats &kind : now.kind) {
    entries += kind.entries;
    bytes += kind.bytes;
    STRESS_CHECK(kind.builds + kind.failed_builds + kind.waits <= kind.misses,
                 "%llu misses, but %llu builds, %llu failed ones and %llu waits", ull(kind.misses),
                 ull(kind.builds), ull(kind.failed_builds), ull(kind.waits));
  }
  STRESS_CHECK(entries == now.entries && bytes == now.bytes,
               "the kinds have %llu entries and %llu bytes, all together %llu and %llu",
               ull(entries), ull(bytes), ull(now.entries), ull(now.bytes));
  STRESS_CHECK(now.peak_bytes >= now.bytes, "%llu bytes, and a peak of %llu", ull(now.bytes),
               ull(now.peak_bytes));
}

void Stage::check_nothing_of(const Identity &executor) {
  for (const Seen &entry : visit()) {
    STRESS_CHECK(executor_of(entry.key) != executor,
                 "the entry of an executor that has ended is still there: %s", entry.key.c_str());
  }
}

void Stage::check_counters(const lk_stats &now) {
  static const char *const names[LK_KIND_COUNT] = {"name", "run", "user", "value"};
  for (size_t i = 0; i < LK_KIND_COUNT; i++) {
    const lk_kind_stats &kind = now.kind[i];
    STRESS_CHECK(kind.builds + kind.failed_builds + kind.waits == kind.misses,
                 "of kind %s, %llu misses are %llu builds, %llu failed ones and %llu waits",
                 names[i], ull(kind.misses), ull(kind.builds), ull(kind.failed_builds),
                 ull(kind.waits));
  }
  const lk_kind_stats &user = now.kind[LK_KIND_USER], &run = now.kind[LK_KIND_RUN];
  STRESS_CHECK(user.hits + user.misses == user_lookups,
               "%llu look-ups of hosts' keys are %llu hits and %llu misses", ull(user_lookups),
               ull(user.hits), ull(user.misses));
  const uint64_t least = run_lookups, most = least + run_lookups_more;
  STRESS_CHECK(least <= run.hits + run.misses && run.hits + run.misses <= most,
               "%llu to %llu look-ups of run plans are %llu hits and %llu misses", ull(least),
               ull(most), ull(run.hits), ull(run.misses));
}

void Stage::check_limits(const lk_stats &now, const Limits &limits, const char *whose) {
  STRESS_CHECK(now.capacity_entries == limits.entries && now.capacity_bytes == limits.bytes,
               "%s: limits are %llu entries and %llu bytes, %llu and %llu were set last", whose,
               ull(now.capacity_entries), ull(now.capacity_bytes), ull(limits.entries),
               ull(limits.bytes));
  STRESS_CHECK(now.entries <= limits.entries && now.bytes <= limits.bytes,
               "%s: %llu entries and %llu bytes are over the limits of %llu and %llu", whose,
               ull(now.entries), ull(now.bytes), ull(limits.entries), ull(limits.bytes));
}

void Stage::check_owners(const std::vector<Seen> &entries) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Seen &entry : entries) {
    const Identity executor = executor_of(entry.key), thread = thread_of(entry.key);
    const bool is_user = entry.info.kind == LK_KIND_USER;
    if (entry.info.kind == LK_KIND_VALUE) continue; // of any node that wants the same
    STRESS_CHECK((is_user && executor.empty()) || executors_.count(executor) == 1,
                 "an entry belongs to no living executor: %s", entry.key.c_str());
    if (!per_thread()) continue;
    STRESS_CHECK(threads_alive_.count(thread) == 1, "an entry belongs to no living thread: %s",
                 entry.key.c_str());
  }
}

void Stage::check_at_rest(bool let_go) {
  const std::vector<Seen> entries = visit();
  const lk_stats now = stats();
  uint64_t bytes = 0;
  for (const Seen &entry : entries) bytes += entry.info.bytes;
  STRESS_CHECK(entries.size() == now.entries && bytes == now.bytes,
               "%zu entries and %llu bytes can be seen, %llu and %llu are counted", entries.size(),
               ull(bytes), ull(now.entries), ull(now.bytes));
  int64_t kept = 0;
  for (const Seen &entry : entries) {
    const bool is_run_plan = entry.info.kind == LK_KIND_RUN && field_of(entry.key, "out") == "run";
    const bool is_hosts = entry.info.kind == LK_KIND_RUN || entry.info.kind == LK_KIND_USER;
    kept += is_hosts && !is_run_plan ? 1 : 0;
  }
  STRESS_CHECK(let_go ? user_values == kept : user_values >= kept,
               "%lld values of hosts are alive, the cache keeps %lld%s",
               static_cast<long long>(user_values.load()), static_cast<long long>(kept),
               let_go ? ", and nobody else has any" : "");
  check_sums();
  check_counters(now);
  Limits limits;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    limits = limits_;
  }
  check_limits(now, limits, "the context");
  check_owners(entries);
  std::vector<KnownExecutor *> known;
  for (const auto &session : sessions.all()) known.push_back(&session->executor);
  for (const auto &host : hosts.all()) known.push_back(&host->executor);
  for (KnownExecutor *executor : known) {
    uint64_t count = 0;
    for (const Seen &entry : entries) count += executor_of(entry.key) == executor->identity();
    const lk_stats own = stats(executor->get());
    STRESS_CHECK(count == own.entries, "%llu entries of an executor can be seen, it has %llu",
                 ull(count), ull(own.entries));
    check_sums(executor->get());
    check_limits(own, executor->limits(), "an executor");
  }
}

} // namespace stress
