// Three models with equal names and shapes, opened and run from three threads: neither the order
// nor the thread changes a bit of any result.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/executor_glue/session/small_model.h"
#include "tests/isolation/node_model.h"

namespace {

using namespace lk::small;

constexpr int N = 3;
using Order = std::array<int, N>;

std::vector<Order> orders() {
  Order order = {0, 1, 2};
  std::vector<Order> all;
  do {
    all.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

// Lets the threads go on one by one, in a given order.
class Turns {
public:
  void wait(int turn) {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [&] { return turn_ == turn; });
  }
  void next() {
    const std::lock_guard<std::mutex> guard(lock_);
    turn_++;
    changed_.notify_all();
  }

private:
  std::mutex lock_;
  std::condition_variable changed_;
  int turn_ = 0;
};

class Permutations : public Session, public ::testing::WithParamInterface<uint32_t> {
protected:
  Floats output(lk_session *of, size_t rows) {
    Floats x = numbers(rows, 0.3f);
    std::vector<lk_named_tensor> outputs = {{"s", {}}};
    LK_EXPECT_OK(run_in(of, {x_of(x)}, outputs));
    const Floats result = elements(outputs[0]);
    level2()->outputs_release(of, outputs.data(), 1);
    return result;
  }
  // What model m gives, alone in a context.
  Floats alone(int m) {
    lk_session *session_ = nullptr;
    lk_context *context_ = nullptr;
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.cache_mode = GetParam();
    options.threads = 2;
    LK_EXPECT_OK(api()->context_create(&options, &context_, LK_ERR));
    LK_EXPECT_OK(level2()->open_memory(context_, models[m].data(), models[m].size(), nullptr,
                                       &session_, LK_ERR));
    const Floats result = output(session_, 3);
    level2()->close(session_);
    api()->context_destroy(context_);
    return result;
  }
  const std::string models[N] = {model_bytes(0.5f), model_bytes(1.5f), model_bytes(2.5f)};
};
LK_IN_BOTH_MODES(Permutations);

TEST_P(Permutations, OfOpeningAndOfRunning) {
  Floats wanted[N];
  for (int m = 0; m < N; m++) wanted[m] = alone(m);
  for (int m = 0; m < N; m++) {
    expect_near(wanted[m], expected_s(expected_y(numbers(3, 0.3f), 0.5f + float(m))));
    ASSERT_NE(wanted[m], wanted[(m + 1) % N]);
  }
  for (const Order &opening : orders()) {
    for (const Order &running : orders()) {
      open_context(GetParam());
      lk_session *sessions[N] = {};
      Floats got[N], again[N];
      Turns turns;
      std::vector<std::thread> threads; // one for each model
      const auto place = [](const Order &order, int m) {
        return int(std::find(order.begin(), order.end(), m) - order.begin());
      };
      for (int m = 0; m < N; m++) {
        threads.emplace_back([&, m] {
          turns.wait(place(opening, m));
          LK_EXPECT_OK(level2()->open_memory(context, models[m].data(), models[m].size(), nullptr,
                                             &sessions[m], LK_ERR));
          turns.next();
          turns.wait(N + place(running, m));
          got[m] = output(sessions[m], 3);
          turns.next();
          turns.wait(2 * N + place(opening, m)); // another's model, that another thread has run
          again[(m + 1) % N] = output(sessions[(m + 1) % N], 3);
          turns.next();
        });
      }
      for (std::thread &thread : threads) thread.join();
      for (int m = 0; m < N; m++) {
        EXPECT_EQ(got[m], wanted[m]) << "bit for bit";
        EXPECT_EQ(again[m], wanted[m]);
        level2()->close(sessions[m]);
      }
      api()->context_destroy(context);
      context = nullptr;
    }
  }
}

// The threads do not wait for each other: any order.
TEST_P(Permutations, AtOnce) {
  Floats wanted[N];
  for (int m = 0; m < N; m++) wanted[m] = alone(m);
  for (int round = 0; round < 20; round++) {
    open_context(GetParam());
    std::vector<std::thread> threads;
    for (int m = 0; m < N; m++) {
      threads.emplace_back([&, m] {
        lk_session *mine = nullptr;
        LK_EXPECT_OK(level2()->open_memory(context, models[m].data(), models[m].size(), nullptr,
                                           &mine, LK_ERR));
        for (int i = 0; i < 3; i++) EXPECT_EQ(output(mine, 3), wanted[m]);
        level2()->close(mine);
      });
    }
    for (std::thread &thread : threads) thread.join();
    api()->context_destroy(context);
    context = nullptr;
  }
}

} // namespace
