// What holds for every row of the operator table, whatever it computes: how often the cache is
// asked and what it builds, in every mode, from one executor and from two, in place, on empty
// inputs, and from two threads at once. A row without a case here fails.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "tests/harness/op_rows.h"
#include "tests/ops/conformance/algebra.h"
#include "tests/ops/conformance/attention.h"
#include "tests/ops/conformance/base.h"
#include "tests/ops/conformance/elementwise.h"
#include "tests/ops/conformance/fused.h"
#include "tests/ops/conformance/moves.h"
#include "tests/ops/conformance/norms.h"
#include "tests/ops/conformance/quantized.h"
#include "tests/ops/conformance/recurrent.h"
#include "tests/ops/conformance/reduction.h"
#include "tests/ops/conformance/sampling.h"
#include "tests/ops/conformance/selection.h"
#include "tests/ops/conformance/signal.h"

extern "C" {
#include "base/alloc.h"
#include "ops/kernel/element/cast.h"
}

static void PrintTo(const lk_op_row &row, std::ostream *out) {
  *out << row.op_type;
}

namespace {

using lk::api;
using lk::Context;
using lk::Dims;
using lk::Executor;
using lk::executor_in;
using lk::Memory;
using lk::Op;
using lk::open;
using lk::Plan;
using lk::Value;
using lk::conformance::Node;

const std::vector<Node> &nodes() {
  static const std::vector<Node> all = [] {
    std::vector<Node> list;
    for (const auto family :
         {lk::conformance::conformance_algebra, lk::conformance::conformance_attention,
          lk::conformance::conformance_base, lk::conformance::conformance_elementwise,
          lk::conformance::conformance_fused, lk::conformance::conformance_moves,
          lk::conformance::conformance_norms, lk::conformance::conformance_quantized,
          lk::conformance::conformance_recurrent, lk::conformance::conformance_reduction,
          lk::conformance::conformance_sampling, lk::conformance::conformance_selection,
          lk::conformance::conformance_signal}) {
      for (Node &node : (*family)()) list.push_back(std::move(node));
    }
    return list;
  }();
  return all;
}

const Node *find(const lk_op_row &row) {
  for (const std::string &domain : {std::string(row.domain), std::string()}) {
    for (const Node &node : nodes()) {
      if (row.op_type == std::string(node.op) && domain == node.domain) return &node;
    }
  }
  return nullptr;
}

lk_stats stats(lk_context *context) {
  return host_stats(context, nullptr);
}

constexpr uint32_t kDtypes[] = {LK_F32,  LK_U8,  LK_I8,  LK_U16, LK_I16, LK_I32, LK_I64,
                                LK_BOOL, LK_F16, LK_F64, LK_U32, LK_U64, LK_BF16};

// The numbers of another type: as they are, or of whole ones the next above, so that none is 0.
Value cast(const Value &from, uint32_t dtype) {
  const size_t count = static_cast<size_t>(from.count());
  const size_t from_size = lk::dtype_bytes(from.desc.dtype), size = lk::dtype_bytes(dtype);
  const bool is_whole = dtype != LK_F32 && dtype != LK_F64 && dtype != LK_F16 && dtype != LK_BF16;
  Value to;
  to.desc = from.desc;
  to.desc.dtype = dtype;
  to.bytes.resize(count * size);
  for (size_t i = 0; i < count; i++) {
    double number = 0;
    lk_cast_one(from.desc.dtype, &from.bytes[i * from_size], LK_F64, &number);
    if (is_whole) number = std::ceil(number);
    lk_cast_one(LK_F64, &number, dtype, &to.bytes[i * size]);
  }
  return to;
}

// The letter of input `index` in a row, whose last one goes for those behind it.
char letter_of(const lk_op_row &row, size_t index) {
  return row.input_types[std::min(index, std::strlen(row.input_types) - 1)];
}

// Whether the row lets the inputs of a letter have a type.
bool allows(const lk_op_row &row, char letter, uint32_t dtype) {
  const uint32_t set = letter == '?' ? 0 : row.types[letter - 'T'];
  return letter != '?' && (set == 0 || (set >> dtype & 1) != 0);
}

class Conformance : public ::testing::TestWithParam<lk_op_row> {
protected:
  void SetUp() override {
    node_ = find(GetParam());
    ASSERT_NE(node_, nullptr) << "no case for operator " << GetParam().op_type;
  }

  bool constant(size_t input) const {
    return input < node_->constants.size() && node_->constants[input];
  }

  Op create(lk_executor *executor, bool with_constants = true) const {
    return create_with(executor, node_->inputs, with_constants);
  }

