// What passes say of the nodes that they leave as they are.
#include <functional>

#include "tests/executor_glue/graph/builder.h"
#include "tests/harness/allocator.h"

using lk::Attr;
using lk::GraphBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

struct Left {
  std::string pass, op_type, output, reason, advice;
};

struct Heard {
  lk_status status = LK_OK;
  std::vector<Left> left;
};

using Disabled = std::vector<const char *>;

Heard hear(GraphBuilder &g, const Disabled &disabled = {},
           const lk_allocator *allocator = lk_allocator_default()) {
  Heard heard;
  lk_refusals refusals;
  lk_refusals_begin(&refusals, allocator);
  const lk_pass_env env = {lk::test_api(), nullptr, 0, nullptr, &refusals, nullptr};
  heard.status = g.link();
  if (heard.status == LK_OK) {
    heard.status = lk_passes_run(&env, g.get(), disabled.data(), disabled.size(), nullptr, LK_ERR);
  }
  if (heard.status == LK_OK) {
    heard.status = lk_passes_try_disabled(&env, g.get(), disabled.data(), disabled.size(), LK_ERR);
  }
  for (const lk_refusal *each = refusals.first; each != nullptr; each = each->next) {
    heard.left.push_back(
        {each->pass, each->op_type, each->output_name, each->reason, each->advice});
  }
  lk_refusals_end(&refusals);
  return heard;
}

std::vector<Left> left_of(const std::function<void(GraphBuilder &g, int32_t x)> &build,
                          const Disabled &disabled = {}, int opset = 14) {
  GraphBuilder g;
  g.opset = opset;
  build(g, g.input("x", {1, 2, 4, 4}));
  const Heard heard = hear(g, disabled);
  LK_EXPECT_OK(heard.status);
  return heard.left;
}

int32_t conv(GraphBuilder &g, int32_t x) {
  return g.node("Conv", {x, g.filled({2, 2, 1, 1}, 1.0f)});
}

// One node was left, by this pass, for a reason with these words.
void expect_left(const std::vector<Left> &left, const std::string &pass, const std::string &op_type,
                 const std::string &reason) {
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].pass, pass);
  EXPECT_EQ(left[0].op_type, op_type);
  EXPECT_THAT(left[0].reason, HasSubstr(reason));
}

TEST(Refusals, BoundsThatAreNotConstants) {
  const auto left = left_of([](GraphBuilder &g, int32_t x) {
    g.output(g.node("Clip", {conv(g, x), g.scalar(0), g.input("high", {})}));
  });
  expect_left(left, "activation_after_residual", "Clip", "its input 2, 'high', is not a constant");
  EXPECT_THAT(left[0].advice, HasSubstr("make it a constant"));
}

TEST(Refusals, WhatFitsIsNotTold) {
  EXPECT_THAT(left_of([](GraphBuilder &g, int32_t x) {
                g.output(g.node("Clip", {conv(g, x), g.scalar(0), g.scalar(6)}));
              }),
              IsEmpty());
  // Nothing before it could take it, whatever its bounds are.
  EXPECT_THAT(left_of([](GraphBuilder &g, int32_t x) {
                g.output(g.node("Clip", {x, g.scalar(0), g.input("high", {})}));
              }),
              IsEmpty());
}

TEST(Refusals, BoundsThatAreNotARange) {
  expect_left(left_of([](GraphBuilder &g, int32_t x) {
                g.output(g.node("Clip", {conv(g, x), g.scalar(6), g.scalar(0)}));
              }),
              "activation_after_residual", "Clip", "its bounds, 6 and 0, are not a range");
}

TEST(Refusals, ValuesThatOthersUse) {
  expect_left(left_of([](GraphBuilder &g, int32_t x) {
                const int32_t y = conv(g, x);
                g.output(g.node("Relu", {y}));
                g.output(y);
              }),
              "activation_after_residual", "Relu", "is also an output of the graph");
  const auto left = left_of([](GraphBuilder &g, int32_t x) {
    const int32_t y = conv(g, x);
    g.output(g.node("Relu", {y}));
    g.output(g.node("Sigmoid", {y}));
  });
  ASSERT_EQ(left.size(), 2u);
  for (const Left &each : left) EXPECT_THAT(each.reason, HasSubstr("is read 2 times"));
}

TEST(Refusals, TypesThatAreNotFused) {
  GraphBuilder g;
  g.opset = 14;
  const int32_t x = g.input("x", {2, 4}, LK_F16);
  g.output(g.node("Relu", {g.node("Add", {x, x})}));
  expect_left(hear(g).left, "activation_after_residual", "Relu", "is of type f16, only f32");
}

