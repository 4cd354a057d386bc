/* latchkey inspect: what is in a model, and what runs on what. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/inputs.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/options.h"
#include "executor_glue/cli/common/progress.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/offers_report.h"
#include "executor_glue/report/report.h"

typedef struct inspect_args {
  cli_args common;
  bool nodes, offers;
} inspect_args;

enum { KEY_NODES = 0x500, KEY_OFFERS, METADATA_WIDTH = 60 };

static const struct argp_option options[] = {
    {"nodes", KEY_NODES, NULL, 0, "List every node, in the order in which they run", 3},
    {"offers", KEY_OFFERS, NULL, 0,
     "For each work of each node: what native and the engine take, which of them computes it, and "
     "why; with --engine auto unless another one is given",
     3},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  inspect_args *args = state->input;
  switch (key) {
  case KEY_NODES:
    args->nodes = true;
    return 0;
  case KEY_OFFERS:
    args->offers = true;
    return 0;
  case ARGP_KEY_END:
    if (args->offers && args->common.model.context.engine == NULL) {
      args->common.model.context.engine = "auto"; /* whatever the environment says */
    }
    return cli_parse_model(key, arg, state);
  default:
    return cli_parse_model(key, arg, state);
  }
}

static const struct argp_child children[] = {
    {&model_argp, 0, "Library:", 10}, {&input_argp, 0, "Inputs:", 1}, {0}};
static const char doc[] =
    "Shows a model's inputs, outputs, metadata, graph passes and operators.\v"
    "With --shape or --input the model is run once, and the kernel that does "
    "most of each operator's work is shown too. --offers runs it once as well, at a "
    "size that recurs: '~' is an estimate, of which only the ratio counts (see "
    "--tuning), '-' is no offer, 'bytes' are those of all tensors of the work, "
    "'built' what the engine keeps for it, and 'post-ops' how many of those of "
    "the node the engine takes.\n\n"
    "Example:\n"
    "  latchkey inspect rec.onnx --shape x=1x3x48x320\n"
    "  latchkey inspect rec.onnx --shape x=1x3x48x320 --offers";

static const struct argp command = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL",
    .doc = doc,
    .children = children,
};

/* ---- nodes ----------------------------------------------------------------------------------- */

static const char *domain_text(const char *domain) {
  return domain[0] == '\0' ? "ai.onnx" : domain;
}

/* Nodes that are alike come together: operator, what is fused into it, how it runs. */
static int compare_nodes(const void *a, const void *b) {
  const lk_session_node *left = a;
  const lk_session_node *right = b;
  int order = strcmp(left->op_type, right->op_type);
  if (order == 0) order = strcmp(left->domain, right->domain);
  if (order == 0) order = strcmp(left->fused, right->fused);
  if (order == 0) order = strcmp(left->implementation, right->implementation);
  return order;
}

static uint32_t run_of_alike(const lk_session_node *nodes, uint32_t first, uint32_t count) {
  uint32_t end = first + 1;
  while (end < count && compare_nodes(&nodes[first], &nodes[end]) == 0) end++;
  return end - first;
}

static json_t *node_json(const lk_session_node *node) {
  return json_pack("{s:o, s:o, s:o, s:o}", "operator", lk_json_text(node->op_type), "domain",
                   lk_json_text(domain_text(node->domain)), "fused", lk_json_text(node->fused),
                   "implementation", lk_json_text(node->implementation));
}

/* Each node, or those that are alike together. */
static json_t *nodes_json(lk_session_node *nodes, uint32_t count, bool each) {
  json_t *list = json_array();
  if (!each) qsort(nodes, count, sizeof *nodes, compare_nodes);
  for (uint32_t i = 0, alike = 1; i < count; i += alike) {
    json_t *one = node_json(&nodes[i]);
    if (each) {
      (void)json_object_set_new(one, "name", lk_json_text(nodes[i].name));
      (void)json_object_set_new(one, "output", lk_json_text(nodes[i].output_name));
    } else {
      alike = run_of_alike(nodes, i, count);
      (void)json_object_set_new(one, "count", json_integer(alike));
    }
    (void)json_array_append_new(list, one);
  }
  return list;
}

