// Constants are packed by the threads that a bind may use, from wherever they lie: to the same
// bytes, and without a copy in between.
#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Context;
using lk::Executor;
using lk::FailingAllocator;
using lk::Op;
using lk::Plan;
using lk::Value;

// A constant as it may lie in a file, at an odd address.
class Lent {
public:
  explicit Lent(const Value &value) : memory_(value.bytes.size() + 1), tensor_{value.desc, &at()} {
    std::memcpy(&at(), value.bytes.data(), value.bytes.size());
  }
  Lent(const Lent &) = delete;
  Lent &operator=(const Lent &) = delete;
  const lk_tensor *get() const { return &tensor_; }

private:
  uint8_t &at() { return memory_[reinterpret_cast<uintptr_t>(memory_.data()) % 2 == 0]; }
  std::vector<uint8_t> memory_;
  lk_tensor tensor_;
};

// A node whose weights are large enough for several threads, or too small.
struct Product {
  const char *op_type;
  Value x, w;
  int64_t stride; // 0: no attribute
  int64_t group = 0;
};

Product matmul(int64_t k) {
  return {"MatMul", lk::random({3, k}, 1), lk::random({k, 300}, 2), 0};
}

std::vector<Product> products() {
  return {matmul(300),
          {"Conv", lk::random({1, 96, 5, 7}, 3), lk::random({130, 96, 3, 3}, 4), 1},
          {"Conv", lk::random({1, 256, 5, 7}, 5), lk::random({256, 256, 1, 1}, 6), 1},
          {"Conv", lk::random({1, 24, 5, 7}, 7), lk::random({24, 1, 3, 3}, 8), 1, 24},
          {"ConvTranspose", lk::random({1, 96, 5, 7}, 9), lk::random({96, 130, 3, 3}, 10), 2},
          {"ConvTranspose", lk::random({1, 256, 5, 7}, 11), lk::random({256, 70, 2, 2}, 12), 2}};
}

struct Bound {
  Executor executor;
  Op op;
  Plan plan;
};

lk_status create(lk_context *context, const Product &of, const lk_tensor *weights, Bound *out) {
  const lk_node_input inputs[] = {{}, {weights, 0, 0}};
  const int64_t strides[] = {of.stride, of.stride};
  const lk_attr attrs[] = {{"strides", LK_ATTR_INTS, 2, strides},
                           {"group", LK_ATTR_INTS, 1, &of.group}};
  lk_node_desc desc = host_node(of.op_type, inputs, 2);
  desc.n_attrs = of.group > 0 ? 2 : of.stride > 0 ? 1 : 0;
  desc.attrs = attrs;
  const lk_status status = api()->executor_create(context, "test", out->executor.out(), LK_ERR);
  return status == LK_OK ? api()->op_create(out->executor, &desc, out->op.out(), LK_ERR) : status;
}

lk_status bind(const Product &of, Bound *bound) {
  return lk::bind(bound->op, {of.x.desc, of.w.desc}, &bound->plan, LK_ERR, -1, LK_LAYOUT_PLAIN);
}

Context open(int32_t threads, const FailingAllocator &allocator) {
  Context context;
  LK_EXPECT_OK(host_context_create(LK_CACHE_OFF, threads, allocator.get(), context.out(), LK_ERR));
  return context;
}

// Regions that a bind begins where a run has been granted `granted` threads; 0: nobody has asked.
uint64_t regions_of_bind(int32_t threads, int32_t granted, const Product &of,
                         std::vector<uint8_t> *output) {
  const FailingAllocator allocator;
  const Context context = open(threads, allocator);
  const Lent weights(of.w);
  Bound bound;
  LK_EXPECT_OK(create(context, of, weights.get(), &bound));
  EXPECT_EQ(lk::stats(context).weights_bytes, 0u) << "copied";
  lk_threads_ask ask = {};
  ask.struct_size = sizeof ask;
  ask.least = ask.most = granted;
  int32_t got = 0;
  if (granted > 0) {
    LK_EXPECT_OK(api()->threads_enter(context, &ask, &got, LK_ERR));
  }
  const uint64_t before = api()->parallel_regions();
  LK_EXPECT_OK(bind(of, &bound));
  const uint64_t regions = api()->parallel_regions() - before;
  if (granted > 0) api()->threads_leave(context);
  const lk::Memory x = of.x.in(LK_LAYOUT_PLAIN);
  output->assign(1 << 20, 0); // enough for each
  LK_EXPECT_OK(lk::run(bound.executor, bound.plan, {x.data(), nullptr}, output->data(), LK_ERR));
  return regions;
}

