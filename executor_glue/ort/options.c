/* Options of a session: one row each. */
#include "executor_glue/ort/options.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"

/* ---- values ---- */

static lk_status refuse(const char *option, const char *value, const char *allowed,
                        lk_error *error) {
  return lk_fail(error, LK_OUT_OF_RANGE, "failed to read provider option '%s': '%.128s', %s",
                 option, value, allowed);
}

static lk_status set_cache(const char *value, lk_ort_options *out, lk_error *error) {
  if (lk_parse_cache_mode(value, &out->context.cache_mode)) return LK_OK;
  return refuse("cache", value, "one of off, thread, shared", error);
}

static lk_status set_entries(const char *value, lk_ort_options *out, lk_error *error) {
  if (lk_parse_number(value, false, &out->context.cache_entries)) return LK_OK;
  return refuse("cache_entries", value, "a number of entries", error);
}

static lk_status set_bytes(const char *value, lk_ort_options *out, lk_error *error) {
  if (lk_parse_number(value, true, &out->context.cache_bytes)) return LK_OK;
  return refuse("cache_bytes", value, "a number of bytes, with k, m or g", error);
}

static lk_status set_weights(const char *value, lk_ort_options *out, lk_error *error) {
  if (lk_parse_number(value, true, &out->context.weights_bytes)) return LK_OK;
  return refuse("weights_bytes", value, "a number of bytes, with k, m or g", error);
}

static lk_status set_threads(const char *value, lk_ort_options *out, lk_error *error) {
  uint64_t number = 0;
  if (!lk_parse_number(value, false, &number) || number < 1 || number > LK_MAX_THREADS) {
    return refuse("threads", value, "1 to 1024", error);
  }
  out->context.threads = (int32_t)number;
  return LK_OK;
}

static lk_status set_adapt_threads(const char *value, lk_ort_options *out, lk_error *error) {
  const bool is_on = strcmp(value, "1") == 0;
  if (!is_on && strcmp(value, "0") != 0) return refuse("adapt_threads", value, "0 or 1", error);
  out->context.adapt_threads = is_on ? 1 : 0;
  return LK_OK;
}

static lk_status set_precision(const char *value, lk_ort_options *out, lk_error *error) {
  (void)out;
  return strcmp(value, "f32") == 0 ? LK_OK : refuse("precision", value, "f32", error);
}

static lk_status set_log_level(const char *value, lk_ort_options *out, lk_error *error) {
  static const char *const names[] = {"off", "warning", "info", "debug"};
  for (int32_t i = 0; i < 4; i++) {
    if (strcmp(value, names[i]) != 0) continue;
    out->context.verbose = i;
    return LK_OK;
  }
  return refuse("log_level", value, "one of off, warning, info, debug", error);
}

static lk_status set_statistics_file(const char *value, lk_ort_options *out, lk_error *error) {
  lk_free(lk_allocator_default(), out->statistics_file);
  out->statistics_file = lk_strdup(lk_allocator_default(), value);
  return out->statistics_file != NULL ? LK_OK : lk_fail_memory(error, "an option", strlen(value));
}

/* "name,name" */
static lk_status set_disabled_passes(const char *value, lk_ort_options *out, lk_error *error) {
  char *rest = NULL;
  lk_free(lk_allocator_default(), out->pass_names);
  out->pass_names = lk_strdup(lk_allocator_default(), value);
  out->n_disabled_passes = 0;
  if (out->pass_names == NULL) return lk_fail_memory(error, "an option", strlen(value));
  for (char *name = strtok_r(out->pass_names, ", ", &rest); name != NULL;
       name = strtok_r(NULL, ", ", &rest)) {
    if (out->n_disabled_passes == LK_ORT_MAX_DISABLED_PASSES) {
      return refuse("disabled_passes", value, "at most 32 names", error);
    }
    out->disabled_passes[out->n_disabled_passes++] = name;
  }
  return LK_OK;
}

static const struct {
  const char *name;
  lk_status (*set)(const char *value, lk_ort_options *out, lk_error *error);
} rows[] = {
    {"adapt_threads", set_adapt_threads},
    {"cache", set_cache},
    {"cache_bytes", set_bytes},
    {"cache_entries", set_entries},
    {"disabled_passes", set_disabled_passes},
    {"log_level", set_log_level},
    {"precision", set_precision},
    {"statistics_file", set_statistics_file},
    {"threads", set_threads},
    {"weights_bytes", set_weights},
};

/* ---- the session's entries ---- */

static lk_status set_option(const char *name, const char *value, lk_ort_options *out,
                            lk_error *error) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(rows[i].name, name) == 0) return rows[i].set(value, out, error);
  }
  char names[256] = "";
  for (size_t i = 0, used = 0; i < sizeof rows / sizeof rows[0] && used < sizeof names; i++) {
    used +=
        (size_t)snprintf(names + used, sizeof names - used, i > 0 ? ", %s" : "%s", rows[i].name);
  }
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to read provider option '%.128s': it is not one of %s", name, names);
}

lk_status lk_ort_options_read(const lk_ort *ort, const OrtSessionOptions *session,
                              lk_ort_options *out, lk_error *error) {
  static const size_t prefix_length = sizeof LK_ORT_OPTION_PREFIX - 1;
  lk_status status = LK_OK;
  OrtKeyValuePairs *entries = NULL;
  const char *const *keys = NULL, *const *values = NULL;
  size_t count = 0;
  *out = (lk_ort_options){.context = LK_CONTEXT_OPTIONS_INIT};
  LK_TRY(lk_ort_check(ort, ort_GetSessionOptionsConfigEntries(ort->api)(session, &entries),
                      "read the session's options", error));
  ort_GetKeyValuePairs(ort->api)(entries, &keys, &values, &count);
  for (size_t i = 0; i < count; i++) {
    if (strncmp(keys[i], LK_ORT_OPTION_PREFIX, prefix_length) != 0) continue;
    LK_TRY(set_option(keys[i] + prefix_length, values[i], out, error));
  }
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
  lk_free(lk_allocator_default(), options->pass_names);
  *options = (lk_ort_options){0};
}
