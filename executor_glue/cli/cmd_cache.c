/* latchkey cache: runs a model, then shows the keys of the cache. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/inputs.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/options.h"
#include "executor_glue/cli/common/progress.h"
#include "executor_glue/cli/common/report.h"

typedef enum cache_order { ORDER_BYTES, ORDER_AGE, ORDER_HITS } cache_order;

typedef struct cache_args {
  cli_args common;
  cache_order order;
} cache_args;

/* An entry as the visit showed it, but for `key`, which is its text. */
typedef struct cache_entry {
  char *key;
  lk_entry_info info;
} cache_entry;

typedef struct collection {
  const cli_model *model;
  cache_entry *entries;
  size_t count, capacity;
  lk_status status; /* of the first entry that could not be kept */
  lk_error *error;
} collection;

enum { KEY_SORT = 0x300 };

static const struct argp_option options[] = {
    {"sort", KEY_SORT, "ORDER", 0,
     "Sort by bytes (largest first, the default), age (used last first) or hits (most first)", 3},
    {0}};

static const char *const orders[] = {
    [ORDER_BYTES] = "bytes", [ORDER_AGE] = "age", [ORDER_HITS] = "hits"};

static error_t parse(int key, char *arg, struct argp_state *state) {
  cache_args *args = state->input;
  switch (key) {
  case KEY_SORT:
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
      if (strcmp(arg, orders[i]) != 0) continue;
      args->order = (cache_order)i;
      return 0;
    }
    return cli_parsed(lk_fail(&args->common.error, LK_OUT_OF_RANGE,
                              "failed to read --sort: '%s', bytes, age or hits is needed", arg));
  default:
    return cli_parse_model(key, arg, state);
  }
}

static const struct argp_child children[] = {
    {&model_argp, 0, "Library:", 10}, {&series_argp, 0, "Inputs:", 1}, {0}};
static const char doc[] =
    "Runs a model, then shows what the cache holds: keys as text, bytes and use.\v"
    "'age' counts from the entry that was used last, which has 0. 'in use' counts references "
    "besides the cache's own.\n\n"
    "Example:\n"
    "  latchkey cache rec.onnx --shape 'x=1x3x48x{64,128}' --requests 10";

static const struct argp command = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL",
    .doc = doc,
    .children = children,
};

static void collect(void *arg, const lk_entry_info *entry) {
  collection *all = arg;
  const lk_api *api = all->model->api;
  const lk_allocator *allocator = lk_allocator_default();
  size_t length = 0;
  if (all->status != LK_OK) return;
  all->status = api->key_print(all->model->context, entry->key, NULL, 0, &length, all->error);
  if (all->status != LK_OK) return;
  char *text = lk_alloc(allocator, length + 1);
  if (text == NULL || !LK_GROW(allocator, all->entries, all->count, all->capacity)) {
    lk_free(allocator, text);
    all->status = lk_fail_memory(all->error, "keys", length + 1);
    return;
  }
  all->status = api->key_print(all->model->context, entry->key, text, length + 1, NULL, all->error);
  if (all->status != LK_OK) {
    lk_free(allocator, text);
    return;
  }
  all->entries[all->count++] = (cache_entry){.key = text, .info = *entry};
}

static int compare_entries(const void *a, const void *b, void *argument) {
  const lk_entry_info *left = &((const cache_entry *)a)->info;
  const lk_entry_info *right = &((const cache_entry *)b)->info;
  int order = 0;
  switch (*(const cache_order *)argument) {
  case ORDER_AGE:
    order = (left->age > right->age) - (left->age < right->age);
    break;
  case ORDER_HITS:
    order = (left->hits < right->hits) - (left->hits > right->hits);
    break;
  case ORDER_BYTES:
    order = (left->bytes < right->bytes) - (left->bytes > right->bytes);
    break;
  }
  return order != 0 ? order : strcmp(((const cache_entry *)a)->key, ((const cache_entry *)b)->key);
}

static json_t *capacity_json(uint64_t capacity) {
  return capacity == LK_UNLIMITED ? json_string("unlimited") : lk_json_number(capacity);
}