static lk_status print_nodes(lk_session_node *nodes, uint32_t count, bool each, lk_error *error) {
  report_table *table = report_table_create(each ? ">node|operator|output|fused|implementation"
                                                 : ">count|operator|domain|fused|implementation");
  if (!each && count > 0) qsort(nodes, count, sizeof *nodes, compare_nodes);
  for (uint32_t i = 0; i < count;) {
    uint32_t alike = each ? 1 : run_of_alike(nodes, i, count);
    report_cell(table, "%" PRIu32, each ? i : alike);
    report_cell(table, "%s", nodes[i].op_type);
    report_cell(table, "%s", each ? nodes[i].output_name : domain_text(nodes[i].domain));
    report_cell(table, "%s", nodes[i].fused);
    report_cell(table, "%s", nodes[i].implementation);
    i += alike;
  }
  return report_table_print(table, 2, error);
}

/* ---- the file, values, metadata, passes ------------------------------------------------------ */

static json_t *opsets_json(const lk_model_info *info) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < info->n_opsets; i++) {
    (void)json_array_append_new(list, json_pack("{s:o, s:I}", "domain",
                                                lk_json_text(domain_text(info->opsets[i].domain)),
                                                "version", (json_int_t)info->opsets[i].version));
  }
  return list;
}

static void print_model_info(const lk_model_info *info) {
  (void)printf("opsets: ");
  for (uint32_t i = 0; i < info->n_opsets; i++) {
    report_text("%s%s %" PRId64, i > 0 ? ", " : "", domain_text(info->opsets[i].domain),
                info->opsets[i].version);
  }
  (void)printf("%s; IR version %" PRId64, info->n_opsets == 0 ? "none" : "", info->ir_version);
  if (info->producer_name[0] != '\0') report_text("; made by %s", info->producer_name);
  if (info->producer_version[0] != '\0') report_text(" %s", info->producer_version);
  (void)putchar('\n');
}

/* What a model takes and gives. */
typedef enum value_kind { INPUTS, DEFAULTS, OUTPUTS } value_kind;

static uint32_t value_count(const cli_model *model, value_kind kind) {
  return kind == DEFAULTS ? cli_default_count(model) : cli_value_count(model, kind == OUTPUTS);
}

static lk_value_info value_info(const cli_model *model, value_kind kind, uint32_t index) {
  return kind == DEFAULTS ? cli_default_info(model, index)
                          : cli_value_info(model, kind == OUTPUTS, index);
}

static json_t *values_json(const cli_model *model, value_kind kind) {
  const uint32_t count = value_count(model, kind);
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++) {
    const lk_value_info info = value_info(model, kind, i);
    json_t *dims = info.rank >= 0 ? json_array() : json_null();
    for (int32_t d = 0; d < info.rank; d++) {
      const char *symbol = info.symbols[d] != NULL ? info.symbols[d] : "";
      (void)json_array_append_new(dims, info.dims[d] >= 0   ? json_integer(info.dims[d])
                                        : symbol[0] != '\0' ? lk_json_text(symbol)
                                                            : json_null());
    }
    (void)json_array_append_new(list, json_pack("{s:o, s:s, s:o}", "name", lk_json_text(info.name),
                                                "type", lk_dtype_name(info.dtype), "shape", dims));
  }
  return list;
}

static void print_values(const cli_model *model, value_kind kind) {
  static const char *const titles[] = {
      [INPUTS] = "inputs", [DEFAULTS] = "inputs with a default", [OUTPUTS] = "outputs"};
  const uint32_t count = value_count(model, kind);
  if (count == 0 && kind == DEFAULTS) return;
  (void)printf("%s:\n", titles[kind]);
  for (uint32_t i = 0; i < count; i++) {
    const lk_value_info info = value_info(model, kind, i);
    char text[CLI_VALUE_TEXT_CAPACITY];
    report_line("  %s %s", info.name, cli_value_text(&info, text));
  }
}

/* One line of a value that may be a whole dictionary: its beginning, and how long it is. */
static void print_metadata(const cli_model *model) {
  const char *key = NULL;
  for (uint32_t i = 0; (key = model->sessions->metadata_key(model->session, i)) != NULL; i++) {
    const char *value = model->sessions->metadata_value(model->session, key);
    size_t length = strlen(value);
    size_t shown = strcspn(value, "\r\n");
    if (shown > METADATA_WIDTH) shown = METADATA_WIDTH;
    /* Not in the middle of a UTF-8 character. */
    while (shown > 0 && shown < length && ((unsigned char)value[shown] & 0xc0) == 0x80) shown--;
    if (i == 0) (void)printf("metadata:\n");
    if (shown < length) {
      report_line("  %s = %.*s... (%zu bytes)", key, (int)shown, value, length);
    } else {
      report_line("  %s = %s", key, value);
    }
  }
}

