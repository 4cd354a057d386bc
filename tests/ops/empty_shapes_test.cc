// Operators that move or map elements, on shapes with a 0 in every place: no element, the right
// shape.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::ints;
using lk::OpTester;
using lk::random;
using lk::Value;

constexpr lk_layout LAYOUTS[] = {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST};

Value none(const Dims &dims) {
  return lk::floats(dims, {});
}
Value no_integers(const Dims &dims) {
  return lk::tensor<int64_t>(dims, {});
}

// Shapes of rank 1 to 5 with a 0 in each place, and with two.
std::vector<Dims> empty_shapes() {
  std::vector<Dims> shapes = {{0, 0}, {0, 3, 0}, {2, 3, 0, 0}};
  const Dims sizes = {2, 3, 4, 5, 2};
  for (size_t rank = 1; rank <= sizes.size(); rank++) {
    for (size_t i = 0; i < rank; i++) {
      Dims dims(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rank));
      dims[i] = 0;
      shapes.push_back(dims);
    }
  }
  return shapes;
}

TEST(EmptyShapes, StayWhereOneElementGivesOne) {
  for (const Dims &dims : empty_shapes()) {
    for (lk_layout layout : LAYOUTS) {
      if (layout != LK_LAYOUT_PLAIN && dims.size() < 3) continue;
      SCOPED_TRACE(lk::text_of(dims));
      const Value x = none(dims);
      for (const char *op : {"Relu", "Sigmoid", "Sqrt", "HardSigmoid", "HardSwish", "Identity",
                             "Dropout", "Clip", "Sum"}) {
        OpTester(op, 17).input(x, layout).expect(x).run();
      }
      const Value scalar = lk::floats({}, {1});
      OpTester("Clip", 17).input(x, layout).input(scalar).constant(scalar).expect(x).run();
      OpTester("Cast", 17).attr("to", LK_I64).input(x, layout).expect(no_integers(dims)).run();
      OpTester("Dropout", 17)
          .input(x, layout)
          .expect(x)
          .expect(lk::tensor<uint8_t>(dims, {}, LK_BOOL))
          .run();
      OpTester("Relu", 17).input(x, layout).input(x).post_op(LK_POST_ADD, 0, 0, 1).expect(x).run();
      OpTester("Shape", 17).input(x, layout).expect(ints(dims)).run();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(EmptyShapes, StayWhereANormalizationHasNothing) {
  for (const Dims &dims : empty_shapes()) {
    SCOPED_TRACE(lk::text_of(dims));
    const Value x = none(dims);
    const auto rank = static_cast<int64_t>(dims.size());
    for (int64_t axis = -rank; axis < rank; axis++) {
      OpTester("Softmax", 13).attr("axis", axis).input(x).expect(x).run();
      if (axis >= 0) OpTester("Softmax", 11).attr("axis", axis).input(x).expect(x).run();
    }
    if (rank < 2) continue;
    OpTester("LRN", 13).attr("size", 3).input(x).expect(x).run();
    const Value c = random({dims[1]}, 1, 0.5F, 2);
    OpTester("BatchNormalization", 15)
        .input(x)
        .input(c)
        .constant(c)
        .constant(c)
        .input(c)
        .expect(x)
        .run();
    if (HasFatalFailure()) return;
  }
}

TEST(EmptyShapes, Broadcast) {
  const Dims pairs[][2] = {
      {{0}, {0}},          {{2, 0}, {1}},         {{2, 0}, {2, 1}}, {{}, {0, 3}},
      {{0, 3}, {3}},       {{1, 0}, {3, 1}},      {{1}, {0}},       {{0, 1}, {1, 0}},
      {{0, 1, 1}, {3, 4}}, {{2, 3, 0, 1}, {1, 4}}};
  for (const auto &pair : pairs) {
    SCOPED_TRACE(lk::text_of(pair[0]) + " and " + lk::text_of(pair[1]));
    const Dims to = lk::ref::broadcast(pair[0], pair[1]);
    for (const char *op : {"Add", "Sub", "Mul", "Div", "Pow"}) {
      OpTester(op, 15).input(random(pair[0], 1)).input(random(pair[1], 2)).expect(none(to)).run();
      OpTester(op, 15)
          .input(lk::iota<int64_t>(pair[0]))
          .input(lk::iota<int64_t>(pair[1])) // a division by 0 does not happen
          .expect(no_integers(to))
          .run();
    }
    OpTester("Sum", 13)
        .input(random(pair[0], 1))
        .input(random(pair[1], 2))
        .input(random({1}, 3))
        .expect(none(to))
        .run();
    if (HasFatalFailure()) return;
  }
  OpTester("Add", 14)
      .input(none({0, 3}))
      .input(random({2, 3}, 1))
      .expect_bind(LK_INVALID_ARGUMENT, "0 and 2");
  OpTester("Mul", 14)
      .input(random({2, 2}, 1))
      .input(none({2, 0}))
      .expect_bind(LK_INVALID_ARGUMENT, "2 and 0");
}

TEST(EmptyShapes, AreLeftOutOfConcat) {
  const Value x = random({2, 3, 4}, 1);
  for (lk_layout layout : LAYOUTS) {
    OpTester tester("Concat", 13);
    tester.attr("axis", 1).input(none({2, 0, 4}), layout).input(x, layout).expect(x).run();
  }
  const struct {
    Dims a, b;
    int64_t axis;
    Dims to;
  } cases[] = {{.a = {0, 3}, .b = {0, 2}, .axis = 1, .to = {0, 5}},
               {.a = {2, 0}, .b = {3, 0}, .axis = 0, .to = {5, 0}},
               {.a = {0}, .b = {0}, .axis = 0, .to = {0}},
               {.a = {2, 0, 3}, .b = {2, 0, 4}, .axis = 2, .to = {2, 0, 7}},
               {.a = {0, 3, 4, 4}, .b = {0, 2, 4, 4}, .axis = 1, .to = {0, 5, 4, 4}}};
  for (const auto &c : cases) {
    OpTester("Concat", 13)
        .attr("axis", c.axis)
        .input(none(c.a))
        .input(none(c.b))
        .expect(none(c.to))
        .run();
  }
  OpTester("Concat", 13)
      .attr("axis", 0)
      .input(none({2, 0}))
      .input(random({2, 3}, 1))
      .expect_bind(LK_INVALID_ARGUMENT, "must be like 2x0:f32");
}

TEST(EmptyShapes, Gather) {
  const struct {
    Dims data;
    Value indices;
    int64_t axis;
    Dims to;
  } cases[] = {{.data = {0, 3}, .indices = no_integers({0}), .axis = 0, .to = {0, 3}},
               {.data = {3, 0}, .indices = ints({0, 2}), .axis = 0, .to = {2, 0}},
               {.data = {0, 3}, .indices = ints({1}), .axis = 1, .to = {0, 1}},
               {.data = {3, 4}, .indices = no_integers({2, 0}), .axis = 1, .to = {3, 2, 0}},
               {.data = {3, 0}, .indices = lk::tensor<int64_t>({}, {1}), .axis = 0, .to = {0}},
               {.data = {0, 0}, .indices = ints({1}), .axis = 0, .to = {1, 0}}};
  for (const auto &c : cases) {
    SCOPED_TRACE(lk::text_of(c.data));
    OpTester tester("Gather", 13);
    tester.attr("axis", c.axis).input(random(c.data, 1)).expect(none(c.to));
    OpTester(tester).input(c.indices).run();
    OpTester(tester).constant(c.indices).run();
  }
  OpTester("Gather", 13)
      .input(none({0, 3}))
      .input(ints({0}))
      .expect_bind(LK_OUT_OF_RANGE, "dimension 0 has size 0");
  OpTester("Gather", 13)
      .attr("axis", -1)
      .input(none({3, 0}))
      .input(ints({0}))
      .expect_bind(LK_OUT_OF_RANGE, "dimension 1 has size 0");
}

TEST(EmptyShapes, Slice) {
  const struct {
    Dims x;
    int64_t start, end, axis, step;
    Dims to;
  } cases[] = {
      {.x = {0, 3}, .start = 0, .end = 2, .axis = 0, .step = 1, .to = {0, 3}},
      {.x = {0, 3}, .start = 0, .end = 1, .axis = 1, .step = 1, .to = {0, 1}},
      {.x = {4, 3}, .start = 2, .end = 2, .axis = 0, .step = 1, .to = {0, 3}},
      {.x = {4, 3}, .start = 3, .end = 1, .axis = 0, .step = 1, .to = {0, 3}},
      {.x = {4}, .start = 5, .end = 9, .axis = 0, .step = 1, .to = {0}},
      {.x = {4}, .start = 0, .end = 4, .axis = 0, .step = -1, .to = {0}},
      {.x = {0}, .start = -1, .end = INT64_MIN, .axis = 0, .step = -1, .to = {0}},
      {.x = {0, 3}, .start = 2, .end = 0, .axis = 1, .step = -1, .to = {0, 2}},
      {.x = {2, 0, 3}, .start = 0, .end = INT64_MAX, .axis = 1, .step = 2, .to = {2, 0, 3}},
  };
  for (const auto &c : cases) {
    SCOPED_TRACE(lk::text_of(c.x));
    OpTester("Slice", 13)
        .input(random(c.x, 1))
        .input(ints({c.start}))
        .input(ints({c.end}))
        .input(ints({c.axis}))
        .input(ints({c.step}))
        .expect(none(c.to))
        .run();
  }
}

TEST(EmptyShapes, Transpose) {
  for (const Dims &dims : empty_shapes()) {
    std::vector<int64_t> order;
    for (size_t i = 0; i < dims.size(); i++)
      order.push_back(static_cast<int64_t>((i + 1) % dims.size()));
    Dims turned, to(dims.rbegin(), dims.rend());
    for (int64_t axis : order) turned.push_back(dims[static_cast<size_t>(axis)]);
    OpTester("Transpose", 13).input(none(dims)).expect(none(to)).run();
    OpTester("Transpose", 13).attr_ints("perm", order).input(none(dims)).expect(none(turned)).run();
    if (HasFatalFailure()) return;
  }
}

TEST(EmptyShapes, Reshape) {
  const struct {
    Dims x;
    std::vector<int64_t> shape;
    bool allow_zero;
    Dims to;
  } cases[] = {
      {.x = {0, 3}, .shape = {0, 3}, .allow_zero = false, .to = {0, 3}},
      {.x = {0, 3}, .shape = {-1, 3}, .allow_zero = false, .to = {0, 3}},
      {.x = {0, 3}, .shape = {3, 0}, .allow_zero = true, .to = {3, 0}},
      {.x = {0, 3}, .shape = {0, 5}, .allow_zero = true, .to = {0, 5}},
      {.x = {2, 0}, .shape = {0, 0}, .allow_zero = false, .to = {2, 0}},
      {.x = {2, 0}, .shape = {0, 0}, .allow_zero = true, .to = {0, 0}},
      {.x = {2, 0}, .shape = {-1}, .allow_zero = false, .to = {0}},
      {.x = {2, 3, 0}, .shape = {0, 0, 0}, .allow_zero = false, .to = {2, 3, 0}},
      {.x = {0}, .shape = {0, 4}, .allow_zero = false, .to = {0, 4}},
      {.x = {2, 3, 0}, .shape = {3, -1}, .allow_zero = false, .to = {3, 0}},
  };
  for (const auto &c : cases) {
    SCOPED_TRACE(lk::text_of(c.x) + " to " + lk::text_of(c.shape));
    OpTester tester("Reshape", 14);
    tester.attr("allowzero", c.allow_zero).input(none(c.x)).input(ints(c.shape));
    tester.expect(none(c.to)).run();
  }
  const auto reshape = [](const Value &x, const std::vector<int64_t> &shape) {
    OpTester tester("Reshape", 14);
    tester.input(x).input(ints(shape));
    return tester;
  };
  const char *const rule = "the number of elements must stay";
  reshape(none({0, 3}), {3, 0}).expect_bind(LK_INVALID_ARGUMENT, rule);
  reshape(none({0}), {}).expect_bind(LK_INVALID_ARGUMENT, rule);
  reshape(random({2, 3}, 1), {2, 3, 0}).attr("allowzero", 1).expect_bind(LK_INVALID_ARGUMENT, rule);
  reshape(none({0, 3}), {0, -1})
      .attr("allowzero", 1)
      .expect_bind(LK_INVALID_ARGUMENT, "beside a 0");
}

TEST(EmptyShapes, FlattenSqueezeUnsqueeze) {
  for (int64_t axis = 0; axis <= 3; axis++) {
    const Dims x = {2, 0, 3};
    Dims to = {1, 1};
    for (size_t i = 0; i < x.size(); i++) to[static_cast<int64_t>(i) < axis ? 0 : 1] *= x[i];
    OpTester("Flatten", 13).attr("axis", axis).input(none(x)).expect(none(to)).run();
  }
  OpTester("Squeeze", 13).input(none({0, 1, 3})).input(ints({1})).expect(none({0, 3})).run();
  OpTester("Squeeze", 13).input(none({1, 0, 1})).expect(none({0})).run();
  OpTester("Squeeze", 13)
      .input(none({0}))
      .input(ints({0}))
      .expect_bind(LK_INVALID_ARGUMENT, "must be 1");
  OpTester("Unsqueeze", 13)
      .input(none({0, 3}))
      .input(ints({0, 3}))
      .expect(none({1, 0, 3, 1}))
      .run();
}

TEST(EmptyShapes, ConstantOfShape) {
  for (const Dims &dims : empty_shapes()) {
    OpTester("ConstantOfShape", 9).input(ints(dims)).expect(none(dims)).run();
  }
  OpTester("ConstantOfShape", 9).input(ints({})).expect(lk::floats({}, {0})).run();
}

TEST(EmptyShapes, Resize) {
  const struct {
    Dims x;
    std::vector<int64_t> sizes;
  } cases[] = {
      {.x = {0, 3, 4, 4}, .sizes = {0, 3, 8, 8}}, {.x = {1, 0, 4, 4}, .sizes = {1, 0, 8, 8}},
      {.x = {1, 3, 0, 4}, .sizes = {1, 3, 0, 8}}, {.x = {1, 3, 4, 4}, .sizes = {1, 3, 0, 8}},
      {.x = {1, 3, 4, 4}, .sizes = {0, 3, 8, 8}}, {.x = {1, 3, 0, 0}, .sizes = {1, 3, 0, 0}}};
  for (const char *mode : {"nearest", "linear", "cubic"}) {
    for (const auto &c : cases) {
      SCOPED_TRACE(std::string(mode) + lk::text_of(c.x) + " to " + lk::text_of(c.sizes));
      OpTester tester("Resize", 13);
      tester.attr_text("mode", mode).input(random(c.x, 1)).absent().absent().input(ints(c.sizes));
      tester.expect(none(c.sizes)).run();
    }
    OpTester("Resize", 13)
        .attr_text("mode", mode)
        .input(none({1, 3, 0, 4}))
        .absent()
        .input(lk::floats({4}, {1, 1, 2, 2}))
        .expect(none({1, 3, 0, 8}))
        .run();
    OpTester("Resize", 13)
        .attr_text("mode", mode)
        .input(none({1, 3, 0, 4}))
        .absent()
        .absent()
        .input(ints({1, 3, 2, 8}))
        .expect_bind(LK_INVALID_ARGUMENT, "to 2: its size is 0");
  }
}

} // namespace
