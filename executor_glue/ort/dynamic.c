/* Options that change while a session lives: limits of its cache, and what it is to do at once. */
#include "executor_glue/ort/dynamic.h"

#include <string.h>

#include "base/parse.h"
#include "base/status.h"
#include "executor_glue/ort/options.h"

typedef struct changes {
  uint64_t entries, bytes, weights_bytes, memory_bytes; /* LK_UNSET: stays */
  bool clear, trim;
} changes;

static bool set_action(const char *value, changes *out) {
  if (strcmp(value, "clear") == 0) return out->clear = true;
  if (strcmp(value, "trim") == 0) return out->trim = true;
  return false;
}
static bool set_bytes(const char *value, changes *out) {
  return lk_parse_number(value, true, &out->bytes);
}
static bool set_entries(const char *value, changes *out) {
  return lk_parse_number(value, false, &out->entries);
}
static bool set_memory(const char *value, changes *out) {
  return lk_parse_number(value, true, &out->memory_bytes) && out->memory_bytes > 0;
}
static bool set_weights(const char *value, changes *out) {
  return lk_parse_number(value, true, &out->weights_bytes);
}

static const struct {
  const char *name;
  bool (*set)(const char *value, changes *out);
  const char *allowed;
} rows[] = {
    {"cache_action", set_action, "one of clear, trim"},
    {"cache_bytes", set_bytes, "a number of bytes, with k, m or g"},
    {"cache_entries", set_entries, "a number of entries"},
    {"memory_bytes", set_memory, "a number of bytes from 1 on, with k, m or g"},
    {"weights_bytes", set_weights, "a number of bytes, with k, m or g"},
};

static lk_status read_entry(const char *name, const char *value, changes *out, lk_error *error) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(rows[i].name, name) != 0) continue;
    if (rows[i].set(value, out)) return LK_OK;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read dynamic provider option '%s': '%.128s', %s", name, value,
                   rows[i].allowed);
  }
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to read dynamic provider option '%.128s': it is not one of cache_action, "
                 "cache_bytes, cache_entries, memory_bytes, weights_bytes",
                 name);
}

static lk_status apply(const lk_ort_context *context, const changes *to, lk_error *error) {
  const lk_api *latchkey = context->ort->latchkey;
  lk_context *handle = context->handle;
  if (to->entries != LK_UNSET || to->bytes != LK_UNSET) {
    LK_RETURN_NOT_OK(latchkey->cache_set_capacity(handle, NULL, to->entries, to->bytes, error));
  }
  if (to->weights_bytes != LK_UNSET) {
    LK_RETURN_NOT_OK(latchkey->cache_set_weights_capacity(handle, to->weights_bytes, error));
  }
  LK_RETURN_NOT_OK(latchkey->memory_set_limit(handle, to->memory_bytes, error));
  if (to->clear) LK_RETURN_NOT_OK(latchkey->cache_clear(handle, NULL, error));
  if (to->trim) latchkey->cache_trim(handle);
  return LK_OK;
}

lk_status lk_ort_dynamic_set(const lk_ort_context *context, const char *const *keys,
                             const char *const *values, size_t count, lk_error *error) {
  static const size_t prefix_length = sizeof LK_ORT_OPTION_PREFIX - 1;
  changes to = {
      .entries = LK_UNSET, .bytes = LK_UNSET, .weights_bytes = LK_UNSET, .memory_bytes = LK_UNSET};
  for (size_t i = 0; i < count; i++) {
    if (strncmp(keys[i], LK_ORT_OPTION_PREFIX, prefix_length) != 0) continue;
    LK_RETURN_NOT_OK(read_entry(keys[i] + prefix_length, values[i], &to, error));
  }
  return apply(context, &to, error);
}
