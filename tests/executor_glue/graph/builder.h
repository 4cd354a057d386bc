// Builds graphs by hand, runs one pass on them, and looks at what came out.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "base/tensor.h"
#include "executor_glue/graph/graph.h"
#include "executor_glue/passes/pass.h"
}

namespace lk {

struct Attr {
  std::string name;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::string text;

  static Attr Ints(std::string name, std::vector<int64_t> values) {
    return {std::move(name), std::move(values), {}, {}};
  }
  static Attr Float(std::string name, float value) { return {std::move(name), {}, {value}, {}}; }
  static Attr Text(std::string name, std::string value) {
    return {std::move(name), {}, {}, std::move(value)};
  }
};

// The first failure stays in status(); later calls do nothing then.
class GraphBuilder {
public:
  explicit GraphBuilder(const lk_allocator *allocator = lk_allocator_default()) {
    status_ = lk_graph_create(allocator, &graph_, LK_ERR);
  }
  GraphBuilder(const GraphBuilder &) = delete;
  ~GraphBuilder() { lk_graph_destroy(graph_); }

  lk_graph *get() { return graph_; }
  lk_graph *operator->() { return graph_; }
  lk_status status() const { return status_; }
  int opset = 13; // of the nodes that are added next

  int32_t value(const std::string &name) {
    int32_t v = LK_NO_VALUE;
    if (status_ == LK_OK) {
      status_ = lk_graph_add_value(graph_, name.data(), name.size(), &v, LK_ERR);
    }
    return v;
  }
  // dims of -1: open
  int32_t input(const std::string &name, const std::vector<int64_t> &dims,
                uint32_t dtype = LK_F32) {
    const int32_t v = value(name);
    if (status_ != LK_OK) return v;
    declare(v, dims, dtype);
    if (status_ == LK_OK) status_ = lk_graph_add_input(graph_, v, LK_ERR);
    return v;
  }
  void declare(int32_t v, const std::vector<int64_t> &dims, uint32_t dtype = LK_F32) {
    auto *declared = static_cast<lk_declaration *>(lk_graph_alloc(graph_, sizeof(lk_declaration)));
    if (declared == nullptr) {
      status_ = LK_OUT_OF_MEMORY;
      return;
    }
    *declared = {dtype, static_cast<int32_t>(dims.size()), {}, {}};
    for (size_t i = 0; i < dims.size(); i++) declared->dims[i] = dims[i];
    graph_->values[v].declared = declared;
  }
  template <typename T>
  int32_t constant(const std::vector<int64_t> &dims, const std::vector<T> &data, uint32_t dtype) {
    const int32_t v = value("constant" + std::to_string(graph_ ? graph_->n_values : 0));
    if (status_ != LK_OK) return v;
    const size_t bytes = data.size() * sizeof(T);
    void *copy = lk_alloc(graph_->allocator, bytes);
    if (copy == nullptr) {
      status_ = LK_OUT_OF_MEMORY;
      return v;
    }
    if (bytes > 0) std::memcpy(copy, data.data(), bytes);
    const lk_tensor_desc desc =
        lk_tensor_desc_make(dtype, static_cast<uint32_t>(dims.size()), dims.data());
    lk_value_set_constant(graph_, v, &desc, copy);
    return v;
  }
  int32_t floats(const std::vector<int64_t> &dims, const std::vector<float> &data) {
    return constant<float>(dims, data, LK_F32);
  }
  // All elements `x`.
  int32_t filled(const std::vector<int64_t> &dims, float x) {
    size_t n = 1;
    for (int64_t d : dims) n *= static_cast<size_t>(d);
    return floats(dims, std::vector<float>(n, x));
  }
  int32_t scalar(float x) { return floats({}, {x}); }
  int32_t ints(const std::vector<int64_t> &data) {
    return constant<int64_t>({static_cast<int64_t>(data.size())}, data, LK_I64);
  }

