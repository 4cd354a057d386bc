/* What the operators of a model took, beside what the machine can do: as tables and as JSON. */
#include "executor_glue/cli/profile_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/cli/common/report.h"

/* What a terminal has room for; JSON has everything. */
enum { MOST_ROWS = 40, NAME_WIDTH = 36 };

/* ---- reading --------------------------------------------------------------------------------- */

lk_status profile_report_create(const cli_model *model, profile_report *out, lk_error *error) {
  return model->sessions->profile_create(NULL, &out->profile, error);
}

static int compare_entries(const void *a, const void *b) {
  const lk_profile_entry *left = a, *right = b;
  if (left->total_ns != right->total_ns) return left->total_ns < right->total_ns ? 1 : -1;
  return strcmp(left->output_name, right->output_name);
}

lk_status profile_report_read(const cli_model *model, profile_report *report, lk_error *error) {
  const lk_session_api *sessions = model->sessions;
  report->info.struct_size = sizeof report->info;
  report->peak.struct_size = sizeof report->peak;
  LK_RETURN_NOT_OK(sessions->profile_info(report->profile, &report->info, error));
  const size_t count = report->info.n_entries;
  report->entries = lk_calloc(lk_allocator_default(), count, sizeof *report->entries);
  if (report->entries == NULL) {
    return lk_fail_memory(error, "a profile", count * sizeof *report->entries);
  }
  for (uint32_t i = 0; i < count; i++) {
    report->entries[i].struct_size = sizeof report->entries[i];
    LK_RETURN_NOT_OK(sessions->profile_entry(report->profile, i, &report->entries[i], error));
  }
  qsort(report->entries, count, sizeof *report->entries, compare_entries);
  return model->api->machine_peak(model->context, 0, &report->peak, error);
}

