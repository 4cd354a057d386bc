/* Nodes, kinds of operators, and sizes. */
#include <math.h>
#include <string.h>

#include "base/tensor.h"
#include "executor_glue/graph/own_ops.h"
#include "executor_glue/report/json.h"
#include "executor_glue/report/report.h"

/* ---- who runs it ---- */

static const char *implementation(const lk_report_source *source, size_t node) {
  return source->flow != NULL ? lk_flow_implementation(source->flow, node)
                              : lk_graph_executor_implementation(source->executor, node);
}

static lk_node_stats node_stats(const lk_report_source *source, size_t node) {
  return source->flow != NULL ? lk_flow_node_stats(source->flow, node)
                              : lk_graph_executor_node_stats(source->executor, node);
}

/* ---- nodes ---- */

static void set_binds(lk_json *json, const lk_node_stats *stats) {
  LK_JSON_SET(json, stats, binds, bind_ns, longest_bind_ns);
  lk_json_set(json, "bind_times", lk_json_times(stats->bind_times));
}

/* The names of those values that runs compute or are given. */
static json_t *values_json(const lk_graph *graph, const int32_t *values, uint32_t count) {
  lk_json names = lk_json_begin(json_array());
  for (uint32_t i = 0; i < count; i++) {
    if (values[i] == LK_NO_VALUE || lk_value_is_constant(graph, values[i])) continue;
    lk_json_add(&names, lk_json_text(graph->values[values[i]].name));
  }
  return lk_json_end(&names);
}

/* Those inputs, but for constants, whose elements the shapes of outputs follow from. */
static json_t *shape_inputs_json(const lk_graph *graph, const lk_node *node, const lk_op_row *row) {
  lk_json names = lk_json_begin(json_array());
  for (uint32_t i = 0; row != NULL && i < node->n_inputs && i < 64; i++) {
    const int32_t value = node->inputs[i];
    if ((row->shape_inputs >> i & 1) == 0 || value == LK_NO_VALUE) continue;
    if (lk_value_is_constant(graph, value)) continue;
    lk_json_add(&names, lk_json_text(graph->values[value].name));
  }
  return lk_json_end(&names);
}

/* What the shapes of its outputs follow from. */
static void set_shape_rules(lk_json *json, const lk_report_source *source, const lk_node *node) {
  const lk_op_row *row = lk_graph_find_row(source->api, source->graph, node);
  const uint32_t flags = row != NULL ? row->flags : 0;
  lk_json_set(json, "shape_inputs", shape_inputs_json(source->graph, node, row));
  lk_json_set(json, "reads_shape_only", json_boolean((flags & LK_OP_SHAPE_ONLY) != 0));
  lk_json_set(json, "shape_from_data", json_boolean((flags & LK_OP_DATA_DEPENDENT) != 0));
}

static json_t *changes_json(const lk_node_stats *stats) {
  lk_json changes = lk_json_begin(json_array());
  for (uint32_t i = 0; i < stats->n_changes; i++) {
    const lk_node_change *each = &stats->changes[i];
    lk_json json = lk_json_begin(json_object());
    lk_json_set(&json, "input", lk_json_number(each->input));
    lk_json_set(&json, "dim", each->dim < 0 ? json_null() : json_integer(each->dim));
    LK_JSON_SET(&json, each, from, to, binds, bind_ns);
    lk_json_add(&changes, lk_json_end(&json));
  }
  return lk_json_end(&changes);
}

static json_t *node_json(const lk_report_source *source, size_t index) {
  const lk_node *node = &source->graph->nodes[index];
  const lk_node_stats stats = node_stats(source, index);
  lk_json json = lk_json_begin(json_object());
  LK_JSON_SET(&json, node, op_type, domain, name);
  lk_json_set(&json, "output_name",
              lk_json_text(lk_node_describe(source->graph, node, NULL).output_name));
  lk_json_set(&json, "fused", lk_json_text(node->fused));
  lk_json_set(&json, "implementation", lk_json_text(implementation(source, index)));
  lk_json_set(&json, "inputs", values_json(source->graph, node->inputs, node->n_inputs));
  lk_json_set(&json, "outputs", values_json(source->graph, node->outputs, node->n_outputs));
  set_shape_rules(&json, source, node);
  set_binds(&json, &stats);
  lk_json_set(&json, "changes", changes_json(&stats));
  return lk_json_end(&json);
}