TEST(Refusals, DivisionsOfANumber) {
  expect_left(left_of([](GraphBuilder &g, int32_t x) {
                g.output(g.node("Div", {g.scalar(3), conv(g, x)}));
              }),
              "activation_after_residual", "Div", "a division of a number, 3,");
}

TEST(Refusals, ABiasOfAnotherShape) {
  auto add = [](std::vector<int64_t> dims) {
    GraphBuilder g;
    const int32_t x = g.input("x", {-1, 4});
    g.output(g.node("Add", {g.node("MatMul", {x, g.filled({4, 8}, 1.0f)}), g.filled(dims, 1)}));
    return hear(g).left;
  };
  EXPECT_THAT(add({8}), IsEmpty());
  const auto left = add({3, 8});
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].pass, "bias");
  EXPECT_THAT(left[0].reason, HasSubstr("is not a vector along the last dimension"));
  EXPECT_EQ(left[1].pass, "residual");
}

TEST(Refusals, ABiasThatComesWithARun) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 4});
  g.output(g.node("Add", {g.node("MatMul", {x, g.filled({4, 8}, 1.0f)}), g.input("b", {8})}));
  expect_left(hear(g).left, "residual", "Add", "'b' is not known to have the shape of");
}

TEST(Refusals, WhatAnotherPassTakesIsForgotten) {
  GraphBuilder g; // pass "bias" cannot take it, pass "residual" can
  const int32_t x = g.input("x", {3, 4});
  g.output(g.node("Add", {g.node("MatMul", {x, g.filled({4, 8}, 1.0f)}), g.filled({3, 8}, 1)}));
  EXPECT_THAT(hear(g).left, IsEmpty());
  EXPECT_EQ(g->n_nodes, 1u);
}

TEST(Refusals, BatchNormalization) {
  auto norm = [](bool constant_mean, bool constant_weights, bool is_shared) {
    return left_of([=](GraphBuilder &g, int32_t x) {
      const int32_t w = constant_weights ? g.filled({2, 2, 1, 1}, 1) : g.input("w", {2, 2, 1, 1});
      const int32_t one = g.filled({2}, 1);
      const int32_t mean = constant_mean ? one : g.input("mean", {2});
      const int32_t y = g.node("Conv", {x, w});
      g.output(g.node("BatchNormalization", {y, one, one, mean, one}));
      if (is_shared) g.output(y);
    });
  };
  EXPECT_THAT(norm(true, true, false), IsEmpty());
  expect_left(norm(false, true, false), "scale_shift", "BatchNormalization",
              "its input 3 is not a constant of 2 numbers");
  expect_left(norm(true, false, false), "scale_shift", "BatchNormalization", "'w', which Conv");
  expect_left(norm(true, true, true), "scale_shift", "BatchNormalization",
              "is also an output of the graph");
}

TEST(Refusals, TreesOfWhichOneConditionDoesNotHold) {
  auto hard_swish = [](bool constant_bound, bool is_shared) {
    return left_of([=](GraphBuilder &g, int32_t x) {
      const int32_t high = constant_bound ? g.scalar(6) : g.input("high", {});
      const int32_t clip = g.node("Clip", {g.node("Add", {x, g.scalar(3)}), g.scalar(0), high});
      g.output(g.node("Mul", {g.node("Mul", {x, clip}), g.scalar(1.0f / 6)}));
      if (is_shared) g.output(clip);
    });
  };
  auto of_patterns = [](std::vector<Left> left) {
    std::vector<std::string> reasons;
    for (const Left &each : left) {
      if (each.pass == "patterns") reasons.push_back(each.reason);
    }
    return reasons;
  };
  EXPECT_THAT(of_patterns(hard_swish(true, false)), IsEmpty());
  EXPECT_THAT(of_patterns(hard_swish(false, false)),
              ElementsAre("of 'hard_swish', one condition does not hold: 'high' is not a constant: "
                          "it comes with each run"));
  EXPECT_THAT(of_patterns(hard_swish(true, true)),
              ElementsAre(HasSubstr("is also used outside of these operators")));
  EXPECT_THAT(of_patterns(hard_swish(false, true)), IsEmpty()) << "two do not hold";
}

TEST(Refusals, TreesOfAnotherType) {
  GraphBuilder g;
  const int32_t x = g.input("x", {2, 4}, LK_F64);
  g.output(g.node("Mul", {x, g.node("Sigmoid", {x})}));
  const auto left = hear(g).left;
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(left[0].pass, "patterns");
  EXPECT_THAT(left[0].reason, HasSubstr("'x' is of type f64, f32 is needed"));
}

