// Frames, binding and running by hand: slots, resets, plans that outlive their op, threads, and
// what a call refuses.
#include <cmath>
#include <cstring>
#include <thread>

#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::desc_of;
using lk::Op;
using lk::Plan;
using lk::TestNode;
using lk::Value;
using ::testing::HasSubstr;

std::vector<float> softmax_of_rows(const Value &x) {
  std::vector<float> y = x.as<float>();
  const size_t n = static_cast<size_t>(x.dims().back());
  for (size_t row = 0; row < y.size(); row += n) {
    float sum = 0;
    for (size_t i = 0; i < n; i++) sum += y[row + i] = std::exp(y[row + i]);
    for (size_t i = 0; i < n; i++) y[row + i] /= sum;
  }
  return y;
}

class Frame : public ::testing::Test {
protected:
  Op create(const char *op, uint32_t n_inputs = 1) {
    TestNode n;
    n.op = op;
    n.n_inputs = n_inputs;
    Op made;
    LK_EXPECT_OK(n.create(executor, &made, LK_ERR));
    return made;
  }
  Plan bind(lk_op *op, const lk_tensor_desc &desc) {
    Plan plan;
    LK_EXPECT_OK(lk::bind(op, {desc}, &plan, LK_ERR));
    return plan;
  }
  void check(lk_frame *frame, uint32_t slot, const Value &x, const Value &y) {
    const lk::Memory from = x.in(LK_LAYOUT_PLAIN);
    lk::Memory to(x.bytes.size());
    void *const in[] = {from.data()}, *const out[] = {to.data()};
    LK_ASSERT_OK(api()->op_run(frame, slot, in, out, LK_ERR));
    EXPECT_TRUE(lk::all_close(y, Value::from(x.desc, to.data())));
  }

  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  const Value x = lk::random({3, 5}, 1), z = lk::random({4, 2}, 2);
  const Value relu_x = lk::ref::apply(x, {LK_POST_RELU, -1, 0, 0});
  const Value sigmoid_z = lk::ref::apply(z, {LK_POST_SIGMOID, -1, 0, 0});
};

TEST_F(Frame, HoldsManyPlans) {
  const Op relu = create("Relu"), sigmoid = create("Sigmoid");
  const Plan a = bind(relu, x.desc), b = bind(sigmoid, z.desc);
  lk::Frame frame;
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  uint32_t slots[40];
  for (int i = 0; i < 40; i++) {
    LK_ASSERT_OK(api()->frame_attach(frame, i % 2 == 0 ? a : b, &slots[i], LK_ERR));
  }
  const uint64_t few = api()->frame_bytes(frame);
  for (int i = 0; i < 1000; i++) {
    uint32_t slot = 0;
    LK_ASSERT_OK(api()->frame_attach(frame, a, &slot, LK_ERR));
  }
  EXPECT_GE(api()->frame_bytes(frame), few + 900 * 2 * sizeof(void *));
  api()->frame_begin(frame, 0);
  check(frame, slots[0], x, relu_x);
  check(frame, slots[39], z, sigmoid_z);
  check(frame, slots[38], x, relu_x);
  api()->frame_end(frame);
  api()->frame_reset(frame);
  void *pointers[] = {nullptr};
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->op_run(frame, 0, pointers, pointers, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("slot 0"));
  LK_ASSERT_OK(api()->frame_attach(frame, b, &slots[0], LK_ERR));
  check(frame, slots[0], z, sigmoid_z);
}

TEST_F(Frame, KeepsPlansThatTheirOpAndTheCacheHaveLeft) {
  lk::Frame frame;
  uint32_t slot = 0;
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  {
    const Op relu = create("Relu");
    const Plan plan = bind(relu, x.desc);
    LK_ASSERT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
  }
  LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
  EXPECT_EQ(lk::stats(context).entries, 0u);
  EXPECT_GT(lk::stats(context).unlinked_bytes, 0u);
  check(frame, slot, x, relu_x);
  api()->frame_reset(frame);
  EXPECT_EQ(lk::stats(context).unlinked_bytes, 0u);
}

