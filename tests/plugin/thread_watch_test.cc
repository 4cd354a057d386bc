// What a thread makes ends when it is wanted no more: hashing and packing of constants, and builds.
#include <cstring>

#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::desc_of;
using lk::Op;
using lk::Plan;
using ::testing::HasSubstr;

int32_t stop_at_once(void *arg) {
  ++*static_cast<int *>(arg);
  return 1;
}

class ThreadWatch : public ::testing::Test {
protected:
  // A product with a constant that is packed.
  lk_status create(lk_error *error) {
    const lk_tensor constant = {desc_of(LK_F32, {SIZE, SIZE}), weights.data()};
    lk_node_input inputs[2] = {};
    inputs[1].constant = &constant;
    const lk_node_desc node = host_node("MatMul", inputs, 2);
    return api()->op_create(executor, &node, op.out(), error);
  }
  lk_status bind(lk_error *error) {
    return lk::bind(op, {desc_of(LK_F32, {SIZE, SIZE}), desc_of(LK_F32, {SIZE, SIZE})}, &plan,
                    error, -1, LK_LAYOUT_PLAIN);
  }
  static lk_watch watch_of(volatile int32_t *cancel) {
    lk_watch watch = {};
    watch.struct_size = sizeof watch;
    watch.cancel = cancel;
    return watch;
  }
  lk_watch watch_of_flag() { return watch_of(&flag); }

  // A frame for the product, which watches a flag of its own.
  struct WatchedFrame {
    lk::Frame frame;
    uint32_t slot = 0;
    lk::Memory x{SIZE * SIZE * sizeof(float)}, y{SIZE * SIZE * sizeof(float)};
  };
  void make(WatchedFrame *out, volatile int32_t *cancel) {
    const lk_watch watch = watch_of(cancel);
    std::memset(out->x.data(), 0, out->x.bytes());
    LK_ASSERT_OK(create(LK_ERR));
    LK_ASSERT_OK(bind(LK_ERR));
    LK_ASSERT_OK(api()->frame_create(executor, out->frame.out(), LK_ERR));
    LK_ASSERT_OK(api()->frame_attach(out->frame, plan, &out->slot, LK_ERR));
    LK_ASSERT_OK(api()->frame_watch(out->frame, &watch, LK_ERR));
  }
  lk_status run(WatchedFrame *of) {
    void *in[] = {of->x.data(), nullptr}, *out[] = {of->y.data()};
    return api()->op_run(of->frame, of->slot, in, out, LK_ERR);
  }
  static constexpr int64_t SIZE = 800; // 2.5 MB: hashed in parts, when the op is made
  std::vector<float> weights = std::vector<float>(SIZE * SIZE, 1);
  volatile int32_t flag = 0;
  lk_thread_watch room = {};
  lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
  lk::Executor executor = lk::executor_in(context);
  Op op;
  Plan plan;
};

