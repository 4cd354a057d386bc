/* latchkey ops: the operators that exist, and what models lack. */
#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <latchkey/latchkey.h>

#include "base/names.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/missing.h"

enum { MISSING = 256 };

static const struct argp_option options[] = {{"json", 'j', NULL, 0, "Print JSON", 0},
                                             {"missing", MISSING, NULL, 0,
                                              "List the operators of ai.onnx that do not exist "
                                              "here instead, and why; with models, what keeps "
                                              "each from running wholly here",
                                              0},
                                             {0}};

/* The arguments of the command alone. */
typedef struct ops_args {
  cli_args args; /* first: what cli_run hands over is this */
  bool missing;
  char *const *paths; /* of models, in argv */
  size_t n_paths;
  bool found; /* a model lacks something */
} ops_args;

static error_t parse(int key, char *arg, struct argp_state *state) {
  ops_args *self = state->input;
  (void)arg;
  switch (key) {
  case 'j':
    self->args.model.json = true;
    return 0;
  case MISSING:
    self->missing = true;
    return 0;
  case ARGP_KEY_ARGS:
    self->paths = state->argv + state->next;
    self->n_paths = (size_t)(state->argc - state->next);
    return 0;
  case ARGP_KEY_END:
    if (self->missing || self->n_paths == 0) return 0;
    return cli_parsed(lk_fail(&self->args.error, LK_INVALID_ARGUMENT,
                              "failed to read the command line: '%s', --missing is needed for a "
                              "model",
                              self->paths[0]));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const char doc[] = "Lists the operators that exist, or what models lack.\v"
                          "'opsets' are versions of the operator set that the operator comes from. "
                          "'in place': it may write its output over an input. 'post-ops': "
                          "activations and sums that follow it can be fused into it. JSON has the "
                          "types too: inputs and outputs with one letter have one type; and the "
                          "attributes, with the opsets that have them.\n\n"
                          "With models, every kind of node that cannot run is listed, also in "
                          "bodies and functions, and whatever else is not supported; the exit code "
                          "is 1 when there is any.\n\n"
                          "Examples:\n"
                          "  latchkey ops --missing --json\n"
                          "  latchkey ops --missing det.onnx rec.onnx";

static const struct argp command = {
    .options = options,
    .parser = parse,
    .args_doc = "[MODEL...]",
    .doc = doc,
};

/* ---- those that exist ---- */

static const char *domain_of(const lk_op_row *row) {
  return row->domain == NULL || row->domain[0] == '\0' ? "ai.onnx" : row->domain;
}

/* {"T": ["f32", ...], ...} */
static json_t *types_of(const lk_op_row *row) {
  json_t *groups = json_object();
  for (uint32_t group = 0; group < LK_MAX_TYPE_GROUPS; group++) {
    const char letter[] = {(char)('T' + group), '\0'};
    if (row->types[group] == 0) continue;
    json_t *names = json_array();
    for (uint32_t dtype = 1; dtype <= LK_BF16; dtype++) {
      if ((row->types[group] >> dtype & 1) == 0) continue;
      (void)json_array_append_new(names, json_string(lk_dtype_name(dtype)));
    }
    (void)json_object_set_new(groups, letter, names);
  }
  return groups;
}

/* "a|b" as a list. */
static json_t *texts_of(const char *texts) {
  json_t *list = json_array();
  for (const char *text = texts; text != NULL;) {
    const size_t length = strcspn(text, "|");
    (void)json_array_append_new(list, json_stringn(text, length));
    text = text[length] != '\0' ? text + length + 1 : NULL;
  }
  return list;
}

/* The default is the first; null: it may be anything. */
static json_t *choices_of(const lk_op_attr *attr) {
  if (attr->texts == NULL || attr->type == LK_ATTR_STRINGS) return json_null();
  if (attr->type == LK_ATTR_STRING) return texts_of(attr->texts);
  const int first = attr->has_default != 0 && attr->integer != 0 ? 1 : 0; /* of a flag */
  return json_pack("[i, i]", first, 1 - first);
}

/* null: it has none. */
static json_t *default_of(const lk_op_attr *attr) {
  if (attr->has_default == 0) return json_null();
  if (attr->type == LK_ATTR_STRINGS) return texts_of(attr->texts);
  if (attr->type == LK_ATTR_STRING) {
    return json_stringn(attr->texts, strcspn(attr->texts, "|"));
  }
  if (attr->is_list == 0) {
    return attr->type == LK_ATTR_INTS ? json_integer(attr->integer)
                                      : json_real((double)attr->number);
  }
  json_t *list = json_array();
  for (uint32_t i = 0; i < attr->n_integers; i++) {
    (void)json_array_append_new(list, json_integer(attr->integers[i]));
  }
  return list;
}

static const char *type_of(const lk_op_attr *attr) {
  static const char *const names[] = {"?",      "int",     "float", "string",
                                      "tensor", "strings", "graph", "sparse_tensor"};
  const bool is_list = attr->is_list != 0;
  return is_list && attr->type == LK_ATTR_INTS     ? "ints"
         : is_list && attr->type == LK_ATTR_FLOATS ? "floats"
                                                   : names[attr->type];
}

/* One for each range of opsets that has it in one way. */
static json_t *attrs_of(const lk_op_row *row) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    const lk_op_attr *attr = &row->attrs[i];
    (void)json_array_append_new(
        list,
        json_pack("{s:s, s:s, s:i, s:i, s:b, s:o, s:o, s:o, s:b}", "name", attr->name, "type",
                  type_of(attr), "min_opset", attr->since != 0 ? attr->since : row->since,
                  "max_opset", attr->until != 0 ? attr->until : LK_MAX_OPSET, "required",
                  attr->is_required != 0, "default", default_of(attr), "choices", choices_of(attr),
                  "input", attr->input != 0 ? json_integer(attr->input) : json_null(), "unused",
                  attr->is_unused != 0));
  }
  return list;
}