  Op create_with(lk_executor *executor, const std::vector<Value> &values,
                 bool with_constants) const {
    std::deque<lk_tensor> tensors;
    std::vector<lk_node_input> inputs;
    for (size_t i = 0; i < values.size(); i++) {
      lk_node_input input{};
      if (with_constants && constant(i)) {
        const Value &value = values[i];
        tensors.push_back({value.desc, const_cast<uint8_t *>(value.bytes.data())});
        input.constant = &tensors.back();
        input.flags = LK_INPUT_COPY;
      }
      inputs.push_back(input);
    }
    std::vector<lk_attr> attrs;
    if (node_->attrs) node_->attrs(&attrs);
    lk_node_desc desc = host_node(node_->op, inputs.data(), static_cast<uint32_t>(inputs.size()));
    desc.domain = GetParam().domain;
    desc.opset = node_->opset;
    desc.n_attrs = static_cast<uint32_t>(attrs.size());
    desc.attrs = attrs.data();
    Op op;
    LK_EXPECT_OK(api()->op_create(executor, &desc, op.out(), LK_ERR));
    return op;
  }

  // The node without an op.
  lk_status infer(const std::vector<lk_tensor> &inputs, lk_tensor_desc *out,
                  lk_error *error) const {
    const std::vector<lk_node_input> flags(inputs.size());
    std::vector<lk_attr> attrs;
    if (node_->attrs) node_->attrs(&attrs);
    lk_node_desc desc{};
    desc.struct_size = sizeof desc;
    desc.op_type = node_->op;
    desc.domain = GetParam().domain;
    desc.output_name = "y";
    desc.opset = node_->opset;
    desc.n_inputs = static_cast<uint32_t>(inputs.size());
    desc.inputs = flags.data();
    desc.n_outputs = 1;
    desc.n_attrs = static_cast<uint32_t>(attrs.size());
    desc.attrs = attrs.data();
    lk_dims *dims = nullptr;
    LK_EXPECT_OK(api()->dims_create(lk_allocator_default(), &dims, LK_ERR));
    const lk_status status = api()->op_infer(dims, &desc, inputs.data(), out, nullptr, error);
    api()->dims_destroy(dims);
    return status;
  }

  // Keeps the plan in hand when it is given one.
  lk_status bind(lk_op *op, const std::vector<Value> &values, Plan *plan, int32_t over = -1,
                 lk_error *error = nullptr) const {
    const lk_op_info info = host_op_info(op);
    std::vector<Memory> memory;
    std::vector<lk_tensor> inputs;
    for (size_t i = 0; i < values.size(); i++) {
      lk_tensor tensor{values[i].desc, nullptr};
      if ((info.shape_inputs >> i & 1) != 0) {
        memory.push_back(values[i].in(LK_LAYOUT_PLAIN));
        tensor.data = memory.back().data();
      }
      inputs.push_back(tensor);
    }
    lk_bind_desc desc = host_bind(inputs.data(), static_cast<uint32_t>(inputs.size()));
    desc.in_place_input = over;
    return lk::bind(op, desc, plan, error);
  }

  // The output's bytes, in the layout of the plan.
  std::vector<uint8_t> run(lk_executor *executor, lk_plan *plan, const std::vector<Value> &values,
                           int32_t over = -1) const {
    std::vector<Memory> memory;
    std::vector<void *> inputs;
    for (size_t i = 0; i < values.size(); i++) {
      memory.push_back(values[i].in(LK_LAYOUT_PLAIN));
      inputs.push_back(constant(i) ? nullptr : memory.back().data());
    }
    lk_tensor_desc desc{};
    uint64_t bytes = 0;
    EXPECT_EQ(api()->plan_output(plan, 0, &desc, nullptr), LK_OK);
    EXPECT_EQ(api()->tensor_bytes(&desc, &bytes, nullptr), LK_OK);
    Memory result(bytes);
    int64_t dims[LK_MAX_RANK]; // of outputs whose shapes follow from data
    void *output[2] = {over >= 0 ? inputs[static_cast<size_t>(over)] : result.data()};
    output[1] = dims;
    lk_error error;
    EXPECT_EQ(host_run(executor, plan, inputs.data(), output, &error), LK_OK) << error.message;
    const auto *from = static_cast<const uint8_t *>(output[0]);
    return std::vector<uint8_t>(from, from + bytes);
  }

  bool told_values(lk_op *op) const { // such an op always looks up
    const lk_op_info info = host_op_info(op);
    for (size_t i = 0; i < node_->inputs.size(); i++) {
      if (!constant(i) && (info.shape_inputs >> i & 1) != 0) return true;
    }
    return false;
  }

