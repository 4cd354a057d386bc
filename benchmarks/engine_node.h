// A node of an engine, by default of `onednn`, which runs as executors run it. For layers.cc and
// half_nodes.cc.
#pragma once

#include <latchkey/latchkey.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "benchmarks/beside.h"

namespace beside {

class EngineContext {
public:
  explicit EngineContext(int threads, const char *engine = "onednn") {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.engine = engine;
    options.threads = threads;
    lk_error error;
    must(api()->context_create(&options, &context_, &error), error);
    must(api()->executor_create(context_, "nodes", &executor_, &error), error);
    must(api()->frame_create(executor_, &frame_, &error), error);
  }
  EngineContext(const EngineContext &) = delete;
  ~EngineContext() {
    api()->frame_destroy(frame_);
    api()->executor_destroy(executor_);
    api()->context_destroy(context_);
  }
  static const lk_api *api() { return lk_get_api(LK_API_VERSION); }
  static void must(lk_status status, const lk_error &error) {
    if (status == LK_OK) return;
    std::fprintf(stderr, "%s\n", error.message);
    std::exit(1);
  }
  lk_executor *executor() const { return executor_; }
  lk_frame *frame() const { return frame_; }

private:
  lk_context *context_ = nullptr;
  lk_executor *executor_ = nullptr;
  lk_frame *frame_ = nullptr;
};

struct NodeInput {
  lk_tensor_desc desc;
  void *data;
  bool is_constant;
};

// Bound once, and attached to the frame of its context.
class EngineNode {
public:
  EngineNode(const EngineContext &of, const char *op, const std::vector<NodeInput> &inputs,
             const std::vector<lk_attr> &attrs, const std::vector<lk_post_op> &post_ops,
             lk_layout wish, void *output, int32_t opset = 13)
      : of_(of), output_(output) {
    std::vector<lk_tensor> tensors;
    for (const NodeInput &input : inputs) {
      tensors.push_back({input.desc, input.data});
      pointers_.push_back(input.data);
    }
    std::vector<lk_node_input> of_node(inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
      if (inputs[i].is_constant) of_node[i] = {&tensors[i], LK_INPUT_COPY, 0};
    }
    lk_node_desc node = {};
    node.struct_size = sizeof node;
    node.op_type = op;
    node.opset = opset;
    node.output_name = "y";
    node.n_inputs = uint32_t(inputs.size());
    node.inputs = of_node.data();
    node.n_outputs = 1;
    node.n_attrs = uint32_t(attrs.size());
    node.attrs = attrs.data();
    node.n_post_ops = uint32_t(post_ops.size());
    node.post_ops = post_ops.data();
    const lk_api *api = EngineContext::api();
    lk_error error;
    EngineContext::must(api->op_create(of.executor(), &node, &op_, &error), error);
    lk_bind_desc bind = {};
    bind.struct_size = sizeof bind;
    bind.inputs = tensors.data();
    bind.wishes = &wish;
    bind.n_inputs = node.n_inputs;
    bind.n_outputs = 1;
    bind.in_place_input = -1;
    bind.flags = LK_BIND_OWN;
    EngineContext::must(api->op_bind(op_, &bind, &plan_, &error), error);
    EngineContext::must(api->frame_attach(of.frame(), plan_, &slot_, &error), error);
  }
  EngineNode(const EngineNode &) = delete;
  ~EngineNode() {
    EngineContext::api()->plan_release(plan_);
    EngineContext::api()->op_destroy(op_);
  }
  void run() const {
    void *outputs[] = {output_};
    lk_error error;
    EngineContext::must(
        EngineContext::api()->op_run(of_.frame(), slot_, pointers_.data(), outputs, &error), error);
  }

private:
  const EngineContext &of_;
  void *output_;
  std::vector<void *> pointers_;
  lk_op *op_ = nullptr;
  lk_plan *plan_ = nullptr;
  uint32_t slot_ = 0;
};

} // namespace beside
