/* One ONNX test case: a folder with model.onnx and test_data_set_N/{input,output}_N.pb. */
#include "executor_glue/cli/test_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/onnx/load.h"

enum { PATH_CAPACITY = 4096 };

/* The tensors input_0.pb, input_1.pb ... of a data set, or its outputs. */
typedef struct tensor_files {
  lk_named_tensor *tensors; /* names may be "" */
  uint32_t count;
} tensor_files;

static lk_status join(char path[PATH_CAPACITY], const char *folder, const char *name,
                      lk_error *error) {
  int length = snprintf(path, PATH_CAPACITY, "%s/%s", folder, name);
  if (length >= 0 && length < PATH_CAPACITY) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to open a file: its path is too long, it is in '%s'", folder);
}

bool test_case_is(const char *folder) {
  char path[PATH_CAPACITY];
  return join(path, folder, "model.onnx", NULL) == LK_OK && access(path, F_OK) == 0;
}

static void destroy_files(tensor_files *files) {
  const lk_allocator *allocator = lk_allocator_default();
  for (uint32_t i = 0; i < files->count; i++) {
    lk_free(allocator, (char *)(uintptr_t)files->tensors[i].name);
    lk_free(allocator, files->tensors[i].tensor.data);
  }
  lk_free(allocator, files->tensors);
}

/* `kind`: "input" or "output". `out` is zeroed; after a failure it holds what was read before. */
static lk_status read_files(const char *folder, const char *kind, tensor_files *out,
                            lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  size_t capacity = 0;
  for (;;) {
    char name[32];
    char path[PATH_CAPACITY];
    (void)snprintf(name, sizeof name, "%s_%" PRIu32 ".pb", kind, out->count);
    LK_RETURN_NOT_OK(join(path, folder, name, error));
    if (access(path, F_OK) != 0) return LK_OK;
    if (!LK_GROW(allocator, out->tensors, out->count, capacity)) {
      return lk_fail_memory(error, path, sizeof *out->tensors);
    }
    lk_named_tensor *next = &out->tensors[out->count];
    *next = (lk_named_tensor){0};
    char *tensor_name = NULL;
    LK_RETURN_NOT_OK(lk_onnx_read_tensor(allocator, path, &next->tensor, &tensor_name, error));
    next->name = tensor_name;
    out->count++;
  }
}

/* Which of the model's inputs or outputs a file is for: the one of its name, if every file has the
 * name of a different one; else the one of its number. `places` [files->count]. */
static lk_status match_names(const cli_model *model, bool output, const tensor_files *files,
                             uint32_t *places, lk_error *error) {
  const uint32_t count = cli_value_count(model, output);
  if (files->count != count) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read the data set: %" PRIu32 " %s files, the model has %" PRIu32
                   " %s",
                   files->count, output ? "output" : "input", count, output ? "outputs" : "inputs");
  }
  bool by_name = true;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t place = count;
    for (uint32_t j = 0; j < count && place == count; j++) {
      const char *name = files->tensors[i].name;
      if (name != NULL && strcmp(cli_value_info(model, output, j).name, name) == 0) place = j;
    }
    for (uint32_t j = 0; j < i; j++) by_name = by_name && places[j] != place;
    by_name = by_name && place < count;
    places[i] = place;
  }
  for (uint32_t i = 0; i < count && !by_name; i++) places[i] = i;
  return LK_OK;
}

static lk_status run_data_set(cli_model *model, const char *folder, tolerance within,
                              lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = lk_allocator_default();
  tensor_files given = {0};
  tensor_files expected = {0};
  lk_named_tensor *inputs = NULL;
  uint32_t *places = NULL;

  LK_TRY(read_files(folder, "input", &given, error));
  LK_TRY(read_files(folder, "output", &expected, error));
  uint32_t most = given.count > expected.count ? given.count : expected.count;
  places = lk_calloc(allocator, most, sizeof *places);
  inputs = lk_calloc(allocator, given.count, sizeof *inputs);
  if (places == NULL || inputs == NULL) {
    LK_TRY(lk_fail_memory(error, folder, most * sizeof *inputs));
  }
  LK_TRY(match_names(model, false, &given, places, error));
  for (uint32_t i = 0; i < given.count; i++) {
    inputs[i].tensor = given.tensors[i].tensor;
    inputs[i].name = cli_value_info(model, false, places[i]).name;
  }
  LK_TRY(cli_model_run(model, inputs, given.count, error));
  LK_TRY(match_names(model, true, &expected, places, error));
  for (uint32_t i = 0; i < expected.count; i++) {
    const lk_named_tensor *got = &model->outputs[places[i]];
    LK_TRY(compare_tensors(&got->tensor, &expected.tensors[i].tensor, within, got->name, error));
  }

cleanup:
  cli_model_release_outputs(model);
  destroy_files(&given);
  destroy_files(&expected);
  lk_free(allocator, inputs);
  lk_free(allocator, places);
  return status;
}

static lk_status run_data_sets(cli_model *model, const char *folder, tolerance within,
                               lk_error *error) {
  for (uint32_t n = 0;; n++) {
    char name[48];
    char path[PATH_CAPACITY];
    (void)snprintf(name, sizeof name, "test_data_set_%" PRIu32, n);
    LK_RETURN_NOT_OK(join(path, folder, name, error));
    if (access(path, F_OK) != 0) {
      return n > 0 ? LK_OK
                   : lk_fail(error, LK_NOT_FOUND, "failed to find data: no folder test_data_set_0");
    }
    const lk_status status = run_data_set(model, path, within, error);
    if (status != LK_OK) return n > 0 ? lk_error_prefix(error, status, "%s", name) : status;
  }
}

test_result test_case_run(const model_args *args, cli_model *model, const char *folder,
                          tolerance within, lk_error *reason) {
  lk_status status = LK_OK;
  char path[PATH_CAPACITY];
  LK_TRY(join(path, folder, "model.onnx", reason));
  LK_TRY(cli_session_open(args, path, model, reason));
  LK_TRY(run_data_sets(model, folder, within, reason));

cleanup:
  cli_session_close(model);
  return status == LK_OK ? TEST_OK : status == LK_UNSUPPORTED ? TEST_SKIPPED : TEST_FAILED;
}