  const Node *node_ = nullptr;
};

TEST(ConformanceTable, HasNoCaseWithoutARow) {
  for (const Node &node : nodes()) {
    bool found = false;
    for (const lk_op_row &row : lk::op_rows()) found = found || std::string(row.op_type) == node.op;
    EXPECT_TRUE(found) << node.op;
  }
}

TEST_P(Conformance, IsInRangeOfItsOpsets) {
  EXPECT_GE(node_->opset, GetParam().since);
  EXPECT_LE(node_->opset, LK_MAX_OPSET);
  EXPECT_GT(std::string(GetParam().summary).size(), 0u);
}

// Before there is an op, the same rules say what a bind says.
TEST_P(Conformance, InfersWhatItBinds) {
  if ((GetParam().flags & LK_OP_DATA_DEPENDENT) != 0) return; // a bind has bounds
  const Context context = open(LK_CACHE_OFF);
  const Executor executor = executor_in(context);
  const Op op = create(executor);
  for (const std::vector<Value> *values : {&node_->inputs, &node_->other}) {
    std::vector<lk_tensor> inputs;
    for (const Value &value : *values) {
      inputs.push_back({value.desc, const_cast<uint8_t *>(value.bytes.data())});
    }
    lk_tensor_desc inferred{}, bound{};
    Plan plan;
    LK_EXPECT_OK(infer(inputs, &inferred, LK_ERR));
    LK_ASSERT_OK(bind(op, *values, &plan, -1, LK_ERR));
    LK_ASSERT_OK(api()->plan_output(plan, 0, &bound, LK_ERR));
    bound.layout = LK_LAYOUT_PLAIN;
    EXPECT_EQ(lk::text_of(inferred), lk::text_of(bound));
  }
}

// The types that a row declares are those that its bind takes: no more, no less. One input at a
// time gets another type, and all inputs of the same type together.
TEST_P(Conformance, DeclaresTheTypesThatItTakes) {
  const Context context = open(LK_CACHE_OFF);
  const Executor executor = executor_in(context);
  const Op op = create(executor, false);
  ASSERT_NE(op.get(), nullptr);
  const lk_op_info info = host_op_info(op);
  for (const uint32_t dtype : kDtypes) {
    SCOPED_TRACE(dtype);
    std::vector<lk_tensor> tensors, types; // types: of which no shape is known
    for (size_t i = 0; i < node_->inputs.size(); i++) {
      const Value &value = node_->inputs[i];
      lk_tensor tensor = {value.desc, const_cast<uint8_t *>(value.bytes.data())};
      const bool is_shape = i < 64 && (info.shape_inputs >> i & 1) != 0;
      if (!is_shape && value.desc.dtype == LK_F32) {
        tensor.desc.dtype = dtype;
        tensor.data = nullptr;
      }
      tensors.push_back(tensor);
      if (!is_shape) tensor.desc.rank = LK_RANK_UNKNOWN;
      types.push_back(tensor);
    }
    const lk_bind_desc bind = host_bind(tensors.data(), static_cast<uint32_t>(tensors.size()));
    Plan plan;
    lk_tensor_desc desc{};
    const lk_status declared = infer(types, &desc, LK_ERR);
    const std::string sentence = LK_MESSAGE;
    const lk_status bound = api()->op_bind(op, &bind, plan.out(), LK_ERR);
    EXPECT_EQ(declared, bound) << sentence << " / " << LK_MESSAGE;
    EXPECT_TRUE(declared == LK_OK || declared == LK_UNSUPPORTED) << sentence;
  }
}

// Inputs of one letter get each type that the row lets them have, alone and with those of all other
// letters that may have it: the types alone are refused, as a session refuses them when it opens a
// model, or the node binds and runs.
TEST_P(Conformance, RunsWithTheTypesThatItTakes) {
  const lk_op_row &row = GetParam();
  for (const uint32_t dtype : kDtypes) {
    for (const char letter : {'T', 'U', 'V', 'W', '*'}) {
      SCOPED_TRACE(std::string(1, letter) + " " + std::to_string(dtype));
      std::vector<Value> values = node_->inputs;
      std::vector<lk_tensor> types;
      bool changes = false;
      for (size_t i = 0; i < values.size(); i++) {
        const char own = letter_of(row, i);
        if ((letter == own || letter == '*') && allows(row, own, dtype) &&
            values[i].desc.dtype != dtype) {
          values[i] = cast(values[i], dtype);
          changes = true;
        }
        types.push_back({values[i].desc, nullptr});
        types.back().desc.rank = LK_RANK_UNKNOWN;
      }
      lk_tensor_desc desc{};
      if (!changes || infer(types, &desc, nullptr) != LK_OK) continue;
      const Context context = open(LK_CACHE_OFF);
      const Executor executor = executor_in(context);
      const Op op = create_with(executor, values, true);
      Plan plan;
      LK_ASSERT_OK(bind(op, values, &plan, -1, LK_ERR));
      run(executor, plan, values);
    }
  }
}

// A, B, A, B without a plan in hand: two misses and two builds, then hits.
TEST_P(Conformance, BuildsEachShapeOnce) {
  for (uint32_t mode : {LK_CACHE_SHARED, LK_CACHE_THREAD}) {
    SCOPED_TRACE(mode);
    const Context context = open(mode);
    const Executor executor = executor_in(context);
    const Op op = create(executor);
    ASSERT_NE(op.get(), nullptr);
    const std::vector<Value> *order[] = {&node_->inputs, &node_->other, &node_->inputs,
                                         &node_->other};
    const bool one_shape = node_->inputs.empty();
    for (int i = 0; i < 4; i++) {
      Plan plan;
      const lk_stats before = stats(context);
      LK_ASSERT_OK(bind(op, *order[i], &plan, -1, LK_ERR));
      const lk_stats after = stats(context);
      const bool cold = i < (one_shape ? 1 : 2);
      const auto &was = before.kind[LK_KIND_NAME], &now = after.kind[LK_KIND_NAME];
      EXPECT_EQ(now.misses - was.misses, cold ? 1u : 0u) << i;
      EXPECT_EQ(now.builds - was.builds, cold ? 1u : 0u) << i;
      EXPECT_EQ(now.hits - was.hits, cold ? 0u : 1u) << i;
      EXPECT_EQ(now.failed_builds, 0u);
      // Binding again with the plan in hand: no look-up, unless there are values to compare.
      lk_plan *in_hand = plan;
      LK_ASSERT_OK(bind(op, *order[i], &plan, -1, LK_ERR));
      EXPECT_EQ(plan.get(), in_hand);
      const auto &last = stats(context).kind[LK_KIND_NAME];
      EXPECT_EQ(last.hits - now.hits, told_values(op) ? 1u : 0u);
      EXPECT_EQ(last.misses, now.misses);
    }
  }
}

// The same node in another executor: its name is new, its packed weights are there already.
TEST_P(Conformance, SharesPackedWeightsBetweenExecutors) {
  for (uint32_t mode : {LK_CACHE_SHARED, LK_CACHE_THREAD}) {
    SCOPED_TRACE(mode);
    const Context context = open(mode);
    const Executor first = executor_in(context), second = executor_in(context);
    const Op op = create(first), same = create(second);
    Plan plan, other;
    LK_ASSERT_OK(bind(op, node_->inputs, &plan, -1, LK_ERR));
    const lk_stats before = stats(context);
    LK_ASSERT_OK(bind(same, node_->inputs, &other, -1, LK_ERR));
    const lk_stats after = stats(context);
    EXPECT_NE(plan.get(), other.get());
    EXPECT_EQ(after.kind[LK_KIND_NAME].misses - before.kind[LK_KIND_NAME].misses, 1u);
    EXPECT_EQ(after.weights_packed, before.weights_packed);
    EXPECT_EQ(run(first, plan, node_->inputs), run(second, other, node_->inputs));
  }
}

TEST_P(Conformance, ComputesTheSameInEveryMode) {
  std::vector<uint8_t> expected;
  for (uint32_t mode : {LK_CACHE_OFF, LK_CACHE_SHARED, LK_CACHE_THREAD}) {
    SCOPED_TRACE(mode);
    const Context context = open(mode);
    const Executor executor = executor_in(context);
    const Op op = create(executor);
    Plan plan;
    LK_ASSERT_OK(bind(op, node_->inputs, &plan, -1, LK_ERR));
    const std::vector<uint8_t> result = run(executor, plan, node_->inputs);
    if (expected.empty()) expected = result;
    EXPECT_EQ(result, expected);
    if (mode == LK_CACHE_OFF) {
      EXPECT_EQ(stats(context).entries, 0u);
      EXPECT_EQ(stats(context).bytes, 0u);
    }
  }
}

TEST_P(Conformance, RunsInPlaceWhereItSaysSo) {
  const Context context = open(LK_CACHE_SHARED);
  const Executor executor = executor_in(context);
  const Op op = create(executor);
  const lk_op_info info = host_op_info(op);
  EXPECT_EQ(info.in_place_inputs != 0, GetParam().in_place_inputs != 0);
  EXPECT_EQ(info.row->flags, GetParam().flags);
  Plan plan;
  LK_ASSERT_OK(bind(op, node_->inputs, &plan, -1, LK_ERR));
  const std::vector<uint8_t> expected = run(executor, plan, node_->inputs);
  for (size_t i = 0; i < node_->inputs.size(); i++) {
    if ((info.in_place_inputs >> i & 1) == 0 || constant(i)) continue;
    SCOPED_TRACE(i);
    Plan over;
    const lk_stats before = stats(context);
    LK_ASSERT_OK(bind(op, node_->inputs, &over, static_cast<int32_t>(i), LK_ERR));
    EXPECT_EQ(stats(context).kind[LK_KIND_NAME].misses - before.kind[LK_KIND_NAME].misses, 1u);
    EXPECT_NE(over.get(), plan.get());
    EXPECT_EQ(run(executor, over, node_->inputs, static_cast<int32_t>(i)), expected);
  }
}

TEST_P(Conformance, RunsOnTwoThreadsAtOnce) {
  for (uint32_t mode : {LK_CACHE_SHARED, LK_CACHE_THREAD, LK_CACHE_OFF}) {
    SCOPED_TRACE(mode);
    const Context context = open(mode);
    const Executor executor = executor_in(context);
    const Op op = create(executor);
    std::vector<uint8_t> expected[2];
    for (int which = 0; which < 2; which++) {
      const std::vector<Value> &values = which == 0 ? node_->inputs : node_->other;
      Plan plan;
      LK_ASSERT_OK(bind(op, values, &plan, -1, LK_ERR));
      expected[which] = run(executor, plan, values);
    }
    std::atomic<int> wrong{0}, ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++) {
      threads.emplace_back([&, t] {
        ready++;
        while (ready < 2) std::this_thread::yield();
        for (int i = 0; i < 6; i++) {
          const int which = (i + t) % 2;
          const std::vector<Value> &values = which == 0 ? node_->inputs : node_->other;
          Plan plan;
          if (bind(op, values, &plan) != LK_OK)
            wrong++;
          else if (run(executor, plan, values) != expected[which])
            wrong++;
        }
      });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST_P(Conformance, OfAnEmptyBatchIsEmpty) {
  if (!node_->empty) return; // such a node has no batch
  const Context context = open(LK_CACHE_SHARED);
  const Executor executor = executor_in(context);
  const Op op = create(executor);
  std::vector<Value> values = node_->inputs;
  for (size_t i = 0; i < values.size(); i++) {
    const bool batched = !constant(i) && values[i].desc.dtype == LK_F32 && values[i].desc.rank > 1;
    if (!batched) continue;
    values[i].desc.dims[0] = 0;
    values[i].bytes.clear();
  }
  Plan plan;
  LK_ASSERT_OK(bind(op, values, &plan, -1, LK_ERR));
  EXPECT_EQ(run(executor, plan, values).size(), 0u);
}

// A type that is not the operator's is refused, or works; it never gives another's plan.
TEST_P(Conformance, KeepsTypesApart) {
  const Context context = open(LK_CACHE_SHARED);
  const Executor executor = executor_in(context);
  const Op op = create(executor);
  if (node_->inputs.empty()) return; // nothing to give another type
  Plan plan, other;
  LK_ASSERT_OK(bind(op, node_->inputs, &plan, -1, LK_ERR));
  std::vector<Value> values = node_->inputs;
  const std::vector<uint8_t> zeros(static_cast<size_t>(values[0].count()) * 8);
  values[0] = Value();
  values[0].desc = node_->inputs[0].desc;
  values[0].desc.dtype = node_->inputs[0].desc.dtype == LK_I64 ? LK_F64 : LK_I64;
  values[0].bytes = zeros;
  lk_error error;
  const lk_status status = bind(op, values, &other, -1, &error);
  if (status != LK_OK) {
    EXPECT_TRUE(status == LK_UNSUPPORTED || status == LK_INVALID_ARGUMENT) << error.message;
    EXPECT_EQ(other.get(), nullptr);
    EXPECT_EQ(stats(context).kind[LK_KIND_NAME].failed_builds, 1u);
  } else {
    EXPECT_NE(other.get(), plan.get());
  }
}

std::string name_of(const ::testing::TestParamInfo<lk_op_row> &info) {
  std::string domain = info.param.domain;
  std::replace(domain.begin(), domain.end(), '.', '_');
  return domain + (domain.empty() ? "" : "_") + info.param.op_type;
}
INSTANTIATE_TEST_SUITE_P(Rows, Conformance, ::testing::ValuesIn(lk::op_rows()), name_of);

} // namespace
