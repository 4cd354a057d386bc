/* What a context and the process count. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/status.h"
#include "executor_glue/report/json.h"
#include "executor_glue/report/report.h"
#include "executor_glue/run/arena_store.h"

json_t *lk_report_begin(const lk_api *api) {
  lk_threads_stats threads = {.struct_size = sizeof threads};
  lk_json report = lk_json_begin(json_object()), process = lk_json_begin(json_object());
  if (api->threads_stats(&threads, NULL) != LK_OK) process.failed = true;
  LK_JSON_SET(&process, &threads, processors, running, peak, waiting, waits);
  lk_json_set(&report, "schema", json_string("latchkey-statistics-1"));
  lk_json_set(&report, "version", json_string(api->version_text()));
  lk_json_set(&report, "time_ns", lk_json_number(lk_now_ns()));
  lk_json_set(&report, "process", lk_json_end(&process));
  return lk_json_end(&report);
}

static json_t *kind_json(const lk_kind_stats *kind) {
  lk_json json = lk_json_begin(json_object());
  LK_JSON_SET(&json, kind, hits, misses, builds, failed_builds, waits, evictions, entries, bytes,
              build_ns);
  lk_json_set(&json, "build_times", lk_json_times(kind->build_times));
  return lk_json_end(&json);
}

static json_t *cache_json(const lk_stats *stats) {
  lk_json json = lk_json_begin(json_object()), kinds = lk_json_begin(json_object());
  for (uint32_t i = 0; i < LK_KIND_COUNT; i++) {
    lk_json_set(&kinds, lk_kind_name(i), kind_json(&stats->kind[i]));
  }
  lk_json_set(&json, "kinds", lk_json_end(&kinds));
  LK_JSON_SET(&json, stats, entries, bytes, peak_bytes, unlinked_bytes, capacity_entries,
              capacity_bytes, reorders);
  return lk_json_end(&json);
}

static json_t *weights_json(const lk_stats *stats) {
  lk_json json = lk_json_begin(json_object());
  LK_JSON_SET_PART(&json, stats, weights_, entries, bytes, packed, shared, lent_bytes,
                   capacity_bytes);
  return lk_json_end(&json);
}

/* Who has it. The counts are read one after the other, so under load the parts may be a little more
 * than the whole: then there are no others. */
static json_t *owners_json(const lk_stats *stats, uint64_t arena_bytes) {
  const uint64_t cache = stats->bytes + stats->unlinked_bytes;
  const uint64_t known =
      cache + stats->memory_weights_bytes + stats->memory_spare_bytes + arena_bytes;
  lk_json json = lk_json_begin(json_object());
  lk_json_set(&json, "cache", lk_json_number(cache));
  lk_json_set(&json, "weights", lk_json_number(stats->memory_weights_bytes));
  lk_json_set(&json, "arenas", lk_json_number(arena_bytes));
  lk_json_set(&json, "spare", lk_json_number(stats->memory_spare_bytes));
  lk_json_set(&json, "other",
              lk_json_number(stats->memory_bytes > known ? stats->memory_bytes - known : 0));
  return lk_json_end(&json);
}

static json_t *memory_json(const lk_stats *stats, uint64_t arena_bytes) {
  lk_json json = lk_json_begin(json_object());
  LK_JSON_SET_PART(&json, stats, memory_, bytes, peak_bytes, limit_bytes, refusals, refused_bytes);
  lk_json_set(&json, "allocations", lk_json_number(stats->allocations));
  lk_json_set(&json, "owners", owners_json(stats, arena_bytes));
  return lk_json_end(&json);
}

/* Names of nodes may be cut within a character. */
static json_t *reasons_json(const lk_api *api, lk_context *context) {
  lk_engine_left_info info = {.struct_size = sizeof info};
  lk_json reasons = lk_json_begin(json_array());
  for (uint32_t i = 0; api->engine_left(context, i, &info, NULL) == LK_OK; i++) {
    lk_json json = lk_json_begin(json_object());
    LK_JSON_SET(&json, &info, work, reason, node, works);
    lk_json_set(&json, "is_part", json_boolean(info.is_part != 0));
    lk_json_add(&reasons, lk_json_end(&json));
  }
  return lk_json_end(&reasons);
}

