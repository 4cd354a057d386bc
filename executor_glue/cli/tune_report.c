/* What `latchkey tune` has measured: as a table and as JSON. */
#include "executor_glue/cli/tune_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/common/shape_text.h"
#include "executor_glue/report/report.h"

/* ---- what there is --------------------------------------------------------------------------- */

static lk_status add_size(tune_report *report, const lk_named_tensor *inputs, uint32_t n_inputs,
                          lk_error *error) {
  char *text = NULL;
  LK_RETURN_NOT_OK(shape_text_create(inputs, n_inputs, &text, error));
  if (!LK_GROW(lk_allocator_default(), report->sizes, report->n_sizes, report->sizes_capacity)) {
    free(text);
    return lk_fail_memory(error, "shapes", sizeof *report->sizes);
  }
  report->sizes[report->n_sizes++] = text;
  return LK_OK;
}

lk_status tune_report_add(tune_report *report, const cli_model *model,
                          const lk_named_tensor *inputs, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  lk_engine_choice_info choice = {.struct_size = sizeof choice};
  LK_RETURN_NOT_OK(add_size(report, inputs, cli_value_count(model, false), error));
  for (uint32_t i = 0; model->api->engine_choice(model->context, i, &choice, NULL) == LK_OK; i++) {
    if (!LK_GROW(allocator, report->rows, report->n_rows, report->rows_capacity)) {
      return lk_fail_memory(error, "choices", sizeof *report->rows);
    }
    report->rows[report->n_rows] =
        (tune_row){choice, (uint32_t)report->n_sizes - 1, (uint32_t)report->n_rows};
    report->n_rows++;
  }
  return LK_OK;
}

void tune_report_destroy(tune_report *report) {
  for (size_t i = 0; i < report->n_sizes; i++) free(report->sizes[i]);
  lk_free(lk_allocator_default(), report->sizes);
  lk_free(lk_allocator_default(), report->rows);
  *report = (tune_report){0};
}

/* Of the works that were measured. */
typedef struct tune_sums {
  uint32_t measured, taken; /* `taken`: by the engine */
  double native_ns, engine_ns, chosen_ns;
  const char *engine; /* NULL: none was asked */
} tune_sums;

static tune_sums sum_up(const tune_report *report) {
  tune_sums sums = {0};
  for (size_t i = 0; i < report->n_rows; i++) {
    const lk_engine_choice_info *choice = &report->rows[i].choice;
    if (choice->is_measured == 0) continue;
    sums.measured++;
    sums.taken += choice->is_engine != 0;
    sums.native_ns += choice->native_ns;
    sums.engine_ns += choice->engine_ns;
    sums.chosen_ns += choice->is_engine != 0 ? choice->engine_ns : choice->native_ns;
    sums.engine = choice->engine;
  }
  return sums;
}

bool tune_report_has_times(const tune_report *report) {
  return sum_up(report).measured > 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

json_t *tune_report_json(const tune_report *report, const char *model, const char *file) {
  const tune_sums sums = sum_up(report);
  json_t *choices = json_array();
  for (size_t i = 0; i < report->n_rows; i++) {
    json_t *one = lk_report_choice(&report->rows[i].choice);
    (void)json_object_set_new(one, "shape", lk_json_text(report->sizes[report->rows[i].size]));
    (void)json_array_append_new(choices, one);
  }
  return json_pack("{s:o, s:o, s:o, s:i, s:i, s:i, s:f, s:f, s:f, s:o}", "model",
                   lk_json_text(model), "file", file != NULL ? lk_json_text(file) : json_null(),
                   "works_written", lk_json_number(report->works), "sizes", (int)report->n_sizes,
                   "measured", (int)sums.measured, "taken", (int)sums.taken, "native_ns",
                   sums.native_ns, "engine_ns", sums.engine_ns, "chosen_ns", sums.chosen_ns,
                   "choices", choices);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* What the engine saves, where it was measured. */
static double saved_ns(const tune_row *row) {
  return row->choice.native_ns - row->choice.engine_ns;
}

/* What the engine saves most time for comes first, and what it would lose most for last; behind
 * these, what was not measured. */
static int compare_rows(const void *a, const void *b) {
  const tune_row *left = a, *right = b;
  int order = (left->choice.is_measured == 0) - (right->choice.is_measured == 0);
  if (order == 0 && left->choice.is_measured != 0) {
    order = (saved_ns(left) < saved_ns(right)) - (saved_ns(left) > saved_ns(right));
  }
  return order != 0 ? order : (left->number > right->number) - (left->number < right->number);
}

static lk_status print_rows(tune_report *report, lk_error *error) {
  const bool has_sizes = report->n_sizes > 1;
  report_table *table =
      report_table_create(has_sizes ? "node|work|>native us|>engine us|>ratio|chosen|shape|reason"
                                    : "node|work|>native us|>engine us|>ratio|chosen|reason");
  qsort(report->rows, report->n_rows, sizeof *report->rows, compare_rows);
  for (size_t i = 0; i < report->n_rows; i++) {
    const lk_engine_choice_info *choice = &report->rows[i].choice;
    report_cell(table, "%s", choice->node);
    report_cell(table, "%s", choice->work);
    if (choice->is_measured != 0) {
      report_cell(table, "%.1f", choice->native_ns / 1e3);
      report_cell(table, "%.1f", choice->engine_ns / 1e3);
      report_cell(table, "%.3f", choice->engine_ns / choice->native_ns);
    } else {
      report_cell(table, "-");
      report_cell(table, "-");
      report_cell(table, choice->is_of_class != 0 ? "~%.3f" : "-",
                  choice->engine_ns / choice->native_ns);
    }
    report_cell(table, "%s", choice->is_engine != 0 ? choice->engine : "native");
    if (has_sizes) report_cell(table, "%s", report->sizes[report->rows[i].size]);
    report_cell(table, "%s", choice->reason[0] != '\0' ? choice->reason : "-");
  }
  return report_table_print(table, 2, error);
}

lk_status tune_report_print(tune_report *report, const char *model, const char *file,
                            lk_error *error) {
  const tune_sums sums = sum_up(report);
  if (sums.measured == 0) {
    report_line("%s: no engine has an offer for any of its works beside native, so there is "
                "nothing to measure, and nothing was written",
                model);
    return LK_OK;
  }
  report_line("%s: %" PRIu32 " work%s measured at %zu size%s, %s is chosen for %" PRIu32, model,
              sums.measured, report_s(sums.measured), report->n_sizes, report_s(report->n_sizes),
              sums.engine, sums.taken);
  report_line("all of them: native %.3f ms, %s %.3f ms, as chosen %.3f ms", sums.native_ns / 1e6,
              sums.engine, sums.engine_ns / 1e6, sums.chosen_ns / 1e6);
  LK_RETURN_NOT_OK(print_rows(report, error));
  report_line("%s: %" PRIu64 " line%s more, equal works share one", file, report->works,
              report_s(report->works));
  return LK_OK;
}
