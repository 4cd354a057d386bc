// What is promised of every operator, whatever it computes: it neither uses nor changes what the
// host has set for its thread, its runs allocate nothing, every allocation before them may fail,
// and the bits of its results do not depend on the number of threads. Each row gets random nodes of
// every type that it takes, with post-ops where it takes them, with constants and without.
#include <cfenv>
#include <csignal>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/harness/environment.h"
#include "tests/ops/infer/made.h"

extern "C" {
#include "base/team/team.h"
}

namespace {

using namespace lk::infer;
using lk::api;

#if defined(__SANITIZE_THREAD__)
const std::vector<uint32_t> TYPES = {LK_F32, LK_I64}; // what it finds does not depend on types
#else
const std::vector<uint32_t> TYPES = {LK_F32, LK_F64, LK_F16, LK_BF16,
                                     LK_I64, LK_I32, LK_U8,  LK_BOOL};
#endif
// Most bytes and operations of a node: of one that is small, and of one that threads share.
struct Size {
  uint64_t bytes, flops;
};
constexpr Size SMALL = {uint64_t{1} << 20, 2000000}, SHARED = {uint64_t{5} << 19, 20000000};

// How many nodes, of how many types: more by `make nightly`.
int count_of(int count) {
  return int(count * lk::number_of_variable("LK_TEST_EVERY_ROW_TIMES", 1));
}

class EveryRow : public ::testing::TestWithParam<lk_op_row> {
protected:
  using Check = std::function<void(const Node &, uint64_t constants)>;

  // The costliest of random nodes of each type that bind, with one dimension that may be one of
  // `sizes`: the first at which they are not too large.
  void for_each_node(const std::vector<uint32_t> &types, int count, const Size &most,
                     std::initializer_list<int64_t> sizes, const Check &check) {
    const lk::Context context = lk::open(LK_CACHE_OFF, 1);
    const lk::Executor executor = lk::executor_in(context);
    for (const uint32_t dtype : types) {
      std::vector<std::tuple<double, unsigned, Node>> nodes;
      for (unsigned seed = 0; seed < 12; seed++) {
        for (const int64_t size : sizes) {
          const Node node = draw(seed, size, dtype);
          const double cost = cost_of(executor, node, most);
          if (cost < 0) continue;
          nodes.push_back({-cost, seed, node});
          break;
        }
      }
      std::sort(nodes.begin(), nodes.end(), [](const auto &a, const auto &b) {
        return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
      });
      for (size_t i = 0; i < nodes.size() && int(i) < count && !HasFailure(); i++) {
        const auto &[cost, seed, node] = nodes[i];
        SCOPED_TRACE(describe(node));
        check(node, seed / 2 % 2 != 0 ? all_but_first(node) : 0);
      }
    }
  }
  bool is_random() const { return (GetParam().flags & LK_OP_RANDOM) != 0; }

private:
  Node draw(unsigned seed, int64_t size, uint32_t dtype) const {
    const auto rule = rules().find(GetParam().op_type);
    EXPECT_NE(rule, rules().end());
    const Node node = as_type(huge_node(GetParam(), rule->second, seed, size), dtype);
    const bool has_more = (GetParam().flags & LK_OP_POST_OPS) != 0 && seed % 2 != 0;
    return has_more ? with_post_ops(node) : node;
  }
  // In no unit; less than 0: it is refused, or too large.
  static double cost_of(lk_executor *executor, const Node &node, const Size &most) {
    const Described described(node);
    const std::vector<lk_tensor> inputs = inputs_of(node);
    lk::Op op;
    lk::Plan plan;
    lk_bind_desc bind = host_bind(inputs.data(), uint32_t(inputs.size()));
    bind.n_outputs = node.n_outputs;
    uint64_t bytes = input_bytes(node);
    if (bytes > most.bytes ||
        api()->op_create(executor, &described.desc, op.out(), nullptr) != LK_OK ||
        lk::bind(op, bind, &plan, nullptr) != LK_OK) {
      return -1;
    }
    const lk_plan_info info = host_plan_info(plan);
    for (uint32_t i = 0; i < node.n_outputs && info.known_when_run == 0; i++) {
      lk_tensor_desc desc = {};
      if (api()->plan_output(plan, i, &desc, nullptr) == LK_OK) bytes += bytes_of(desc);
    }
    const bool is_right = bytes + info.scratch_bytes <= most.bytes && info.flops <= most.flops;
    return is_right ? double(info.flops) + double(bytes) : -1;
  }
};

// ---- what the host has set ----

struct Setting {
  const char *name;
  void (*set)();
};

const Setting settings[] = {
    {"upward", [] { fesetround(FE_UPWARD); }},
    {"downward", [] { fesetround(FE_DOWNWARD); }},
    {"toward zero", [] { fesetround(FE_TOWARDZERO); }},
    {"exceptions seen", [] { feraiseexcept(FE_DIVBYZERO | FE_INVALID); }},
#if defined(__x86_64__)
    {"denormals flushed", [] { _mm_setcsr(_mm_getcsr() | 0x8040); }},
    {"trap for denormals", [] { _mm_setcsr(_mm_getcsr() & ~0x100u); }},
    {"traps for all", [] { _mm_setcsr(_mm_getcsr() & ~0x1f80u); }},
#endif
};

// All that a thread has, and what has been seen.
struct State {
  int rounding = fegetround(), seen = fetestexcept(FE_ALL_EXCEPT);
  unsigned control = 0;
  bool is_blocked[64] = {};