static json_t *choices_json(const lk_api *api, lk_context *context) {
  lk_engine_choice_info info = {.struct_size = sizeof info};
  lk_json choices = lk_json_begin(json_array());
  for (uint32_t i = 0; api->engine_choice(context, i, &info, NULL) == LK_OK; i++) {
    lk_json_add(&choices, lk_report_choice(&info));
  }
  return lk_json_end(&choices);
}

/* Whether nobody has asked for the engine that is in force. */
static bool has_default_engine(const lk_api *api, lk_context *context) {
  lk_option_info info = {.struct_size = sizeof info};
  for (uint32_t i = 0; api->option_info(context, i, &info, NULL) == LK_OK; i++) {
    if (strcmp(info.name, "engine") == 0) return info.source == LK_FROM_DEFAULT;
  }
  return false;
}

static json_t *engine_json(const lk_api *api, lk_context *context, const lk_stats *stats) {
  lk_json json = lk_json_begin(json_object());
  lk_json_set(&json, "name", json_string(api->engine_chosen(context)));
  lk_json_set(&json, "is_default", json_boolean(has_default_engine(api, context)));
  LK_JSON_SET_PART(&json, stats, engine_, works, left, references);
  lk_json_set(&json, "reasons", reasons_json(api, context));
  LK_JSON_SET(&json, stats, choices_measured, choices_of_class, choices_estimated, tuning_works,
              tuning_fitting, tuning_skipped);
  lk_json_set(&json, "choices", choices_json(api, context));
  return lk_json_end(&json);
}

json_t *lk_report_context(const lk_api *api, lk_context *context) {
  lk_stats stats = {.struct_size = sizeof stats};
  lk_json json = lk_json_begin(json_object());
  if (api->cache_stats(context, NULL, &stats, NULL) != LK_OK) json.failed = true;
  lk_json_set(&json, "cache_mode",
              json_string(lk_cache_mode_name(api->context_cache_mode(context))));
  lk_json_set(&json, "threads", json_integer(api->context_threads(context)));
  lk_json_set(&json, "engine", engine_json(api, context, &stats));
  lk_json_set(&json, "cache", cache_json(&stats));
  lk_json_set(&json, "weights", weights_json(&stats));
  lk_json_set(&json, "memory", memory_json(&stats, lk_arena_store_bytes_of(context)));
  return lk_json_end(&json);
}

/* A text while it grows. */
typedef struct report_text {
  const lk_allocator *allocator;
  char *data;
  size_t length, capacity;
  size_t wanted; /* where it could not grow */
  bool failed;   /* jansson goes on where it was writing a key */
} report_text;

enum { FIRST_BYTES = 4096 };

/* For json_dump_callback. Always has room for a NUL, too. */
static int append(const char *part, size_t size, void *data) {
  report_text *text = data;
  if (size >= text->capacity - text->length) {
    const size_t wanted = 2 * text->capacity + size + FIRST_BYTES;
    char *grown = lk_realloc(text->allocator, text->data, text->length, wanted);
    if (grown == NULL) {
      text->failed = true;
      text->wanted = wanted;
      return -1;
    }
    text->data = grown;
    text->capacity = wanted;
  }
  memcpy(text->data + text->length, part, size);
  text->length += size;
  return 0;
}

/* jansson spends most of a report on the way through it: it is gone once, into a text that grows,
 * and not before that for its length. */
lk_status lk_report_text(const lk_allocator *allocator, json_t *report, char **out_text,
                         lk_error *error) {
  report_text text = {.allocator = allocator};
  const bool is_whole =
      report != NULL &&
      json_dump_callback(report, append, &text, JSON_COMPACT | JSON_ENSURE_ASCII) == 0 &&
      !text.failed;
  json_decref(report);
  *out_text = NULL;
  if (!is_whole) {
    lk_free(allocator, text.data);
    return lk_fail_memory(error, "a report", text.wanted > 0 ? text.wanted : (size_t)FIRST_BYTES);
  }
  text.data[text.length] = '\0';
  *out_text = text.data;
  return LK_OK;
}
