/* The models on the command line of `latchkey bench`: names, files and weights. */
#include "executor_glue/cli/bench/models_arg.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"

enum { MAX_WEIGHT = 1000000 };

/* ---- names and files ------------------------------------------------------------------------- */

static bench_model_arg *find(const bench_models_arg *models, const char *name, size_t length) {
  for (size_t i = 0; i < models->count; i++) {
    bench_model_arg *model = &models->items[i];
    if (strlen(model->name) == length && memcmp(model->name, name, length) == 0) return model;
  }
  return NULL;
}

/* How much of a file's name is its suffix. */
static size_t suffix_of(const char *path) {
  static const char suffix[] = ".onnx";
  const size_t length = strlen(path), n_suffix = sizeof suffix - 1;
  return length > n_suffix && strcmp(path + length - n_suffix, suffix) == 0 ? n_suffix : 0;
}

/* Splits [NAME=]FILE at the first '=', if no '/' stands before it. Without a NAME it is the file's,
 * without folder and suffix. */
static void split(const char *text, const char **name, size_t *length, const char **path) {
  const char *equals = strchr(text, '=');
  const char *slash = strchr(text, '/');
  if (equals != NULL && equals != text && (slash == NULL || equals < slash)) {
    *name = text;
    *length = (size_t)(equals - text);
    *path = equals + 1;
    return;
  }
  const char *last = strrchr(text, '/');
  *path = text;
  *name = last != NULL ? last + 1 : text;
  *length = strlen(*name) - suffix_of(*name);
}

/* Whoever forgets the quotes of --shape 'x={1,2}x4' gives a model 'x=2x4'. */
static lk_status check_file(const char *text, const char *path, lk_error *error) {
  if (*path == '\0') {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read the command line: '%s', NAME=FILE.onnx is needed", text);
  }
  if (path == text || suffix_of(path) > 0 || access(path, F_OK) == 0) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to read the command line: '%s' names a model, and there is no file '%s' "
                 "(the shell expands braces without quotes)",
                 text, path);
}

lk_status bench_models_add(bench_models_arg *models, const char *text, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  const char *name = NULL;
  const char *path = NULL;
  size_t length = 0;
  split(text, &name, &length, &path);
  LK_RETURN_NOT_OK(check_file(text, path, error));
  const bench_model_arg *same = find(models, name, length);
  if (same != NULL) {
    char called[81], first[151], second[151];
    (void)lk_text_escape(same->name, called, sizeof called);
    (void)lk_text_escape(same->path, first, sizeof first);
    (void)lk_text_escape(path, second, sizeof second);
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to name the models: '%s' and '%s' are both called '%s', give one "
                   "another name: NAME=FILE.onnx",
                   first, second, called);
  }
  if (!LK_GROW(allocator, models->items, models->count, models->capacity)) {
    return lk_fail_memory(error, "arguments", sizeof *models->items);
  }
  char *copy = lk_strndup(allocator, name, length);
  if (copy == NULL) return lk_fail_memory(error, "arguments", length);
  models->items[models->count++] = (bench_model_arg){.name = copy, .path = path, .weight = 1};
  return LK_OK;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* NAME:WEIGHT; the weight begins at the last ':'. `given`: [count] */
static lk_status read_share(const bench_models_arg *models, const char *text, bool *given,
                            lk_error *error) {
  const char *colon = strrchr(text, ':');
  uint64_t weight = 0;
  if (colon == NULL || colon == text || !lk_parse_number(colon + 1, false, &weight) ||
      weight > MAX_WEIGHT) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read --mix: '%s', NAME:WEIGHT with a weight from 0 to %d is needed",
                   text, MAX_WEIGHT);
  }
  bench_model_arg *model = find(models, text, (size_t)(colon - text));
  if (model == NULL) {
    return lk_fail(error, LK_NOT_FOUND,
                   "failed to read --mix: no model is called '%.*s', the first is called '%s'",
                   (int)(colon - text), text, models->items[0].name);
  }
  if (given[model - models->items]) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read --mix: '%s' is given twice, once is needed", model->name);
  }
  given[model - models->items] = true;
  model->weight = weight;
  return LK_OK;
}

static lk_status read_mix(const bench_models_arg *models, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = lk_allocator_default();
  bool *given = lk_calloc(allocator, models->count, sizeof *given);
  char *copy = lk_strdup(allocator, models->mix);
  if (given == NULL || copy == NULL) LK_TRY(lk_fail_memory(error, "--mix", models->count));
  char *rest = copy;
  for (char *share = strsep(&rest, ","); share != NULL; share = strsep(&rest, ",")) {
    LK_TRY(read_share(models, share, given, error));
  }

cleanup:
  lk_free(allocator, copy);
  lk_free(allocator, given);
  return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static lk_status make_title(bench_models_arg *models, lk_error *error) {
  size_t size = 1;
  for (size_t i = 0; i < models->count; i++) size += strlen(models->items[i].name) + 2;
  if (models->count == 1) size += strlen(models->items[0].path);
  models->title = lk_calloc(lk_allocator_default(), size, 1);
  if (models->title == NULL) return lk_fail_memory(error, "arguments", size);
  size_t used = 0;
  for (size_t i = 0; i < models->count; i++) {
    const bench_model_arg *model = &models->items[i];
    used += (size_t)snprintf(models->title + used, size - used, "%s%s", i > 0 ? ", " : "",
                             models->count > 1 ? model->name : model->path);
  }
  return LK_OK;
}

lk_status bench_models_end(bench_models_arg *models, lk_error *error) {
  if (models->mix != NULL) LK_RETURN_NOT_OK(read_mix(models, error));
  for (size_t i = 0; i < models->count; i++) models->total_weight += models->items[i].weight;
  if (models->total_weight == 0) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read --mix: '%s', one weight must be more than 0", models->mix);
  }
  return make_title(models, error);
}

void bench_models_clear(bench_models_arg *models) {
  const lk_allocator *allocator = lk_allocator_default();
  for (size_t i = 0; i < models->count; i++) lk_free(allocator, models->items[i].name);
  lk_free(allocator, models->items);
  lk_free(allocator, models->title);
  *models = (bench_models_arg){0};
}