TEST_F(Frame, GrowsItsScratchForLaterPlans) {
  // Layouts that differ need a temporary: a small one first, then a large one.
  lk::Frame frame;
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  const Op add = create("Softmax");
  uint32_t slots[2];
  const Value small = lk::random({1, 3, 4, 4}, 1), large = lk::random({2, 16, 20, 20}, 2);
  Plan plans[2];
  const Value *values[] = {&small, &large};
  for (int i = 0; i < 2; i++) {
    lk_tensor_desc desc = values[i]->desc;
    desc.layout = LK_LAYOUT_CHANNELS_LAST;
    LK_ASSERT_OK(lk::bind(add, {desc}, &plans[i], LK_ERR, -1, LK_LAYOUT_PLAIN));
    LK_ASSERT_OK(api()->frame_attach(frame, plans[i], &slots[i], LK_ERR));
  }
  for (int i : {0, 1, 0}) {
    const Value &v = *values[i];
    const lk::Memory from = v.in(LK_LAYOUT_CHANNELS_LAST);
    lk::Memory to(v.bytes.size());
    void *const in[] = {from.data()}, *const out[] = {to.data()};
    LK_ASSERT_OK(api()->op_run(frame, slots[i], in, out, LK_ERR));
    const std::vector<float> y = Value::from(v.desc, to.data()).as<float>();
    float sum = 0; // the first row
    for (int64_t k = 0; k < v.dims()[3]; k++) sum += y[static_cast<size_t>(k)];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST_F(Frame, TakesTheScratchMemoryThatItsCallerBrings) {
  const Op softmax = create("Softmax");
  const Value v = lk::random({2, 16, 20, 20}, 2);
  lk_tensor_desc desc = v.desc;
  desc.layout = LK_LAYOUT_CHANNELS_LAST; // so that it needs a temporary
  Plan plan;
  LK_ASSERT_OK(lk::bind(softmax, {desc}, &plan, LK_ERR, -1, LK_LAYOUT_PLAIN));
  lk_plan_info info = {};
  info.struct_size = sizeof info;
  LK_ASSERT_OK(api()->plan_info(plan, &info, LK_ERR));
  ASSERT_GT(info.scratch_bytes, 0u);
  lk::Frame own, brought;
  uint32_t own_slot = 0, slot = 0;
  LK_ASSERT_OK(api()->frame_create(executor, own.out(), LK_ERR));
  LK_ASSERT_OK(api()->frame_create(executor, brought.out(), LK_ERR));
  api()->frame_bring_scratch(brought);
  LK_ASSERT_OK(api()->frame_attach(own, plan, &own_slot, LK_ERR));
  LK_ASSERT_OK(api()->frame_attach(brought, plan, &slot, LK_ERR));
  EXPECT_GE(api()->frame_bytes(own), api()->frame_bytes(brought) + info.scratch_bytes);

  const lk::Memory from = v.in(LK_LAYOUT_CHANNELS_LAST);
  lk::Memory expected(v.bytes.size()), to(v.bytes.size());
  void *const in[] = {from.data()}, *const out[] = {expected.data()};
  LK_ASSERT_OK(api()->op_run(own, own_slot, in, out, LK_ERR));
  for (int i = 0; i < 2; i++) { // other memory in each run
    lk::Memory scratch(info.scratch_bytes);
    std::memset(scratch.data(), 0, info.scratch_bytes);
    const std::vector<unsigned char> zeros(info.scratch_bytes);
    void *const with_scratch[] = {to.data(), scratch.data()};
    LK_ASSERT_OK(api()->op_run(brought, slot, in, with_scratch, LK_ERR));
    EXPECT_EQ(std::memcmp(to.data(), expected.data(), v.bytes.size()), 0);
    EXPECT_NE(std::memcmp(scratch.data(), zeros.data(), zeros.size()), 0) << "it is what was used";
  }
}

// Scratch memory grows for all lanes or for none: a plan that cannot be attached leaves those that
// are there with memory that is theirs.
TEST_F(Frame, RunsWhatItHasWhenItCannotGrow) {
  constexpr uint32_t LANES = 3;
  lk::FailingAllocator allocator;
  lk::Context failing;
  LK_ASSERT_OK(host_context_create(LK_CACHE_DEFAULT, 1, allocator.get(), failing.out(), LK_ERR));
  const lk::Executor own = lk::executor_in(failing);
  TestNode n;
  n.op = "Softmax";
  Op softmax;
  LK_ASSERT_OK(n.create(own, &softmax, LK_ERR));
  const Value values[] = {lk::random({1, 3, 4, 4}, 1), lk::random({2, 16, 20, 20}, 2)};
  Plan plans[2];
  for (int i = 0; i < 2; i++) {
    lk_tensor_desc desc = values[i].desc;
    desc.layout = LK_LAYOUT_CHANNELS_LAST; // so that it needs a temporary
    LK_ASSERT_OK(lk::bind(softmax, {desc}, &plans[i], LK_ERR, -1, LK_LAYOUT_PLAIN));
  }
  lk::Frame frame;
  uint32_t slots[2] = {};
  LK_ASSERT_OK(api()->frame_create(own, frame.out(), LK_ERR));
  LK_ASSERT_OK(api()->frame_lanes(frame, LANES, LK_ERR));
  LK_ASSERT_OK(api()->frame_attach(frame, plans[0], &slots[0], LK_ERR));
  const auto run = [&](int which, uint32_t lane) {
    const lk::Memory from = values[which].in(LK_LAYOUT_CHANNELS_LAST);
    lk::Memory to(values[which].bytes.size());
    void *const in[] = {from.data()}, *const out[] = {to.data()};
    LK_ASSERT_OK(api()->op_run_lane(frame, lane, slots[which], in, out, LK_ERR));
    const std::vector<float> y = Value::from(values[which].desc, to.data()).as<float>();
    const std::vector<float> expected = softmax_of_rows(values[which]);
    ASSERT_TRUE(lk::all_close(expected, y));
  };
  const uint64_t bytes = api()->frame_bytes(frame);
  size_t failures = 0;
  for (;; failures++) {
    allocator.fail_at(failures + 1);
    const lk_status status = api()->frame_attach(frame, plans[1], &slots[1], LK_ERR);
    allocator.fail_never();
    if (status == LK_OK) break;
    LK_ASSERT_STATUS(LK_OUT_OF_MEMORY, status);
    EXPECT_EQ(api()->frame_bytes(frame), bytes);
    for (uint32_t lane = 0; lane < LANES; lane++) run(0, lane);
  }
  EXPECT_GE(failures, LANES + 1) << "memory of each lane, and the list of it";
  for (uint32_t lane = 0; lane < LANES; lane++) {
    run(0, lane);
    run(1, lane);
  }
}

TEST_F(Frame, OfManyThreadsRunOnePlan) {
  const Op relu = create("Relu");
  const Plan plan = bind(relu, x.desc);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      lk::Frame frame;
      uint32_t slot = 0;
      LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
      LK_ASSERT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
      for (int i = 0; i < 50; i++) check(frame, slot, x, relu_x);
    });
  }
  for (std::thread &thread : threads) thread.join();
}