static json_t *nodes_json(const lk_report_source *source) {
  lk_json nodes = lk_json_begin(json_array());
  for (size_t i = 0; i < source->graph->n_nodes; i++) lk_json_add(&nodes, node_json(source, i));
  return lk_json_end(&nodes);
}

/* ---- kinds of operators ---- */

static bool is_same_kind(const lk_node *a, const lk_node *b) {
  return strcmp(a->op_type, b->op_type) == 0 && strcmp(a->domain, b->domain) == 0;
}

static void add_binds(lk_node_stats *sum, const lk_node_stats *one) {
  sum->binds += one->binds;
  sum->bind_ns += one->bind_ns;
  if (one->longest_bind_ns > sum->longest_bind_ns) sum->longest_bind_ns = one->longest_bind_ns;
  for (uint32_t i = 0; i < LK_TIME_BUCKETS; i++) sum->bind_times[i] += one->bind_times[i];
}

/* How many nodes run on an implementation. */
static bool count_implementation(json_t *counts, const char *name) {
  json_t *key = lk_json_text(name);
  if (key == NULL) return false;
  const char *text = json_string_value(key);
  const json_int_t count = json_integer_value(json_object_get(counts, text));
  const bool fits = json_object_set_new(counts, text, json_integer(count + 1)) == 0;
  json_decref(key);
  return fits;
}

/* The kind of node `first`, with all nodes of it, which come from there on. */
static json_t *operator_json(const lk_report_source *source, size_t first) {
  const lk_node *nodes = source->graph->nodes;
  lk_node_stats sum = {0};
  lk_json json = lk_json_begin(json_object()), implementations = lk_json_begin(json_object());
  json_int_t count = 0;
  for (size_t i = first; i < source->graph->n_nodes; i++) {
    if (!is_same_kind(&nodes[i], &nodes[first])) continue;
    const lk_node_stats stats = node_stats(source, i);
    const char *name = implementation(source, i);
    add_binds(&sum, &stats);
    count++;
    if (name[0] == '\0') continue;
    if (!count_implementation(implementations.value, name)) implementations.failed = true;
  }
  LK_JSON_SET(&json, &nodes[first], op_type, domain);
  lk_json_set(&json, "nodes", json_integer(count));
  lk_json_set(&json, "implementations", lk_json_end(&implementations));
  set_binds(&json, &sum);
  return lk_json_end(&json);
}

static json_t *operators_json(const lk_report_source *source) {
  const lk_node *nodes = source->graph->nodes;
  lk_json operators = lk_json_begin(json_array());
  for (size_t i = 0; i < source->graph->n_nodes; i++) {
    size_t first = 0;
    while (!is_same_kind(&nodes[first], &nodes[i])) first++;
    if (first == i) lk_json_add(&operators, operator_json(source, i));
  }
  return lk_json_end(&operators);
}

/* ---- sizes ---- */

/* Elements of a value that are shown. */
enum { MOST_ELEMENTS = 64 };

/* Not a number and infinities are null: JSON has none. */
static json_t *real_json(double number) {
  return isfinite(number) ? json_real(number) : json_null();
}

/* IEEE 754 binary16: a sign, 5 bits of the exponent, 10 of the fraction. */
static double number_of_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return (double)NAN; /* or an infinity: both are shown as null */
  const double size = exponent > 0 ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  return bits >> 15 != 0 ? -size : size;
}

