// Which shapes are certain to be equal: rules that hold, and equalities that must not be claimed.
#include "tests/executor_glue/graph/builder.h"

extern "C" {
#include "executor_glue/passes/symbolic_shapes.h"
}

using lk::Attr;
using lk::GraphBuilder;

namespace {

lk_status infer(GraphBuilder &g, lk_symbolic_shapes **out) {
  return lk_symbolic_shapes_create(lk::test_api(), g.get(), out, LK_ERR);
}

using Classes = lk::Owned<lk_symbolic_shapes, lk_symbolic_shapes_destroy>;

// The dimensions of `v`, -1 where they are open; {-99}: rank not known.
std::vector<int64_t> shape_of(GraphBuilder &g, int32_t v) {
  Classes classes;
  LK_EXPECT_OK(g.link());
  LK_EXPECT_OK(infer(g, classes.out()));
  const int32_t rank = lk_symbolic_shape_rank(classes, v);
  if (rank < 0) return {-99};
  std::vector<int64_t> dims;
  for (int32_t i = 0; i < rank; i++) {
    dims.push_back(std::max(classes.get()->descs[v].dims[i], LK_DIM_UNKNOWN));
  }
  return dims;
}

using Dims = std::vector<int64_t>;
const Dims UNKNOWN = {-99};

Dims rule(const std::string &op, Dims x, std::vector<Attr> attrs = {}, std::vector<Dims> ints = {},
          int opset = 13) {
  GraphBuilder g;
  g.opset = opset;
  std::vector<int32_t> inputs = {g.input("x", x)};
  for (const Dims &list : ints) inputs.push_back(list.empty() ? LK_NO_VALUE : g.ints(list));
  return shape_of(g, g.node(op, inputs, attrs));
}
Dims convolved(const std::string &op, Dims x, Dims w, std::vector<Attr> attrs = {}) {
  GraphBuilder g;
  return shape_of(g, g.node(op, {g.input("x", x), g.filled(w, 1.0f)}, attrs));
}

TEST(ShapeClass, Convolutions) {
  EXPECT_EQ(convolved("Conv", {1, 3, 10, -1}, {8, 3, 3, 3}), (Dims{1, 8, 8, -1}));
  EXPECT_EQ(convolved("Conv", {1, 3, 10, 11}, {8, 3, 3, 3},
                      {Attr::Ints("strides", {2, 2}), Attr::Ints("pads", {1, 1, 1, 1})}),
            (Dims{1, 8, 5, 6}));
  EXPECT_EQ(convolved("Conv", {1, 3, 10, 11}, {8, 3, 3, 3}, {Attr::Ints("dilations", {2, 3})}),
            (Dims{1, 8, 6, 5}));
  EXPECT_EQ(convolved("Conv", {1, 3, 10, 11}, {8, 3, 3, 3},
                      {Attr::Text("auto_pad", "SAME_UPPER"), Attr::Ints("strides", {2, 2})}),
            (Dims{1, 8, 5, 6}));
  EXPECT_EQ(convolved("Conv", {1, 3, 10, 11}, {8, 3, 3, 3}, {Attr::Text("auto_pad", "VALID")}),
            (Dims{1, 8, 8, 9}));
  EXPECT_EQ(convolved("Conv", {1, 3, 2, 11}, {8, 3, 3, 3}), UNKNOWN); // fails to run
  EXPECT_EQ(convolved("Conv", {1, 3, 10, 11}, {8, 3, 3, 3}, {Attr::Ints("pads", {1})}), UNKNOWN);
  EXPECT_EQ(convolved("ConvTranspose", {1, 4, 5, 6}, {4, 3, 2, 2},
                      {Attr::Ints("group", {2}), Attr::Ints("strides", {2, 2}),
                       Attr::Ints("pads", {0, 0, 0, 0})}),
            (Dims{1, 6, 10, 12}));
}

TEST(ShapeClass, PoolsAndReductions) {
  EXPECT_EQ(rule("MaxPool", {1, 3, 9, 9},
                 {Attr::Ints("kernel_shape", {3, 3}), Attr::Ints("strides", {2, 2})}),
            (Dims{1, 3, 4, 4}));
  EXPECT_EQ(rule("MaxPool", {1, 3, 9, 9},
                 {Attr::Ints("kernel_shape", {2, 2}), Attr::Ints("strides", {2, 2}),
                  Attr::Ints("ceil_mode", {1})}),
            (Dims{1, 3, 5, 5}));
  EXPECT_EQ(rule("MaxPool", {1, 3, -1, 9},
                 {Attr::Ints("kernel_shape", {2, 2}), Attr::Ints("strides", {2, 2}),
                  Attr::Ints("ceil_mode", {1})}),
            (Dims{1, 3, -1, 5}));
  EXPECT_EQ(rule("GlobalAveragePool", {-1, 3, 9, -1}), (Dims{-1, 3, 1, 1}));
  EXPECT_EQ(rule("ReduceMean", {2, 3, 4}, {Attr::Ints("axes", {-1})}), (Dims{2, 3, 1}));
  EXPECT_EQ(rule("ReduceMean", {2, 3, 4}, {Attr::Ints("axes", {0}), Attr::Ints("keepdims", {0})}),
            (Dims{3, 4}));
  EXPECT_EQ(rule("ReduceMean", {2, 3}, {Attr::Ints("axes", {5})}), UNKNOWN);
}

TEST(ShapeClass, Views) {
  EXPECT_EQ(rule("Transpose", {2, 3, 4}, {Attr::Ints("perm", {2, 0, 1})}), (Dims{4, 2, 3}));
  EXPECT_EQ(rule("Transpose", {2, 3, 4}), (Dims{4, 3, 2}));
  EXPECT_EQ(rule("Transpose", {2, 3}, {Attr::Ints("perm", {2, 0})}), UNKNOWN);
  EXPECT_EQ(rule("Reshape", {2, 3, 4}, {}, {{0, -1, 6}}), (Dims{2, 2, 6}));
  EXPECT_EQ(rule("Reshape", {2, -1, 4}, {}, {{0, -1, 6}}), (Dims{2, -1, 6}));
  EXPECT_EQ(rule("Reshape", {2, 3}, {Attr::Ints("allowzero", {1})}, {{0, 3}}, 14), UNKNOWN);
  EXPECT_EQ(rule("Reshape", {0, 3}, {Attr::Ints("allowzero", {1})}, {{0, 3}}, 14), (Dims{0, 3}));
  EXPECT_EQ(rule("Flatten", {2, 3, 4}), (Dims{2, 12}));
  EXPECT_EQ(rule("Flatten", {-1, 3, 4}, {Attr::Ints("axis", {2})}), (Dims{-1, 4}));
  EXPECT_EQ(rule("Squeeze", {1, 3, 1}, {}, {{0}}), (Dims{3, 1}));
  EXPECT_EQ(rule("Squeeze", {1, 3, 1}), (Dims{3}));
  EXPECT_EQ(rule("Squeeze", {1, -1, 1}), UNKNOWN);
  EXPECT_EQ(rule("Unsqueeze", {3}, {}, {{0, -1}}), (Dims{1, 3, 1}));
  EXPECT_EQ(rule("Unsqueeze", {3}, {Attr::Ints("axes", {1, 1})}), UNKNOWN);
  EXPECT_EQ(rule("Slice", {4, 5}, {}, {{0}, {2}, {1}}), (Dims{4, 2}));
  EXPECT_EQ(rule("Slice", {4, 5}, {}, {{-9, 1}, {1 << 30, -1}, {0, 1}}), (Dims{4, 3}));
  EXPECT_EQ(rule("Slice", {4, 5}, {}, {{3}, {2}, {1}}), (Dims{4, 0}));
  EXPECT_EQ(rule("Slice", {4, -1}, {}, {{0}, {2}, {1}}), (Dims{4, -1}));
  EXPECT_EQ(rule("Slice", {4, 5}, {}, {{0}, {4}, {1}, {1}}), (Dims{4, 4}));
  EXPECT_EQ(rule("Slice", {4, 5}, {}, {{0}, {4}, {1}, {2}}), (Dims{4, 2}));
  EXPECT_EQ(rule("Slice", {4, 5}, {}, {{0}, {2}}), (Dims{2, 5}));
  EXPECT_EQ(rule("Slice", {4, 5},
                 {Attr::Ints("starts", {1}), Attr::Ints("ends", {3}), Attr::Ints("axes", {0})}, {},
                 9),
            (Dims{2, 5}));
  EXPECT_EQ(rule("Gather", {4, 5, 6}, {Attr::Ints("axis", {1})}, {{0, 1, 2}}), (Dims{4, 3, 6}));
  EXPECT_EQ(rule("Shape", {4, 5, 6}), (Dims{3}));
  EXPECT_EQ(rule("Concat", {4, 5}, {Attr::Ints("axis", {9})}), UNKNOWN);
}

TEST(ShapeClass, MatricesAndBroadcasting) {
  auto two = [](const char *op, Dims a, Dims b, std::vector<Attr> attrs = {}) {
    GraphBuilder g;
    return shape_of(g, g.node(op, {g.input("a", a), g.input("b", b)}, attrs));
  };
  EXPECT_EQ(two("MatMul", {5, 1, 2, 3}, {7, 3, 4}), (Dims{5, 7, 2, 4}));
  EXPECT_EQ(two("MatMul", {3}, {3, 4}), (Dims{4}));
  EXPECT_EQ(two("Gemm", {3, 2}, {4, 3}, {Attr::Ints("transA", {1}), Attr::Ints("transB", {1})}),
            (Dims{2, 4}));
  EXPECT_EQ(two("Add", {-1, 1, 4}, {3, 4}), (Dims{-1, 3, 4}));
  EXPECT_EQ(two("Add", {-1}, {-1}), (Dims{-1}));
  EXPECT_EQ(two("Concat", {2, 3}, {2, 5}, {Attr::Ints("axis", {-1})}), (Dims{2, 8}));
}

TEST(ShapeClass, OpenDimensionsAreEqualOnlyToThemselves) {
  GraphBuilder g;
  const int32_t a = g.input("a", {-1, 4}), b = g.input("b", {-1, 4});
  const int32_t sum = g.node("Add", {a, b}), same = g.node("Mul", {b, a});
  const int32_t relu = g.node("Relu", {a});
  LK_ASSERT_OK(g.link());
  Classes classes;
  LK_ASSERT_OK(infer(g, classes.out()));
  EXPECT_TRUE(lk_symbolic_shape_same(classes, a, relu));
  EXPECT_FALSE(lk_symbolic_shape_same(classes, a, b));
  EXPECT_FALSE(lk_symbolic_shape_same(classes, a, sum));
  EXPECT_TRUE(lk_symbolic_shape_same(classes, sum, same));
  EXPECT_FALSE(lk_symbolic_shape_same(classes, a, 1000)); // a value of a later day
}

TEST(ShapeClass, TypesFollowOperators) {
  GraphBuilder g;
  const int32_t x = g.input("x", {2}, LK_F16);
  const int32_t cast = g.node("Cast", {g.node("Relu", {x})}, {Attr::Ints("to", {LK_F32})});
  const int32_t shape = g.node("Shape", {cast}), mystery = g.node("Mystery", {cast});
  LK_ASSERT_OK(g.link());
  Classes classes;
  LK_ASSERT_OK(infer(g, classes.out()));
  EXPECT_EQ(lk_symbolic_shape_dtype(classes, cast), uint32_t{LK_F32});
  EXPECT_EQ(lk_symbolic_shape_dtype(classes, shape), uint32_t{LK_I64});
  EXPECT_EQ(lk_symbolic_shape_dtype(classes, mystery), uint32_t{LK_DTYPE_NONE});
}

TEST(ShapeClass, ThousandsOfDimensions) {
  GraphBuilder g;
  int32_t v = g.input("x", {-1, 8, -1, -1});
  const int32_t first = v;
  for (int i = 0; i < 2000; i++) {
    v = g.node("MaxPool", {v}, {Attr::Ints("kernel_shape", {2, 2})}); // one less each time
  }
  LK_ASSERT_OK(g.link());
  Classes classes;
  LK_ASSERT_OK(infer(g, classes.out()));
  EXPECT_FALSE(lk_symbolic_shape_same(classes, first, v));
  EXPECT_EQ(lk_symbolic_shape_rank(classes, v), 4);
}

} // namespace
