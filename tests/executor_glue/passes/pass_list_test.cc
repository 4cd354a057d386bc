// The driver of the passes.
#include "tests/executor_glue/graph/builder.h"

using lk::GraphBuilder;
using ::testing::HasSubstr;

namespace {

TEST(PassList, UnknownNameIsRefusedAndNothingIsDone) {
  GraphBuilder g;
  g.node("Relu", {g.input("x", {1})});
  LK_ASSERT_OK(g.link());
  const char *disabled[] = {"identity", "no_such_pass"};
  const lk_pass_env env = {lk::test_api(), nullptr, 0, nullptr, nullptr, nullptr};
  LK_EXPECT_STATUS(LK_NOT_FOUND, lk_passes_run(&env, g.get(), disabled, 2, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("no_such_pass"));
  EXPECT_EQ(g->n_nodes, 1u);
}

TEST(PassList, EachPassCanBeSwitchedOffByName) {
  auto nodes = [](std::vector<const char *> disabled) {
    GraphBuilder g;
    const int32_t x = g.input("x", {1, 4});
    const int32_t y = g.node("MatMul", {x, g.filled({4, 4}, 1.0f)});
    g.output(g.node("Relu", {g.node("Identity", {y})}));
    g.node("Relu", {x});
    EXPECT_EQ(g.link(), LK_OK);
    const lk_pass_env env = {lk::test_api(), nullptr, 0, nullptr, nullptr, nullptr};
    EXPECT_EQ(lk_passes_run(&env, g.get(), disabled.data(), disabled.size(), nullptr, nullptr),
              LK_OK);
    return g->n_nodes;
  };
  EXPECT_EQ(nodes({}), 1u);
  EXPECT_EQ(nodes({"dead_nodes"}), 2u);
  EXPECT_EQ(nodes({"identity"}), 3u);
  EXPECT_EQ(nodes({"activation", "activation_after_residual"}), 2u);
  EXPECT_EQ(nodes({"activation"}), 1u); // the second row does it
}

TEST(PassList, ResidualAndTheActivationBehindItBothFuse) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 4});
  const int32_t y =
      g.node("MatMul", {g.node("MatMul", {x, g.filled({4, 8}, 1.0f)}), g.filled({8, 4}, 1.0f)});
  const int32_t z = g.node("Relu", {g.node("Add", {y, x})});
  g.output(z);
  LK_ASSERT_OK(g.link());
  std::vector<uint64_t> changes(lk_n_passes, 99);
  const lk_pass_env env = {lk::test_api(), nullptr, 0, nullptr, nullptr, nullptr};
  LK_ASSERT_OK(lk_passes_run(&env, g.get(), nullptr, 0, changes.data(), LK_ERR));
  EXPECT_EQ(g->n_nodes, 2u);
  EXPECT_EQ(lk::post_op_kinds(g.producer(z)), (std::vector<uint32_t>{LK_POST_ADD, LK_POST_RELU}));
  for (uint64_t n : changes) EXPECT_LE(n, 1u);
}

TEST(PassList, NamesAreUniqueAndDescribed) {
  for (size_t i = 0; i < lk_n_passes; i++) {
    EXPECT_NE(lk_passes[i].summary[0], '\0');
    for (size_t k = 0; k < i; k++) EXPECT_STRNE(lk_passes[i].name, lk_passes[k].name);
  }
}

} // namespace
