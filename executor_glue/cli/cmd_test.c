/* latchkey test: runs ONNX test-case folders. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/numbers.h"
#include "executor_glue/cli/common/options.h"
#include "executor_glue/cli/common/progress.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/test_case.h"

typedef struct test_args {
  cli_args common;
  tolerance tolerance;
  char **folders; /* [n_folders], part of argv */
  int n_folders;
  int counts[3]; /* of cases, by test_result; filled in by the work */
} test_args;

/* Paths of the cases that were found. */
typedef struct case_list {
  char **paths;
  size_t count, capacity;
} case_list;

/* MAX_DEPTH bounds a folder that contains itself through a link. */
enum { KEY_RTOL = 0x400, KEY_ATOL, MAX_DEPTH = 16 };

static const struct argp_option options[] = {
    {"rtol", KEY_RTOL, "X", 0, "Allow floats a relative difference of X (default: 1e-3)", 1},
    {"atol", KEY_ATOL, "X", 0, "Allow floats an absolute difference of X (default: 1e-7)", 1},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  test_args *args = state->input;
  lk_error *error = &args->common.error;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &args->common.model;
    return 0;
  case KEY_RTOL:
    return cli_parsed(parse_tolerance(arg, "--rtol", &args->tolerance.relative, error));
  case KEY_ATOL:
    return cli_parsed(parse_tolerance(arg, "--atol", &args->tolerance.absolute, error));
  case ARGP_KEY_ARGS:
    args->folders = state->argv + state->next;
    args->n_folders = state->argc - state->next;
    return 0;
  case ARGP_KEY_NO_ARGS:
    return cli_parsed(lk_fail(error, LK_INVALID_ARGUMENT,
                              "failed to read the command line: DIR is missing, see --help"));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&model_argp, 0, "Library:", 10}, {0}};
static const char doc[] =
    "Runs ONNX test cases: folders with model.onnx and test_data_set_N/{input,output}_N.pb, or "
    "folders of such folders.\v"
    "Prints a line for each case: 'ok', 'FAIL' or 'skip', its name and the reason, then a summary. "
    "The exit code is 1 when a case failed. Floats are compared as ONNX's own backend tests do, "
    "NaN and infinities included; integers must be equal. A case is skipped only for what the "
    "library does not support.\n\n"
    "Example:\n"
    "  latchkey test onnx/backend/test/data/node";

static const struct argp command = {
    .options = options,
    .parser = parse,
    .args_doc = "DIR...",
    .doc = doc,
    .children = children,
};

/* ---- finding --------------------------------------------------------------------------------- */

static lk_status find_cases(case_list *list, const char *folder, int depth, lk_error *error);

static lk_status find_in_entry(case_list *list, const char *folder, const char *name, int depth,
                               lk_error *error) {
  char path[4096];
  struct stat info;
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  if (name[0] == '.' || length < 0 || (size_t)length >= sizeof path) return LK_OK;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return LK_OK;
  return find_cases(list, path, depth + 1, error);
}

static lk_status find_cases(case_list *list, const char *folder, int depth, lk_error *error) {
  if (test_case_is(folder)) {
    char *path = lk_strdup(lk_allocator_default(), folder);
    if (path == NULL ||
        !LK_GROW(lk_allocator_default(), list->paths, list->count, list->capacity)) {
      lk_free(lk_allocator_default(), path);
      return lk_fail_memory(error, "a list of folders", sizeof path);
    }
    list->paths[list->count++] = path;
    return LK_OK;
  }
  if (depth > MAX_DEPTH) return LK_OK;
  struct dirent **entries = NULL;
  int n_entries = scandir(folder, &entries, NULL, alphasort);
  if (n_entries < 0) {
    return lk_fail(error, errno == ENOENT ? LK_NOT_FOUND : LK_IO, "failed to open folder '%s': %s",
                   folder, strerror(errno));
  }
  lk_status status = LK_OK;
  for (int i = 0; i < n_entries; i++) {
    if (status == LK_OK) {
      status = find_in_entry(list, folder, entries[i]->d_name, depth, error);
    }
    free(entries[i]);
  }
  free(entries);
  return status;
}

