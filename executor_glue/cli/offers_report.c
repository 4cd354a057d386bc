/* What engines offer for the works of a model, and what was chosen: as a table and as JSON. */
#include "executor_glue/cli/offers_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/common/shape_text.h"
#include "executor_glue/report/report.h"

/* `auto` asks from this run of a size on, where dimensions are open. */
enum { FIRST_CHOSEN_RUN = 9 };

/* ---- what there is --------------------------------------------------------------------------- */

static bool has_open_dim(const cli_model *model) {
  const uint32_t count = cli_value_count(model, false);
  for (uint32_t i = 0; i < count; i++) {
    const lk_value_info info = cli_value_info(model, false, i);
    if (info.rank < 0) return true;
    for (int32_t d = 0; d < info.rank; d++) {
      if (info.dims[d] < 0) return true;
    }
  }
  return false;
}

/* A run plan may be for values, too, or for a part of the model whose inputs follow from data. */
static void note_data(void *arg, const lk_session_size *size) {
  offers_report *report = arg;
  if (size->n_values > 0 || strcmp(size->part, "run") != 0) report->is_by_data = true;
}

lk_status offers_report_read(offers_report *report, const cli_model *model,
                             const lk_named_tensor *inputs, lk_error *error) {
  const lk_api *api = model->api;
  lk_engine_choice_info info = {.struct_size = sizeof info};
  lk_stats stats = {.struct_size = sizeof stats};
  report->engine = api->engine_chosen(model->context);
  report->threads = api->context_threads(model->context);
  report->is_open = has_open_dim(model);
  LK_RETURN_NOT_OK(api->cache_stats(model->context, NULL, &stats, error));
  report->tuning_works = stats.tuning_works;
  report->tuning_fitting = stats.tuning_fitting;
  LK_RETURN_NOT_OK(model->sessions->sizes_visit(model->session, note_data, report, NULL, error));
  LK_RETURN_NOT_OK(shape_text_create(inputs, cli_value_count(model, false), &report->sizes, error));
  for (uint32_t i = 0; api->engine_choice(model->context, i, &info, NULL) == LK_OK; i++) {
    if (!LK_GROW(lk_allocator_default(), report->works, report->n_works, report->capacity)) {
      return lk_fail_memory(error, "offers", sizeof info);
    }
    report->works[report->n_works++] = info;
  }
  return LK_OK;
}

void offers_report_destroy(offers_report *report) {
  free(report->sizes);
  lk_free(lk_allocator_default(), report->works);
  *report = (offers_report){0};
}

static bool is_offered(const lk_engine_choice_info *work) {
  return work->tensor_bytes > 0;
}

/* What decides when: `auto` has its engine compute nothing of sizes that it sees for the first
 * time. */
static bool is_asked_late(const offers_report *report) {
  return (report->is_open || report->is_by_data) && strcmp(report->engine, "auto") == 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

json_t *offers_report_json(const offers_report *report) {
  json_t *works = json_array();
  for (size_t i = 0; i < report->n_works; i++) {
    (void)json_array_append_new(works, lk_report_choice(&report->works[i]));
  }
  return json_pack("{s:s, s:i, s:o, s:i, s:o, s:o, s:o}", "engine", report->engine, "threads",
                   (int)report->threads, "shape", lk_json_text(report->sizes), "from_run",
                   is_asked_late(report) ? FIRST_CHOSEN_RUN : 1, "tuning_works",
                   lk_json_number(report->tuning_works), "tuning_fitting",
                   lk_json_number(report->tuning_fitting), "works", works);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* '~': estimated. */
static void time_cell(report_table *table, const lk_engine_choice_info *work, double ns,
                      bool is_measured) {
  if (is_offered(work)) {
    report_cell(table, "%s%.1f", is_measured ? "" : "~", ns / 1e3);
  } else {
    report_cell(table, "-");
  }
}

static void bytes_cell(report_table *table, uint64_t bytes) {
  char text[REPORT_TEXT_CAPACITY];
  report_cell(table, "%s", bytes > 0 ? report_bytes(bytes, text) : "-");
}

static void ratio_cell(report_table *table, const lk_engine_choice_info *work) {
  if (is_offered(work) && work->native_ns > 0) {
    report_cell(table, "%.3f", work->engine_ns / work->native_ns);
  } else {
    report_cell(table, "-");
  }
}

static void post_ops_cell(report_table *table, const lk_engine_choice_info *work) {
  if (work->n_post_ops == 0) {
    report_cell(table, "-");
  } else {
    report_cell(table, "%" PRIu32 " of %" PRIu32, work->taken_post_ops, work->n_post_ops);
  }
}

static lk_status print_works(const offers_report *report, lk_error *error) {
  report_table *table =
      report_table_create("node|work|>native us|>engine us|>ratio|>build us|>bytes|>built|post-ops|"
                          "taken|by|reason");
  for (size_t i = 0; i < report->n_works; i++) {
    const lk_engine_choice_info *work = &report->works[i];
    report_cell(table, "%s", work->node);
    report_cell(table, "%s", work->work);
    time_cell(table, work, work->native_ns, work->is_measured != 0);
    time_cell(table, work, work->engine_ns, work->is_measured != 0);
    ratio_cell(table, work);
    time_cell(table, work, work->build_ns, false);
    bytes_cell(table, work->tensor_bytes);
    bytes_cell(table, work->built_bytes);
    post_ops_cell(table, work);
    report_cell(table, "%s", work->is_engine != 0 ? work->engine : "native");
    report_cell(table, "%s", work->rule != LK_CHOICE_NONE ? lk_report_rule(work->rule) : "-");
    report_cell(table, "%s", work->reason[0] != '\0' ? work->reason : "-");
  }
  return report_table_print(table, 2, error);
}

static void print_head(const offers_report *report) {
  size_t offers = 0, taken = 0;
  for (size_t i = 0; i < report->n_works; i++) {
    offers += is_offered(&report->works[i]);
    taken += report->works[i].is_engine != 0;
  }
  (void)printf("offers, engine %s, %" PRId32 " thread%s, %s: ", report->engine, report->threads,
               report_s((uint64_t)report->threads), report->sizes);
  if (report->n_works == 0) {
    (void)printf("native computes everything, and nothing was offered to another engine%s\n",
                 strcmp(report->engine, "native") == 0 ? " (`latchkey doctor` says which there are)"
                                                       : "");
    return;
  }
  const char *asked = report->works[0].engine;
  (void)printf("%zu work%s, %s has offers for %zu and computes %zu\n", report->n_works,
               report_s(report->n_works), asked, offers, taken);
  if (report->tuning_works > 0) {
    (void)printf("  times of %" PRIu64 " work%s were read, %" PRIu64
                 " of them by this %s with %" PRId32 " thread%s\n",
                 report->tuning_works, report_s(report->tuning_works), report->tuning_fitting,
                 asked, report->threads, report_s((uint64_t)report->threads));
  }
  if (is_asked_late(report)) {
    (void)printf("  %s: native computes a size at first sight, and what follows is from its run %d "
                 "on%s\n",
                 report->is_by_data ? "sizes depend on values" : "dimensions are open",
                 FIRST_CHOSEN_RUN, report->is_by_data ? "" : " (--fix: from the first one on)");
  }
}

lk_status offers_report_print(const offers_report *report, lk_error *error) {
  print_head(report);
  return report->n_works > 0 ? print_works(report, error) : LK_OK;
}
