/* When requests are due, with --rate: at equal distances, whether or not earlier ones are answered.
 */
#include "executor_glue/cli/bench/pace.h"

#include "base/clock.h"

bench_pace bench_pace_begin(double rate, uint64_t first, uint64_t until_ns) {
  const uint64_t now = lk_now_ns();
  bench_pace pace = {.interval_ns = rate > 0 ? 1e9 / rate : 0,
                     .first = first,
                     .begin_ns = now,
                     .until_ns = until_ns,
                     .last_ns = until_ns};
  if (rate > 0 && until_ns != UINT64_MAX && until_ns > now) pace.last_ns += until_ns - now;
  return pace;
}

uint64_t bench_pace_due(const bench_pace *pace, uint64_t number) {
  return pace->begin_ns + (uint64_t)((double)(number - pace->first) * pace->interval_ns);
}

bool bench_pace_allows(const bench_pace *pace, uint64_t number) {
  const bool has_rate = pace->interval_ns > 0;
  if (has_rate && bench_pace_due(pace, number) >= pace->until_ns) return false;
  return lk_now_ns() < pace->last_ns;
}

uint64_t bench_pace_count_due(const bench_pace *pace, uint64_t end) {
  if (pace->interval_ns == 0) return 0;
  const uint64_t now = lk_now_ns(), until = now < pace->until_ns ? now : pace->until_ns;
  const double number = (double)(until - pace->begin_ns) / pace->interval_ns;
  uint64_t count = (uint64_t)number;
  if (number > (double)count) count++; /* the first is due at the begin */
  return count < end - pace->first ? count : end - pace->first;
}
