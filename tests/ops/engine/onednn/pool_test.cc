// The pool by itself, over a shared oneDNN: where an exception ends a primitive, nothing of the
// pool is left to the thread.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

extern "C" {
#include "ops/engine/onednn/pool.h"
}

namespace {

constexpr int SHARES = 3;
constexpr int64_t SIZE = 1 << 20; // of which all shares get some

enum class Throws { NOTHING, NO_MEMORY, ANOTHER };
Throws throws = Throws::NOTHING;
int regions = 0;

// A team that computes all on this thread, or throws as oneDNN's code in a turn would.
void run(void (*fn)(void *arg), void *arg, int /*threads*/) {
  regions++;
  if (throws == Throws::NO_MEMORY) throw std::bad_alloc();
  if (throws == Throws::ANOTHER) throw std::runtime_error("turn");
  fn(arg);
}
constexpr lk_engine_team TEAM = {sizeof(lk_engine_team), run,
                                 [] { return SHARES; },  [] { return 0; },
                                 [] { return 1; },       [] { return 0; }};

struct Ends {
  void operator()(lk_onednn_pool *pool) const { lk_onednn_pool_destroy(pool); }
  void operator()(dnnl_stream_t stream) const {
    EXPECT_EQ(dnnl_stream_destroy(stream), dnnl_success);
  }
  void operator()(dnnl_primitive_t primitive) const {
    EXPECT_EQ(dnnl_primitive_destroy(primitive), dnnl_success);
  }
  void operator()(dnnl_memory_t memory) const {
    EXPECT_EQ(dnnl_memory_destroy(memory), dnnl_success);
  }
};
template <typename T> using Owned = std::unique_ptr<T, Ends>;

class OnednnPool : public ::testing::Test {
protected:
  void SetUp() override {
    throws = Throws::NOTHING;
    regions = 0;
    ASSERT_EQ(dnnl_set_primitive_cache_capacity(0), dnnl_success);
    ASSERT_EQ(dnnl_engine_create(&engine, dnnl_cpu, 0), dnnl_success);
    ASSERT_EQ(lk_onednn_set_threads(SHARES), dnnl_success);
    const dnnl_dims_t dims = {SIZE};
    ASSERT_EQ(dnnl_memory_desc_create_with_tag(&desc, 1, dims, dnnl_f32, dnnl_a), dnnl_success);
    for (std::vector<float> *of : {&x, &y}) {
      dnnl_memory_t made = nullptr;
      ASSERT_EQ(dnnl_memory_create(&made, desc, engine, of->data()), dnnl_success);
      memory[of == &y].reset(made);
    }
  }
  void TearDown() override {
    for (Owned<dnnl_memory> &each : memory) each.reset();
    EXPECT_EQ(dnnl_memory_desc_destroy(desc), dnnl_success);
    EXPECT_EQ(dnnl_engine_destroy(engine), dnnl_success);
  }

  // y = alpha * x + 1
  Owned<dnnl_primitive> linear(float alpha) {
    dnnl_primitive_desc_t of = nullptr;
    dnnl_primitive_t made = nullptr;
    EXPECT_EQ(dnnl_eltwise_forward_primitive_desc_create(&of, engine, dnnl_forward_inference,
                                                         dnnl_eltwise_linear, desc, desc, alpha, 1,
                                                         nullptr),
              dnnl_success);
    EXPECT_EQ(dnnl_primitive_create(&made, of), dnnl_success);
    EXPECT_EQ(dnnl_primitive_desc_destroy(of), dnnl_success);
    return Owned<dnnl_primitive>(made);
  }
  // On a pool that is there for this run alone.
  dnnl_status_t execute(const Owned<dnnl_primitive> &primitive) {
    const Owned<lk_onednn_pool> pool(lk_onednn_pool_create(&TEAM, SHARES));
    dnnl_stream_t made = nullptr;
    EXPECT_EQ(lk_onednn_stream_create(engine, pool.get(), &made), dnnl_success);
    const Owned<dnnl_stream> stream(made);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, memory[0].get()},
                                    {DNNL_ARG_DST, memory[1].get()}};
    return lk_onednn_execute(primitive.get(), stream.get(), 2, args);
  }

  dnnl_engine_t engine = nullptr;
  dnnl_memory_desc_t desc = nullptr;
  std::vector<float> x = std::vector<float>(SIZE, 7), y = std::vector<float>(SIZE);
  Owned<dnnl_memory> memory[2];
};

class OnednnPoolThrows : public OnednnPool, public ::testing::WithParamInterface<Throws> {};

TEST_P(OnednnPoolThrows, IsNotThatOfTheThreadBehindAnException) {
  const auto first = linear(3);
  throws = GetParam();
  EXPECT_ANY_THROW((void)execute(first));
  EXPECT_EQ(regions, 1);
  throws = Throws::NOTHING;
  const auto second = linear(5); // asks the thread's pool, which is gone, if it has one
  EXPECT_EQ(execute(second), dnnl_success);
  EXPECT_EQ(regions, 2) << "by another pool";
  EXPECT_EQ(y, std::vector<float>(SIZE, 36));
}

INSTANTIATE_TEST_SUITE_P(All, OnednnPoolThrows,
                         ::testing::Values(Throws::NO_MEMORY, Throws::ANOTHER));

TEST_F(OnednnPool, SaysWhatOneDnnSays) {
  const auto primitive = linear(3);
  EXPECT_EQ(execute(primitive), dnnl_success);
  EXPECT_EQ(y, std::vector<float>(SIZE, 22));
  EXPECT_EQ(lk_onednn_execute(primitive.get(), nullptr, 0, nullptr), dnnl_invalid_arguments);
}

} // namespace
