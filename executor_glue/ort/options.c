/* Options of a session: one row each. */
#include "executor_glue/ort/options.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"

/* ---- values: LK_OUT_OF_RANGE where a value is not allowed ---- */

static lk_status allowed_if(bool is_allowed) {
  return is_allowed ? LK_OK : LK_OUT_OF_RANGE;
}

static lk_status set_cache(const char *value, lk_ort_options *out) {
  return allowed_if(lk_parse_cache_mode(value, &out->context.cache_mode));
}

static lk_status set_claim(const char *value, lk_ort_options *out) {
  out->claims_all = strcmp(value, "all") == 0;
  return allowed_if(out->claims_all || strcmp(value, "gains") == 0);
}

/* The largest numbers mean something else in a context's options, and so does 0. */
static lk_status set_amount(const char *value, bool units, uint64_t least, uint64_t *out) {
  uint64_t number = 0;
  if (!lk_parse_number(value, units, &number) || number < least || number >= LK_NONE) {
    return LK_OUT_OF_RANGE;
  }
  *out = number != 0 ? number : LK_NONE;
  return LK_OK;
}

static lk_status set_entries(const char *value, lk_ort_options *out) {
  return set_amount(value, false, 0, &out->context.cache_entries);
}

static lk_status set_bytes(const char *value, lk_ort_options *out) {
  return set_amount(value, true, 0, &out->context.cache_bytes);
}

static lk_status set_memory(const char *value, lk_ort_options *out) {
  return set_amount(value, true, 1, &out->context.memory_bytes);
}

static lk_status set_weights(const char *value, lk_ort_options *out) {
  return set_amount(value, true, 0, &out->context.weights_bytes);
}

static lk_status set_threads(const char *value, lk_ort_options *out) {
  uint64_t number = 0;
  if (!lk_parse_number(value, false, &number) || number < 1 || number > LK_MAX_THREADS) {
    return LK_OUT_OF_RANGE;
  }
  out->context.threads = (int32_t)number;
  return LK_OK;
}

static lk_status set_precision(const char *value, lk_ort_options *out) {
  (void)out;
  return allowed_if(strcmp(value, "f32") == 0);
}

static lk_status set_log_level(const char *value, lk_ort_options *out) {
  static const char *const names[] = {"off", "warning", "info", "debug"};
  int32_t level = 0;
  while (level < 4 && strcmp(value, names[level]) != 0) level++;
  out->context.verbose = level != 0 ? level : LK_LOG_OFF;
  return allowed_if(level < 4);
}

static lk_status copy(const char *value, char **to) {
  lk_free(lk_allocator_default(), *to);
  *to = lk_strdup(lk_allocator_default(), value);
  return *to != NULL ? LK_OK : LK_OUT_OF_MEMORY;
}

static lk_status set_statistics_file(const char *value, lk_ort_options *out) {
  return copy(value, &out->statistics_file);
}

static lk_status set_trace_file(const char *value, lk_ort_options *out) {
  return copy(value, &out->trace_file);
}

/* Whether there is such an engine, the context says when it is made. */
static lk_status set_engine(const char *value, lk_ort_options *out) {
  LK_RETURN_NOT_OK(copy(value, &out->engine));
  out->context.engine = out->engine;
  return allowed_if(value[0] != '\0');
}

static lk_status set_tuning(const char *value, lk_ort_options *out) {
  LK_RETURN_NOT_OK(copy(value, &out->tuning_file));
  out->context.tuning = out->tuning_file;
  return LK_OK;
}

static lk_status set_run_statistics(const char *value, lk_ort_options *out) {
  out->run_statistics = strcmp(value, "on") == 0;
  return allowed_if(out->run_statistics || strcmp(value, "off") == 0);
}

/* "name,name" */
static lk_status set_disabled_passes(const char *value, lk_ort_options *out) {
  char *rest = NULL;
  out->n_disabled_passes = 0;
  LK_RETURN_NOT_OK(copy(value, &out->pass_names));
  for (char *name = strtok_r(out->pass_names, ", ", &rest); name != NULL;
       name = strtok_r(NULL, ", ", &rest)) {
    if (out->n_disabled_passes == LK_ORT_MAX_DISABLED_PASSES) return LK_OUT_OF_RANGE;
    out->disabled_passes[out->n_disabled_passes++] = name;
  }
  return LK_OK;
}

static lk_status set_action(const char *value, lk_ort_options *out) {
  const bool clears = strcmp(value, "clear") == 0, trims = strcmp(value, "trim") == 0;
  out->clears = out->clears || clears;
  out->trims = out->trims || trims;
  return allowed_if(clears || trims);
}

/* When an option may be given. */
enum { AT_START = 1, ANY_TIME = 2, BOTH = AT_START | ANY_TIME };

