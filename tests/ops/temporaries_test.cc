// The temporaries of plans, which frames lend them: at most some times what a node reads and
// writes, and none where nothing is kept between steps. Nothing runs here: plans say what they
// need.
#include "tests/ops/infer/huge_shares.h"

namespace {

using lk::api;
using lk::infer::Builder;
using lk::infer::bytes_of;
using lk::infer::describe;
using lk::infer::Described;
using lk::infer::huge_node;
using lk::infer::huge_shares;
using lk::infer::Node;
using lk::infer::row_name;
using lk::infer::rules;

// Of what is read and written: elements of one byte may become several of f32 and more, and one or
// two columns of a product are packed as a whole panel. The transform of a prime length takes
// several lines of complex f64, each of two to four times the length.
constexpr uint64_t MOST_TIMES = 20;
// Besides, whatever the sizes: tables, and parts of each thread.
constexpr uint64_t LEAST = uint64_t{4} << 20;

class TemporariesBase : public ::testing::Test {
protected:
  // False: there is no such plan. `both`: bytes of inputs and outputs.
  bool plan(const Node &node, lk_layout wish, uint64_t *scratch, uint64_t *both) {
    const Described described(node);
    lk::Op op;
    lk::Plan plan;
    if (api()->op_create(executor, &described.desc, op.out(), nullptr) != LK_OK) return false;
    const std::vector<lk_tensor> inputs = lk::infer::inputs_of(node);
    lk_bind_desc bind = host_bind(inputs.data(), uint32_t(inputs.size()));
    const std::vector<lk_layout> wishes(node.n_outputs, wish);
    bind.n_outputs = node.n_outputs;
    bind.wishes = wishes.data();
    if (lk::bind(op, bind, &plan, nullptr) != LK_OK) return false;
    const lk_plan_info info = host_plan_info(plan);
    *scratch = info.scratch_bytes;
    *both = 0;
    for (const lk_tensor &input : inputs) {
      if (input.desc.dtype != LK_DTYPE_NONE) *both += bytes_of(input.desc);
    }
    for (uint32_t i = 0; i < node.n_outputs && info.known_when_run == 0; i++) {
      lk_tensor_desc desc;
      if (api()->plan_output(plan, i, &desc, nullptr) == LK_OK) *both += bytes_of(desc);
    }
    return true;
  }
  bool check(const Node &node, uint64_t besides = LEAST) {
    for (const lk_layout wish : {LK_LAYOUT_ANY, LK_LAYOUT_PLAIN}) {
      uint64_t scratch = 0, both = 0;
      if (!plan(node, wish, &scratch, &both)) return false;
      EXPECT_LE(scratch, MOST_TIMES * both + besides) << describe(node) << ": " << both << " bytes";
    }
    return true;
  }
  void check_none(const Node &node) {
    uint64_t scratch = 1, both = 0;
    EXPECT_TRUE(plan(node, LK_LAYOUT_ANY, &scratch, &both)) << describe(node);
    EXPECT_EQ(scratch, 0U) << describe(node);
  }
  lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
  lk::Executor executor = lk::executor_in(context);
};

class Temporaries : public TemporariesBase, public ::testing::WithParamInterface<lk_op_row> {};

TEST_P(Temporaries, AreBoundedByWhatIsReadAndWritten) {
  const auto rule = rules().find(GetParam().op_type);
  ASSERT_NE(rule, rules().end());
  for (const int64_t huge : {12000000, 300000, 12000, 1200}) {
    for (unsigned seed = 0; seed < 20; seed++) {
      check(huge_node(GetParam(), rule->second, seed, huge));
    }
  }
}

class TemporariesOf : public TemporariesBase {};

TEST_F(TemporariesOf, HugeNodes) {
  for (const Node &node : huge_shares()) EXPECT_TRUE(check(node)) << describe(node);
}

// As a product of matrices, a transposed convolution has a temporary of as many planes as its
// kernel has positions, where that is not large.
TEST_F(TemporariesOf, LargePlanesAndKernels) {
  constexpr uint64_t PLANES = uint64_t{64} << 20;
  int n = 0;
  for (const int64_t size : {100, 1000, 3000}) {
    for (const int64_t channels : {1, 3, 16}) {
      for (const int64_t out : {1, 2, 3, 4, 5}) {
        for (const int64_t kernel : {1, 2, 3, 5, 8, 11, 16}) {
          for (const int64_t batch : {1, 4}) {
            const Node node = Builder("ConvTranspose")
                                  .tensor({batch, channels, size, size})
                                  .tensor({channels, out, kernel, kernel})
                                  .ints("strides", {1 + kernel / 3, 1 + kernel / 4})
                                  .node;
            n += check(node, LEAST + PLANES);
          }
        }
      }
    }
  }
  EXPECT_EQ(n, 3 * 3 * 5 * 7 * 2);
}

// One column, one row and few rows by columns that lie in memory: nothing is packed.
TEST_F(TemporariesOf, ProductsThatReadOperandsAsTheyLie) {
  constexpr int64_t k = 500000;
  for (const int64_t rows : {1, 2, 3, 4, 5, 31, 32, 33, 40}) {
    check_none(Builder("MatMul").tensor({rows, k}).tensor({k, 1}).node);
    check_none(Builder("Gemm").tensor({rows, k}).tensor({1, k}).ints("transB", {1}).node);
    if (rows > 4) continue;
    check_none(Builder("Gemm").tensor({rows, k}).tensor({7, k}).ints("transB", {1}).node);
  }
  for (const int64_t columns : {1, 2, 15, 16, 17, 100, 4096}) {
    check_none(Builder("MatMul").tensor({1, k}).tensor({k, columns}).node);
    check_none(Builder("MatMul").tensor({1, 1}).tensor({1, columns}).node);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Temporaries, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });

} // namespace