static json_t *element_json(const lk_tensor *value, int64_t index) {
  const size_t size = lk_dtype_size(value->desc.dtype);
  union {
    uint64_t bits;
    float f32;
    double f64;
    uint32_t bf16;
    uint16_t f16;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
  } element = {0};
  memcpy(&element, (const char *)value->data + (size_t)index * size, size);
  switch (value->desc.dtype) {
  case LK_F32:
    return real_json((double)element.f32);
  case LK_F64:
    return real_json(element.f64);
  case LK_F16:
    return real_json(number_of_f16(element.f16));
  case LK_BF16:
    element.bf16 <<= 16;
    return real_json((double)element.f32);
  case LK_I8:
    return json_integer(element.i8);
  case LK_I16:
    return json_integer(element.i16);
  case LK_I32:
    return json_integer(element.i32);
  case LK_I64:
    return json_integer(element.i64);
  case LK_BOOL:
    return json_boolean(element.bits != 0);
  default:
    return lk_json_number(element.bits);
  }
}

static json_t *shape_json(const lk_tensor_desc *desc) {
  lk_json shape = lk_json_begin(json_array());
  for (uint32_t i = 0; i < desc->rank; i++) lk_json_add(&shape, json_integer(desc->dims[i]));
  return lk_json_end(&shape);
}

static json_t *data_json(const lk_tensor *value) {
  lk_json data = lk_json_begin(json_array());
  const int64_t count = lk_elements(&value->desc);
  for (int64_t i = 0; i < count && i < MOST_ELEMENTS; i++) {
    lk_json_add(&data, element_json(value, i));
  }
  return lk_json_end(&data);
}

/* `value` NULL: its elements are not known. */
static json_t *desc_json(const char *name, const lk_tensor_desc *desc, const lk_tensor *value) {
  lk_json json = lk_json_begin(json_object());
  lk_json_set(&json, "name", lk_json_text(name));
  lk_json_set(&json, "dtype", json_string(lk_dtype_name(desc->dtype)));
  lk_json_set(&json, "shape", shape_json(desc));
  if (value != NULL) lk_json_set(&json, "data", data_json(value));
  return lk_json_end(&json);
}

static json_t *size_json(const lk_session_size *size) {
  lk_json json = lk_json_begin(json_object());
  lk_json inputs = lk_json_begin(json_array()), values = lk_json_begin(json_array());
  for (uint32_t i = 0; i < size->n_inputs; i++) {
    lk_json_add(&inputs, desc_json(size->input_names[i], &size->inputs[i], NULL));
  }
  for (uint32_t i = 0; i < size->n_values; i++) {
    const lk_tensor *value = &size->values[i];
    lk_json_add(&values, desc_json(size->value_names[i], &value->desc, value));
  }
  lk_json_set(&json, "part", lk_json_text(size->part));
  lk_json_set(&json, "inputs", lk_json_end(&inputs));
  lk_json_set(&json, "values", lk_json_end(&values));
  LK_JSON_SET(&json, size, builds, build_ns, longest_build_ns, last_build_ns, runs, bytes,
              run_plans);
  return lk_json_end(&json);
}

static void add_size(void *arg, const lk_session_size *size) {
  lk_json_add(arg, size_json(size));
}

static lk_status visit_sizes(const lk_report_source *source, lk_json *sizes, uint64_t *out_lost) {
  return source->flow != NULL
             ? lk_flow_visit_sizes(source->flow, add_size, sizes, out_lost, NULL)
             : lk_graph_executor_visit_sizes(source->executor, add_size, sizes, out_lost, NULL);
}

/* ---- together ---- */

bool lk_report_runs(json_t *object, const lk_session_stats *stats) {
  lk_json json = lk_json_begin(object);
  LK_JSON_SET(&json, stats, nodes_in_file, runs, parallel_runs, run_plan_hits, run_plan_builds,
              waits, frames);
  return !json.failed;
}

bool lk_report_graph(json_t *object, const lk_report_source *source) {
  lk_json json = lk_json_begin(object);
  lk_json sizes = lk_json_begin(json_array());
  uint64_t lost = 0;
  if (visit_sizes(source, &sizes, &lost) != LK_OK) {
    sizes.failed = true;
  }
  lk_json_set(&json, "nodes", nodes_json(source));
  lk_json_set(&json, "operators", operators_json(source));
  lk_json_set(&json, "sizes", lk_json_end(&sizes));
  lk_json_set(&json, "sizes_lost", lk_json_number(lost));
  return !json.failed;
}