static json_t *metadata_json(const cli_model *model) {
  json_t *object = json_object();
  const char *key = NULL;
  for (uint32_t i = 0; (key = model->sessions->metadata_key(model->session, i)) != NULL; i++) {
    report_json_set(object, key,
                    lk_json_text(model->sessions->metadata_value(model->session, key)));
  }
  return object;
}

static json_t *passes_json(const lk_session_pass *passes, uint32_t count) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++) {
    const lk_session_pass *pass = &passes[i];
    (void)json_array_append_new(
        list, json_pack("{s:s, s:b, s:o, s:s}", "name", pass->name, "enabled", pass->enabled != 0,
                        "changes", lk_json_number(pass->changes), "summary", pass->summary));
  }
  return list;
}

static lk_status print_passes(const lk_session_pass *passes, uint32_t count, lk_error *error) {
  report_table *table = report_table_create("pass|>rewrites|summary");
  for (uint32_t i = 0; i < count; i++) {
    report_cell(table, "%s", passes[i].name);
    if (passes[i].enabled) {
      report_cell(table, "%" PRIu64, passes[i].changes);
    } else {
      report_cell(table, "off");
    }
    report_cell(table, "%s", passes[i].summary);
  }
  (void)printf("passes:\n");
  return report_table_print(table, 2, error);
}

/* ---- what passes have left ------------------------------------------------------------------- */

static void add_refusal(void *list, const lk_session_refusal *refusal) {
  lk_json_add(list, lk_report_refusal(refusal));
}

static lk_status refusals_create(const cli_model *model, json_t **out, lk_error *error) {
  lk_json list = lk_json_begin(json_array());
  const lk_status status =
      model->sessions->refusals_visit(model->session, add_refusal, &list, error);
  *out = lk_json_end(&list);
  LK_RETURN_NOT_OK(status);
  return *out != NULL ? LK_OK : lk_fail_memory(error, "what passes have left", 0);
}

static const char *refusal_text(const json_t *refusal, const char *name) {
  return json_string_value(json_object_get(refusal, name));
}