TEST(Packing, GivesTheSameForAnyNumberOfThreads) {
  for (const Product &of : products()) {
    SCOPED_TRACE(of.op_type + (" of " + std::to_string(of.w.bytes.size())));
    std::vector<uint8_t> alone, by_several;
    EXPECT_EQ(regions_of_bind(1, 0, of, &alone), 0u);
    for (const int32_t threads : {2, 8}) {
      EXPECT_EQ(regions_of_bind(threads, 0, of, &by_several), of.group == 24 ? 0u : 1u);
      EXPECT_EQ(by_several, alone) << threads << " threads";
    }
  }
}

TEST(Packing, ReadsWeightsWhereverTheyLie) {
  std::vector<uint8_t> output;
  const Product of = matmul(300);
  (void)regions_of_bind(2, 0, of, &output);
  const Value right = lk::ref::matmul(of.x, of.w);
  output.resize(right.bytes.size());
  const lk::Within within = lk::of_sums(of.w.dims()[0]);
  EXPECT_TRUE(lk::all_close(right, Value::from(right.desc, output.data()), within));
}

TEST(Packing, HasNoMoreThreadsThanWereGranted) {
  std::vector<uint8_t> output;
  EXPECT_EQ(regions_of_bind(4, 1, matmul(300), &output), 0u);
  EXPECT_EQ(regions_of_bind(4, 2, matmul(300), &output), 1u);
  EXPECT_EQ(regions_of_bind(1, 2, matmul(300), &output), 0u) << "more than the context's";
}

TEST(Packing, WakesNobodyForSmallWeights) {
  std::vector<uint8_t> output;
  EXPECT_EQ(regions_of_bind(4, 0, matmul(30), &output), 0u);
}

// Weights of few bits become panels once, for every number of rows.
TEST(Packing, OfFewBitsIsDoneOnce) {
  const FailingAllocator allocator;
  const Context context = open(1, allocator);
  Executor executor;
  LK_ASSERT_OK(api()->executor_create(context, "test", executor.out(), LK_ERR));
  Op op;
  lk::TestNode node;
  node.op = "MatMulNBits";
  node.domain = "com.microsoft";
  node.ints = {{"K", {32}}, {"N", {2}}, {"block_size", {16}}};
  node.n_inputs = 3;
  node.constants = {lk::tensor<uint8_t>({2, 2, 8}, std::vector<uint8_t>(32, 0x39)),
                    lk::floats({2, 2}, {2, 2, 2, 2})};
  LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
  for (const int64_t rows : {1, 3}) {
    Plan plan;
    LK_ASSERT_OK(lk::bind(
        op, {lk::random({rows, 32}, 1).desc, node.constants[0].desc, node.constants[1].desc}, &plan,
        LK_ERR, -1, LK_LAYOUT_PLAIN));
    EXPECT_EQ(lk::stats(context).weights_packed, 1u) << rows;
  }
}

TEST(Packing, EndsCleanlyWhereverMemoryIsMissing) {
  const Product of = matmul(300);
  const Lent weights(of.w);
  int told = 0;
  for (size_t n = 1;; n++) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    ASSERT_LT(n, 1000u) << "does not come to an end";
    FailingAllocator allocator;
    {
      const Context context = open(2, allocator);
      allocator.fail_at(n);
      Bound bound;
      lk_status status = create(context, of, weights.get(), &bound);
      if (status == LK_OK) status = bind(of, &bound);
      if (status != LK_OK) {
        told++;
        EXPECT_EQ(status, LK_OUT_OF_MEMORY) << LK_MESSAGE;
        lk::test_error().passed = false;
        if (bound.op) {
          LK_EXPECT_OK(bind(of, &bound)) << "and the next time";
        }
      }
    }
    EXPECT_EQ(allocator.live_blocks(), 0u);
    if (!allocator.failed()) break;
  }
  EXPECT_GT(told, 5);
}

} // namespace
