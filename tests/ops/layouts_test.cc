// Operators that move elements, on tensors of every type in both layouts, to both layouts.
#include "tests/ops/numbers.h"
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::ints;
using lk::numbers;
using lk::OpTester;
using lk::Value;

constexpr uint32_t types[] = {LK_F32, LK_U8,  LK_I8,  LK_U16, LK_I16, LK_I32,
                              LK_I64, LK_F16, LK_F64, LK_U32, LK_U64, LK_BF16};
constexpr lk_layout layouts[] = {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST};
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
      for (const lk_layout wish : {LK_LAYOUT_ANY, layouts[0], layouts[1]}) {
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
        for (const lk_layout wish : {LK_LAYOUT_ANY, layouts[0], layouts[1]}) {
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

} // namespace
