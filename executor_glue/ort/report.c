/* Writes a session's statistics as JSON. */
#include "executor_glue/ort/report.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/whole_file.h"
#include "executor_glue/report/json.h"
#include "executor_glue/report/report.h"

static json_t *left_json(const lk_ort_left *left) {
  lk_json json = lk_json_begin(json_object());
  lk_json_set(&json, "operator", lk_json_text(left->op_type));
  LK_JSON_SET(&json, left, domain, count, reason);
  return lk_json_end(&json);
}

static json_t *claims_json(const lk_ort_claims *claims) {
  lk_json json = lk_json_begin(json_object()), left = lk_json_begin(json_array());
  for (const lk_ort_left *each = claims->left; each != NULL; each = each->next) {
    lk_json_add(&left, left_json(each));
  }
  lk_json_set(&json, "nodes", lk_json_number(claims->n_claimed + claims->n_left));
  lk_json_set(&json, "claimed", lk_json_number(claims->n_claimed));
  lk_json_set(&json, "subgraphs", lk_json_number(claims->n_subgraphs));
  lk_json_set(&json, "left", lk_json_end(&left));
  return lk_json_end(&json);
}

static void add_refusal(void *arg, const lk_session_refusal *refusal) {
  lk_json_add(arg, lk_report_refusal(refusal));
}

static json_t *subgraph_json(lk_ort_subgraph *subgraph) {
  lk_session_stats stats = {.struct_size = sizeof stats};
  const lk_report_source source = {.api = subgraph->context->ort->latchkey,
                                   .graph = subgraph->graph,
                                   .executor = subgraph->graph_executor};
  lk_ort_subgraph_count_runs(subgraph);
  lk_graph_executor_stats(subgraph->graph_executor, &stats);
  stats.nodes_in_file = subgraph->n_nodes;
  lk_json json = lk_json_begin(json_object()), refusals = lk_json_begin(json_array());
  lk_refusals_show(&subgraph->refusals, add_refusal, &refusals);
  lk_json_set(&json, "name", lk_json_text(subgraph->name));
  lk_json_set(&json, "lent_shares", lk_json_number(subgraph->n_lent_shares));
  if (!lk_report_runs(json.value, &stats)) json.failed = true;
  if (!lk_report_graph(json.value, &source)) json.failed = true;
  lk_json_set(&json, "refusals", lk_json_end(&refusals));
  return lk_json_end(&json);
}

/* In the order in which they were made. */
static json_t *subgraphs_json(lk_ort_subgraph *newest) {
  lk_json subgraphs = lk_json_begin(json_array());
  for (lk_ort_subgraph *each = newest; each != NULL; each = each->next) {
    if (json_array_insert_new(subgraphs.value, 0, subgraph_json(each)) != 0) {
      subgraphs.failed = true;
    }
  }
  return lk_json_end(&subgraphs);
}

static lk_status make_report(const lk_ort_context *context, const lk_ort_claims *claims,
                             lk_ort_subgraph *subgraphs, json_t **out, lk_error *error) {
  const lk_api *latchkey = context->ort->latchkey;
  lk_json json = lk_json_begin(lk_report_begin(latchkey));
  lk_json_set(&json, "provider", json_string(LK_ORT_PROVIDER_NAME));
  lk_json_set(&json, "model", lk_json_text(claims->model_path != NULL ? claims->model_path : ""));
  lk_json_set(&json, "claims", claims_json(claims));
  lk_json_set(&json, "context", lk_report_context(latchkey, context->handle));
  lk_json_set(&json, "subgraphs", subgraphs_json(subgraphs));
  *out = lk_json_end(&json);
  return *out != NULL ? LK_OK : lk_fail_memory(error, "a report", 0);
}

static lk_status write_json(const json_t *report, lk_whole_file *file, lk_error *error) {
  /* what is lost, end tells; what was not written for lack of memory, it cannot */
  if (json_dumpf(report, file->stream, JSON_INDENT(2)) != 0 && ferror(file->stream) == 0) {
    return lk_fail_memory(error, "a report", 0);
  }
  LK_RETURN_NOT_OK(lk_whole_file_end(file, error));
  return lk_whole_file_commit(file, error);
}

lk_status lk_ort_report_write(const lk_ort_context *context, const lk_ort_claims *claims,
                              lk_ort_subgraph *subgraphs, const char *path, lk_error *error) {
  lk_status status = LK_OK;
  json_t *report = NULL;
  lk_whole_file file = {0};
  LK_TRY(make_report(context, claims, subgraphs, &report, error));
  LK_TRY(lk_whole_file_begin(lk_allocator_default(), "statistics", path, &file, error));
  LK_TRY(write_json(report, &file, error));
cleanup:
  lk_whole_file_discard(&file);
  json_decref(report);
  return status;
}

lk_status lk_ort_report_text(const lk_ort_context *context, const lk_ort_claims *claims,
                             lk_ort_subgraph *subgraphs, char **out_text, lk_error *error) {
  json_t *report = NULL;
  *out_text = NULL;
  LK_RETURN_NOT_OK(make_report(context, claims, subgraphs, &report, error));
  return lk_report_text(context->ort->latchkey->context_allocator(context->handle), report,
                        out_text, error);
}