TEST(Refusals, PassesThatAreSwitchedOff) {
  auto build = [](GraphBuilder &g, int32_t x) { g.output(g.node("Relu", {conv(g, x)})); };
  expect_left(left_of(build, {"activation", "activation_after_residual"}), "activation", "Relu",
              "pass 'activation', which would rewrite it, is switched off");
  EXPECT_THAT(left_of(build, {"activation"}), IsEmpty()) << "the second row does it";
  EXPECT_THAT(left_of(build, {"bias"}), IsEmpty()) << "it has nothing to do";
}

TEST(Refusals, ANodeThatIsSwitchedOffAsAWhole) {
  GraphBuilder g;
  const int32_t x = g.input("x", {2, 4});
  g.node("Relu", {x});
  g.output(g.node("Sigmoid", {x}));
  const auto left = hear(g, {"dead_nodes"}).left;
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].op_type, "");
  EXPECT_EQ(left[0].reason, "it would rewrite 1 nodes and is switched off");
}

TEST(Refusals, OfBodiesToo) {
  GraphBuilder g, then, otherwise;
  const int32_t go = g.input("go", {}, LK_BOOL), x = g.input("x", {1, 2, 4, 4});
  const int32_t inner = then.input("inner", {1, 2, 4, 4}), high = then.input("high", {});
  then.output(then.node("Clip", {conv(then, inner), then.scalar(0), high}));
  otherwise.output(otherwise.node("Relu", {otherwise.input("other", {1, 2, 4, 4})}));
  const int32_t limit = g.input("limit", {});
  const int32_t y = g.node("If", {go});
  g.body(y, "then_branch", then, {x, limit});
  g.body(y, "else_branch", otherwise, {x});
  g.output(y);
  expect_left(hear(g).left, "activation_after_residual", "Clip", "'high'");
}

TEST(Refusals, NamesStayOnOneLine) {
  GraphBuilder g;
  g.opset = 14;
  const int32_t x = g.input("x", {1, 2, 4, 4});
  g.output(g.node("Clip", {conv(g, x), g.scalar(0), g.input("a\nb\x1b", {})}));
  expect_left(hear(g).left, "activation_after_residual", "Clip", "'a\\x0ab\\x1b'");
}

TEST(Refusals, LongNamesAreCut) {
  GraphBuilder g;
  g.opset = 14;
  const int32_t x = g.input("x", {1, 2, 4, 4});
  g.output(g.node("Clip", {conv(g, x), g.scalar(0), g.input(std::string(5000, 'n'), {})}));
  const auto left = hear(g).left;
  ASSERT_EQ(left.size(), 1u);
  EXPECT_LT(left[0].reason.size(), size_t{LK_MISS_CAPACITY});
}

TEST(Refusals, WantOfMemoryIsTold) {
  lk::FailingAllocator allocator;
  for (size_t nth = 1;; nth++) {
    GraphBuilder g;
    g.opset = 14;
    const int32_t x = g.input("x", {1, 2, 4, 4});
    g.output(g.node("Clip", {conv(g, x), g.scalar(0), g.input("high", {})}));
    allocator.fail_at(nth);
    const Heard heard = hear(g, {}, allocator.get());
    if (!allocator.failed()) {
      EXPECT_GT(nth, 1u);
      EXPECT_EQ(heard.left.size(), 1u);
      break;
    }
    EXPECT_EQ(heard.status, LK_OUT_OF_MEMORY);
  }
}

TEST(Refusals, ListeningChangesNothing) {
  auto build = [](GraphBuilder &g) {
    const int32_t x = g.input("x", {1, 2, 4, 4});
    const int32_t y = conv(g, x);
    g.output(g.node("Add", {g.node("Relu", {y}), g.node("Clip", {conv(g, x), g.scalar(0)})}));
    return g.link();
  };
  GraphBuilder heard, unheard;
  LK_ASSERT_OK(build(heard));
  LK_ASSERT_OK(build(unheard));
  LK_EXPECT_OK(hear(heard).status);
  const lk_pass_env env = {lk::test_api(), nullptr, 0, nullptr, nullptr, nullptr};
  LK_ASSERT_OK(lk_passes_run(&env, unheard.get(), nullptr, 0, nullptr, LK_ERR));
  ASSERT_EQ(heard->n_nodes, unheard->n_nodes);
  for (size_t i = 0; i < heard->n_nodes; i++) {
    EXPECT_STREQ(heard->nodes[i].op_type, unheard->nodes[i].op_type);
    EXPECT_STREQ(heard->nodes[i].fused, unheard->nodes[i].fused);
  }
}

} // namespace
