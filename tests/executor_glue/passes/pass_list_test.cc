// The driver of the passes.
#include "tests/executor_glue/graph/builder.h"
#include "tests/harness/places.h"

#include <fstream>
#include <regex>

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

// ---- what becomes of roundings ----

struct Row {
  std::string name, rounding;
};
std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (size_t i = 0; i < lk_n_passes; i++)
    rows.push_back({lk_passes[i].name, lk_passes[i].rounding});
#define PATTERN(name, rounding, tree, result) rows.push_back({name " " tree, rounding});
#include "executor_glue/passes/patterns.inc"
#include "executor_glue/passes/quantized.inc"
#undef PATTERN
  return rows;
}

std::string text_of(const std::string &file) {
  std::ifstream in(std::string(lk_test_source) + "/" + file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// What the form of a row's `rounding` misses, as pass_list.inc says; "": nothing.
std::string fault_of(const std::string &rounding) {
  std::smatch parts;
  if (std::regex_match(rounding, std::regex("exact: .{5,}"))) return "";
  if (std::regex_match(rounding, parts, std::regex("see ([a-z]+[.]inc)"))) {
    const std::string rows = text_of("executor_glue/passes/" + parts[1].str());
    return rows.find("PATTERN(") != std::string::npos ? "" : "no rows in " + parts[1].str();
  }
  const std::regex bounded("[^;]{5,}; bound: [^;]{5,}; test: (tests/[^ ]+) ([A-Za-z_.]+)");
  if (!std::regex_match(rounding, parts, bounded)) return "neither exact nor bounded";
  const std::string name = parts[2].str(), tests = text_of(parts[1].str());
  return tests.find("def " + name + "(") != std::string::npos ? "" : "no test " + name;
}

TEST(PassList, EachRowSaysWhatBecomesOfRoundings) {
  const std::vector<Row> rows = all_rows();
  EXPECT_GT(rows.size(), lk_n_passes + 60);
  for (const Row &row : rows) EXPECT_EQ(fault_of(row.rounding), "") << row.name;
}

TEST(PassList, StatementsOfOtherFormsAreSeen) {
  EXPECT_EQ(fault_of(""), "neither exact nor bounded");
  EXPECT_EQ(fault_of("it may differ"), "neither exact nor bounded");
  EXPECT_EQ(fault_of("see nothing.inc"), "no rows in nothing.inc");
  EXPECT_EQ(fault_of("sums move; bound: little; test: tests/models/test_arithmetic.py test_none"),
            "no test test_none");
}

} // namespace
