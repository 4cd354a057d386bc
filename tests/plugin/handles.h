// A node made of a few values, for tests that use the table call by call.
#pragma once

#include "tests/harness/op_tester.h"

namespace lk {

inline lk_stats stats(lk_context *context, lk_executor *executor = nullptr) {
  return host_stats(context, executor);
}

// A node of plain f32 inputs.
struct TestNode {
  std::string op;
  std::string name = "y", scope, domain;
  int32_t opset = 13;
  uint64_t generation = 0;
  uint32_t position = 0;
  std::vector<std::pair<std::string, std::vector<int64_t>>> ints;
  std::vector<std::pair<std::string, std::vector<float>>> floats;
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::pair<std::string, std::vector<const char *>>> lists; // of texts
  std::vector<lk_post_op> post_ops;
  std::vector<Value> constants; // of the last inputs
  std::vector<uint32_t> absent; // inputs that are not there
  uint32_t n_inputs = 1, n_outputs = 1;

  lk_status create(lk_executor *executor, Op *out_op, lk_error *error) const {
    std::vector<lk_node_input> inputs(n_inputs);
    std::vector<lk_tensor> tensors;
    for (const Value &value : constants) {
      tensors.push_back({value.desc, const_cast<uint8_t *>(value.bytes.data())});
    }
    for (size_t i = 0; i < tensors.size(); i++) {
      inputs[n_inputs - tensors.size() + i] = {&tensors[i], LK_INPUT_COPY, 0};
    }
    for (const uint32_t input : absent) inputs[input].flags = LK_INPUT_ABSENT;
    std::vector<lk_attr> attrs;
    for (const auto &attr : ints) {
      attrs.push_back(
          {attr.first.c_str(), LK_ATTR_INTS, uint32_t(attr.second.size()), attr.second.data()});
    }
    for (const auto &attr : floats) {
      attrs.push_back(
          {attr.first.c_str(), LK_ATTR_FLOATS, uint32_t(attr.second.size()), attr.second.data()});
    }
    for (const auto &attr : texts) {
      attrs.push_back(
          {attr.first.c_str(), LK_ATTR_STRING, uint32_t(attr.second.size()), attr.second.data()});
    }
    for (const auto &attr : lists) {
      attrs.push_back(
          {attr.first.c_str(), LK_ATTR_STRINGS, uint32_t(attr.second.size()), attr.second.data()});
    }
    lk_node_desc desc = host_node(op.c_str(), inputs.data(), n_inputs);
    desc.output_name = name.c_str();
    desc.scope = scope.c_str();
    desc.domain = domain.c_str();
    desc.generation = generation;
    desc.position = position;
    desc.opset = opset;
    desc.n_outputs = n_outputs;
    desc.n_attrs = static_cast<uint32_t>(attrs.size());
    desc.attrs = attrs.data();
    desc.n_post_ops = static_cast<uint32_t>(post_ops.size());
    desc.post_ops = post_ops.data();
    return api()->op_create(executor, &desc, out_op->out(), error);
  }
};

inline lk_status bind(lk_op *op, const std::vector<lk_tensor_desc> &descs, Plan *plan,
                      lk_error *error, int32_t over = -1, lk_layout wish = LK_LAYOUT_ANY) {
  std::vector<lk_tensor> inputs;
  for (const lk_tensor_desc &desc : descs) inputs.push_back({desc, nullptr});
  lk_bind_desc desc = host_bind(inputs.data(), static_cast<uint32_t>(inputs.size()));
  desc.wishes = &wish;
  desc.in_place_input = over;
  return bind(op, desc, plan, error);
}

// Runs a plan with plain outputs in a frame of its own.
inline lk_status run(lk_executor *executor, lk_plan *plan, const std::vector<void *> &inputs,
                     void *output, lk_error *error) {
  return host_run(executor, plan, inputs.data(), &output, error);
}

} // namespace lk
