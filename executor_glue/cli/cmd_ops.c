/* latchkey ops: the operators that exist. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include <latchkey/latchkey.h>

#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/report.h"

static const struct argp_option options[] = {{"json", 'j', NULL, 0, "Print JSON", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  cli_args *args = state->input;
  switch (key) {
  case 'j':
    args->model.json = true;
    return 0;
  case ARGP_KEY_ARG:
    return cli_parsed(lk_fail(&args->error, LK_INVALID_ARGUMENT,
                              "failed to read the command line: '%s', no argument is needed", arg));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const char doc[] = "Lists the operators that exist.\v"
                          "'opsets' are versions of the operator set that the operator comes from. "
                          "'in place': it may write its output over an input. 'post-ops': "
                          "activations and sums that follow it can be fused into it.\n\n"
                          "Example:\n"
                          "  latchkey ops --json";

static const struct argp command = {
    .options = options,
    .parser = parse,
    .doc = doc,
};

static lk_status list_ops(void *arguments, lk_error *error) {
  const bool json = ((const cli_args *)arguments)->model.json;
  const lk_api *api = lk_get_api(LK_API_VERSION);
  if (api == NULL) {
    return lk_fail(error, LK_VERSION,
                   "failed to load the library: it does not speak version %u of its interface",
                   LK_API_VERSION);
  }
  json_t *list = json ? json_array() : NULL;
  report_table *table =
      json ? NULL : report_table_create("operator|domain|opsets|in place|post-ops|summary");
  const lk_op_row *row = NULL;
  for (uint32_t i = 0; (row = api->op_row(i)) != NULL; i++) {
    const char *domain = row->domain == NULL || row->domain[0] == '\0' ? "ai.onnx" : row->domain;
    const char *summary = row->summary != NULL ? row->summary : "";
    if (json) {
      (void)json_array_append_new(
          list,
          json_pack("{s:s, s:s, s:i, s:i, s:b, s:b, s:b, s:s}", "operator", row->op_type, "domain",
                    domain, "min_opset", row->since, "max_opset", LK_MAX_OPSET, "worth_claiming",
                    (row->flags & LK_OP_WORTH_CLAIMING) != 0, "in_place", row->in_place_inputs != 0,
                    "post_ops", (row->flags & LK_OP_POST_OPS) != 0, "summary", summary));
      continue;
    }
    report_cell(table, "%s", row->op_type);
    report_cell(table, "%s", domain);
    report_cell(table, "%" PRId32 "-%" PRId32, row->since, (int32_t)LK_MAX_OPSET);
    report_cell(table, "%s", row->in_place_inputs != 0 ? "yes" : "no");
    report_cell(table, "%s", (row->flags & LK_OP_POST_OPS) != 0 ? "yes" : "no");
    report_cell(table, "%s", summary);
  }
  return json ? report_json(list, error) : report_table_print(table, 0, error);
}

int cli_cmd_ops(int argc, char **argv) {
  cli_args args = {0};
  return cli_run(&command, argc, argv, &args, 1, list_ops);
}
