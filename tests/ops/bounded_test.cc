// What a run computes between two looks at what may stop it, over every row of the operator table.
//
// Each row gets random nodes with one dimension that is huge: a long line, a long list of indices,
// a large kernel, many of what a rule draws. Where a node computes for long, it must look again and
// again: the most that it computes between two looks is less than the 50 ms that are promised, and
// not most of the whole, which larger sizes would make longer. Computing is counted in time of the
// processor, in which other programs have no part; what is seen once must be seen three times to be
// a fault. Not under sanitizers, which make any kernel slow.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "tests/harness/op_rows.h"
#include "tests/harness/wait.h"
#include "tests/ops/infer/rules.h"

extern "C" {
#include "base/team/team.h"
#include "base/tensor.h"

bool __real_lk_team_is_stopped(void);
bool __wrap_lk_team_is_stopped(void);
}

namespace lk::infer {
static void PrintTo(const Node &node, std::ostream *out) {
  *out << node.op;
}
} // namespace lk::infer

static void PrintTo(const lk_op_row &row, std::ostream *out) {
  *out << row.op_type;
}

namespace {

using lk::api;
using lk::infer::Described;
using lk::infer::Dim;
using lk::infer::Draw;
using lk::infer::Input;
using lk::infer::Node;
using lk::infer::rules;

// What a thread has computed between two looks.
struct Looks {
  static constexpr uint64_t ENOUGH_NS = 800000000; // more of the same is no news
  volatile int32_t cancel = 0;
  uint64_t begin_ns = 0, last_ns = 0, most_ns = 0, end_ns = 0;
  int count = 0;

