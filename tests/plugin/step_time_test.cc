// What a plan's steps are and how much work they do, what they took, and what the machine can do.
#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

extern "C" {
#include "base/clock.h"
}

namespace {

using lk::api;
using lk::Op;
using lk::Plan;
using lk::TestNode;
using lk::Value;
using ::testing::HasSubstr;

class Steps : public ::testing::Test {
protected:
  Plan bind(const TestNode &node, const std::vector<lk_tensor_desc> &descs,
            lk_layout wish = LK_LAYOUT_ANY) {
    Op op;
    Plan plan;
    LK_EXPECT_OK(node.create(executor, &op, LK_ERR));
    LK_EXPECT_OK(lk::bind(op, descs, &plan, LK_ERR, -1, wish));
    return plan;
  }
  static lk_step_info step(lk_plan *plan, uint32_t index) {
    lk_step_info info = {};
    info.struct_size = sizeof info;
    LK_EXPECT_OK(api()->plan_step(plan, index, &info, LK_ERR));
    return info;
  }
  // The one of that kind.
  static lk_step_info find(lk_plan *plan, const std::string &kind) {
    for (uint32_t i = 0; i < host_plan_info(plan).n_steps; i++) {
      const lk_step_info info = step(plan, i);
      if (info.kind == kind) return info;
    }
    ADD_FAILURE() << "no step is a " << kind;
    return {};
  }
  lk_status run_timed(lk_plan *plan, const std::vector<void *> &inputs, void *output,
                      lk_step_time *times) {
    lk::Frame frame;
    uint32_t slot = 0;
    LK_EXPECT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
    LK_EXPECT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
    return api()->op_run_timed(frame, 0, slot, inputs.data(), &output, times, LK_ERR);
  }

  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
};

TEST_F(Steps, OfAConvolutionCountItsProducts) {
  TestNode conv;
  conv.op = "Conv";
  conv.n_inputs = 2;
  conv.constants = {lk::random({8, 2, 3, 3}, 1)}; // two groups
  conv.ints = {{"group", {2}}, {"pads", {1, 1, 1, 1}}};
  const Plan plan = bind(conv, {lk::random({2, 4, 10, 12}, 2).desc, conv.constants[0].desc});
  const lk_step_info info = find(plan, "convolution");
  EXPECT_EQ(info.flops, 2.0 * (2 * 8 * 10 * 12) * (2 * 3 * 3));
  EXPECT_GE(info.bytes, 4.0 * (2 * 4 * 10 * 12 + 8 * 2 * 3 * 3 + 2 * 8 * 10 * 12));
  EXPECT_STREQ(host_plan_info(plan).implementation, "convolution");
  EXPECT_THAT(info.tiles, ::testing::HasSubstr(" in blocks of "));
}

TEST_F(Steps, OfATransposedConvolutionCountItsProducts) {
  TestNode conv;
  conv.op = "ConvTranspose";
  conv.n_inputs = 2;
  conv.constants = {lk::random({4, 6, 2, 2}, 1)};
  conv.ints = {{"strides", {2, 2}}};
  const Plan plan = bind(conv, {lk::random({1, 4, 5, 7}, 2).desc, conv.constants[0].desc});
  EXPECT_EQ(find(plan, "deconvolution").flops, 2.0 * (4 * 5 * 7) * (6 * 2 * 2));
}

TEST_F(Steps, OfAProductCountItsProducts) {
  TestNode product;
  product.op = "MatMul";
  product.n_inputs = 2;
  const Plan plan = bind(product, {lk::random({3, 5, 7}, 1).desc, lk::random({3, 7, 11}, 2).desc});
  const lk_step_info info = find(plan, "matmul");
  EXPECT_EQ(info.flops, 2.0 * 3 * 5 * 7 * 11);
  EXPECT_EQ(info.bytes, 4.0 * 3 * (5 * 7 + 7 * 11 + 5 * 11));
}

// A window that has all of the input is a mean over rows, by the kernel that is made for these.
TEST_F(Steps, OfAPoolingOfAllIsAReduction) {
  TestNode pool;
  pool.op = "AveragePool";
  pool.ints = {{"kernel_shape", {4, 6}}};
  const Plan all = bind(pool, {lk::random({2, 3, 4, 6}, 1).desc});
  EXPECT_STREQ(host_plan_info(all).implementation, "reduce");
  const Plan part = bind(pool, {lk::random({2, 3, 5, 6}, 1).desc});
  EXPECT_STREQ(host_plan_info(part).implementation, "pool");
}

TEST_F(Steps, OfOtherArithmeticCountElements) {
  TestNode relu;
  relu.op = "Relu";
  const Plan plan = bind(relu, {lk::random({3, 50}, 1).desc});
  const lk_step_info info = find(plan, "element");
  EXPECT_EQ(info.flops, 150);
  EXPECT_EQ(info.bytes, 4.0 * 300);
}

TEST_F(Steps, ThatAreReordersOnlyMove) {
  TestNode softmax;
  softmax.op = "Softmax";
  lk_tensor_desc desc = lk::random({1, 4, 20, 20}, 1).desc;
  desc.layout = LK_LAYOUT_CHANNELS_LAST;
  const Plan plan = bind(softmax, {desc}, LK_LAYOUT_PLAIN);
  ASSERT_GT(host_plan_info(plan).n_reorders, 0u);
  const lk_step_info info = find(plan, "reorder");
  EXPECT_EQ(info.flops, 0);
  EXPECT_EQ(info.bytes, 4.0 * 2 * 1600);
}

TEST_F(Steps, OfKernelsHaveNamesAndTheirWork) {
  TestNode transpose, gather, cast;
  transpose.op = "Transpose";
  const lk_step_info reorder = step(bind(transpose, {lk::random({6, 8}, 1).desc}), 0);
  EXPECT_STREQ(reorder.kind, "reorder");
  EXPECT_EQ(reorder.flops, 0);
  EXPECT_EQ(reorder.bytes, 2.0 * 4 * 48);

  const lk_tensor_desc indices = lk::desc_of(LK_I64, {2});
  gather.op = "Gather";
  gather.n_inputs = 2;
  const Plan picked = bind(gather, {lk::random({1000, 16}, 1).desc, indices});
  const lk_step_info rows = step(picked, 0);
  EXPECT_STREQ(rows.kind, "gather");
  EXPECT_EQ(rows.bytes, 2.0 * 2 * 16 * 4 + 2 * 8) << "of the rows that are picked";

  cast.op = "Cast";
  cast.ints = {{"to", {LK_F64}}};
  const lk_step_info wider = step(bind(cast, {lk::random({10}, 1).desc}), 0);
  EXPECT_STREQ(wider.kind, "cast");
  EXPECT_EQ(wider.flops, 10);
  EXPECT_EQ(wider.bytes, 10.0 * (4 + 8));
}

TEST_F(Steps, ThatAreNotThereAreRefused) {
  TestNode relu;
  relu.op = "Relu";
  const Plan plan = bind(relu, {lk::random({3, 5}, 1).desc});
  lk_step_info info = {};
  info.struct_size = sizeof info;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   api()->plan_step(plan, host_plan_info(plan).n_steps, &info, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to describe step"));
  const Plan empty = bind(relu, {lk::random({0, 5}, 1).desc});
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->plan_step(empty, 0, &info, LK_ERR));
}

TEST_F(Steps, ThatAreTimedGiveTheSameResult) {
  TestNode softmax;
  softmax.op = "Softmax";
  const Value x = lk::random({4, 16, 40, 40}, 1);
  lk_tensor_desc desc = x.desc;
  desc.layout = LK_LAYOUT_CHANNELS_LAST;
  const Plan plan = bind(softmax, {desc}, LK_LAYOUT_PLAIN);
  const uint32_t n_steps = host_plan_info(plan).n_steps;
  ASSERT_GE(n_steps, 2u);
  std::vector<lk_step_time> times(n_steps + 1, {7, 7, 7});
  const lk::Memory from = x.in(LK_LAYOUT_CHANNELS_LAST);
  lk::Memory to(x.bytes.size()), expected(x.bytes.size());
  LK_ASSERT_OK(lk::run(executor, plan, {from.data()}, expected.data(), LK_ERR));
  const uint64_t before = lk_now_ns();
  LK_ASSERT_OK(run_timed(plan, {from.data()}, to.data(), times.data()));
  EXPECT_TRUE(lk::all_close(Value::from(x.desc, expected.data()), Value::from(x.desc, to.data()),
                            lk::EXACTLY));
  for (uint32_t i = 0; i < n_steps; i++) {
    EXPECT_GT(times[i].ns, 0u);
    EXPECT_GT(times[i].compute_ns, 0u);
    EXPECT_LE(times[i].compute_ns, 2 * times[i].ns);
    const uint64_t earliest = i > 0 ? times[i - 1].begin_ns + times[i - 1].ns : before;
    EXPECT_GE(times[i].begin_ns, earliest);
  }
  EXPECT_LE(times[n_steps - 1].begin_ns + times[n_steps - 1].ns, lk_now_ns());
  EXPECT_EQ(times[n_steps].ns, 7u) << "nothing is written behind the last step";
}

TEST_F(Steps, ThatFailHaveNoTime) {
  TestNode gather;
  gather.op = "Gather";
  gather.n_inputs = 2;
  const Value data = lk::random({4, 3}, 1);
  const Plan plan = bind(gather, {data.desc, lk::desc_of(LK_I64, {2})});
  int64_t indices[] = {0, 9};
  float rows[6];
  lk_step_time time = {7, 7, 7};
  void *from = const_cast<uint8_t *>(data.bytes.data());
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, run_timed(plan, {from, indices}, rows, &time));
  EXPECT_EQ(time.ns, 7u);
  indices[1] = 3;
  LK_EXPECT_OK(run_timed(plan, {from, indices}, rows, &time));
  EXPECT_NE(time.compute_ns, 7u);
}

