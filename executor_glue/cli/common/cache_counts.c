/* What the cache of a context did between two moments. */
#include "executor_glue/cli/common/cache_counts.h"

#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/report.h"

lk_kind_stats cache_counts_of(const lk_stats *before, const lk_stats *after, uint32_t kind) {
  const lk_kind_stats *from = &before->kind[kind];
  const lk_kind_stats *to = &after->kind[kind];
  return (lk_kind_stats){.hits = to->hits - from->hits,
                         .misses = to->misses - from->misses,
                         .builds = to->builds - from->builds,
                         .failed_builds = to->failed_builds - from->failed_builds,
                         .waits = to->waits - from->waits,
                         .evictions = to->evictions - from->evictions,
                         .entries = to->entries,
                         .bytes = to->bytes,
                         .build_ns = to->build_ns - from->build_ns};
}

lk_kind_stats cache_counts_sum(const lk_stats *before, const lk_stats *after) {
  lk_kind_stats sum = {0};
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    lk_kind_stats one = cache_counts_of(before, after, kind);
    sum.hits += one.hits;
    sum.misses += one.misses;
    sum.builds += one.builds;
    sum.failed_builds += one.failed_builds;
    sum.waits += one.waits;
    sum.evictions += one.evictions;
    sum.entries += one.entries;
    sum.bytes += one.bytes;
    sum.build_ns += one.build_ns;
  }
  return sum;
}

json_t *cache_counts_json(const lk_kind_stats *counts) {
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f}", "hits",
                   report_json_u64(counts->hits), "misses", report_json_u64(counts->misses),
                   "builds", report_json_u64(counts->builds), "failed_builds",
                   report_json_u64(counts->failed_builds), "waits", report_json_u64(counts->waits),
                   "evictions", report_json_u64(counts->evictions), "entries",
                   report_json_u64(counts->entries), "bytes", report_json_u64(counts->bytes),
                   "build_ms", (double)counts->build_ns / 1e6);
}

json_t *cache_counts_kinds_json(const lk_stats *before, const lk_stats *after) {
  json_t *kinds = json_object();
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    lk_kind_stats one = cache_counts_of(before, after, kind);
    (void)json_object_set_new(kinds, cli_kind_text(kind), cache_counts_json(&one));
  }
  return kinds;
}
