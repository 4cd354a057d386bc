/* Writes a session's statistics as JSON. */
#include "executor_glue/ort/report.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/status.h"
#include "base/text.h"

/* jansson takes valid UTF-8 alone. */
static json_t *text_json(const char *text) {
  char safe[4096];
  json_t *json = json_string(text);
  if (json != NULL) return json;
  (void)lk_text_escape(text, safe, sizeof safe);
  return json_string(safe);
}

static json_t *claims_json(const lk_ort_claims *claims) {
  json_t *left = json_array();
  for (const lk_ort_left *each = claims->left; each != NULL; each = each->next) {
    json_array_append_new(left,
                          json_pack("{s:o, s:o, s:i, s:s}", "operator", text_json(each->op_type),
                                    "domain", text_json(each->domain), "count", (int)each->count,
                                    "reason", each->reason));
  }
  return json_pack("{s:i, s:i, s:i, s:o}", "nodes", (int)(claims->n_claimed + claims->n_left),
                   "claimed", (int)claims->n_claimed, "subgraphs", (int)claims->n_subgraphs, "left",
                   left);
}

static json_t *subgraph_json(const lk_ort_subgraph *subgraph) {
  lk_session_stats stats = {.struct_size = sizeof stats};
  lk_graph_executor_stats(subgraph->graph_executor, &stats);
  json_t *operators = json_object();
  for (size_t i = 0; i < subgraph->graph->n_nodes; i++) {
    const char *op_type = subgraph->graph->nodes[i].op_type;
    const json_int_t count = json_integer_value(json_object_get(operators, op_type));
    json_object_set_new(operators, op_type, json_integer(count + 1));
  }
  return json_pack("{s:o, s:i, s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "name",
                   text_json(subgraph->name), "nodes", (int)subgraph->n_nodes, "nodes_after_passes",
                   (int)subgraph->graph->n_nodes, "operators", operators, "runs",
                   (json_int_t)stats.runs, "run_plan_hits", (json_int_t)stats.run_plan_hits,
                   "run_plan_builds", (json_int_t)stats.run_plan_builds, "frames",
                   (json_int_t)stats.frames, "arena_bytes", (json_int_t)stats.arena_bytes,
                   "lent_shares", (json_int_t)subgraph->n_lent_shares);
}

static json_t *cache_json(const lk_stats *stats) {
  json_t *kinds = json_object();
  for (uint32_t i = 0; i < LK_KIND_COUNT; i++) {
    const lk_kind_stats *kind = &stats->kind[i];
    json_object_set_new(kinds, lk_kind_name(i),
                        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "hits", (json_int_t)kind->hits,
                                  "misses", (json_int_t)kind->misses, "builds",
                                  (json_int_t)kind->builds, "evictions",
                                  (json_int_t)kind->evictions, "entries", (json_int_t)kind->entries,
                                  "bytes", (json_int_t)kind->bytes));
  }
  return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I}", "kinds", kinds, "entries",
                   (json_int_t)stats->entries, "bytes", (json_int_t)stats->bytes, "weights_bytes",
                   (json_int_t)stats->weights_bytes, "weights_packed",
                   (json_int_t)stats->weights_packed, "weights_shared",
                   (json_int_t)stats->weights_shared);
}

static json_t *subgraphs_json(const lk_ort_subgraph *newest) {
  json_t *subgraphs = json_array();
  for (const lk_ort_subgraph *each = newest; each != NULL; each = each->next) {
    json_array_insert_new(subgraphs, 0, subgraph_json(each));
  }
  return subgraphs;
}

static lk_status make_report(const lk_ort_context *context, const lk_ort_claims *claims,
                             const lk_ort_subgraph *subgraphs, json_t **out, lk_error *error) {
  const lk_api *latchkey = context->ort->latchkey;
  lk_stats stats = {.struct_size = sizeof stats};
  LK_RETURN_NOT_OK(latchkey->cache_stats(context->handle, NULL, &stats, error));
  *out = json_pack("{s:s, s:s, s:o, s:i, s:o, s:o, s:o}", "provider", LK_ORT_PROVIDER_NAME,
                   "version", latchkey->version_text(), "model",
                   text_json(claims->model_path != NULL ? claims->model_path : ""), "threads",
                   (int)latchkey->context_threads(context->handle), "claims", claims_json(claims),
                   "subgraphs", subgraphs_json(subgraphs), "cache", cache_json(&stats));
  return *out != NULL ? LK_OK : lk_fail_memory(error, "a report", 0);
}

/* Through a file beside it, so that nobody reads half of it. */
lk_status lk_ort_report_write(const lk_ort_context *context, const lk_ort_claims *claims,
                              const lk_ort_subgraph *subgraphs, const char *path, lk_error *error) {
  lk_status status = LK_OK;
  json_t *report = NULL;
  char *aside = NULL;
  if (asprintf(&aside, "%s.%d.part", path, (int)gettid()) < 0) {
    return lk_fail_memory(error, "a file's name", strlen(path));
  }
  LK_TRY(make_report(context, claims, subgraphs, &report, error));
  if (json_dump_file(report, aside, JSON_INDENT(2)) != 0 || rename(aside, path) != 0) {
    status = lk_fail(error, LK_IO, "failed to write statistics to '%s': %m", path);
    (void)unlink(aside);
  }
cleanup:
  json_decref(report);
  free(aside);
  return status;
}
