/* What the cache of a context did between two moments. */
#include "executor_glue/cli/common/cache_counts.h"

#include "base/names.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/report.h"

static void add(lk_kind_stats *sum, const lk_kind_stats *from, const lk_kind_stats *to) {
  sum->hits += to->hits - from->hits;
  sum->misses += to->misses - from->misses;
  sum->builds += to->builds - from->builds;
  sum->failed_builds += to->failed_builds - from->failed_builds;
  sum->waits += to->waits - from->waits;
  sum->evictions += to->evictions - from->evictions;
  sum->entries += to->entries;
  sum->bytes += to->bytes;
  sum->build_ns += to->build_ns - from->build_ns;
  for (uint32_t i = 0; i < LK_TIME_BUCKETS; i++) {
    sum->build_times[i] += to->build_times[i] - from->build_times[i];
  }
}

lk_kind_stats cache_counts_of(const lk_stats *before, const lk_stats *after, uint32_t kind) {
  lk_kind_stats one = {0};
  add(&one, &before->kind[kind], &after->kind[kind]);
  return one;
}

lk_kind_stats cache_counts_sum(const lk_stats *before, const lk_stats *after) {
  lk_kind_stats sum = {0};
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    add(&sum, &before->kind[kind], &after->kind[kind]);
  }
  return sum;
}

json_t *cache_counts_json(const lk_kind_stats *counts) {
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f}", "hits",
                   lk_json_number(counts->hits), "misses", lk_json_number(counts->misses), "builds",
                   lk_json_number(counts->builds), "failed_builds",
                   lk_json_number(counts->failed_builds), "waits", lk_json_number(counts->waits),
                   "evictions", lk_json_number(counts->evictions), "entries",
                   lk_json_number(counts->entries), "bytes", lk_json_number(counts->bytes),
                   "build_ms", (double)counts->build_ns / 1e6);
}

json_t *cache_counts_kinds_json(const lk_stats *before, const lk_stats *after) {
  json_t *kinds = json_object();
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    lk_kind_stats one = cache_counts_of(before, after, kind);
    (void)json_object_set_new(kinds, lk_kind_name(kind), cache_counts_json(&one));
  }
  return kinds;
}
