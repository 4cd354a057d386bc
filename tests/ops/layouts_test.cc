// Operators that move elements, on tensors of every type in each layout, to each layout.
#include "tests/ops/numbers.h"
#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::Dims;
using lk::ints;
using lk::numbers;
using lk::OpTester;
using lk::Value;

constexpr uint32_t types[] = {LK_F32, LK_U8,  LK_I8,  LK_U16, LK_I16, LK_I32,
                              LK_I64, LK_F16, LK_F64, LK_U32, LK_U64, LK_BF16};
constexpr lk_layout layouts[] = {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_HEADS_INSIDE};
const Dims shape = {2, 4, 2, 6};

std::vector<double> counted() {
  std::vector<double> values;
  for (int i = 0; i < 96; i++) values.push_back(i);
  return values;
}

// The element of a counted tensor at `at`; outside it, 0.
double element(const Dims &at) {
  for (size_t i = 0; i < at.size(); i++) {
    if (at[i] < 0 || at[i] >= shape[i]) return 0;
  }
  return static_cast<double>(lk::ref::offset(shape, at));
}

// Runs the node on every type and layout; an element of the output is that of the input at
// `from(at)`.
void check(const std::function<OpTester()> &node, const Dims &to,
           const std::function<Dims(const Dims &)> &from, bool twice = false) {
  std::vector<double> expected;
  lk::ref::each(to, [&](const Dims &at) { expected.push_back(element(from(at))); });
  for (const uint32_t dtype : types) {
    for (const lk_layout layout : layouts) {
      for (const lk_layout wish : {LK_LAYOUT_ANY, layouts[0], layouts[1], layouts[2]}) {
        SCOPED_TRACE(std::to_string(dtype) + ", " + std::to_string(layout) + " to " +
                     std::to_string(wish));
        const Value x = numbers(dtype, shape, counted());
        OpTester tester = node();
        tester.input(x, layout);
        if (twice) tester.input(x, layout);
        tester.wish(wish).expect(numbers(dtype, to, expected)).run();
      }
    }
  }
}

TEST(Layouts, Transpose) {
  check(
      [] {
        return OpTester("Transpose", 13).attr_ints("perm", {0, 2, 3, 1});
      },
      {2, 2, 6, 4},
      [](const Dims &at) {
        return Dims{at[0], at[3], at[1], at[2]};
      });
  check([] { return OpTester("Transpose", 13); }, {6, 2, 4, 2},
        [](const Dims &at) { return Dims(at.rbegin(), at.rend()); });
}

TEST(Layouts, Concat) {
  check([] { return OpTester("Concat", 13).attr("axis", 1); }, {2, 8, 2, 6},
        [](const Dims &at) {
          return Dims{at[0], at[1] % 4, at[2], at[3]};
        },
        true);
  check([] { return OpTester("Concat", 13).attr("axis", 3); }, {2, 4, 2, 12},
        [](const Dims &at) {
          return Dims{at[0], at[1], at[2], at[3] % 6};
        },
        true);
}

TEST(Layouts, Slice) {
  check(
      [] {
        return OpTester("Slice", 9)
            .attr_ints("starts", {1, 1})
            .attr_ints("ends", {4, 9})
            .attr_ints("axes", {1, 3});
      },
      {2, 3, 2, 5},
      [](const Dims &at) {
        return Dims{at[0], at[1] + 1, at[2], at[3] + 1};
      });
}

TEST(Layouts, Split) {
  check([] { return OpTester("Split", 11).attr("axis", 2).attr_ints("split", {2}); }, shape,
        [](const Dims &at) { return at; });
}

TEST(Layouts, Pad) {
  check(
      [] {
        return OpTester("Pad", 10).attr_ints("pads", {0, -1, 1, 2, 0, 1, 2, -1});
      },
      {2, 4, 5, 7},
      [](const Dims &at) {
        return Dims{at[0], at[1] == 3 ? 9 : at[1] + 1, at[2] - 1, at[3] - 2};
      });
  check(
      [] {
        return OpTester("Pad", 10)
            .attr_text("mode", "edge")
            .attr_ints("pads", {0, 0, 1, 2, 0, 1, 0, 0});
      },
      {2, 5, 3, 8},
      [](const Dims &at) {
        return Dims{at[0], std::min<int64_t>(at[1], 3), std::max<int64_t>(at[2] - 1, 0),
                    std::max<int64_t>(at[3] - 2, 0)};
      });
}

TEST(Layouts, SpaceAndDepth) {
  check([] { return OpTester("DepthToSpace", 13).attr("blocksize", 2); }, {2, 1, 4, 12},
        [](const Dims &at) {
          return Dims{at[0], at[2] % 2 * 2 + at[3] % 2, at[2] / 2, at[3] / 2};
        });
  check([] { return OpTester("SpaceToDepth", 13).attr("blocksize", 2); }, {2, 16, 1, 3},
        [](const Dims &at) {
          return Dims{at[0], at[1] % 4, at[2] * 2 + at[1] / 8, at[3] * 2 + at[1] / 4 % 2};
        });
}