TEST(MachinePeak, IsMeasuredWithTheThreadsThatAreAskedFor) {
  const lk::Context context = lk::open(LK_CACHE_DEFAULT, 2);
  for (int32_t threads : {0, 1, 3}) {
    lk_machine_peak peak = {};
    peak.struct_size = sizeof peak;
    LK_ASSERT_OK(api()->machine_peak(context, threads, &peak, LK_ERR));
    EXPECT_EQ(peak.threads, threads == 0 ? 2 : threads);
    EXPECT_GT(peak.gflops, 0);
    EXPECT_GT(peak.gbytes, 0);
  }
  for (int32_t threads : {-1, 1025}) {
    lk_machine_peak peak = {};
    peak.struct_size = sizeof peak;
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->machine_peak(context, threads, &peak, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(std::to_string(threads)));
  }
}

TEST(MachinePeak, FailsWithoutMemory) {
  lk::FailingAllocator allocator;
  lk::Context context;
  LK_ASSERT_OK(host_context_create(LK_CACHE_DEFAULT, 1, allocator.get(), context.out(), LK_ERR));
  lk_machine_peak peak = {};
  peak.struct_size = sizeof peak;
  for (size_t n = 1; n <= 2; n++) {
    allocator.fail_at(n);
    LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, api()->machine_peak(context, 1, &peak, LK_ERR));
  }
  allocator.fail_never();
  LK_EXPECT_OK(api()->machine_peak(context, 1, &peak, LK_ERR));
}

} // namespace