static lk_status find_all(const test_args *args, case_list *list, lk_error *error) {
  for (int i = 0; i < args->n_folders; i++) {
    size_t before = list->count;
    LK_RETURN_NOT_OK(find_cases(list, args->folders[i], 0, error));
    if (list->count == before) {
      return lk_fail(error, LK_NOT_FOUND,
                     "failed to find test cases: no model.onnx in '%s' or below it",
                     args->folders[i]);
    }
  }
  return LK_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The name is the last part of the path, whatever the number of slashes behind it. */
static void print_case(const char *path, test_result result, const lk_error *reason) {
  static const char *const words[] = {
      [TEST_OK] = "ok", [TEST_FAILED] = "FAIL", [TEST_SKIPPED] = "skip"};
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') begin--;
  const char *name = path + begin;
  const int length = (int)(end - begin);
  if (result == TEST_OK) {
    report_line("%-4s %.*s", words[result], length, name);
  } else {
    report_line("%-4s %.*s (%s)", words[result], length, name, reason->message);
  }
  (void)fflush(stdout);
}

static json_t *case_json(const char *path, test_result result, const lk_error *reason) {
  static const char *const words[] = {
      [TEST_OK] = "ok", [TEST_FAILED] = "failed", [TEST_SKIPPED] = "skipped"};
  return json_pack("{s:o, s:s, s:o}", "folder", lk_json_text(path), "result", words[result],
                   "reason", result == TEST_OK ? json_null() : lk_json_text(reason->message));
}

static lk_status test(void *arguments, lk_error *error) {
  test_args *args = arguments;
  const model_args *library = &args->common.model;
  int *counts = args->counts;
  lk_status status = LK_OK;
  cli_model model = {0};
  case_list list = {0};
  json_t *cases = NULL;
  progress bar = {0};

  LK_TRY(find_all(args, &list, error));
  LK_TRY(cli_context_open(library, &model, error));
  if (library->json) cases = json_array();
  /* Where the lines go to the terminal, they are the progress. */
  if (library->json || !isatty(STDOUT_FILENO)) progress_begin(&bar, "cases", list.count);
  for (size_t i = 0; i < list.count; i++) {
    lk_error reason = {0};
    test_result result = test_case_run(library, &model, list.paths[i], args->tolerance, &reason);
    counts[result]++;
    if (library->json) {
      (void)json_array_append_new(cases, case_json(list.paths[i], result, &reason));
    } else {
      print_case(list.paths[i], result, &reason);
    }
    progress_set(&bar, i + 1);
  }
  progress_end(&bar);
  if (library->json) {
    json_t *root = json_pack("{s:i, s:i, s:i, s:o}", "passed", counts[TEST_OK], "failed",
                             counts[TEST_FAILED], "skipped", counts[TEST_SKIPPED], "cases", cases);
    LK_TRY(report_json(root, error));
  } else {
    (void)printf("%d passed, %d failed, %d skipped\n", counts[TEST_OK], counts[TEST_FAILED],
                 counts[TEST_SKIPPED]);
  }

cleanup:
  progress_end(&bar);
  cli_model_close(&model);
  for (size_t i = 0; i < list.count; i++) lk_free(lk_allocator_default(), list.paths[i]);
  lk_free(lk_allocator_default(), list.paths);
  return status;
}

int cli_cmd_test(int argc, char **argv) {
  test_args args = {.tolerance = {.relative = 1e-3, .absolute = 1e-7}};
  const int code = cli_run(&command, argc, argv, &args.common, 1, test);
  return args.counts[TEST_FAILED] > 0 ? CLI_FAILED : code;
}
