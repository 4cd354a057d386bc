// The four models that are the same in every run. Three share all names, shapes and sizes, and
// differ in constants only, or in attributes only; the fourth has operators of images, and an input
// by value.
#include "tests/stress/model.h"

namespace stress {
namespace {

Value shifted(const Dims &dims, unsigned seed) {
  return lk::random(dims, seed, -0.6F, 0.8F);
}

// x -> y, z, of the size of x, mostly written over x in place; 8 columns, any rank.
Model rows(const std::string &name, unsigned constants, bool others) {
  Model model;
  model.name = name;
  model.inputs = {{"x", LK_F32}};
  model.outputs = {"y", "z"};
  model.constants = {{"w0", shifted({8, 8}, constants + 1)},
                     {"w1", shifted({8, 8}, constants + 2)},
                     {"b0", shifted({8}, constants + 3)},
                     {"b1", shifted({8}, constants + 4)}};
  const int64_t axis = others ? 0 : -1;
  const char *activation = others ? "Sigmoid" : "Relu";
  const float slope = others ? 0.7F : 0.3F;
  model.nodes = {
      {"MatMul", {"x", "w0"}, "t0", {}, {}, {}},
      {"Add", {"t0", "b0"}, "t1", {}, {}, {}},
      {activation, {"t1"}, "t2", {}, {}, {}},
      {"Softmax", {"t2"}, "t3", {{"axis", axis}}, {}, {}},
      {"HardSigmoid", {"t3"}, "t4", {}, {}, {{"alpha", slope}, {"beta", 0.1F}}},
      {"MatMul", {"t4", "w1"}, "t5", {}, {}, {}},
      {"Mul", {"t5", "b1"}, "t6", {}, {}, {}},
      {"Softmax", {"t6"}, "y", {{"axis", axis}}, {}, {}},
      {activation, {"t5"}, "z", {}, {}, {}},
  };
  // Of one size: those of 48 and of 9600 elements. The latter are enough for more than one thread.
  const std::vector<Dims> shapes = {{6, 8},    {1, 6, 8}, {2, 3, 8},    {3, 2, 8}, {3, 8},
                                    {1, 3, 8}, {1200, 8}, {12, 100, 8}, {7, 8}};
  for (const Dims &shape : shapes) {
    for (unsigned seed : {11U, 12U}) model.requests.push_back({{"x", lk::random(shape, seed)}});
  }
  return model;
}

Model image() {
  Model model;
  model.name = "image";
  model.inputs = {{"s", LK_I64}, {"x", LK_F32}};
  model.outputs = {"y", "z"};
  model.constants = {{"w0", shifted({4, 3, 3, 3}, 21)},
                     {"b0", shifted({4}, 22)},
                     {"w1", shifted({4, 4, 1, 1}, 23)}};
  model.nodes = {
      {"Conv", {"x", "w0", "b0"}, "t0", {}, {{"pads", {1, 1, 1, 1}}, {"strides", {2, 2}}}, {}},
      {"Relu", {"t0"}, "t1", {}, {}, {}},
      {"MaxPool", {"t1"}, "t2", {}, {{"kernel_shape", {3, 3}}, {"pads", {1, 1, 1, 1}}}, {}},
      {"Conv", {"t1", "w1"}, "t3", {}, {}, {}},
      {"Concat", {"t2", "t3"}, "t4", {{"axis", 1}}, {}, {}},
      {"Sigmoid", {"t4"}, "t5", {}, {}, {}},
      {"Mul", {"t4", "t5"}, "t6", {}, {}, {}},
      {"GlobalAveragePool", {"t6"}, "t7", {}, {}, {}},
      {"Reshape", {"t7", "s"}, "t8", {}, {}, {}},
      {"Softmax", {"t8"}, "y", {{"axis", -1}}, {}, {}},
      {"AveragePool", {"t6"}, "z", {}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}}, {}},
  };
  // 1x3x11x224 and 1x3x112x24 are one text where nothing is written between dimensions.
  const std::vector<Dims> shapes = {
      {1, 3, 11, 224}, {1, 3, 112, 24}, {1, 3, 8, 12}, {1, 3, 12, 8}, {2, 3, 8, 12}};
  const std::vector<std::vector<int64_t>> to = {{-1, 4}, {2, -1}, {-1, 8}};
  for (const Dims &shape : shapes) {
    for (const auto &s : to) {
      model.requests.push_back({{"s", lk::ints(s)}, {"x", lk::random(shape, 31)}});
    }
  }
  return model;
}

} // namespace

std::vector<Model> fixed_models() {
  return {rows("rows", 1, false), rows("other_constants", 5, false),
          rows("other_attributes", 1, true), image()};
}

} // namespace stress
