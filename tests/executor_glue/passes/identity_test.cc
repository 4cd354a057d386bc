// Pass "identity": what only copies goes, what is public or does something stays.
#include "tests/executor_glue/graph/builder.h"

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

TEST(PassIdentity, ChainBetweenTwoOperatorsGoes) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  const int32_t a = g.node("Relu", {x});
  const int32_t same = g.node("Dropout", {g.node("Identity", {a})}, {}, 2);
  const int32_t y = g.node("Sigmoid", {same});
  g.output(y);
  EXPECT_EQ(changes_of(g, "identity"), 2u);
  EXPECT_EQ(g->n_nodes, 2u);
  EXPECT_EQ(g.producer(y)->inputs[0], a);
  EXPECT_EQ(g->values[a].n_uses, 1u);
}

TEST(PassIdentity, GraphOutputKeepsItsNameAndTheProducerWritesIt) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  const int32_t a = g.node("Relu", {x});
  const int32_t y = g.node("Identity", {a}), z = g.node("Sigmoid", {a});
  g.output(y);
  g.output(z);
  EXPECT_EQ(changes_of(g, "identity"), 1u);
  EXPECT_STREQ(g.producer(y)->op_type, "Relu");
  EXPECT_EQ(g->outputs[0], y);
  EXPECT_EQ(g.producer(z)->inputs[0], y); // the other user of the old value
}

TEST(PassIdentity, OutputThatCopiesAnInputConstantOrOutputStays) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  const int32_t a = g.node("Relu", {x});
  g.output(a);
  g.output(g.node("Identity", {a}));
  g.output(g.node("Identity", {x}));
  g.output(g.node("Identity", {g.scalar(1.0f)}));
  EXPECT_EQ(changes_of(g, "identity"), 0u);
  EXPECT_EQ(g.count("Identity"), 3u);
}

TEST(PassIdentity, ConstantBehindIdentityLivesOn) {
  GraphBuilder g;
  const int32_t x = g.input("x", {2}), c = g.filled({2}, 3.0f);
  const int32_t y = g.node("Add", {x, g.node("Identity", {c})});
  g.output(y);
  EXPECT_EQ(changes_of(g, "identity"), 1u);
  EXPECT_EQ(g.producer(y)->inputs[1], c);
  EXPECT_EQ(g.numbers(c), (std::vector<float>{3.0f, 3.0f}));
}

TEST(PassIdentity, DropoutWithMaskStays) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1}), a = g.node("Relu", {x});
  const int32_t y = g.node("Dropout", {a}, {}, 2);
  g.output(g.node("Sigmoid", {y}));
  g.output(y + 1);
  EXPECT_EQ(changes_of(g, "identity"), 0u);
}

TEST(PassIdentity, DropoutInTrainingModeStays) {
  for (const bool training : {true, false}) {
    GraphBuilder g;
    const int32_t x = g.input("x", {1}), a = g.node("Relu", {x});
    const int32_t mode = g.constant<uint8_t>({}, {training}, LK_BOOL);
    g.output(g.node("Sigmoid", {g.node("Dropout", {a, LK_NO_VALUE, mode}, {}, 2)}));
    EXPECT_EQ(changes_of(g, "identity"), training ? 0u : 1u);
  }
  GraphBuilder g; // known only when run
  const int32_t x = g.input("x", {1}), mode = g.input("mode", {}, LK_BOOL);
  g.output(g.node("Sigmoid", {g.node("Dropout", {x, LK_NO_VALUE, mode}, {}, 2)}));
  EXPECT_EQ(changes_of(g, "identity"), 0u);
}

TEST(PassIdentity, CastGoesOnlyToTheKnownSameType) {
  auto cast = [](int32_t to, const char *before) {
    GraphBuilder g;
    const int32_t x = g.input("x", {1, 2});
    g.output(g.node("Relu", {g.node("Cast", {g.node(before, {x})}, {Attr::Ints("to", {to})})}));
    return changes_of(g, "identity");
  };
  EXPECT_EQ(cast(LK_F32, "Relu"), 1u);
  EXPECT_EQ(cast(LK_F16, "Relu"), 0u);
  EXPECT_EQ(cast(LK_F32, "Mystery"), 0u); // type not known
  EXPECT_EQ(cast(LK_I64, "Shape"), 1u);
  EXPECT_EQ(cast(LK_I32, "Shape"), 0u);
}

TEST(PassIdentity, OtherDomainStays) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  g.output(g.node("Relu", {g.node("Identity", {x}, {}, 1, "com.example")}));
  EXPECT_EQ(changes_of(g, "identity"), 0u);
}

TEST(PassIdentity, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    uint64_t changes = 0;
    const int32_t x = g.input("x", {1});
    g.output(g.node("Relu", {g.node("Identity", {g.node("Relu", {x})})}));
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "identity", &changes);
  });
}

} // namespace
