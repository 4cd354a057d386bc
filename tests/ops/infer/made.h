// Drawn nodes that are made and run: the numbers of their inputs, and the bits of their outputs.
#pragma once

#include <deque>

#include "tests/ops/infer/huge.h"

namespace lk::infer {

// Bits of a number between 0 and 1.
template <typename T> inline T number_of(uint32_t state) {
  if constexpr (std::is_same_v<T, uint16_t>) return T(0x3000 + (state >> 21)); // f16, bf16
  if constexpr (std::is_floating_point_v<T>) return T(state >> 8) / T(1 << 24);
  return T(state >> 24);
}
template <typename T> inline void fill_as(std::vector<uint8_t> *memory, uint32_t state) {
  T *numbers = reinterpret_cast<T *>(memory->data());
  for (size_t i = 0; i < memory->size() / sizeof(T); i++) {
    state = state * 1664525 + 1013904223;
    numbers[i] = number_of<T>(state);
  }
}

// Numbers that differ, in no order, none of them special. Those that may be indices are 0.
inline void fill(const lk_tensor_desc &desc, std::vector<uint8_t> *memory, uint32_t seed = 1) {
  memory->assign(bytes_of(desc) + 64, 0);
  switch (desc.dtype) {
  case LK_F32:
    return fill_as<float>(memory, seed);
  case LK_F64:
    return fill_as<double>(memory, seed);
  case LK_F16:
  case LK_BF16:
    return fill_as<uint16_t>(memory, seed);
  case LK_I8:
  case LK_U8:
    return fill_as<uint8_t>(memory, seed);
  default:
    return;
  }
}

// The inputs of a node, in the test's memory.
struct Operands {
  explicit Operands(const Node &node, uint32_t seed = 1) : tensors(inputs_of(node)) {
    for (lk_tensor &tensor : tensors) {
      if (tensor.data != nullptr || tensor.desc.dtype == 0) continue;
      memory.emplace_back();
      fill(tensor.desc, &memory.back(), seed++);
      tensor.data = memory.back().data();
    }
  }
  std::vector<lk_tensor> tensors;
  std::deque<std::vector<uint8_t>> memory;
};

using Bits = std::vector<std::vector<uint8_t>>; // of all outputs

// All inputs but the first; if there is only one, that one. As bits.
inline uint64_t all_but_first(const Node &node) {
  const uint64_t all = (uint64_t{1} << node.inputs.size()) - 1;
  return node.inputs.size() == 1 ? all : all & ~uint64_t{1};
}

// A node in an executor, by the table: all of them are borrowed. `constants`: bits of inputs.
class Made {
public:
  Made(lk_executor *executor, const Node &node, const Operands &operands, uint64_t constants = 0,
       uint64_t generation = 0)
      : executor_(executor), node_(node), operands_(&operands), described_(node) {
    for (size_t i = 0; i < node.inputs.size(); i++) {
      const bool is_constant = (constants >> i & 1) != 0 && !node.inputs[i].absent;
      if (is_constant) described_.inputs[i].constant = &operands.tensors[i];
    }
    described_.desc.generation = generation;
  }

  lk_status make(lk_error *error) {
    op.reset();
    lk_status status = api()->op_create(executor_, &described_.desc, op.out(), error);
    return status == LK_OK ? bind(error) : status;
  }
  // With the plan in hand.
  lk_status bind(lk_error *error, uint32_t flags = 0) {
    bind_ = host_bind(operands_->tensors.data(), uint32_t(operands_->tensors.size()));
    bind_.flags = flags;
    bind_.n_outputs = node_.n_outputs;
    return lk::bind(op, bind_, &plan, error);
  }
  // With inputs of other sizes, but for constants.
  lk_status resize(const Operands &operands, lk_error *error, uint32_t flags = 0) {
    operands_ = &operands;
    return bind(error, flags);
  }
  // Whether shapes of outputs follow from elements.
  bool is_of_data() const {
    const lk_op_row *row = api()->op_find(node_.op.c_str(), node_.domain.c_str(), node_.opset);
    return (row->flags & LK_OP_DATA_DEPENDENT) != 0 || host_plan_info(plan).known_when_run != 0;
  }
  // `threads`: that it may use at most; 0: those of the context.
  lk_status run(Bits *out, lk_error *error, int32_t threads = 0) {
    lk::Frame frame;
    lk_status status = api()->frame_create(executor_, frame.out(), error);
    if (status != LK_OK) return status;
    if (threads > 0) api()->frame_begin(frame, threads);
    status = is_of_data() ? run_alloc(frame, out, error) : run_plan(frame, out, error);
    if (threads > 0) api()->frame_end(frame);
    return status;
  }

  lk::Op op;
  lk::Plan plan;

private:
  lk_status run_plan(lk_frame *frame, Bits *out, lk_error *error) {
    uint32_t slot = 0;
    std::vector<void *> from, to;
    if (const lk_status s = api()->frame_attach(frame, plan, &slot, error); s != LK_OK) return s;
    for (const lk_tensor &tensor : operands_->tensors) from.push_back(tensor.data);
    Bits made;
    for (uint32_t i = 0; i < node_.n_outputs; i++) {
      lk_tensor_desc desc = {};
      if (const lk_status s = api()->plan_output(plan, i, &desc, error); s != LK_OK) return s;
      made.emplace_back(bytes_of(desc));
    }
    for (std::vector<uint8_t> &bytes : made) to.push_back(bytes.data());
    const lk_status status = api()->op_run(frame, slot, from.data(), to.data(), error);
    if (status == LK_OK) *out = std::move(made);
    return status;
  }
  lk_status run_alloc(lk_frame *frame, Bits *out, lk_error *error) {
    Bits memory;
    const auto alloc = [](void *arg, const lk_output_request *request) {
      auto *all = static_cast<Bits *>(arg);
      all->emplace_back(request->bytes + 64);
      return static_cast<void *>(all->back().data());
    };
    std::vector<lk_tensor> made(node_.n_outputs);
    const lk_status status =
        api()->op_run_alloc(frame, op, &bind_, alloc, &memory, made.data(), error);
    for (size_t i = 0; status == LK_OK && i < made.size(); i++) {
      memory[i].resize(bytes_of(made[i].desc));
    }
    if (status == LK_OK) *out = std::move(memory);
    return status;
  }

  lk_executor *executor_;
  const Node &node_;
  const Operands *operands_;
  Described described_;
  lk_bind_desc bind_ = {};
};

} // namespace lk::infer