static lk_status print_refusals(const json_t *refusals, lk_error *error) {
  size_t i;
  const json_t *each;
  if (json_array_size(refusals) == 0) return LK_OK;
  report_table *table = report_table_create("pass|operator|output|reason");
  json_array_foreach(refusals, i, each) {
    report_cell(table, "%s", refusal_text(each, "pass_name"));
    report_cell(table, "%s", refusal_text(each, "op_type"));
    report_cell(table, "%s", refusal_text(each, "output_name"));
    report_cell(table, "%s", refusal_text(each, "reason"));
  }
  (void)printf("left by passes:\n");
  return report_table_print(table, 2, error);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What both reports show. */
typedef struct model_facts {
  lk_session_stats stats;
  lk_model_info info;
  lk_session_node *nodes;
  lk_session_pass *passes;
  json_t *refusals;
  offers_report offers; /* with --offers */
  uint32_t n_nodes, n_passes;
} model_facts;

/* facts_destroy is needed after a failure too. */
static lk_status facts_create(const cli_model *model, model_facts *out, lk_error *error) {
  const lk_session_api *sessions = model->sessions;
  const lk_allocator *allocator = lk_allocator_default();
  out->n_nodes = sessions->node_count(model->session);
  out->n_passes = sessions->pass_count(model->session);
  out->nodes = lk_calloc(allocator, out->n_nodes, sizeof *out->nodes);
  out->passes = lk_calloc(allocator, out->n_passes, sizeof *out->passes);
  if (out->nodes == NULL || out->passes == NULL) {
    return lk_fail_memory(error, "nodes and passes", out->n_nodes * sizeof *out->nodes);
  }
  for (uint32_t i = 0; i < out->n_nodes; i++) {
    out->nodes[i].struct_size = sizeof out->nodes[i];
    LK_RETURN_NOT_OK(sessions->node_info(model->session, i, &out->nodes[i], error));
  }
  for (uint32_t i = 0; i < out->n_passes; i++) {
    out->passes[i].struct_size = sizeof out->passes[i];
    LK_RETURN_NOT_OK(sessions->pass_info(model->session, i, &out->passes[i], error));
  }
  LK_RETURN_NOT_OK(cli_session_stats(model, &out->stats, error));
  out->info.struct_size = sizeof out->info;
  LK_RETURN_NOT_OK(sessions->model_info(model->session, &out->info, error));
  return refusals_create(model, &out->refusals, error);
}

static void facts_destroy(model_facts *facts) {
  json_decref(facts->refusals);
  offers_report_destroy(&facts->offers);
  lk_free(lk_allocator_default(), facts->passes);
  lk_free(lk_allocator_default(), facts->nodes);
}

static lk_status report_as_json(const inspect_args *args, const cli_model *model,
                                const model_facts *facts, lk_error *error) {
  const lk_session_stats *stats = &facts->stats;
  const lk_model_info *info = &facts->info;
  json_t *each = args->nodes ? nodes_json(facts->nodes, facts->n_nodes, true) : NULL;
  json_t *root = json_pack(
      "{s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:O, s:o}",
      "model", lk_json_text(args->common.path), "opsets", opsets_json(info), "ir_version",
      (json_int_t)info->ir_version, "producer_name", lk_json_text(info->producer_name),
      "producer_version", lk_json_text(info->producer_version), "inputs",
      values_json(model, INPUTS), "defaults", values_json(model, DEFAULTS), "outputs",
      values_json(model, OUTPUTS), "metadata", metadata_json(model), "nodes_in_file",
      lk_json_number(stats->nodes_in_file), "nodes_to_run", lk_json_number(stats->nodes),
      "constants", lk_json_number(stats->constants), "constant_bytes",
      lk_json_number(stats->weights_bytes), "load_ms", (double)stats->load_ns / 1e6, "passes",
      passes_json(facts->passes, facts->n_passes), "refusals", facts->refusals, "operators",
      nodes_json(facts->nodes, facts->n_nodes, false));
  if (each != NULL) (void)json_object_set_new(root, "nodes", each);
  if (args->offers) (void)json_object_set_new(root, "offers", offers_report_json(&facts->offers));
  return report_json(root, error);
}

static lk_status report_as_text(const inspect_args *args, const cli_model *model,
                                const model_facts *facts, lk_error *error) {
  const lk_session_stats *stats = &facts->stats;
  char bytes[REPORT_TEXT_CAPACITY];
  report_line("%s: %" PRIu64 " node%s in the file, %" PRIu64 " to run; %" PRIu64
              " constant%s, %s; opened in %.1f ms",
              args->common.path, stats->nodes_in_file, report_s(stats->nodes_in_file), stats->nodes,
              stats->constants, report_s(stats->constants),
              report_bytes(stats->weights_bytes, bytes), (double)stats->load_ns / 1e6);
  print_model_info(&facts->info);
  print_values(model, INPUTS);
  print_values(model, DEFAULTS);
  print_values(model, OUTPUTS);
  print_metadata(model);
  LK_RETURN_NOT_OK(print_passes(facts->passes, facts->n_passes, error));
  LK_RETURN_NOT_OK(print_refusals(facts->refusals, error));
  (void)printf("%s:\n", args->nodes ? "nodes" : "operators");
  LK_RETURN_NOT_OK(print_nodes(facts->nodes, facts->n_nodes, args->nodes, error));
  return args->offers ? offers_report_print(&facts->offers, error) : LK_OK;
}

/* Once, so that nodes are bound. */
static lk_status run_once(const inspect_args *args, cli_model *model, model_facts *facts,
                          lk_error *error) {
  lk_status status = LK_OK;
  const lk_run_options how = {.struct_size = sizeof how, .recurs = args->offers};
  input_series *series = NULL;
  LK_TRY(input_series_create(model, &args->common.inputs, &series, error));
  const lk_named_tensor *inputs = input_series_get(series, 0);
  LK_TRY(cli_model_run_with(model, inputs, input_series_count(series), &how, error));
  if (args->offers) LK_TRY(offers_report_read(&facts->offers, model, inputs, error));
cleanup:
  input_series_destroy(series);
  return status;
}

static lk_status inspect(void *arguments, lk_error *error) {
  const inspect_args *args = arguments;
  const cli_args *common = &args->common;
  lk_status status = LK_OK;
  cli_model model = {0};
  model_facts facts = {0};
  progress bar;
  progress_begin(&bar, "opening", 0);

  LK_TRY(cli_model_open(&common->model, common->path, &model, error));
  if (args->offers || shape_set_count(common->inputs.shapes) > 0 || common->inputs.n_files > 0) {
    LK_TRY(run_once(args, &model, &facts, error));
  }
  progress_end(&bar);
  LK_TRY(facts_create(&model, &facts, error));
  LK_TRY(common->model.json ? report_as_json(args, &model, &facts, error)
                            : report_as_text(args, &model, &facts, error));

cleanup:
  progress_end(&bar);
  facts_destroy(&facts);
  cli_model_close(&model);
  return status;
}

int cli_cmd_inspect(int argc, char **argv) {
  inspect_args args = {0};
  return cli_run(&command, argc, argv, &args.common, 1, inspect);
}
