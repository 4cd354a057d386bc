// The pool by itself, over a shared oneDNN: where an exception ends a primitive, nothing of the
// pool is left to the thread.
#include <new>
#include <stdexcept>
#include <vector>

#include "tests/headers/onednn/onednn_host.h"

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

void end_primitive(dnnl_primitive_t primitive) {
  EXPECT_EQ(dnnl_primitive_destroy(primitive), dnnl_success);
}
void end_memory(dnnl_memory_t memory) {
  EXPECT_EQ(dnnl_memory_destroy(memory), dnnl_success);
}
using Pool = lk::Owned<lk_onednn_pool, lk_onednn_pool_destroy>;
using Primitive = lk::Owned<dnnl_primitive, end_primitive>;
using Memory = lk::Owned<dnnl_memory, end_memory>;

class OnednnPool : public ::testing::Test {
protected:
  void SetUp() override {
    throws = Throws::NOTHING;
    regions = 0;
    LK_ASSERT_DNNL(lk_onednn_set_threads(SHARES));
    LK_ASSERT_DNNL(dnnl_memory_create(from.out(), desc, engine, x.data()));
    LK_ASSERT_DNNL(dnnl_memory_create(to.out(), desc, engine, y.data()));
  }

  // y = alpha * x + 1
  Primitive linear(float alpha) {
    dnnl_primitive_desc_t of = nullptr;
    Primitive made;
    EXPECT_EQ(dnnl_eltwise_forward_primitive_desc_create(&of, engine, dnnl_forward_inference,
                                                         dnnl_eltwise_linear, desc, desc, alpha, 1,
                                                         nullptr),
              dnnl_success);
    EXPECT_EQ(dnnl_primitive_create(made.out(), of), dnnl_success);
    EXPECT_EQ(dnnl_primitive_desc_destroy(of), dnnl_success);
    return made;
  }
  // On a pool that is there for this run alone.
  dnnl_status_t execute(const Primitive &primitive) {
    const Pool pool(lk_onednn_pool_create(&TEAM, SHARES));
    lk::Stream stream;
    EXPECT_EQ(lk_onednn_stream_create(engine, pool, stream.out()), dnnl_success);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    return lk_onednn_execute(primitive, stream, 2, args);
  }

  const dnnl_engine_t engine = lk::test_engine();
  const lk::Desc desc = lk::desc_of({SIZE}, dnnl_f32, dnnl_a);
  std::vector<float> x = std::vector<float>(SIZE, 7), y = std::vector<float>(SIZE);
  Memory from, to;
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
  EXPECT_EQ(lk_onednn_execute(primitive, nullptr, 0, nullptr), dnnl_invalid_arguments);
}

} // namespace