  State() {
#if defined(__x86_64__)
    control = _mm_getcsr();
#endif
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (int i = 1; i < 64; i++) is_blocked[i] = sigismember(&mask, i) == 1;
  }
  bool operator==(const State &other) const {
    return rounding == other.rounding && seen == other.seen && control == other.control &&
           memcmp(is_blocked, other.is_blocked, sizeof is_blocked) == 0;
  }
};

// Some numbers that are denormal, and some whose products and sums are.
void make_small(const Node &node, Operands *operands) {
  for (size_t i = 0; i < node.inputs.size(); i++) {
    if (node.inputs[i].dtype != LK_F32 || !node.inputs[i].bytes.empty()) continue;
    auto *numbers = static_cast<float *>(operands->tensors[i].data);
    const uint64_t count = bytes_of(operands->tensors[i].desc) / sizeof(float);
    for (uint64_t k = 0; numbers != nullptr && k < count; k += 3) {
      numbers[k] *= k % 2 == 0 ? 1e-38F : 3e-20F;
    }
  }
}

// What all functions give that compute.
struct Given {
  lk_status inferred = LK_OK, made = LK_OK, ran = LK_OK;
  std::vector<uint8_t> shapes;
  Bits bits;
  bool changed = false;

  Given(lk_executor *executor, const Node &node, const Operands &operands, uint64_t constants) {
    const State before;
    const Described described(node);
    std::vector<lk_tensor_desc> outputs(node.n_outputs);
    int64_t values[LK_MAX_VALUES] = {};
    const Table table = open_table();
    inferred = api()->op_infer_values(table, &described.desc, operands.tensors.data(), nullptr,
                                      outputs.data(), nullptr, values, nullptr);
    note(before);
    Made one(executor, node, operands, constants);
    made = one.make(nullptr);
    note(before);
    ran = one.run(&bits, nullptr);
    note(before);
    const auto *data = reinterpret_cast<const uint8_t *>(outputs.data());
    if (inferred == LK_OK) shapes.assign(data, data + outputs.size() * sizeof outputs[0]);
  }

private:
  void note(const State &before) { changed = changed || !(State() == before); }
};

TEST_P(EveryRow, NeitherUsesNorChangesWhatTheHostHasSet) {
  for_each_node(TYPES, count_of(2), SMALL, {17}, [&](const Node &node, uint64_t constants) {
    Operands operands(node);
    make_small(node, &operands);
    const lk::Context context = lk::open(LK_CACHE_OFF, 1);
    const lk::Executor executor = lk::executor_in(context);
    const Given plain(executor, node, operands, constants);
    for (const Setting &setting : settings) {
      fenv_t clean;
      fegetenv(&clean);
      setting.set();
      const Given given(executor, node, operands, constants);
      fesetenv(&clean);
      EXPECT_FALSE(given.changed) << setting.name;
      EXPECT_EQ(given.inferred, plain.inferred) << setting.name;
      EXPECT_EQ(given.made, plain.made) << setting.name;
      EXPECT_EQ(given.ran, plain.ran) << setting.name;
      EXPECT_EQ(given.shapes, plain.shapes) << setting.name;
      EXPECT_TRUE(is_random() || given.bits == plain.bits) << setting.name;
    }
  });
}

// ---- memory ----

TEST_P(EveryRow, RunsAllocateNothing) {
  const lk::Context context = lk::open(LK_CACHE_SHARED, 2);
  const lk::Executor executor = lk::executor_in(context);
  for_each_node(TYPES, count_of(1), SMALL, {300, 17}, [&](const Node &node, uint64_t constants) {
    const Operands operands(node);
    Made made(executor, node, operands, constants);
    LK_ASSERT_OK(made.make(LK_ERR));
    if (made.is_of_data()) return; // whose outputs are allocated in the course of a run
    lk::Frame frame;
    uint32_t slot = 0;
    LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
    LK_ASSERT_OK(api()->frame_attach(frame, made.plan, &slot, LK_ERR));
    std::vector<void *> from, to;
    Bits outputs;
    for (const lk_tensor &tensor : operands.tensors) from.push_back(tensor.data);
    for (uint32_t i = 0; i < node.n_outputs; i++) {
      lk_tensor_desc desc = {};
      LK_ASSERT_OK(api()->plan_output(made.plan, i, &desc, LK_ERR));
      outputs.emplace_back(bytes_of(desc));
      to.push_back(outputs.back().data());
    }
    const lk_stats before = lk::stats(context);
    for (int i = 0; i < 3; i++) (void)api()->op_run(frame, slot, from.data(), to.data(), nullptr);
    const lk_stats after = lk::stats(context);
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.memory_bytes, before.memory_bytes);
    for (int kind = 0; kind < LK_KIND_COUNT; kind++) {
      EXPECT_EQ(after.kind[kind].hits, before.kind[kind].hits);
      EXPECT_EQ(after.kind[kind].misses, before.kind[kind].misses);
    }
  });
}

