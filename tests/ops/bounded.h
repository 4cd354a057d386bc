// Nodes that are run while tests count how often they look whether to stop.
#pragma once

#include "tests/harness/environment.h"
#include "tests/harness/looks.h"
#include "tests/ops/infer/made.h"

namespace lk::bounded {

using infer::bytes_of;
using infer::describe;
using infer::Described;
using infer::fill;
using infer::huge_node;
using infer::Node;
using infer::row_name;
using infer::rules;

// Which of many cases are tried: one of so many by `make test`, each by `make nightly`.
inline bool is_tried(size_t i) {
  return i % std::max<size_t>(1, size_t(number_of_variable("LK_TEST_BOUNDED_ONE_IN", 24))) == 0;
}

// ---- nodes ----

// What one node may need, so that a test takes neither all memory nor all day.
constexpr uint64_t MOST_BYTES = uint64_t{200} << 20;
constexpr double MOST_FLOPS = 3e9;

// A node that is bound, and may be run.
class Subject {
public:
  Subject(lk_executor *executor, const Node &node) : executor_(executor), node_(node) {
    const Described described(node);
    if (api()->op_create(executor, &described.desc, op_.out(), &error_) != LK_OK) return;
    inputs_ = lk::infer::inputs_of(node_);
    for (size_t i = 0; i < inputs_.size(); i++) {
      if (!node_.inputs[i].absent) bytes_ += bytes_of(inputs_[i].desc);
    }
    if (bytes_ > 4 * MOST_BYTES) return;
    bind_ = host_bind(inputs_.data(), uint32_t(inputs_.size()));
    bind_.n_outputs = node.n_outputs;
    if (lk::bind(op_, bind_, &plan_, &error_) != LK_OK) return;
    info_ = host_plan_info(plan_);
    const lk_op_row *row = api()->op_find(node.op.c_str(), node.domain.c_str(), node.opset);
    is_of_data_ =
        info_.known_when_run != 0 || (row != nullptr && (row->flags & LK_OP_DATA_DEPENDENT) != 0);
    outputs_.resize(node.n_outputs);
    for (uint32_t i = 0; i < node.n_outputs; i++) {
      if (api()->plan_output(plan_, i, &outputs_[i], nullptr) != LK_OK) return;
      bytes_ += info_.known_when_run != 0 ? 0 : bytes_of(outputs_[i]);
    }
    is_right_ = bytes_ + info_.scratch_bytes <= MOST_BYTES && info_.flops <= MOST_FLOPS;
  }
  bool is_bound() const { return plan_.get() != nullptr; }
  bool is_right() const { return is_right_; }
  // Of operands and temporaries.
  uint64_t bytes() const { return bytes_ + info_.scratch_bytes; }
  // About how long it takes, in no unit.
  double cost() const { return double(info_.flops) + double(bytes_); }

  lk_status run(lk_error *error) {
    if (plan_ == nullptr) {
      *error = error_;
      return LK_INVALID_ARGUMENT;
    }
    std::deque<std::vector<uint8_t>> memory;
    std::vector<void *> in, out;
    for (lk_tensor &input : inputs_) {
      if (input.data == nullptr && input.desc.dtype != 0) {
        memory.emplace_back();
        fill(input.desc, &memory.back());
        input.data = memory.back().data();
      }
      in.push_back(const_cast<void *>(input.data));
    }
    lk::Frame frame;
    if (const lk_status s = api()->frame_create(executor_, frame.out(), error); s != LK_OK)
      return s;
    lk_watch watch = {};
    watch.struct_size = sizeof watch;
    watch.cancel = &looks.cancel;
    if (const lk_status s = api()->frame_watch(frame, &watch, error); s != LK_OK) return s;
    lk_status status = LK_OK;
    if (is_of_data_) {
      status = run_alloc(frame, &memory, error);
    } else {
      uint32_t slot = 0;
      status = api()->frame_attach(frame, plan_, &slot, error);
      for (const lk_tensor_desc &desc : outputs_) {
        memory.emplace_back(bytes_of(desc) + 64, 1);
        out.push_back(memory.back().data());
      }
      looks.begin();
      if (status == LK_OK) status = api()->op_run(frame, slot, in.data(), out.data(), error);
      looks.end();
    }
    for (lk_tensor &input : inputs_) input.data = nullptr;
    return status;
  }

private:
  lk_status run_alloc(lk_frame *frame, std::deque<std::vector<uint8_t>> *memory, lk_error *error) {
    const auto alloc = [](void *arg, const lk_output_request *request) {
      auto *all = static_cast<std::deque<std::vector<uint8_t>> *>(arg);
      looks.note();
      all->emplace_back(request->bytes + 64);
      looks.forget(); // the host's own work
      return static_cast<void *>(all->back().data());
    };
    std::vector<lk_tensor> made(node_.n_outputs);
    looks.begin();
    const lk_status status =
        api()->op_run_alloc(frame, op_, &bind_, alloc, memory, made.data(), error);
    looks.end();
    return status;
  }

  lk_executor *executor_;
  Node node_;
  lk::Op op_;
  lk::Plan plan_;
  lk_bind_desc bind_ = {};
  std::vector<lk_tensor> inputs_;
  std::vector<lk_tensor_desc> outputs_;
  lk_plan_info info_ = {};
  lk_error error_ = {};
  uint64_t bytes_ = 0;
  bool is_right_ = false, is_of_data_ = false;
};

class BoundedRun : public BoundedBase {
protected:
  // False: the node is refused, or it fails, for an index that is out of range, or the like.
  bool check_run(const Node &node) {
    return check(describe(node), [&] {
      lk_error error = {};
      const lk_status status = Subject(executor, node).run(&error);
      if (status != LK_OK && status != LK_CANCELLED) last_error = error.message;
      return status == LK_OK || status == LK_CANCELLED;
    });
  }
  std::string last_error;
  lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
  lk::Executor executor = lk::executor_in(context);
};

} // namespace lk::bounded
