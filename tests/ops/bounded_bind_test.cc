// What making an operator and its plan computes between two looks at what may stop it, over every
// row of the operator table: its huge inputs are constants, which are hashed, copied and packed.
// And nothing half-made is kept: what is made once more after it was stopped computes the same
// bits.
#include "tests/ops/bounded.h"

namespace {

using namespace lk::bounded;
using lk::api;

// Where constants lie is the test's memory, which stays.
struct Constants {
  explicit Constants(const Node &node) : tensors(lk::infer::inputs_of(node)) {
    for (lk_tensor &tensor : tensors) {
      if (tensor.data != nullptr || tensor.desc.dtype == 0) continue;
      memory.emplace_back();
      fill(tensor.desc, &memory.back());
      tensor.data = memory.back().data();
    }
  }
  std::vector<lk_tensor> tensors;
  std::deque<std::vector<uint8_t>> memory;
};

// A node of which all inputs but the first are constants; if there is only one, that one is.
class Made {
public:
  Made(const Node &node, const Constants &constants)
      : node_(node), constants_(constants), context_(lk::open(LK_CACHE_DEFAULT, 1)),
        executor_(lk::executor_in(context_)) {}

  // True: it is made, or was stopped.
  bool make() {
    Described described(node_);
    lk_thread_watch room = {};
    lk_watch watch = {};
    watch.struct_size = sizeof watch;
    watch.cancel = &looks.cancel;
    const size_t n = described.inputs.size();
    for (size_t i = n == 1 ? 0 : 1; i < n; i++) {
      if (!node_.inputs[i].absent) described.inputs[i].constant = &constants_.tensors[i];
    }
    lk_bind_desc bind = host_bind(constants_.tensors.data(), uint32_t(n));
    bind.n_outputs = node_.n_outputs;
    op_ = lk::Op();
    plan_ = lk::Plan();
    EXPECT_EQ(api()->thread_watch(&room, &watch, nullptr), LK_OK);
    looks.begin();
    lk_status status = api()->op_create(executor_, &described.desc, op_.out(), nullptr);
    if (status == LK_OK) status = lk::bind(op_, bind, &plan_, nullptr);
    looks.end();
    api()->thread_unwatch(&room);
    is_made_ = status == LK_OK;
    return is_made_ || status == LK_CANCELLED;
  }
  bool is_made() const { return is_made_; }
  // The bytes of all outputs; none where their sizes follow from data.
  std::vector<std::vector<uint8_t>> run() {
    std::vector<std::vector<uint8_t>> outputs;
    std::vector<void *> in, out;
    const lk_op_row *row = api()->op_find(node_.op.c_str(), node_.domain.c_str(), node_.opset);
    const bool is_of_data = (row->flags & LK_OP_DATA_DEPENDENT) != 0;
    if (is_of_data || host_plan_info(plan_).known_when_run != 0) return {};
    for (const lk_tensor &tensor : constants_.tensors)
      in.push_back(const_cast<void *>(tensor.data));
    for (uint32_t i = 0; i < node_.n_outputs; i++) {
      lk_tensor_desc desc = {};
      EXPECT_EQ(api()->plan_output(plan_, i, &desc, nullptr), LK_OK);
      outputs.emplace_back(bytes_of(desc));
    }
    for (auto &output : outputs) out.push_back(output.data());
    const lk_status status = host_run(executor_, plan_, in.data(), out.data(), nullptr);
    return status == LK_OK ? outputs : std::vector<std::vector<uint8_t>>();
  }

private:
  const Node &node_;
  const Constants &constants_;
  lk::Context context_;
  lk::Executor executor_;
  lk::Op op_;
  lk::Plan plan_;
  bool is_made_ = false;
};

class BoundedBind : public BoundedBase, public ::testing::WithParamInterface<lk_op_row> {
protected:
  void check_node(const Node &node) {
    const Constants constants(node);
    check(describe(node), [&] { return Made(node, constants).make(); });
    if (HasFailure()) return;
    looks.last = 0;
    Made whole(node, constants), again(node, constants);
    if (!whole.make() || !whole.is_made()) return;
    looks.last = std::max(looks.count / 2, 1);
    EXPECT_TRUE(again.make());
    looks.last = 0;
    ASSERT_TRUE(again.make() && again.is_made()) << describe(node);
    EXPECT_TRUE(whole.run() == again.run()) << describe(node);
  }
};

TEST_P(BoundedBind, LooksAndKeepsNothingHalfMade) {
  const auto rule = lk::infer::rules().find(GetParam().op_type);
  if (rule == lk::infer::rules().end() || (GetParam().flags & LK_OP_RANDOM) != 0) return;
  const lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
  const lk::Executor executor = lk::executor_in(context);
  int n = 0;
  for (unsigned seed = 0; seed < 24 && n < 2; seed++) {
    for (const int64_t huge : {4000000, 400000, 60000, 3000, 1200}) {
      const Node node = huge_node(GetParam(), rule->second, seed, huge);
      uint64_t bytes = 0;
      for (const lk_tensor &tensor : lk::infer::inputs_of(node)) {
        if (tensor.desc.dtype != 0) bytes += bytes_of(tensor.desc);
      }
      if (bytes > 64000000 || bytes < 4000000) continue;
      if (const Subject subject(executor, node); !subject.is_right()) continue;
      check_node(node);
      n++;
      break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, BoundedBind, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });

} // namespace