void profile_report_destroy(const cli_model *model, profile_report *report) {
  lk_free(lk_allocator_default(), report->entries);
  if (report->profile != NULL) model->sessions->profile_destroy(report->profile);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Of one entry, or of several. */
typedef struct profile_sum {
  const char *op_type;
  uint64_t steps, total_ns, thread_ns, wait_ns;
  double flops, bytes;
} profile_sum;

static void add_entry(profile_sum *sum, const lk_profile_entry *entry) {
  sum->steps++;
  sum->total_ns += entry->total_ns;
  sum->thread_ns += entry->thread_ns;
  sum->wait_ns += entry->wait_ns;
  sum->flops += entry->flops;
  sum->bytes += entry->bytes;
}

static profile_sum sum_of(const lk_profile_entry *entry) {
  profile_sum sum = {.op_type = entry->op_type};
  add_entry(&sum, entry);
  return sum;
}

static profile_sum sum_all(const profile_report *report) {
  profile_sum sum = {.op_type = ""};
  for (uint32_t i = 0; i < report->info.n_entries; i++) add_entry(&sum, &report->entries[i]);
  return sum;
}

static int compare_sums(const void *a, const void *b) {
  const profile_sum *left = a, *right = b;
  if (left->total_ns != right->total_ns) return left->total_ns < right->total_ns ? 1 : -1;
  return strcmp(left->op_type, right->op_type);
}

/* By operator, those that took longest first; there are never more than entries. NULL: no
 * memory. */
static profile_sum *sums_create(const profile_report *report, uint32_t *out_count) {
  const uint32_t n_entries = report->info.n_entries;
  profile_sum *sums = lk_calloc(lk_allocator_default(), n_entries, sizeof *sums);
  uint32_t count = 0;
  for (uint32_t i = 0; sums != NULL && i < n_entries; i++) {
    uint32_t s = 0;
    while (s < count && strcmp(sums[s].op_type, report->entries[i].op_type) != 0) s++;
    if (s == count) sums[count++].op_type = report->entries[i].op_type;
    add_entry(&sums[s], &report->entries[i]);
  }
  if (sums != NULL) qsort(sums, count, sizeof *sums, compare_sums);
  *out_count = count;
  return sums;
}

static double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

/* Work in a nanosecond is 10^9 times as much in a second. */
static double gflops(const profile_sum *sum) {
  return ratio(sum->flops, (double)sum->total_ns);
}
static double gbytes(const profile_sum *sum) {
  return ratio(sum->bytes, (double)sum->total_ns);
}
static double waiting(uint64_t wait_ns, uint64_t thread_ns) {
  return ratio((double)wait_ns, (double)thread_ns);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *sum_json(const profile_report *report, const profile_sum *sum, uint64_t all_ns) {
  return json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "operator",
                   lk_json_text(sum->op_type), "total_ms", (double)sum->total_ns / 1e6, "share",
                   ratio((double)sum->total_ns, (double)all_ns), "gflops", gflops(sum), "gbytes",
                   gbytes(sum), "of_peak_gflops", ratio(gflops(sum), report->peak.gflops),
                   "of_peak_gbytes", ratio(gbytes(sum), report->peak.gbytes), "waiting",
                   waiting(sum->wait_ns, sum->thread_ns));
}

static bool is_expected(const lk_profile_entry *entry) {
  return entry->expected_ns > 0;
}

static double expected_ms(const lk_profile_entry *entry) {
  return ratio(entry->expected_ns / 1e6, (double)entry->executions);
}

static double works_ms(const lk_profile_entry *entry) {
  return ratio((double)entry->works_ns / 1e6, (double)entry->executions);
}

static json_t *entry_json(const profile_report *report, const lk_profile_entry *entry,
                          uint64_t all_ns) {
  const profile_sum sum = sum_of(entry);
  json_t *one = sum_json(report, &sum, all_ns);
  json_t *more = json_pack(
      "{s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:i, s:o, s:f, s:f, s:o, s:o, s:b}", "node",
      lk_json_text(entry->node_name), "output", lk_json_text(entry->output_name), "fused",
      lk_json_text(entry->fused), "step", (int)entry->step, "kind", lk_json_text(entry->kind),
      "tiles", lk_json_text(entry->tiles), "engine", lk_json_text(entry->engine), "threads",
      (int)entry->threads, "executions", lk_json_number(entry->executions), "ms",
      ratio((double)entry->total_ns / 1e6, (double)entry->executions), "min_ms",
      (double)entry->min_ns / 1e6, "works_ms",
      is_expected(entry) ? json_real(works_ms(entry)) : json_null(), "expected_ms",
      is_expected(entry) ? json_real(expected_ms(entry)) : json_null(), "expected_is_measured",
      (int)entry->is_expected_measured);
  (void)json_object_update(one, more);
  json_decref(more);
  return one;
}

json_t *profile_report_json(const profile_report *report) {
  const lk_profile_info *info = &report->info;
  const uint64_t all_ns = sum_all(report).total_ns;
  uint32_t n_sums = 0;
  profile_sum *sums = sums_create(report, &n_sums);
  json_t *steps = json_array(), *operators = json_array();
  for (uint32_t i = 0; i < info->n_entries; i++) {
    (void)json_array_append_new(steps, entry_json(report, &report->entries[i], all_ns));
  }
  for (uint32_t i = 0; i < n_sums; i++) {
    json_t *one = sum_json(report, &sums[i], all_ns);
    (void)json_object_set_new(one, "steps", lk_json_number(sums[i].steps));
    (void)json_array_append_new(operators, one);
  }
  lk_free(lk_allocator_default(), sums);
  return json_pack("{s:{s:i, s:f, s:f}, s:o, s:o, s:f, s:f, s:f, s:f, s:o, s:o}", "peak", "threads",
                   (int)report->peak.threads, "gflops", report->peak.gflops, "gbytes",
                   report->peak.gbytes, "runs", lk_json_number(info->runs), "binds",
                   lk_json_number(info->binds), "bind_ms", (double)info->bind_ns / 1e6,
                   "execute_ms", (double)info->execute_ns / 1e6, "operators_ms",
                   (double)all_ns / 1e6, "waiting", waiting(info->wait_ns, info->thread_ns),
                   "steps", steps, "operators", operators);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The end of a long name says more than its beginning, which many nodes share. */
static void name_cell(report_table *table, const char *name) {
  const size_t length = strlen(name);
  if (length <= NAME_WIDTH) {
    report_cell(table, "%s", name);
    return;
  }
  const char *end = name + length - (NAME_WIDTH - 3);
  while (((unsigned char)*end & 0xc0) == 0x80) end++; /* not in the middle of a UTF-8 character */
  report_cell(table, "...%s", end);
}

static void operator_cell(report_table *table, const lk_profile_entry *entry) {
  char text[NAME_WIDTH + 1];
  const bool is_fused = entry->fused[0] != '\0';
  const int length = snprintf(text, sizeof text, is_fused ? "%s+%s" : "%s%s", entry->op_type,
                              is_fused ? entry->fused : "");
  report_cell(table, length > NAME_WIDTH ? "%.33s..." : "%s", text);
}

/* What nothing is known of has no rate. */
static void rate_cell(report_table *table, double rate, double peak) {
  if (rate <= 0) {
    report_cell(table, "-");
  } else {
    report_cell(table, "%.1f (%.0f%%)", rate, 100 * ratio(rate, peak));
  }
}

/* The cells that both tables end with. `times`: how often it ran. */
static void sum_cells(report_table *table, const profile_report *report, const profile_sum *sum,
                      uint64_t times, uint64_t all_ns) {
  report_cell(table, "%.4f", ratio((double)sum->total_ns / 1e6, (double)times));
  report_cell(table, "%.1f", 100 * ratio((double)sum->total_ns, (double)all_ns));
  rate_cell(table, gflops(sum), report->peak.gflops);
  rate_cell(table, gbytes(sum), report->peak.gbytes);
  report_cell(table, "%.0f", 100 * waiting(sum->wait_ns, sum->thread_ns));
}

/* What all steps of the operator's works took, and what they were expected to take; '~': by
 * estimates, of no machine in particular. */
static void expected_cells(report_table *table, const lk_profile_entry *entry) {
  if (!is_expected(entry)) {
    report_cell(table, "-");
    report_cell(table, "-");
  } else {
    report_cell(table, "%.4f", works_ms(entry));
    report_cell(table, "%s%.4f", entry->is_expected_measured != 0 ? "" : "~", expected_ms(entry));
  }
}

static bool has_expected(const profile_report *report) {
  for (uint32_t i = 0; i < report->info.n_entries; i++) {
    if (is_expected(&report->entries[i])) return true;
  }
  return false;
}

#define SUM_TITLES "|>ms|>%|>GFLOP/s (of peak)|>GB/s (of peak)|>% waiting"

static lk_status print_steps(const profile_report *report, uint64_t all_ns, lk_error *error) {
  const bool expects = has_expected(report);
  report_table *table =
      report_table_create(expects ? "node|operator|step|tiles" SUM_TITLES "|>works ms|>expected ms"
                                  : "node|operator|step|tiles" SUM_TITLES);
  for (uint32_t i = 0; i < report->info.n_entries && i < MOST_ROWS; i++) {
    const lk_profile_entry *entry = &report->entries[i];
    const profile_sum sum = sum_of(entry);
    name_cell(table, entry->node_name[0] != '\0' ? entry->node_name : entry->output_name);
    operator_cell(table, entry);
    report_cell(table, "%s", entry->kind);
    report_cell(table, "%s", entry->tiles);
    sum_cells(table, report, &sum, entry->executions, all_ns);
    if (expects) expected_cells(table, entry);
  }
  return report_table_print(table, 2, error);
}

static void print_rest(const profile_report *report, uint64_t all_ns) {
  profile_sum rest = {.op_type = ""};
  for (uint32_t i = MOST_ROWS; i < report->info.n_entries; i++) {
    add_entry(&rest, &report->entries[i]);
  }
  if (rest.steps == 0) return;
  (void)printf("  and %" PRIu64 " more, %.1f %% (--json has all)\n", rest.steps,
               100 * ratio((double)rest.total_ns, (double)all_ns));
}

static lk_status print_operators(const profile_report *report, uint64_t all_ns, lk_error *error) {
  uint32_t count = 0;
  profile_sum *sums = sums_create(report, &count);
  if (sums == NULL) return lk_fail_memory(error, "a table", sizeof *sums);
  report_table *table = report_table_create("operator|>steps" SUM_TITLES);
  for (uint32_t i = 0; i < count; i++) {
    report_cell(table, "%s", sums[i].op_type);
    report_cell(table, "%" PRIu64, sums[i].steps);
    sum_cells(table, report, &sums[i], report->info.runs, all_ns);
  }
  lk_free(lk_allocator_default(), sums);
  return report_table_print(table, 2, error);
}

static void print_runs(const profile_report *report, uint64_t all_ns) {
  const lk_profile_info *info = &report->info;
  const lk_machine_peak *peak = &report->peak;
  const double runs = (double)info->runs;
  (void)printf("profile of %" PRIu64
               " run%s: %.3f ms each, %.3f in operators; threads waited %.0f %% "
               "of their time\n",
               info->runs, report_s(info->runs), ratio((double)info->execute_ns / 1e6, runs),
               ratio((double)all_ns / 1e6, runs), 100 * waiting(info->wait_ns, info->thread_ns));
  if (info->binds > 0) {
    (void)printf("%" PRIu64 " of them built a run plan, in %.3f ms, which is not counted\n",
                 info->binds, (double)info->bind_ns / 1e6);
  }
  (void)printf("this machine with %" PRId32
               " thread%s: %.1f GFLOP/s of f32, %.1f GB/s from memory\n",
               peak->threads, report_s((uint64_t)peak->threads), peak->gflops, peak->gbytes);
}

lk_status profile_report_print(const profile_report *report, lk_error *error) {
  const uint64_t all_ns = sum_all(report).total_ns;
  print_runs(report, all_ns);
  (void)printf("operators, ms of a run:\n");
  LK_RETURN_NOT_OK(print_operators(report, all_ns, error));
  (void)printf("steps, ms of an execution:\n");
  LK_RETURN_NOT_OK(print_steps(report, all_ns, error));
  print_rest(report, all_ns);
  return LK_OK;
}
