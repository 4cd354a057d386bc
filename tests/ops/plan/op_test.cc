// What operators ask of their node and their planner, at the borders of what these hold.
#include <vector>

#include "tests/ops/plan/classes.h"
#include "tests/plugin/handles.h"

extern "C" {
#include "ops/plan/attrs.h"
#include "ops/plan/planner.h"
}

namespace {

using ::testing::HasSubstr;

TEST(OpNode, KnowsWhichOfItsFirst64InputsAreAbsent) {
  lk_op_node node = {};
  node.n_inputs = node.n_operands = 65;
  for (uint32_t absent = 0; absent < 64; absent++) {
    node.absent = uint64_t{1} << absent;
    for (uint32_t input = 0; input < 65; input++) {
      EXPECT_EQ(lk_op_is_absent(&node, input), input == absent) << input;
      EXPECT_EQ(lk_op_has(&node, input), input != absent) << input;
    }
  }
  EXPECT_FALSE(lk_op_has(&node, 65)) << "beyond its operands";
}

// A row that lists an attribute otherwise than its operator reads it is a fault of the library.
TEST(Attrs, OfARowAreFlagsWhereTheyAreReadAsSuch) {
  const lk_op_class *softmax = lk::class_of("Softmax"), *reduce = lk::class_of("ReduceSum");
  ASSERT_NE(softmax, nullptr);
  ASSERT_NE(reduce, nullptr);
  lk_node_desc desc = host_node("Softmax", nullptr, 0);
  desc.opset = 13;
  lk_attrs attrs = lk_attrs_of(softmax, &softmax->row, &desc, LK_ERR);
  (void)lk_attrs_bool(&attrs, "axis");
  LK_EXPECT_STATUS(LK_INTERNAL, attrs.status);
  EXPECT_THAT(LK_MESSAGE, HasSubstr("does not list the attribute 'axis' as a flag"));
  attrs = lk_attrs_of(reduce, &reduce->row, &desc, LK_ERR);
  EXPECT_TRUE(lk_attrs_bool(&attrs, "keepdims"));
  EXPECT_EQ(attrs.status, LK_OK);
}

// At each opset of each row: an attribute of another type is refused as a fault of the library.
TEST(Attrs, OfARowAreOfTheTypesOfItsParameters) {
  uint32_t filled = 0;
  for (uint32_t i = 0; i < lk_n_op_classes; i++) {
    const lk_op_class *of = lk_op_classes[i];
    for (const lk_param *param = of->params; param != nullptr && param->attr != nullptr; param++) {
      EXPECT_LT(param->offset, of->params_size) << of->row.op_type << ' ' << param->attr;
    }
    if (of->params == nullptr) continue;
    lk_node_desc desc = host_node(of->row.op_type, nullptr, 0);
    for (desc.opset = of->row.since; desc.opset <= LK_MAX_OPSET; desc.opset++) {
      std::vector<int64_t> params(of->params_size / sizeof(int64_t) + 1);
      lk_attrs attrs = lk_attrs_of(of, &of->row, &desc, LK_ERR);
      lk_attrs_fill(&attrs, of->params, params.data());
      EXPECT_EQ(attrs.status, LK_OK) << of->row.op_type << ' ' << desc.opset << ": " << LK_MESSAGE;
      filled++;
    }
  }
  EXPECT_GT(filled, 0u);
}

TEST(Planner, RefusesMoreParametersThanAStepHas) {
  lk_planner planner = {};
  const auto kernel = [](const void *, void *const *, lk_error *) { return LK_OK; };
  for (const size_t size : {size_t{1} << 24, (size_t{1} << 32) + 8}) {
    LK_EXPECT_STATUS(LK_UNSUPPORTED, lk_planner_kernel(&planner, kernel, "huge", nullptr, size,
                                                       nullptr, 0, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("a step with " + std::to_string(size) + " bytes"));
  }
}

} // namespace