TEST_F(ThreadWatch, EndsHashing) {
  const lk_watch watch = watch_of_flag();
  flag = 1;
  LK_ASSERT_OK(api()->thread_watch(&room, &watch, LK_ERR));
  LK_EXPECT_STATUS(LK_CANCELLED, create(LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("hash weights: cancelled"));
  api()->thread_unwatch(&room);
  LK_EXPECT_OK(create(LK_ERR));
}

TEST_F(ThreadWatch, EndsPackingAndKeepsNothingOfIt) {
  const lk_watch watch = watch_of_flag();
  LK_ASSERT_OK(create(LK_ERR));
  flag = 1;
  LK_ASSERT_OK(api()->thread_watch(&room, &watch, LK_ERR));
  LK_EXPECT_STATUS(LK_CANCELLED, bind(LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("pack weights: cancelled"));
  LK_EXPECT_STATUS(LK_CANCELLED, api()->thread_look(LK_ERR));
  api()->thread_unwatch(&room);
  EXPECT_EQ(host_stats(context, nullptr).weights_entries, 0);
  LK_EXPECT_OK(api()->thread_look(LK_ERR));
  LK_ASSERT_OK(bind(LK_ERR));
  EXPECT_EQ(host_stats(context, nullptr).weights_entries, 1);
}

TEST_F(ThreadWatch, EndsAtADeadlineAndWhenTheHostSaysSo) {
  lk_watch watch = {};
  watch.struct_size = sizeof watch;
  watch.deadline_ns = 1;
  LK_ASSERT_OK(api()->thread_watch(&room, &watch, LK_ERR));
  LK_EXPECT_STATUS(LK_DEADLINE, create(LK_ERR));
  api()->thread_unwatch(&room);
  int asked = 0;
  watch.deadline_ns = 0;
  watch.should_stop = stop_at_once;
  watch.arg = &asked;
  LK_ASSERT_OK(api()->thread_watch(&room, &watch, LK_ERR));
  while (api()->thread_look(nullptr) == LK_OK) { // asked once in 40 ms at most
  }
  LK_EXPECT_STATUS(LK_CANCELLED, create(LK_ERR));
  api()->thread_unwatch(&room);
  EXPECT_EQ(asked, 1);
}

TEST_F(ThreadWatch, LieInEachOther) {
  lk_watch outer = watch_of_flag(), inner = {};
  lk_thread_watch inner_room = {};
  inner.struct_size = sizeof inner; // it watches nothing: what is around it goes on
  LK_ASSERT_OK(api()->thread_watch(&room, &outer, LK_ERR));
  LK_ASSERT_OK(api()->thread_watch(&inner_room, &inner, LK_ERR));
  LK_EXPECT_OK(api()->thread_look(LK_ERR));
  flag = 1;
  LK_EXPECT_STATUS(LK_CANCELLED, api()->thread_look(LK_ERR));
  api()->thread_unwatch(&inner_room);
  LK_EXPECT_STATUS(LK_CANCELLED, api()->thread_look(LK_ERR));
  api()->thread_unwatch(&room);
  LK_EXPECT_OK(api()->thread_look(LK_ERR));
}

// What is around one that watches something ends it, too, and not the other way round.
TEST_F(ThreadWatch, OuterOnesEndInnerOnes) {
  volatile int32_t of_inner = 0;
  const lk_watch outer = watch_of_flag();
  lk_watch inner = outer;
  inner.cancel = &of_inner;
  lk_thread_watch inner_room = {};
  LK_ASSERT_OK(api()->thread_watch(&room, &outer, LK_ERR));
  LK_ASSERT_OK(api()->thread_watch(&inner_room, &inner, LK_ERR));
  of_inner = 1;
  LK_EXPECT_STATUS(LK_CANCELLED, api()->thread_look(LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to finish what this thread makes: cancelled"));
  api()->thread_unwatch(&inner_room);
  LK_EXPECT_OK(api()->thread_look(LK_ERR));
  of_inner = 0;
  LK_ASSERT_OK(api()->thread_watch(&inner_room, &inner, LK_ERR));
  LK_EXPECT_OK(api()->thread_look(LK_ERR));
  flag = 1;
  LK_EXPECT_STATUS(LK_CANCELLED, create(LK_ERR));
  api()->thread_unwatch(&inner_room);
  LK_EXPECT_STATUS(LK_CANCELLED, api()->thread_look(LK_ERR));
  api()->thread_unwatch(&room);
  LK_EXPECT_OK(create(LK_ERR));
}

// A frame that watches for itself gives the thread back what it watched.
TEST_F(ThreadWatch, OutlivesWhatAFrameWatches) {
  const lk_watch watch = watch_of_flag();
  volatile int32_t never = 0;
  WatchedFrame frame;
  ASSERT_NO_FATAL_FAILURE(make(&frame, &never));
  LK_ASSERT_OK(api()->thread_watch(&room, &watch, LK_ERR));
  LK_EXPECT_OK(run(&frame));
  flag = 1;
  LK_EXPECT_STATUS(LK_CANCELLED, api()->thread_look(LK_ERR));
  api()->thread_unwatch(&room);
}

// An operator looks at what the frame watches and at what the thread watches, and the end of the
// one leaves nothing behind in the other.
TEST_F(ThreadWatch, EndsOperatorsInFramesThatWatchForThemselves) {
  const lk_watch watch = watch_of_flag();
  volatile int32_t of_frame = 0;
  WatchedFrame frame;
  ASSERT_NO_FATAL_FAILURE(make(&frame, &of_frame));
  for (int round = 0; round < 2; round++) {
    flag = of_frame = 0;
    LK_ASSERT_OK(api()->thread_watch(&room, &watch, LK_ERR));
    LK_EXPECT_OK(run(&frame));
    flag = 1;
    LK_EXPECT_STATUS(LK_CANCELLED, run(&frame));
    api()->thread_unwatch(&room);
    LK_EXPECT_OK(run(&frame));
  }
  of_frame = 1;
  LK_EXPECT_STATUS(LK_CANCELLED, run(&frame));
  LK_ASSERT_OK(api()->frame_watch(frame.frame, nullptr, LK_ERR));
  LK_EXPECT_OK(run(&frame));
}

// A loop that ends early leaves the rest of its output as it was: one that takes no time does not.
TEST_F(ThreadWatch, LetsOperatorsThatTakeNoTimeDoTheirWork) {
  const lk_watch watch = watch_of_flag();
  const lk_tensor_desc four = desc_of(LK_F32, {4});
  const lk_node_input input = {};
  const lk_node_desc node = host_node("Relu", &input, 1);
  LK_ASSERT_OK(api()->op_create(executor, &node, op.out(), LK_ERR));
  LK_ASSERT_OK(lk::bind(op, {four}, &plan, LK_ERR, -1, LK_LAYOUT_PLAIN));
  lk::Frame frame;
  uint32_t slot = 0;
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  LK_ASSERT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
  const float x[] = {-1, 2, -3, 4};
  float y[] = {9, 9, 9, 9};
  void *in[] = {const_cast<float *>(x)}, *out[] = {y};
  flag = 1;
  LK_ASSERT_OK(api()->thread_watch(&room, &watch, LK_ERR));
  LK_EXPECT_OK(api()->op_run(frame, slot, in, out, LK_ERR));
  EXPECT_THAT(y, testing::ElementsAre(0, 2, 0, 4));
  LK_EXPECT_STATUS(LK_CANCELLED, api()->thread_look(LK_ERR)) << "it still watches";
  api()->thread_unwatch(&room);
}

// Those that may take long end, in a frame that watches nothing, too.
TEST_F(ThreadWatch, EndsOperatorsInFramesThatWatchNothing) {
  const lk_watch watch = watch_of_flag();
  volatile int32_t of_frame = 0;
  WatchedFrame frame;
  ASSERT_NO_FATAL_FAILURE(make(&frame, &of_frame));
  LK_ASSERT_OK(api()->frame_watch(frame.frame, nullptr, LK_ERR));
  flag = 1;
  LK_ASSERT_OK(api()->thread_watch(&room, &watch, LK_ERR));
  LK_EXPECT_STATUS(LK_CANCELLED, run(&frame));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("cancelled while it computed"));
  api()->thread_unwatch(&room);
  LK_EXPECT_OK(run(&frame));
}

} // namespace