TEST(Layouts, Cast) {
  for (const uint32_t to : types) {
    for (const uint32_t from : types) {
      for (const lk_layout layout : layouts) {
        for (const lk_layout wish : {LK_LAYOUT_ANY, layouts[0], layouts[1], layouts[2]}) {
          OpTester("Cast", 13)
              .attr("to", to)
              .input(numbers(from, shape, counted()), layout)
              .wish(wish)
              .expect(numbers(to, shape, counted()))
              .run();
        }
      }
    }
  }
}

// Rows of heads become heads of rows without a copy, and nothing is copied before or behind what
// computes on them.
TEST(Layouts, HeadsInside) {
  const Value x = numbers(LK_F32, shape, counted());
  std::vector<double> turned;
  lk::ref::each({2, 2, 4, 6}, [&](const Dims &at) {
    turned.push_back(element({at[0], at[2], at[1], at[3]}));
  });
  const Value y = numbers(LK_F32, {2, 2, 4, 6}, turned);
  OpTester("Transpose", 13)
      .attr_ints("perm", {0, 2, 1, 3})
      .input(x)
      .expect(y)
      .expect_layout(LK_LAYOUT_HEADS_INSIDE)
      .expect_alias(0)
      .run();
  OpTester("Transpose", 13)
      .attr_ints("perm", {0, 2, 1, 3})
      .input(x, LK_LAYOUT_HEADS_INSIDE)
      .expect(y)
      .expect_layout(LK_LAYOUT_PLAIN)
      .expect_alias(0)
      .run();
  OpTester("Relu", 13)
      .input(x, LK_LAYOUT_HEADS_INSIDE)
      .expect(x)
      .expect_layout(LK_LAYOUT_HEADS_INSIDE)
      .expect_reorders(0)
      .run();
}

TEST(Layouts, ProductsOfHeadsInside) {
  lk::Draw draw(7);
  for (int i = 0; i < 40; i++) {
    const Dims d = draw.dims(5, 1, 5); // batch, heads, rows, size, columns
    const Value a = lk::random({d[0], d[1], d[2], d[3]}, draw.seed());
    const Value b = lk::random({d[0], draw.maybe() ? d[1] : 1, d[3], d[4]}, draw.seed());
    const lk_layout second = draw.maybe() ? LK_LAYOUT_HEADS_INSIDE : LK_LAYOUT_PLAIN;
    OpTester("MatMul", 13)
        .input(a, LK_LAYOUT_HEADS_INSIDE)
        .input(b, second)
        .expect(lk::ref::matmul(a, b))
        .expect_reorders(0)
        .run();
  }
}

TEST(Layouts, AttentionOfHeadsInside) {
  const Value x = lk::random({2, 3, 5, 4}, 1), zero = lk::random({2, 3, 5, 4}, 2);
  OpTester test("Attention", 7);
  // equal scores: each row is the mean of all
  std::vector<float> means(x.as<float>());
  for (size_t head = 0; head < 6; head++) {
    for (size_t i = 0; i < 4; i++) {
      float sum = 0;
      for (size_t row = 0; row < 5; row++) sum += x.as<float>()[(head * 5 + row) * 4 + i];
      for (size_t row = 0; row < 5; row++) means[(head * 5 + row) * 4 + i] = sum / 5;
    }
  }
  test.domain("latchkey").attr_float("scale", 0);
  for (int i = 0; i < 3; i++) test.input(i < 2 ? zero : x, LK_LAYOUT_HEADS_INSIDE);
  test.expect(lk::tensor<float>({2, 3, 5, 4}, means))
      .expect_layout(LK_LAYOUT_HEADS_INSIDE)
      .expect_reorders(0)
      .run();
}

// One that has a dimension of size 1 where heads would lie: nothing would have to move.
TEST(Layouts, NoOtherRankHasHeadsInside) {
  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  for (const char *name : {"Relu", "GlobalAveragePool"}) {
    const lk_node_input input = {};
    const lk_node_desc node = host_node(name, &input, 1);
    lk::Op op;
    lk::Plan plan;
    LK_ASSERT_OK(lk::api()->op_create(executor, &node, op.out(), LK_ERR));
    LK_ASSERT_OK(lk::bind(op, {lk::desc_of(LK_F32, {1, 2, 3, 1, 4})}, &plan, LK_ERR, -1,
                          LK_LAYOUT_HEADS_INSIDE));
    lk_tensor_desc desc;
    LK_ASSERT_OK(lk::api()->plan_output(plan, 0, &desc, LK_ERR));
    EXPECT_EQ(desc.layout, LK_LAYOUT_PLAIN) << name;
  }
}

} // namespace
