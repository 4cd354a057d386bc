/* What is missing: the operators of ai.onnx that do not exist here, and what models lack. */
#include "executor_glue/cli/missing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/session/missing.h"

/* Names of nodes that are shown of each kind. */
enum { MOST_NAMES = 3 };

const missing_op missing_ops[] = {
#define MISSING_OP(name, reason) {name, reason},
#include "executor_glue/cli/missing_ops.inc"
#undef MISSING_OP
};
const size_t n_missing_ops = sizeof missing_ops / sizeof *missing_ops;

/* The table's reason, which says more than that there is no row. */
static const char *reason_of(const lk_missing_node *node) {
  for (size_t i = 0; node->domain[0] == '\0' && i < n_missing_ops; i++) {
    if (strcmp(missing_ops[i].name, node->op_type) == 0) return missing_ops[i].reason;
  }
  return node->reason;
}

/* ---- collecting ------------------------------------------------------------------------------ */

typedef struct collection {
  lk_json nodes, other;
} collection;

static bool has_text(const json_t *row, const char *key, const json_t *text) {
  return json_equal(json_object_get(row, key), text) != 0;
}

/* The row of the node's kind, which is new where there is none. NULL: no memory. */
static json_t *row_of(collection *all, const lk_missing_node *node) {
  lk_json row = lk_json_begin(json_object());
  lk_json_set(&row, "operator", lk_json_text(node->op_type));
  lk_json_set(&row, "domain", lk_json_text(node->domain[0] != '\0' ? node->domain : "ai.onnx"));
  lk_json_set(&row, "opset", json_integer(node->opset));
  lk_json_set(&row, "types", lk_json_text(node->types));
  lk_json_set(&row, "reason", lk_json_text(reason_of(node)));
  json_t *made = lk_json_end(&row), *other = NULL;
  size_t i = 0;
  json_array_foreach(all->nodes.value, i, other) {
    const char *key = NULL;
    json_t *value = NULL;
    bool same = made != NULL;
    json_object_foreach(made, key, value) same = same && has_text(other, key, value);
    if (!same) continue;
    json_decref(made);
    return other;
  }
  if (made == NULL) return NULL;
  lk_json kind = lk_json_begin(made);
  lk_json_set(&kind, "count", json_integer(0));
  lk_json_set(&kind, "nodes", json_array());
  made = lk_json_end(&kind);
  lk_json_add(&all->nodes, made);
  return all->nodes.failed ? NULL : made;
}

/* A node of a body has the scope of that before its name. */
static json_t *label_of(const lk_missing_node *node) {
  char text[512];
  (void)snprintf(text, sizeof text, "%s%s%s", node->scope, node->scope[0] != '\0' ? "/" : "",
                 node->label);
  return lk_json_text(text);
}

static lk_status add_node(void *arg, const lk_missing_node *node, lk_error *error) {
  collection *all = arg;
  json_t *row = row_of(all, node);
  if (row == NULL) return lk_fail_memory(error, "what is missing", sizeof *node);
  json_t *names = json_object_get(row, "nodes");
  bool failed =
      json_object_set_new(row, "count",
                          json_integer(1 + json_integer_value(json_object_get(row, "count")))) != 0;
  if (json_array_size(names) < MOST_NAMES) {
    failed = json_array_append_new(names, label_of(node)) != 0 || failed;
  }
  return failed ? lk_fail_memory(error, "what is missing", sizeof *node) : LK_OK;
}

static lk_status add_other(void *arg, const char *sentence, lk_error *error) {
  collection *all = arg;
  lk_json_add(&all->other, lk_json_text(sentence));
  return all->other.failed ? lk_fail_memory(error, "what is missing", strlen(sentence)) : LK_OK;
}

/* The sentence of a model that cannot be read does not end the report of others. */
static lk_status collect(const cli_model *context, const model_args *args, const char *path,
                         collection *all, json_t **out_sentence, lk_error *error) {
  lk_error why;
  const lk_missing_told told = {.node = add_node, .other = add_other, .arg = all};
  const lk_status status =
      lk_model_find_missing(context->context, path, &args->session, &told, &why);
  if (status == LK_OUT_OF_MEMORY) return lk_fail(error, status, "%s", why.message);
  *out_sentence = status == LK_OK ? json_null() : lk_json_text(why.message);
  return LK_OK;
}

