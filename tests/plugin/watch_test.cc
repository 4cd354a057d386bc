// Operators that take long and are wanted no more: they end, whatever kernel computes.
#include <functional>
#include <thread>

#include "tests/plugin/handles.h"

extern "C" {
#include "base/clock.h"
#include "base/stop.h"
}

namespace {

using lk::api;
using lk::desc_of;
using lk::Op;
using lk::Plan;
using lk::TestNode;
using ::testing::HasSubstr;

// An operator whose main kernel has many turns.
struct Long {
  std::string label;
  TestNode node;
  std::vector<lk_tensor_desc> inputs;
};

TestNode node(const char *op, uint32_t n_inputs, int32_t opset = 13) {
  TestNode made;
  made.op = op;
  made.n_inputs = n_inputs;
  made.opset = opset;
  return made;
}

TestNode node_with(TestNode made, const std::string &name, int64_t value) {
  made.ints.push_back({name, {value}});
  return made;
}

lk_tensor_desc f32(const std::vector<int64_t> &dims) {
  return desc_of(LK_F32, dims);
}

std::vector<Long> long_nodes() {
  const lk_tensor_desc heads = f32({1, 4, 700, 64}), few = f32({1, 64, 2, 64});
  const lk_tensor_desc cache = f32({1, 64, 3000, 64}), bytes = desc_of(LK_U8, {700, 700});
  return {
      {"Product", node("MatMul", 2), {f32({700, 700}), f32({700, 700})}},
      {"Rows", node("MatMul", 2), {f32({2, 3000}), f32({3000, 3000})}},
      {"Convolution", node("Conv", 2), {f32({1, 64, 60, 60}), f32({64, 64, 3, 3})}},
      {"Depthwise",
       node_with(node("Conv", 2), "group", 64),
       {f32({1, 64, 200, 200}), f32({64, 1, 3, 3})}},
      {"Transposed", node("ConvTranspose", 2), {f32({1, 64, 40, 40}), f32({64, 64, 3, 3})}},
      {"Integers", node("MatMulInteger", 2, 10), {bytes, bytes}},
      {"Attention", node("Attention", 3, 23), {heads, heads, heads}},
      {"AttentionOfFew", node("Attention", 3, 23), {few, cache, cache}},
      {"Elements", node("Erf", 1), {f32({1 << 20})}},
      {"Norm", node("LayerNormalization", 2, 17), {f32({4000, 300}), f32({300})}},
      {"Softmax", node("Softmax", 1), {f32({4000, 300})}},
      {"Reduction", node_with(node("ReduceMean", 1), "axes", 1), {f32({64, 200, 200})}},
      {"Pool", node("GlobalAveragePool", 1), {f32({64, 64, 40, 40})}},
      {"Transpose", node("Transpose", 1), {f32({1000, 1200})}},
      {"Lstm",
       node_with(node("LSTM", 3, 14), "hidden_size", 128),
       {f32({200, 4, 64}), f32({1, 512, 64}), f32({1, 512, 128})}},
      {"Determinant", node("Det", 1, 11), {f32({600, 50, 50})}},
      {"Regions",
       node("RoiAlign", 3, 16),
       {f32({1, 64, 64, 64}), f32({200, 4}), desc_of(LK_I64, {200})}},
      {"Fourier", node_with(node("DFT", 1, 17), "axis", 1), {f32({64, 1009, 1})}},
  };
}

int32_t stop_when_asked(void *arg) {
  return ++*static_cast<int *>(arg);
}

// A thread asks once in LK_STOP_ASK_NS: it may just have done so in the test before.
void wait_to_be_asked() {
  const uint64_t until = lk_now_ns() + LK_STOP_ASK_NS;
  while (lk_now_ns() < until) std::this_thread::yield();
}

lk_watch watch_of(lk_should_stop_fn should_stop, void *arg) {
  lk_watch watch = {};
  watch.struct_size = sizeof watch;
  watch.should_stop = should_stop;
  watch.arg = arg;
  return watch;
}

class Watch : public ::testing::TestWithParam<Long> {
protected:
  void SetUp() override {
    const Long &of = GetParam();
    LK_ASSERT_OK(of.node.create(executor, &op, LK_ERR));
    LK_ASSERT_OK(lk::bind(op, of.inputs, &plan, LK_ERR, -1, LK_LAYOUT_PLAIN));
    LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
    LK_ASSERT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
    for (const lk_tensor_desc &desc : of.inputs) fill_input(desc);
    lk_tensor_desc output;
    LK_ASSERT_OK(api()->plan_output(plan, 0, &output, LK_ERR));
    add(output, &outputs);
    empty_output();
  }
  void add(const lk_tensor_desc &desc, std::vector<lk::Memory> *to) {
    uint64_t bytes = 0;
    LK_ASSERT_OK(api()->tensor_bytes(&desc, &bytes, LK_ERR));
    to->emplace_back(bytes);
  }
  void fill_input(const lk_tensor_desc &desc) {
    add(desc, &inputs);
    if (desc.dtype == LK_I64) std::memset(inputs.back().data(), 0, inputs.back().bytes());
    if (desc.dtype != LK_F32) return; // of bytes, what memory is filled with will do
    auto *numbers = static_cast<float *>(inputs.back().data());
    for (size_t i = 0; i < inputs.back().bytes() / 4; i++) {
      numbers[i] = static_cast<float>(i % 7) * 0.125f - 0.25f;
    }
  }
  void empty_output() { std::memset(outputs[0].data(), UNWRITTEN, outputs[0].bytes()); }
  lk_status run() {
    std::vector<void *> in, out;
    for (const lk::Memory &memory : inputs) in.push_back(memory.data());
    for (const lk::Memory &memory : outputs) out.push_back(memory.data());
    return api()->op_run(frame, slot, in.data(), out.data(), LK_ERR);
  }
  bool is_last_written() const {
    const auto *bytes = static_cast<const uint8_t *>(outputs[0].data());
    const size_t end = outputs[0].bytes();
    return std::any_of(bytes + end - 4, bytes + end, [](uint8_t at) { return at != UNWRITTEN; });
  }
  static constexpr uint8_t UNWRITTEN = 0xa5;

  lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
  lk::Executor executor = lk::executor_in(context);
  Op op;
  Plan plan;
  lk::Frame frame;
  uint32_t slot = 0;
  std::vector<lk::Memory> inputs, outputs;
};

TEST_P(Watch, EndsWhenTheHostSaysSo) {
  int asked = 0;
  const lk_watch watch = watch_of(stop_when_asked, &asked);
  wait_to_be_asked();
  LK_ASSERT_OK(api()->frame_watch(frame, &watch, LK_ERR));
  LK_EXPECT_STATUS(LK_CANCELLED, run());
  EXPECT_THAT(LK_MESSAGE, HasSubstr("cancelled while it computed"));
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(is_last_written());
  LK_ASSERT_OK(api()->frame_watch(frame, nullptr, LK_ERR));
  LK_ASSERT_OK(run());
  EXPECT_TRUE(is_last_written());
}

TEST_P(Watch, EndsAtADeadline) {
  lk_watch watch = watch_of(nullptr, nullptr);
  watch.deadline_ns = lk_now_ns() + 20000; // no operator here takes so little
  LK_ASSERT_OK(api()->frame_watch(frame, &watch, LK_ERR));
  LK_EXPECT_STATUS(LK_DEADLINE, run());
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the deadline passed while it computed"));
  EXPECT_FALSE(is_last_written());
}

TEST_P(Watch, ChangesNoBit) {
  LK_ASSERT_OK(run());
  const std::vector<uint8_t> alone(static_cast<uint8_t *>(outputs[0].data()),
                                   static_cast<uint8_t *>(outputs[0].data()) + outputs[0].bytes());
  empty_output();
  volatile int32_t never = 0;
  lk_watch watch = watch_of(nullptr, nullptr);
  watch.cancel = &never;
  LK_ASSERT_OK(api()->frame_watch(frame, &watch, LK_ERR));
  LK_ASSERT_OK(run());
  EXPECT_EQ(std::memcmp(alone.data(), outputs[0].data(), alone.size()), 0);
}

// The host may run what it likes when it is asked, on the same thread: the deadline of the run that
// asks, which passes meanwhile, is not that one's.
TEST_P(Watch, IsNotOfWhatTheHostRunsWhenAsked) {
  lk::Frame other;
  uint32_t other_slot = 0;
  std::vector<void *> in;
  for (const lk::Memory &memory : inputs) in.push_back(memory.data());
  lk::Memory aside(outputs[0].bytes());
  LK_ASSERT_OK(run());
  LK_ASSERT_OK(api()->frame_create(executor, other.out(), LK_ERR));
  LK_ASSERT_OK(api()->frame_attach(other, plan, &other_slot, LK_ERR));
  std::function<int32_t()> host;
  lk_watch watch =
      watch_of([](void *arg) { return (*static_cast<std::function<int32_t()> *>(arg))(); }, &host);
  int asked = 0;
  host = [&] {
    asked++;
    while (lk_now_ns() < watch.deadline_ns) std::this_thread::yield();
    void *out = aside.data();
    EXPECT_EQ(api()->op_run(other, other_slot, in.data(), &out, nullptr), LK_OK);
    return 0;
  };
  // On a busy machine a short time may have passed before it asks.
  for (uint64_t ms = 30; asked == 0; ms *= 2) {
    wait_to_be_asked();
    watch.deadline_ns = lk_now_ns() + ms * 1000000;
    LK_ASSERT_OK(api()->frame_watch(frame, &watch, LK_ERR));
    LK_ASSERT_STATUS(LK_DEADLINE, run());
  }
  EXPECT_EQ(asked, 1);
  LK_ASSERT_OK(api()->frame_watch(frame, nullptr, LK_ERR));
  LK_ASSERT_OK(run());
  EXPECT_EQ(std::memcmp(aside.data(), outputs[0].data(), aside.bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Watch, ::testing::ValuesIn(long_nodes()),
                         [](const auto &info) { return info.param.label; });

// Operators whose outputs are as large as data says, with a deadline that comes within.
class WatchAlloc : public ::testing::Test {
protected:
  lk_status run(const TestNode &of, std::vector<lk_tensor> inputs, uint64_t deadline_ns) {
    Op op;
    lk::Frame frame;
    LK_EXPECT_OK(of.create(executor, &op, LK_ERR));
    LK_EXPECT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
    lk_watch watch = watch_of(nullptr, nullptr);
    watch.deadline_ns = deadline_ns;
    LK_EXPECT_OK(api()->frame_watch(frame, &watch, LK_ERR));
    lk_bind_desc bind = host_bind(inputs.data(), static_cast<uint32_t>(inputs.size()));
    const auto alloc = [](void *arg, const lk_output_request *request) {
      auto *room = static_cast<std::vector<uint8_t> *>(arg);
      room->resize(request->bytes);
      return static_cast<void *>(room->data());
    };
    return api()->op_run_alloc(frame, op, &bind, alloc, &room, &output, LK_ERR);
  }
  void check(const TestNode &of, const std::vector<lk_tensor> &inputs, int64_t wanted) {
    LK_EXPECT_STATUS(LK_DEADLINE, run(of, inputs, lk_now_ns() + 100000));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("the deadline passed while it computed"));
    LK_ASSERT_OK(run(of, inputs, 0));
    EXPECT_EQ(output.desc.dims[output.desc.rank - 1], wanted);
  }
  lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
  lk::Executor executor = lk::executor_in(context);
  std::vector<uint8_t> room;
  lk_tensor output = {};
};

// Boxes side by side: each is chosen, and compared with all before it.
TEST_F(WatchAlloc, Suppression) {
  const int64_t n = 4000;
  std::vector<float> boxes, scores;
  for (int64_t i = 0; i < n; i++) {
    const float at = static_cast<float>(2 * i);
    boxes.insert(boxes.end(), {at, 0, at + 1, 1});
    scores.push_back(static_cast<float>(n - i));
  }
  int64_t most = n;
  check(node("NonMaxSuppression", 3),
        {{f32({1, n, 4}), boxes.data()},
         {f32({1, 1, n}), scores.data()},
         {desc_of(LK_I64, {1}), &most}},
        3);
  EXPECT_EQ(output.desc.dims[0], n);
}

TEST_F(WatchAlloc, Selections) {
  const int64_t n = 2000000;
  std::vector<float> numbers(static_cast<size_t>(n));
  for (size_t i = 0; i < numbers.size(); i++)
    numbers[i] = static_cast<float>(i * 7919 % numbers.size()) + 1;
  const lk_tensor x = {f32({n}), numbers.data()};
  std::vector<uint8_t> all(static_cast<size_t>(n), 1);
  check(node("NonZero", 1), {x}, n);
  check(node("Unique", 1, 11), {x}, n);
  check(node("Compress", 2, 11), {x, {desc_of(LK_BOOL, {n}), all.data()}}, n);
}

TEST(WatchOne, WithNothingToWatchIsNone) {
  const lk::Context context = lk::open();
  const lk::Executor executor = lk::executor_in(context);
  lk::Frame frame;
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  lk_watch watch = {};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->frame_watch(frame, &watch, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("a watch"));
  watch.struct_size = sizeof watch;
  LK_EXPECT_OK(api()->frame_watch(frame, &watch, LK_ERR));
}

} // namespace