  // Returns output 0; output i is that plus i.
  int32_t node(const std::string &op_type, const std::vector<int32_t> &inputs,
               const std::vector<Attr> &attrs = {}, uint32_t n_outputs = 1,
               const std::string &domain = "") {
    int32_t n = LK_NO_NODE;
    if (status_ != LK_OK) return LK_NO_VALUE;
    status_ = lk_graph_add_node(graph_, static_cast<uint32_t>(inputs.size()), n_outputs,
                                static_cast<uint32_t>(attrs.size()), &n, LK_ERR);
    if (status_ != LK_OK) return LK_NO_VALUE;
    lk_node *added = &graph_->nodes[n];
    added->op_type = text(op_type);
    added->domain = text(domain);
    added->opset = opset;
    for (size_t i = 0; i < inputs.size(); i++) added->inputs[i] = inputs[i];
    for (size_t i = 0; i < attrs.size() && status_ == LK_OK; i++) set(&added->attrs[i], attrs[i]);
    const int32_t first = static_cast<int32_t>(graph_->n_values);
    for (uint32_t i = 0; i < n_outputs; i++) {
      const int32_t v = value("v" + std::to_string(graph_->n_values));
      if (status_ == LK_OK) graph_->nodes[n].outputs[i] = v;
    }
    return status_ == LK_OK ? first : LK_NO_VALUE;
  }
  void output(int32_t v) {
    if (status_ == LK_OK) status_ = lk_graph_add_output(graph_, v, LK_ERR);
  }
  // Hands over `inner` as the next body of the node whose first output is `v`. Its last inputs are
  // what it captured of this graph.
  void body(int32_t v, const char *name, GraphBuilder &inner,
            const std::vector<int32_t> &captured = {}) {
    if (status_ == LK_OK) status_ = inner.link();
    for (size_t n = 0; status_ == LK_OK && n < graph_->n_nodes; n++) {
      lk_node *node = &graph_->nodes[n];
      if (node->outputs[0] != v) continue;
      const size_t n_inputs = node->n_inputs + captured.size();
      auto *bodies =
          static_cast<lk_body *>(lk_graph_alloc(graph_, (node->n_bodies + 1) * sizeof(lk_body)));
      auto *inputs = static_cast<int32_t *>(lk_graph_alloc(graph_, n_inputs * sizeof(int32_t)));
      if (bodies == nullptr || inputs == nullptr) {
        status_ = LK_OUT_OF_MEMORY;
        return;
      }
      std::copy_n(node->bodies, node->n_bodies, bodies);
      std::copy_n(node->inputs, node->n_inputs, inputs);
      std::copy(captured.begin(), captured.end(), inputs + node->n_inputs);
      bodies[node->n_bodies++] = {name, inner.graph_, uint32_t(captured.size())};
      node->bodies = bodies;
      node->inputs = inputs;
      node->n_inputs = uint32_t(n_inputs);
      inner.graph_->scope = name;
      inner.graph_ = nullptr;
    }
  }
  lk_status link() {
    if (status_ == LK_OK) status_ = lk_graph_link(graph_, LK_ERR);
    return status_;
  }

  lk_node *producer(int32_t v) {
    const int32_t n = graph_->values[v].producer;
    return n == LK_NO_NODE ? nullptr : &graph_->nodes[n];
  }
  size_t count(const std::string &op_type) const {
    size_t n = 0;
    for (size_t i = 0; i < graph_->n_nodes; i++) {
      n += !graph_->nodes[i].dead && op_type == graph_->nodes[i].op_type;
    }
    return n;
  }
  std::vector<float> numbers(int32_t v) {
    const lk_value *x = &graph_->values[v];
    std::vector<float> all(static_cast<size_t>(lk_elements(&x->constant.desc)));
    for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<float>(lk_constant_number(x, i));
    return all;
  }

private:
  const char *text(const std::string &s) {
    const char *copy = lk_graph_strndup(graph_, s.data(), s.size());
    if (copy == nullptr) status_ = LK_OUT_OF_MEMORY;
    return copy == nullptr ? "" : copy;
  }
  void set(lk_attr *to, const Attr &from) {
    to->name = text(from.name);
    const void *data = from.text.data();
    size_t size = 1, n = from.text.size();
    to->type = LK_ATTR_STRING;
    if (!from.ints.empty()) {
      to->type = LK_ATTR_INTS, data = from.ints.data(), size = sizeof(int64_t);
      n = from.ints.size();
    } else if (!from.floats.empty()) {
      to->type = LK_ATTR_FLOATS, data = from.floats.data(), size = sizeof(float);
      n = from.floats.size();
    }
    to->count = static_cast<uint32_t>(n);
    void *copy = lk_graph_alloc(graph_, n * size);
    if (copy == nullptr) {
      status_ = LK_OUT_OF_MEMORY;
      return;
    }
    if (n > 0) std::memcpy(copy, data, n * size);
    to->data = copy;
  }

