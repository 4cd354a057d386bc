/* Statistics as JSON. docs/statistics.md is the schema.
 *
 * Numbers have the names that they have in the structs of the ABI. Each function returns NULL where
 * memory is short. They may be called while runs are on.
 */
#pragma once

#include <jansson.h>

#include "executor_glue/flow/flow.h"

/* What every report begins with: schema, library, time, process. */
json_t *lk_report_begin(const lk_api *api);
/* "cache", "weights", "memory", and how the context was set up. */
json_t *lk_report_context(const lk_api *api, lk_context *context);

/* What an engine has offered for a work of a node, and what was chosen. */
json_t *lk_report_choice(const lk_engine_choice_info *choice);
/* The name of an lk_choice_rule: "estimates". */
const char *lk_report_rule(uint32_t rule);

/* Who runs a graph, and what it counts. */
typedef struct lk_report_source {
  const lk_api *api;
  const lk_graph *graph;
  const lk_flow *flow;         /* who runs it; NULL: */
  lk_graph_executor *executor; /* this one, without a flow */
} lk_report_source;

/* What a session or subgraph counts of its runs, into `object`. False: memory is short. */
bool lk_report_runs(json_t *object, const lk_session_stats *stats);
/* "nodes", "operators", "sizes" and "sizes_lost", into `object`. False: memory is short. */
bool lk_report_graph(json_t *object, const lk_report_source *source);

/* One node that passes have left. */
json_t *lk_report_refusal(const lk_session_refusal *refusal);

/* The report as text of `allocator`, in ASCII, with a NUL. Takes over `report`; NULL, as all who
 * make one return where memory is short, is LK_OUT_OF_MEMORY. */
lk_status lk_report_text(const lk_allocator *allocator, json_t *report, char **out_text,
                         lk_error *error);
