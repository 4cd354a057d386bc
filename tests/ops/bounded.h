// Whether what computes for long looks again and again whether to stop.
//
// The most that it computes between two looks is less than the 50 ms that are promised, and not
// most of the whole, which larger sizes would make longer. Nor is more computed after a look that
// says that it is not wanted. Computing is counted in time of the processor, in which other programs
// have no part; what is seen once must be seen three times to be a fault. A test that includes this
// is linked with --wrap=lk_team_is_stopped, and is not built for sanitizers, which make any kernel
// slow.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>

#include "tests/harness/wait.h"
#include "tests/ops/infer/huge.h"

extern "C" {
#include "base/team/team.h"

bool __real_lk_team_is_stopped(void);
bool __wrap_lk_team_is_stopped(void);
}

namespace lk::bounded {

using infer::bytes_of;
using infer::describe;
using infer::Described;
using infer::huge_node;
using infer::Node;
using infer::row_name;
using infer::rules;

// What a thread has computed between two looks.
struct Looks {
  static constexpr uint64_t ENOUGH_NS = 800000000; // more of the same is no news
  volatile int32_t cancel = 0;
  uint64_t begin_ns = 0, last_ns = 0, most_ns = 0, end_ns = 0, stopped_ns = 0;
  int count = 0, last = 0; // it is cancelled at that one; 0: none

  void begin() {
    most_ns = end_ns = stopped_ns = 0;
    cancel = count = 0;
    begin_ns = last_ns = lk::computed_ns(pthread_self());
  }
  void note() {
    const uint64_t now = lk::computed_ns(pthread_self());
    most_ns = std::max(most_ns, now - last_ns);
    last_ns = now;
  }
  void forget() { last_ns = lk::computed_ns(pthread_self()); }
  void look() {
    note();
    count++;
    if (cancel == 0 && (count == last || last_ns - begin_ns > ENOUGH_NS)) {
      cancel = 1;
      stopped_ns = last_ns;
    }
  }
  void end() {
    note();
    end_ns = last_ns;
  }
  uint64_t all_ns() const { return end_ns - begin_ns; }
  uint64_t after_ns() const { return cancel == 0 ? 0 : end_ns - stopped_ns; }
};
inline Looks looks;

// ---- nodes ----

// A whole that takes less says nothing.
constexpr uint64_t LEAST_NS = 15000000;
// What may lie between two looks: what is promised, and this part of the whole.
constexpr double MOST_NS = 50000000, MOST_PART = 0.45;
// What one node may need, so that a test takes neither all memory nor all day.
constexpr uint64_t MOST_BYTES = uint64_t{200} << 20;
constexpr double MOST_FLOPS = 3e9;

// Bits of a number between 0 and 1.
template <typename T> T number_of(uint32_t state) {
  if constexpr (std::is_same_v<T, uint16_t>) return T(0x3000 + (state >> 21)); // f16, bf16
  if constexpr (std::is_floating_point_v<T>) return T(state >> 8) / T(1 << 24);
  return T(state >> 24);
}
template <typename T> void fill_as(std::vector<uint8_t> *memory) {
  T *numbers = reinterpret_cast<T *>(memory->data());
  uint32_t state = 1;
  for (size_t i = 0; i < memory->size() / sizeof(T); i++) {
    state = state * 1664525 + 1013904223;
    numbers[i] = number_of<T>(state);
  }
}

// Numbers that differ, in no order, none of them special. Those that may be indices are 0.
inline void fill(const lk_tensor_desc &desc, std::vector<uint8_t> *memory) {
  memory->assign(bytes_of(desc) + 64, 0);
  switch (desc.dtype) {
  case LK_F32:
    return fill_as<float>(memory);
  case LK_F64:
    return fill_as<double>(memory);
  case LK_F16:
  case LK_BF16:
    return fill_as<uint16_t>(memory);
  case LK_I8:
  case LK_U8:
    return fill_as<uint8_t>(memory);
  default:
    return;
  }
}

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
  bool is_right() const { return is_right_; }
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

class BoundedBase : public ::testing::Test {
protected:
  // The most between two looks, and what is computed after one of them said to stop: in parts of
  // what is allowed, least of some runs. `run` computes, and says false where it could not. True:
  // it did.
  bool check(const Node &node, const std::function<bool()> &run) {
    SCOPED_TRACE(describe(node));
    looks.last = 0;
    uint64_t all = 0;
    double least = 1e9;
    for (int i = 0; i < 3 && least > 1; i++) {
      if (!run()) return false;
      if (looks.all_ns() < LEAST_NS) return true;
      all = looks.all_ns();
      least = std::min(least, double(looks.most_ns) / allowed(all));
    }
    n_long++;
    if (std::getenv("LK_TEST_BOUNDED_SHOW") != nullptr) {
      std::printf("  %8.1f ms %8.1f ms %6d  %s\n", double(all) / 1e6, double(looks.most_ns) / 1e6,
                  looks.count, describe(node).c_str());
      std::fflush(stdout);
    }
    EXPECT_LE(least, 1) << looks.most_ns / 1000 << " us of " << all / 1000 << " us between two of "
                        << looks.count << " looks";
    looks.last = std::max(looks.count / 3, 1);
    least = 1e9;
    for (int i = 0; i < 3 && least > 1 && run(); i++) {
      least = std::min(least, double(looks.after_ns()) / allowed(all));
    }
    EXPECT_LE(least, 1) << looks.after_ns() / 1000 << " us of " << all / 1000 << " us after look "
                        << looks.last << " of " << looks.count;
    return true;
  }
  static double allowed(uint64_t all_ns) { return std::min(MOST_NS, MOST_PART * double(all_ns)); }
  int n_long = 0;
};

class BoundedRun : public BoundedBase {
protected:
  // False: the node is refused, or it fails, for an index that is out of range, or the like.
  bool check_run(const Node &node) {
    return check(node, [&] {
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

bool __wrap_lk_team_is_stopped(void) {
  if (lk_team_is_watched()) lk::bounded::looks.look();
  return __real_lk_team_is_stopped();
}