/* What passes make of it behind another operator; NULL: nothing. */
static const char *fused_as(const lk_op_row *row) {
  return row->fusion.kind != 0 ? lk_post_op_name(row->fusion.kind) : NULL;
}

static json_t *describe(const lk_op_row *row) {
  return json_pack("{s:s, s:s, s:i, s:i, s:b, s:b, s:b, s:s?, s:s?, s:s?, s:o, s:o, s:s}",
                   "operator", row->op_type, "domain", domain_of(row), "min_opset", row->since,
                   "max_opset", LK_MAX_OPSET, "worth_claiming",
                   (row->flags & LK_OP_WORTH_CLAIMING) != 0, "in_place", row->in_place_inputs != 0,
                   "post_ops", (row->flags & LK_OP_POST_OPS) != 0, "fused_as", fused_as(row),
                   "inputs", row->input_types, "outputs", row->output_types, "types", types_of(row),
                   "attributes", attrs_of(row), "summary", row->summary);
}

static lk_status list_rows(const lk_api *api, bool json, lk_error *error) {
  const lk_op_row *row = NULL;
  if (json) {
    json_t *list = json_array();
    for (uint32_t i = 0; (row = api->op_row(i)) != NULL; i++) {
      (void)json_array_append_new(list, describe(row));
    }
    return report_json(list, error);
  }
  report_table *table = report_table_create("operator|domain|opsets|in place|post-ops|summary");
  for (uint32_t i = 0; (row = api->op_row(i)) != NULL; i++) {
    report_cell(table, "%s", row->op_type);
    report_cell(table, "%s", domain_of(row));
    report_cell(table, "%" PRId32 "-%" PRId32, row->since, (int32_t)LK_MAX_OPSET);
    report_cell(table, "%s", row->in_place_inputs != 0 ? "yes" : "no");
    report_cell(table, "%s", (row->flags & LK_OP_POST_OPS) != 0 ? "yes" : "no");
    report_cell(table, "%s", row->summary);
  }
  return report_table_print(table, 0, error);
}

/* ---- those that do not ---- */

static lk_status list_missing(bool json, lk_error *error) {
  if (json) {
    json_t *list = json_array();
    for (size_t i = 0; i < n_missing_ops; i++) {
      (void)json_array_append_new(list, json_pack("{s:s, s:s}", "operator", missing_ops[i].name,
                                                  "reason", missing_ops[i].reason));
    }
    return report_json(list, error);
  }
  report_table *table = report_table_create("operator|reason");
  for (size_t i = 0; i < n_missing_ops; i++) {
    report_cell(table, "%s", missing_ops[i].name);
    report_cell(table, "%s", missing_ops[i].reason);
  }
  return report_table_print(table, 0, error);
}

static lk_status list_ops(void *arguments, lk_error *error) {
  ops_args *self = arguments;
  const lk_api *api = lk_get_api(LK_API_VERSION);
  if (api == NULL) {
    return lk_fail(error, LK_VERSION,
                   "failed to load the library: it does not speak version %u of its interface",
                   LK_API_VERSION);
  }
  const bool json = self->args.model.json;
  if (self->n_paths > 0) {
    return missing_report(&self->args.model, self->paths, self->n_paths, &self->found, error);
  }
  return self->missing ? list_missing(json, error) : list_rows(api, json, error);
}

int cli_cmd_ops(int argc, char **argv) {
  ops_args args = {0};
  const int code = cli_run(&command, argc, argv, &args.args, 1, list_ops);
  return code == CLI_OK && args.found ? CLI_FAILED : code;
}
