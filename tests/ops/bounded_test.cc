// What a run computes between two looks at what may stop it, over every row of the operator table.
//
// Each row gets random nodes with one dimension that is huge: a long line, a long list of indices,
// a large kernel, many of what a rule draws. Where a node computes for long, it must look again and
// again: the most that it computes between two looks is less than the 50 ms that are promised, and
// not most of the whole, which larger sizes would make longer. Nor is more computed after a look
// that says that it is not wanted. Computing is counted in time of the processor, in which other
// programs have no part; what is seen once must be seen three times to be a fault. Not under
// sanitizers, which make any kernel slow.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "tests/harness/wait.h"
#include "tests/ops/infer/huge.h"

extern "C" {
#include "base/team/team.h"

bool __real_lk_team_is_stopped(void);
bool __wrap_lk_team_is_stopped(void);
}

namespace {

using lk::api;
using lk::infer::bytes_of;
using lk::infer::describe;
using lk::infer::Described;
using lk::infer::huge_node;
using lk::infer::huge_nodes;
using lk::infer::Node;
using lk::infer::row_name;
using lk::infer::rules;

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
Looks looks;

// ---- nodes ----

// A whole that takes less says nothing.
constexpr uint64_t LEAST_NS = 30000000;
// What may lie between two looks: what is promised, and this part of the whole.
constexpr double MOST_NS = 50000000, MOST_PART = 0.45;
// What one node may need, so that a test takes neither all memory nor all day.
constexpr uint64_t MOST_BYTES = uint64_t{200} << 20;
constexpr double MOST_FLOPS = 3e9;

// Numbers that differ, in no order, none of them special.
void fill(const lk_tensor_desc &desc, std::vector<uint8_t> *memory) {
  memory->assign(bytes_of(desc) + 64, 0);
  if (desc.dtype != LK_F32) return;
  auto *numbers = reinterpret_cast<float *>(memory->data());
  uint32_t state = 1;
  for (size_t i = 0; i < memory->size() / sizeof(float); i++) {
    state = state * 1664525 + 1013904223;
    numbers[i] = float(state >> 8) / float(1 << 24);
  }
}

// A node that is bound, and may be run.
class Subject {
public:
  Subject(lk_executor *executor, const Node &node) : executor_(executor), node_(node) {
    const Described described(node);
    if (api()->op_create(executor, &described.desc, op_.out(), nullptr) != LK_OK) return;
    inputs_ = lk::infer::inputs_of(node_);
    for (size_t i = 0; i < inputs_.size(); i++) {
      if (!node_.inputs[i].absent) bytes_ += bytes_of(inputs_[i].desc);
    }
    if (bytes_ > MOST_BYTES) return;
    bind_ = host_bind(inputs_.data(), uint32_t(inputs_.size()));
    bind_.n_outputs = node.n_outputs;
    if (lk::bind(op_, bind_, &plan_, nullptr) != LK_OK) return;
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
  uint64_t bytes_ = 0;
  bool is_right_ = false, is_of_data_ = false;
};

// Draws the same node again and again with another huge number, until it is not too large.
bool draw(lk_executor *executor, const lk_op_row &row, unsigned seed, Node *out, double *cost) {
  const auto rule = rules().find(row.op_type);
  if (rule == rules().end()) return false;
  constexpr int64_t sizes[] = {12000000, 2000000, 300000, 60000, 12000, 3000, 1200, 500};
  for (const int64_t huge : sizes) {
    const Node node = huge_node(row, rule->second, seed, huge);
    const Subject subject(executor, node);
    if (!subject.is_right()) continue;
    *out = node;
    *cost = subject.cost();
    return true;
  }
  return false;
}

class BoundedBase : public ::testing::Test {
protected:
  // The most between two looks, and what is computed after one of them said to stop: in parts of
  // what is allowed, least of some runs.
  void check(const Node &node) {
    SCOPED_TRACE(describe(node));
    looks.last = 0;
    uint64_t all = 0;
    double least = 1e9;
    for (int i = 0; i < 3 && least > 1; i++) {
      if (!run(node) || looks.all_ns() < LEAST_NS) return;
      all = looks.all_ns();
      least = std::min(least, double(looks.most_ns) / allowed(all));
      if (i == 0) n_long++;
    }
    if (std::getenv("LK_TEST_BOUNDED_SHOW") != nullptr) {
      std::printf("  %8.1f ms %8.1f ms %6d  %s\n", double(all) / 1e6, double(looks.most_ns) / 1e6,
                  looks.count, describe(node).c_str());
      std::fflush(stdout);
    }
    EXPECT_LE(least, 1) << looks.most_ns / 1000 << " us of " << all / 1000 << " us between two of "
                        << looks.count << " looks";
    looks.last = std::max(looks.count / 3, 1);
    least = 1e9;
    for (int i = 0; i < 3 && least > 1 && run(node); i++) {
      least = std::min(least, double(looks.after_ns()) / allowed(all));
    }
    EXPECT_LE(least, 1) << looks.after_ns() / 1000 << " us of " << all / 1000 << " us after look "
                        << looks.last << " of " << looks.count;
  }
  // False: it fails, for an index that is out of range, or the like.
  bool run(const Node &node) {
    lk_error error = {};
    const lk_status status = Subject(executor, node).run(&error);
    return status == LK_OK || status == LK_CANCELLED;
  }
  static double allowed(uint64_t all_ns) { return std::min(MOST_NS, MOST_PART * double(all_ns)); }
  lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
  lk::Executor executor = lk::executor_in(context);
  int n_long = 0;
};

class Bounded : public BoundedBase, public ::testing::WithParamInterface<lk_op_row> {};

// The costliest of many nodes.
TEST_P(Bounded, LooksAgainAndAgain) {
  const int tries = 8, most = lk::repeats(2);
  std::vector<std::pair<double, Node>> nodes;
  for (int i = 0; i < tries; i++) {
    Node node;
    double cost = 0;
    if (draw(executor, GetParam(), unsigned(i), &node, &cost)) nodes.push_back({cost, node});
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  int n = 0;
  for (const auto &[cost, node] : nodes) {
    if (cost < 1e7 || n++ == most) break;
    check(node);
  }
  if (std::getenv("LK_TEST_BOUNDED_SHOW") != nullptr) {
    std::printf("  %s: %d long\n", GetParam().op_type, n_long);
  }
}

class BoundedHuge : public BoundedBase, public ::testing::WithParamInterface<Node> {};

TEST_P(BoundedHuge, LooksAgainAndAgain) {
  check(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Rows, Bounded, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });
INSTANTIATE_TEST_SUITE_P(Nodes, BoundedHuge, ::testing::ValuesIn(huge_nodes()),
                         [](const auto &info) {
                           return info.param.op + std::to_string(info.index);
                         });

} // namespace

bool __wrap_lk_team_is_stopped(void) {
  if (lk_team_is_watched()) looks.look();
  return __real_lk_team_is_stopped();
}