// From its op to the end of its run: the call says so, and the same calls work later, in the same
// context.
TEST_P(EveryRow, EveryAllocationMayFail) {
  int n_nodes = 0;
  for_each_node(TYPES, count_of(1), SMALL, {17}, [&](const Node &node, uint64_t constants) {
    if (n_nodes++ >= count_of(3)) return;
    const Operands operands(node);
    lk::FailingAllocator allocator;
    lk::Context context;
    LK_ASSERT_OK(host_context_create(LK_CACHE_SHARED, 1, allocator.get(), context.out(), LK_ERR));
    const lk::Executor executor = lk::executor_in(context);
    Bits right;
    lk_status ends = LK_OK; // the same way each time
    const auto run = [&](Bits *bits) {
      Made made(executor, node, operands, constants);
      const lk_status status = made.make(LK_ERR);
      return status == LK_OK ? made.run(bits, LK_ERR) : status;
    };
    ends = run(&right);
    lk::test_error().passed = false;
    for (size_t n = 1;; n++) {
      ASSERT_LT(n, 10000u) << "does not come to an end";
      LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
      Bits bits, again;
      allocator.fail_at(n);
      const lk_status status = run(&bits);
      const bool has_failed = allocator.failed();
      allocator.fail_never();
      EXPECT_TRUE(status == ends || (has_failed && status == LK_OUT_OF_MEMORY)) << LK_MESSAGE;
      EXPECT_TRUE(is_random() || status != LK_OK || bits == right) << "allocation " << n;
      lk::test_error().passed = false;
      EXPECT_EQ(run(&again), ends) << LK_MESSAGE;
      lk::test_error().passed = false;
      EXPECT_TRUE(is_random() || again == right) << "after allocation " << n;
      if (!has_failed || HasFailure()) break;
    }
  });
}

// ---- threads ----

class EveryRowThreads : public EveryRow {
protected:
  static void SetUpTestSuite() { n_rows = n_shared = 0; }
  static void TearDownTestSuite() {
    if (n_rows > 100) { // else only some were asked for
      EXPECT_GT(n_shared, n_rows / 3) << "of " << n_rows << " rows few shared their work";
    }
  }
  void SetUp() override {
    processors_ = api()->processors_get();
    LK_ASSERT_OK(api()->processors_set(8, LK_ERR)); // whatever the machine has
  }
  void TearDown() override { LK_ASSERT_OK(api()->processors_set(processors_, LK_ERR)); }
  static int n_rows, n_shared;

private:
  int32_t processors_ = 0;
};
int EveryRowThreads::n_rows, EveryRowThreads::n_shared;

TEST_P(EveryRowThreads, DoNotChangeABit) {
  if (is_random()) return;
  bool is_shared = false;
  // f32 and one other type, or all of them
  const size_t other = 1 + std::hash<std::string>()(GetParam().op_type) % (TYPES.size() - 1);
  const std::vector<uint32_t> types =
      count_of(1) > 1 ? TYPES : std::vector<uint32_t>{LK_F32, TYPES[other]};
  for_each_node(types, count_of(1), SHARED, {300000, 60000, 12000, 3000, 1200, 300},
                [&](const Node &node, uint64_t constants) {
                  const Operands operands(node);
                  Bits alone;
                  // of the context, and of those the run may use: 0 is all
                  constexpr int32_t counts[][2] = {{1, 0}, {3, 0}, {7, 2}};
                  for (const auto &[threads, granted] : counts) {
                    const lk::Context context = lk::open(LK_CACHE_OFF, threads);
                    const lk::Executor executor = lk::executor_in(context);
                    Made made(executor, node, operands, constants);
                    LK_ASSERT_OK(made.make(LK_ERR));
                    Bits bits;
                    const uint64_t regions = lk_team_regions();
                    (void)made.run(&bits, nullptr, granted);
                    is_shared = is_shared || (threads > 1 && lk_team_regions() > regions);
                    if (threads == 1) alone = bits;
                    EXPECT_TRUE(bits == alone) << granted << " of " << threads << " threads";
                  }
                });
  n_rows++;
  n_shared += is_shared ? 1 : 0;
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryRow, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });
INSTANTIATE_TEST_SUITE_P(Rows, EveryRowThreads, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });

} // namespace