lk_status missing_of_model(const model_args *args, const char *path, json_t **out,
                           lk_error *error) {
  lk_status status = LK_OK;
  cli_model context = {0};
  collection all = {lk_json_begin(json_array()), lk_json_begin(json_array())};
  json_t *sentence = NULL;
  *out = NULL;
  LK_TRY(cli_context_open(args, &context, error));
  LK_TRY(collect(&context, args, path, &all, &sentence, error));
  const bool runs = json_is_null(sentence) && json_array_size(all.nodes.value) == 0 &&
                    json_array_size(all.other.value) == 0;
  lk_json model = lk_json_begin(json_object());
  lk_json_set(&model, "model", lk_json_text(path));
  lk_json_set(&model, "runs", json_boolean(runs));
  lk_json_set(&model, "nodes", lk_json_end(&all.nodes));
  lk_json_set(&model, "other", lk_json_end(&all.other));
  lk_json_set(&model, "error", sentence);
  all = (collection){0};
  sentence = NULL;
  *out = lk_json_end(&model);
  if (*out == NULL) status = lk_fail_memory(error, "what is missing", strlen(path));
cleanup:
  json_decref(all.nodes.value);
  json_decref(all.other.value);
  json_decref(sentence);
  cli_model_close(&context);
  return status;
}

/* ---- showing --------------------------------------------------------------------------------- */

static const char *text_at(const json_t *row, const char *key) {
  return json_string_value(json_object_get(row, key));
}

static json_int_t number_at(const json_t *row, const char *key) {
  return json_integer_value(json_object_get(row, key));
}

static void names_cell(report_table *table, const json_t *row) {
  const json_t *names = json_object_get(row, "nodes");
  char text[3 * 128] = "";
  size_t used = 0, i = 0;
  json_t *name = NULL;
  json_array_foreach(names, i, name) {
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%.100s", i > 0 ? ", " : "",
                             json_string_value(name));
  }
  report_cell(table, "%s%s", text, number_at(row, "count") > MOST_NAMES ? ", ..." : "");
}

lk_status missing_print(json_t *model, lk_error *error) {
  json_t *nodes = json_object_get(model, "nodes"), *row = NULL;
  const char *path = text_at(model, "model"), *sentence = text_at(model, "error");
  size_t i = 0;
  if (sentence != NULL) {
    report_line("%s: %s", path, sentence);
    return LK_OK;
  }
  if (json_is_true(json_object_get(model, "runs"))) {
    report_line("%s: runs wholly here", path);
    return LK_OK;
  }
  report_line("%s: does not run here", path);
  json_array_foreach(json_object_get(model, "other"), i, row) {
    report_line("  %s", json_string_value(row));
  }
  if (json_array_size(nodes) == 0) return LK_OK;
  report_table *table = report_table_create("operator|domain|>opset|types|>nodes|first|reason");
  json_array_foreach(nodes, i, row) {
    report_cell(table, "%s", text_at(row, "operator"));
    report_cell(table, "%s", text_at(row, "domain"));
    report_cell(table, "%" JSON_INTEGER_FORMAT, number_at(row, "opset"));
    report_cell(table, "%s", text_at(row, "types"));
    report_cell(table, "%" JSON_INTEGER_FORMAT, number_at(row, "count"));
    names_cell(table, row);
    report_cell(table, "%s", text_at(row, "reason"));
  }
  return report_table_print(table, 2, error);
}

/* Takes over the array; NULL: there was no memory for it. */
static lk_status report_all(json_t *models, bool as_json, lk_error *error) {
  if (as_json) return report_json(models, error);
  if (models == NULL) return lk_fail_memory(error, "a report", sizeof *models);
  lk_status status = LK_OK;
  json_t *model = NULL;
  size_t i = 0;
  json_array_foreach(models, i, model) LK_TRY(missing_print(model, error));
cleanup:
  json_decref(models);
  return status;
}

lk_status missing_report(const model_args *args, char *const *paths, size_t n_paths,
                         bool *out_found, lk_error *error) {
  lk_status status = LK_OK;
  lk_json models = lk_json_begin(json_array());
  *out_found = false;
  for (size_t i = 0; i < n_paths; i++) {
    json_t *model = NULL;
    LK_TRY(missing_of_model(args, paths[i], &model, error));
    if (!json_is_true(json_object_get(model, "runs"))) *out_found = true;
    lk_json_add(&models, model);
  }
  json_t *all = lk_json_end(&models);
  models.value = NULL;
  status = report_all(all, args->json, error);
cleanup:
  json_decref(models.value);
  return status;
}