static lk_status report_as_json(const collection *all, const lk_stats *stats, const char *mode,
                                lk_error *error) {
  json_t *list = json_array();
  for (size_t i = 0; i < all->count; i++) {
    const cache_entry *entry = &all->entries[i];
    (void)json_array_append_new(
        list, json_pack("{s:o, s:s, s:o, s:o, s:o, s:i}", "key", lk_json_text(entry->key), "kind",
                        lk_kind_name(entry->info.kind), "bytes", lk_json_number(entry->info.bytes),
                        "hits", lk_json_number(entry->info.hits), "age",
                        lk_json_number(entry->info.age), "in_use", (int)entry->info.in_use));
  }
  return report_json(json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cache", mode, "entries",
                               lk_json_number(stats->entries), "bytes",
                               lk_json_number(stats->bytes), "capacity_entries",
                               capacity_json(stats->capacity_entries), "capacity_bytes",
                               capacity_json(stats->capacity_bytes), "weights_entries",
                               lk_json_number(stats->weights_entries), "weights_bytes",
                               lk_json_number(stats->weights_bytes), "keys", list),
                     error);
}

static lk_status report_as_text(const collection *all, const lk_stats *stats, const char *mode,
                                lk_error *error) {
  char bytes[REPORT_TEXT_CAPACITY];
  char capacity[REPORT_TEXT_CAPACITY] = "unlimited";
  char entries[REPORT_TEXT_CAPACITY] = "unlimited";
  char weights[REPORT_TEXT_CAPACITY];
  report_table *table = report_table_create(">bytes|>hits|>age|>in use|kind|key");
  for (size_t i = 0; i < all->count; i++) {
    const cache_entry *entry = &all->entries[i];
    report_cell(table, "%" PRIu64, entry->info.bytes);
    report_cell(table, "%" PRIu64, entry->info.hits);
    report_cell(table, "%" PRIu64, entry->info.age);
    report_cell(table, "%" PRIu32, entry->info.in_use);
    report_cell(table, "%s", lk_kind_name(entry->info.kind));
    report_cell(table, "%s", entry->key);
  }
  LK_RETURN_NOT_OK(report_table_print(table, 0, error));
  if (stats->capacity_bytes != LK_UNLIMITED) (void)report_bytes(stats->capacity_bytes, capacity);
  if (stats->capacity_entries != LK_UNLIMITED) {
    (void)snprintf(entries, sizeof entries, "%" PRIu64, stats->capacity_entries);
  }
  (void)printf("\ncache %s: %" PRIu64 " entr%s of %s, %s of %s; %" PRIu64 " packed weight%s, %s\n",
               mode, stats->entries, stats->entries == 1 ? "y" : "ies", entries,
               report_bytes(stats->bytes, bytes), capacity, stats->weights_entries,
               report_s(stats->weights_entries), report_bytes(stats->weights_bytes, weights));
  return LK_OK;
}

static lk_status show_cache(void *arguments, lk_error *error) {
  const cache_args *own = arguments;
  const cli_args *args = &own->common;
  lk_status status = LK_OK;
  cli_model model = {0};
  input_series *series = NULL;
  lk_stats stats;
  collection all = {.model = &model, .error = error};
  progress bar;
  progress_begin(&bar, "requests", args->inputs.requests);

  LK_TRY(cli_model_open(&args->model, args->path, &model, error));
  LK_TRY(input_series_create(&model, &args->inputs, &series, error));
  for (uint64_t r = 0; r < args->inputs.requests; r++) {
    const lk_named_tensor *inputs = input_series_get(series, r);
    LK_TRY(cli_model_run(&model, inputs, input_series_count(series), error));
    progress_set(&bar, r + 1);
  }
  progress_end(&bar);
  LK_TRY(model.api->cache_visit(model.context, collect, &all, error));
  LK_TRY(all.status);
  if (all.count > 0) {
    cache_order order = own->order;
    qsort_r(all.entries, all.count, sizeof *all.entries, compare_entries, &order);
  }
  LK_TRY(cli_stats(&model, &stats, error));
  const char *mode = cli_cache_mode_text(&model);
  LK_TRY(args->model.json ? report_as_json(&all, &stats, mode, error)
                          : report_as_text(&all, &stats, mode, error));

cleanup:
  progress_end(&bar);
  for (size_t i = 0; i < all.count; i++) lk_free(lk_allocator_default(), all.entries[i].key);
  lk_free(lk_allocator_default(), all.entries);
  input_series_destroy(series);
  cli_model_close(&model);
  return status;
}

int cli_cmd_cache(int argc, char **argv) {
  cache_args args = {0};
  return cli_run(&command, argc, argv, &args.common, 1, show_cache);
}