TEST_F(Frame, SlotsRunAtOnceInLanesOfTheirOwn) {
  // Plans with a temporary, which slots of one lane share.
  constexpr uint32_t LANES = 3, EACH = 4, ROUNDS = 30;
  const Op softmax = create("Softmax");
  lk::Frame frame;
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  std::vector<Value> values;
  std::vector<std::vector<float>> expected;
  std::vector<uint32_t> slots;
  const uint64_t bytes = api()->frame_bytes(frame);
  for (uint32_t i = 0; i < LANES * EACH; i++) {
    if (i == 2) { // before and after attaching
      LK_ASSERT_OK(api()->frame_lanes(frame, LANES, LK_ERR));
    }
    values.push_back(lk::random({1, 4 + i, 20, 20}, i));
    expected.push_back(softmax_of_rows(values.back()));
    lk_tensor_desc desc = values.back().desc;
    desc.layout = LK_LAYOUT_CHANNELS_LAST;
    Plan plan;
    LK_ASSERT_OK(lk::bind(softmax, {desc}, &plan, LK_ERR, -1, LK_LAYOUT_PLAIN));
    ASSERT_GT(host_plan_info(plan).scratch_bytes, 0u);
    slots.push_back(0);
    LK_ASSERT_OK(api()->frame_attach(frame, plan, &slots.back(), LK_ERR));
  }
  EXPECT_GT(api()->frame_bytes(frame), bytes + LANES * values.back().bytes.size());
  for (uint32_t round = 0; round < ROUNDS; round++) { // each time in another lane
    std::vector<std::thread> threads;
    for (uint32_t lane = 0; lane < LANES; lane++) {
      threads.emplace_back([&, lane] {
        for (uint32_t i = (lane + round) % LANES; i < values.size(); i += LANES) {
          const lk::Memory from = values[i].in(LK_LAYOUT_CHANNELS_LAST);
          lk::Memory to(values[i].bytes.size());
          void *const in[] = {from.data()}, *const out[] = {to.data()};
          lk_error error;
          ASSERT_EQ(api()->op_run_lane(frame, lane, slots[i], in, out, &error), LK_OK);
          const std::vector<float> y = Value::from(values[i].desc, to.data()).as<float>();
          ASSERT_TRUE(lk::all_close(expected[i], y));
        }
      });
    }
    for (std::thread &thread : threads) thread.join();
  }
  void *pointers[] = {nullptr};
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   api()->op_run_lane(frame, LANES, slots[0], pointers, pointers, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("lane 3: the frame has 3"));
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->frame_lanes(frame, 1025, LK_ERR));
  LK_EXPECT_OK(api()->frame_lanes(frame, 1, LK_ERR)); // it has more already
}