  lk_graph *graph_ = nullptr;
  lk_status status_ = LK_OK;
};

// An operator table of this test's own, in the place of the library's: rows that the library has,
// with other facts where a test wants them. The first of a name counts.
inline const std::vector<lk_op_row> &test_rows() {
  static const std::vector<lk_op_row> all = [] {
    std::vector<lk_op_row> rows;
    const lk_api *api = lk_get_api(LK_API_VERSION);
    for (uint32_t i = 0; api->op_row(i) != nullptr; i++) {
      lk_op_row row = *api->op_row(i);
      const std::string name = row.op_type;
      if (row.fusion.kind != 0 && !LK_POST_OP_IS_BINARY(row.fusion.kind)) {
        row.flags &= ~uint32_t{LK_OP_POST_OPS}; // an activation is fused, and takes none
      }
      if (name == "MaxPool" || name == "Sqrt") row.flags &= ~uint32_t{LK_OP_POST_OPS};
      if (row.domain[0] == '\0') row.since = std::max(row.since, 7);
      rows.push_back(row);
    }
    lk_op_row made = {};
    made.struct_size = sizeof made;
    made.domain = made.summary = "";
    made.since = 7;
    made.min_inputs = made.max_inputs = made.max_outputs = 1;
    made.input_types = made.output_types = "T";
    made.op_type = "Twice";
    rows.push_back(made);
    made.op_type = "Dice";
    made.flags = LK_OP_RANDOM;
    rows.push_back(made);
    made.op_type = "Positions";
    made.flags = LK_OP_DATA_DEPENDENT;
    rows.push_back(made);
    return rows;
  }();
  return all;
}
inline const lk_op_row *test_op_row(uint32_t index) {
  return index < test_rows().size() ? &test_rows()[index] : nullptr;
}
inline const lk_op_row *test_op_find(const char *op_type, const char *domain, int32_t opset) {
  for (const lk_op_row &row : test_rows()) {
    if (std::string(row.op_type) == op_type && std::string(row.domain) == domain &&
        opset >= row.since && opset <= LK_MAX_OPSET) {
      return &row;
    }
  }
  return nullptr;
}

inline const lk_api *test_api() {
  static const lk_api api = [] {
    const lk_api *library = lk_get_api(LK_API_VERSION);
    lk_api made = {};
    made.struct_size = sizeof made;
    made.dims_create = library->dims_create;
    made.dims_destroy = library->dims_destroy;
    made.dims_open = library->dims_open;
    made.op_infer = library->op_infer;
    made.op_infer_values = library->op_infer_values;
    made.op_row = test_op_row;
    made.op_find = test_op_find;
    made.thread_look = library->thread_look;
    return made;
  }();
  return &api;
}

// Runs one pass and lk_graph_resolve; `changes` is what the pass counted.
inline lk_status run_pass(GraphBuilder &graph, const char *name, uint64_t *changes,
                          const lk_api *api = test_api(), uint64_t max_folded_bytes = 0) {
  const lk_pass_env env = {api, nullptr, max_folded_bytes, nullptr, nullptr, nullptr};
  *changes = 0;
  if (graph.status() != LK_OK) return graph.status();
  for (size_t i = 0; i < lk_n_passes; i++) {
    if (std::string(name) != lk_passes[i].name) continue;
    lk_status status = lk_pass_run(&lk_passes[i], &env, graph.get(), changes, LK_ERR);
    return status == LK_OK ? lk_graph_resolve(graph.get(), LK_ERR) : status;
  }
  return LK_NOT_FOUND;
}

// Links, runs the pass, and says how often it applied; a failure is a failed test.
inline uint64_t changes_of(GraphBuilder &graph, const char *name) {
  uint64_t changes = 0;
  LK_EXPECT_OK(graph.link());
  LK_EXPECT_OK(run_pass(graph, name, &changes));
  return changes;
}

inline std::vector<uint32_t> post_op_kinds(const lk_node *node) {
  std::vector<uint32_t> kinds;
  for (uint32_t i = 0; i < node->n_post_ops; i++) kinds.push_back(node->post_ops[i].kind);
  return kinds;
}

} // namespace lk