static const struct {
  const char *name;
  lk_status (*set)(const char *value, lk_ort_options *out);
  const char *allowed;
  uint32_t when;
} rows[] = {
    {"cache", set_cache, "one of off, thread, shared", AT_START},
    {"cache_action", set_action, "one of clear, trim", ANY_TIME},
    {"cache_bytes", set_bytes, "a number of bytes, with k, m or g", BOTH},
    {"cache_entries", set_entries, "a number of entries", BOTH},
    {"claim", set_claim, "one of gains, all", AT_START},
    {"disabled_passes", set_disabled_passes, "at most 32 names", AT_START},
    {"engine", set_engine, "the name of an engine", AT_START},
    {"log_level", set_log_level, "one of off, warning, info, debug", AT_START},
    {"memory_bytes", set_memory, "a number of bytes from 1 on, with k, m or g", BOTH},
    {"precision", set_precision, "f32", AT_START},
    {"run_statistics", set_run_statistics, "one of off, on", AT_START},
    {"statistics_file", set_statistics_file, "the name of a file", AT_START},
    {"threads", set_threads, "1 to 1024", AT_START},
    {"trace_file", set_trace_file, "the name of a file", AT_START},
    {"tuning", set_tuning, "the name of a file", AT_START},
    {"weights_bytes", set_weights, "a number of bytes, with k, m or g", BOTH},
};

/* ---- the session's entries ---- */

/* Of a name or value, 64 bytes are shown: escaped, they leave room for what is allowed. */

static lk_status refuse_name(const char *name, uint32_t when, const char *what, lk_error *error) {
  char names[256] = "";
  size_t used = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0] && used < sizeof names; i++) {
    if ((rows[i].when & when) == 0) continue;
    used +=
        (size_t)snprintf(names + used, sizeof names - used, used > 0 ? ", %s" : "%s", rows[i].name);
  }
  return lk_fail(error, LK_INVALID_ARGUMENT, "failed to read %s '%.64s': it is not one of %s", what,
                 name, names);
}

static lk_status set_option(const char *name, const char *value, uint32_t when, const char *what,
                            lk_ort_options *out, lk_error *error) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if ((rows[i].when & when) == 0 || strcmp(rows[i].name, name) != 0) continue;
    const lk_status status = rows[i].set(value, out);
    if (status == LK_OUT_OF_MEMORY) return lk_fail_memory(error, "an option", strlen(value));
    if (status == LK_OK) return LK_OK;
    return lk_fail(error, status, "failed to read %s '%s': it is '%.64s', it must be %s", what,
                   name, value, rows[i].allowed);
  }
  return refuse_name(name, when, what, error);
}

/* Entries without the provider's prefix are for others. */
static lk_status set_options(const char *const *keys, const char *const *values, size_t count,
                             uint32_t when, const char *what, lk_ort_options *out,
                             lk_error *error) {
  static const size_t prefix_length = sizeof LK_ORT_OPTION_PREFIX - 1;
  for (size_t i = 0; i < count; i++) {
    if (strncmp(keys[i], LK_ORT_OPTION_PREFIX, prefix_length) != 0) continue;
    LK_RETURN_NOT_OK(set_option(keys[i] + prefix_length, values[i], when, what, out, error));
  }
  return LK_OK;
}

lk_status lk_ort_options_change(const char *const *keys, const char *const *values, size_t count,
                                lk_ort_options *out, lk_error *error) {
  *out = (lk_ort_options){.context = LK_CONTEXT_OPTIONS_INIT};
  return set_options(keys, values, count, ANY_TIME, "dynamic provider option", out, error);
}

lk_status lk_ort_options_read(const lk_ort *ort, const OrtSessionOptions *session,
                              lk_ort_options *out, lk_error *error) {
  lk_status status = LK_OK;
  OrtKeyValuePairs *entries = NULL;
  const char *const *keys = NULL, *const *values = NULL;
  size_t count = 0;
  *out = (lk_ort_options){.context = LK_CONTEXT_OPTIONS_INIT};
  LK_TRY(lk_ort_check(ort, ort_GetSessionOptionsConfigEntries(ort->api)(session, &entries),
                      "read the session's options", error));
  ort_GetKeyValuePairs(ort->api)(entries, &keys, &values, &count);
  LK_TRY(set_options(keys, values, count, AT_START, "provider option", out, error));
  if (out->context.threads == 0) {
    const int32_t threads = lk_ort_session_threads(&ort->offsets, session);
    if (threads > 0) out->context.threads = threads < LK_MAX_THREADS ? threads : LK_MAX_THREADS;
  }
cleanup:
  if (entries != NULL) ort_ReleaseKeyValuePairs(ort->api)(entries);
  if (status != LK_OK) lk_ort_options_destroy(out);
  return status;
}

void lk_ort_options_destroy(lk_ort_options *options) {
  lk_free(lk_allocator_default(), options->statistics_file);
  lk_free(lk_allocator_default(), options->trace_file);
  lk_free(lk_allocator_default(), options->tuning_file);
  lk_free(lk_allocator_default(), options->engine);
  lk_free(lk_allocator_default(), options->pass_names);
  *options = (lk_ort_options){0};
}