TEST_F(Frame, ThatHasNoSlotSaysWhatGivesOne) {
  lk::Frame frame;
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  void *pointers[] = {nullptr};
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->op_run(frame, 0, pointers, pointers, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("frame_attach"));
}

TEST_F(Frame, BindRefuses) {
  const Op relu = create("Relu"), add = create("Add", 2);
  Plan plan;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk::bind(relu, {x.desc, x.desc}, &plan, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("2 inputs"));
  lk_tensor_desc desc = x.desc;
  desc.dims[0] = -1;
  EXPECT_NE(lk::bind(relu, {desc}, &plan, LK_ERR), LK_OK);
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 0"));
  desc = x.desc;
  desc.dims[0] = INT64_MAX;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk::bind(relu, {desc}, &plan, LK_ERR));
  desc = x.desc;
  desc.rank = 9;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk::bind(relu, {desc}, &plan, LK_ERR));
  desc = x.desc;
  desc.dtype = 77;
  EXPECT_NE(lk::bind(relu, {desc}, &plan, LK_ERR), LK_OK);
  for (lk_layout layout : {lk_layout{7}, lk_layout{999}, LK_LAYOUT_ANY}) {
    desc = desc_of(LK_F32, {1, 2, 3, 4}, layout);
    EXPECT_NE(lk::bind(relu, {desc}, &plan, LK_ERR), LK_OK) << layout;
    EXPECT_THAT(LK_MESSAGE, HasSubstr("layout")) << layout;
  }
  // A shape input is sized before anything is looked up.
  const Op reshape = create("Reshape", 2);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   lk::bind(reshape, {x.desc, desc_of(LK_I64, {-3})}, &plan, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("bind Reshape 'y': failed to size input 1: dimension 0 is -3"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk::bind(relu, {x.desc}, &plan, LK_ERR, -1, 20));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("wishes for layout 20"));
  for (int32_t over : {1, -2, 99}) {
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk::bind(relu, {x.desc}, &plan, LK_ERR, over));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("in place"));
  }
  // Over a row that is broadcast there is no room.
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk::bind(add, {x.desc, desc_of(LK_F32, {5})}, &plan, LK_ERR, 1));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("in place"));
  EXPECT_EQ(plan.get(), nullptr);
}

TEST_F(Frame, BindFailingReleasesThePlanInHand) {
  const Op relu = create("Relu");
  Plan plan = bind(relu, x.desc);
  lk_tensor_desc desc = x.desc;
  desc.dtype = LK_U8;
  LK_EXPECT_STATUS(LK_UNSUPPORTED, lk::bind(relu, {desc}, &plan, LK_ERR));
  EXPECT_EQ(plan.get(), nullptr);
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].failed_builds, 1u);
  LK_ASSERT_OK(lk::bind(relu, {x.desc}, &plan, LK_ERR)); // and nothing was left behind
}

TEST_F(Frame, HasAPlanThatTellsItsOutputs) {
  const Op relu = create("Relu");
  lk_tensor_desc out;
  const Plan plan = bind(relu, x.desc);
  LK_ASSERT_OK(api()->plan_output(plan, 0, &out, LK_ERR));
  EXPECT_EQ(std::memcmp(&out, &x.desc, sizeof out), 0);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->plan_output(plan, 1, &out, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the plan has 1"));
}

} // namespace