  void begin() {
    most_ns = end_ns = 0;
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
    if (last_ns - begin_ns > ENOUGH_NS) cancel = 1;
  }
  void end() {
    note();
    end_ns = last_ns;
  }
  uint64_t all_ns() const { return end_ns - begin_ns; }
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

uint64_t bytes_of(const lk_tensor_desc &desc) {
  int64_t bytes = 0;
  return lk_tensor_size(&desc, "", nullptr, &bytes, nullptr) == LK_OK ? uint64_t(bytes)
                                                                      : UINT64_MAX / 64;
}

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

std::string describe(const Node &node) {
  std::string text = node.op + ":" + std::to_string(node.opset);
  for (const Input &input : node.inputs) {
    text += " [";
    for (const Dim &dim : input.shape) text += std::to_string(dim.number) + ",";
    text += input.absent ? "-]" : "]";
  }
  for (const auto &[name, values] : node.ints) {
    text += " " + name + "=";
    for (const int64_t value : values) text += std::to_string(value) + ",";
  }
  for (const auto &[name, value] : node.texts) text += " " + name + "=" + value;
  return text;
}

// ---- nodes with one share of work that is huge: what rules seldom draw ----

struct Builder {
  Node node;
  explicit Builder(const char *op, int32_t opset = 17) {
    node.op = op;
    node.opset = opset;
  }
  Builder &tensor(const std::vector<int64_t> &dims, uint32_t dtype = LK_F32) {
    Input input;
    input.dtype = dtype;
    for (const int64_t dim : dims) input.shape.push_back({dim, dim});
    node.inputs.push_back(input);
    return *this;
  }
  template <typename T> Builder &values(const std::vector<T> &list, uint32_t dtype) {
    tensor({int64_t(list.size())}, dtype);
    node.inputs.back().bytes.resize(list.size() * sizeof(T));
    std::memcpy(node.inputs.back().bytes.data(), list.data(), list.size() * sizeof(T));
    return *this;
  }
  Builder &ints(const char *name, const std::vector<int64_t> &list) {
    node.ints[name] = list;
    return *this;
  }
  Builder &outputs(uint32_t n) {
    node.n_outputs = n;
    return *this;
  }
};

std::vector<Node> huge_nodes() {
  const int64_t n = 12000000;
  std::vector<uint8_t> all(size_t{n}, 1);
  return {
      Builder("TopK").tensor({n / 4}).values<int64_t>({n / 8}, LK_I64).outputs(2).node,
      Builder("TopK").tensor({n / 4}, LK_I64).values<int64_t>({n / 16}, LK_I64).outputs(2).node,
      Builder("TopK")
          .tensor({n / 4, 2})
          .values<int64_t>({9}, LK_I64)
          .ints("axis", {0})
          .outputs(2)
          .node,
      Builder("Unique").tensor({n / 16}).outputs(4).node,
      Builder("Unique").tensor({n / 16}).ints("sorted", {0}).node,
      Builder("NonZero", 13).tensor({n}).node,
      Builder("Compress").tensor({n}).values(all, LK_BOOL).node,
      Builder("Conv").tensor({1, 1, 600, 600}).tensor({1, 1, 255, 255}).node,
      Builder("Conv").tensor({1, 16, 600, 600}).tensor({16, 1, 65, 65}).ints("group", {16}).node,
      Builder("ConvTranspose").tensor({1, 1, 99, 99}).tensor({1, 1, 99, 99}).node,
      Builder("ConvInteger", 10).tensor({1, 1, 400, 400}, LK_U8).tensor({1, 1, 99, 99}, LK_U8).node,
      Builder("MaxPool").tensor({1, 1, 1200, 1200}).ints("kernel_shape", {999, 999}).node,
      Builder("MaxPool").tensor({1, 1, 4 * n}).ints("kernel_shape", {3}).outputs(2).node,
      Builder("AveragePool").tensor({1, 1, 1200, 1200}).ints("kernel_shape", {999, 999}).node,
      Builder("LpPool").tensor({1, 1, 500, 500}).ints("kernel_shape", {399, 399}).node,
      Builder("Softmax").tensor({4 * n}).node,
      Builder("Softmax").tensor({n, 4}).ints("axis", {0}).node,
      Builder("LogSoftmax").tensor({4 * n}).node,
      Builder("Hardmax").tensor({1, 4 * n}).node,
      Builder("LayerNormalization").tensor({4 * n}).tensor({1}).node,
      Builder("InstanceNormalization").tensor({1, 1, 4 * n}).tensor({1}).tensor({1}).node,
      Builder("LpNormalization").tensor({1, 4 * n}).node,
      Builder("MeanVarianceNormalization").tensor({1, 1, 1, 4 * n}).node,
      Builder("ReduceSum", 13).tensor({4 * n}).node,
      Builder("ReduceMax", 13).tensor({4 * n}, LK_I64).node,
      Builder("ReduceLogSumExp", 13).tensor({4 * n}).node,
      Builder("ArgMax", 13).tensor({4 * n}).node,
      Builder("CumSum", 14).tensor({4 * n}).values<int64_t>({0}, LK_I64).node,
      Builder("MaxUnpool")
          .tensor({1, 1, n})
          .tensor({1, 1, n}, LK_I64)
          .ints("kernel_shape", {2})
          .node,
      Builder("ScatterND").tensor({n}).tensor({n, 1}, LK_I64).tensor({n}).node,
      Builder("ScatterElements").tensor({n}).tensor({n}, LK_I64).tensor({n}).node,
      Builder("GatherElements").tensor({n}).tensor({n}, LK_I64).node,
      Builder("Gather").tensor({n}).tensor({n}, LK_I64).node,
      Builder("Gather").tensor({1, 2 * n}).tensor({1}, LK_I64).node,
      Builder("GatherND").tensor({n}).tensor({n, 1}, LK_I64).node,
      Builder("DFT").tensor({1, 10007, 1}).node,
      Builder("DFT").tensor({1, 1 << 20, 2}).node,
      Builder("MatMul").tensor({1, n}).tensor({n, 3}).node,
      Builder("MatMul").tensor({n, 3}).tensor({3, 2}).node,
      Builder("MatMul").tensor({1, 9}).tensor({9, n / 3}).node,
      Builder("MatMul").tensor({700, 700}, LK_F64).tensor({700, 700}, LK_F64).node,
      Builder("Pad", 13).tensor({2}).values<int64_t>({2 * n, 2 * n}, LK_I64).node,
      Builder("Concat").tensor({2 * n}).tensor({2 * n}).ints("axis", {0}).node,
      Builder("Transpose").tensor({2, n}).node,
      Builder("Tile", 13).tensor({3}).values<int64_t>({n}, LK_I64).node,
      Builder("Det").tensor({700, 700}).node,
  };
}

// Draws the same node again and again with another huge number, until it is not too large.
bool draw(lk_executor *executor, const lk_op_row &row, unsigned seed, Node *out, double *cost) {
  const auto rule = rules().find(row.op_type);
  if (rule == rules().end()) return false;
  constexpr int64_t sizes[] = {12000000, 2000000, 300000, 60000, 12000, 3000, 1200, 500};
  for (const int64_t huge : sizes) {
    std::mt19937 random(seed);
    std::vector<Dim> symbols = {{huge, huge}, {huge, huge}, {2, 2}, {1, 1}};
    Draw draw(&random, &symbols);
    draw.node.op = row.op_type;
    draw.node.domain = row.domain;
    draw.node.opset = std::max(draw.one_of(2) ? 13 : LK_MAX_OPSET, row.since);
    rule->second(draw);
    const Subject subject(executor, draw.node);
    if (!subject.is_right()) continue;
    *out = draw.node;
    *cost = subject.cost();
    return true;
  }
  return false;
}

class BoundedBase : public ::testing::Test {
protected:
  // The most between two looks, in parts of what is allowed: least of some runs.
  void check(const Node &node) {
    SCOPED_TRACE(describe(node));
    double least = 1e9;
    for (int i = 0; i < 3 && least > 1; i++) {
      Subject subject(executor, node);
      lk_error error = {};
      const lk_status status = subject.run(&error);
      if (status != LK_OK && status != LK_CANCELLED) return; // an index out of range, or the like
      if (looks.all_ns() < LEAST_NS) return;
      const double allowed = std::min(MOST_NS, MOST_PART * double(looks.all_ns()));
      least = std::min(least, double(looks.most_ns) / allowed);
      if (i == 0) n_long++;
    }
    if (std::getenv("LK_TEST_BOUNDED_SHOW") != nullptr) {
      std::printf("  %8.1f ms %8.1f ms %6d  %s\n", double(looks.all_ns()) / 1e6,
                  double(looks.most_ns) / 1e6, looks.count, describe(node).c_str());
      std::fflush(stdout);
    }
    EXPECT_LE(least, 1) << looks.most_ns / 1000 << " us of " << looks.all_ns() / 1000
                        << " us between two of " << looks.count << " looks";
  }
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

std::string name_of(const lk_op_row &row) {
  std::string name = std::string(row.domain) + row.op_type;
  name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return !isalnum(c); }),
             name.end());
  return name;
}

INSTANTIATE_TEST_SUITE_P(Rows, Bounded, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return name_of(info.param); });
INSTANTIATE_TEST_SUITE_P(Nodes, BoundedHuge, ::testing::ValuesIn(huge_nodes()),
                         [](const auto &info) {
                           return info.param.op + std::to_string(info.index);
                         });

} // namespace

bool __wrap_lk_team_is_stopped(void) {
  if (lk_team_is_watched()) looks.look();
  return __real_lk_team_is_stopped();
}
