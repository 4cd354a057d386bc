// Pass "known_dims".
#include "tests/executor_glue/graph/builder.h"

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

using Floats = std::vector<float>;

std::vector<int64_t> dims_of(GraphBuilder &g, int32_t v) {
  const lk_tensor_desc &desc = g->values[v].constant.desc;
  return {desc.dims, desc.dims + desc.rank};
}

TEST(PassKnownDims, AShapeThatIsFixedIsAConstant) {
  GraphBuilder g;
  g.opset = 15;
  const int32_t x = g.input("x", {2, 3, 4}), relu = g.node("Relu", {x});
  const int32_t all = g.node("Shape", {relu}),
                last = g.node("Shape", {x}, {Attr::Ints("start", {-1})});
  const int32_t none = g.node("Shape", {x}, {Attr::Ints("start", {2}), Attr::Ints("end", {1})});
  for (int32_t v : {relu, all, last, none}) g.output(v);
  EXPECT_EQ(changes_of(g, "known_dims"), 3u);
  EXPECT_EQ(g.numbers(all), (Floats{2, 3, 4}));
  EXPECT_EQ(g.numbers(last), Floats{4});
  EXPECT_EQ(dims_of(g, none), std::vector<int64_t>{0});
  EXPECT_EQ(g->values[all].constant.desc.dtype, LK_I64);
}

TEST(PassKnownDims, OfOthersWhatGatherTakes) {
  GraphBuilder g;
  const int32_t shape = g.node("Shape", {g.input("x", {-1, 3, -1, 4})});
  const int32_t one = g.constant<int64_t>({}, {1}, LK_I64);
  const int32_t two = g.constant<int32_t>({2, 1}, {-1, 1}, LK_I32);
  const int32_t first = g.node("Gather", {shape, one});
  const int32_t both = g.node("Gather", {shape, two}, {Attr::Ints("axis", {0})});
  const int32_t open = g.node("Gather", {shape, g.ints({0, 1})});
  const int32_t beyond = g.node("Gather", {shape, g.ints({4})});
  const int32_t unknown = g.node("Gather", {shape, g.input("i", {1}, LK_I64)});
  for (int32_t v : {first, both, open, beyond, unknown}) g.output(v);
  EXPECT_EQ(changes_of(g, "known_dims"), 2u);
  EXPECT_EQ(g.numbers(first), Floats{3});
  EXPECT_EQ(dims_of(g, first), std::vector<int64_t>{});
  EXPECT_EQ(g.numbers(both), (Floats{4, 3}));
  EXPECT_EQ(dims_of(g, both), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(g.count("Gather"), 3u);
  EXPECT_EQ(g.count("Shape"), 1u);
}

TEST(PassKnownDims, WithoutARankNothingIsKnown) {
  GraphBuilder g;
  const int32_t y = g.node("Unknown", {g.input("x", {1})});
  const int32_t shape = g.node("Shape", {y});
  g.output(g.node("Gather", {shape, g.ints({0})}));
  g.output(g.node("Gather", {y, g.ints({0})}));
  EXPECT_EQ(changes_of(g, "known_dims"), 0u);
}

TEST(PassKnownDims, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    if (g.status() != LK_OK) return g.status();
    g.output(g.node("Shape", {g.input("x", {2, 3})}));
    uint64_t changes = 0;
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "known_dims", &changes);
  });
}

} // namespace
