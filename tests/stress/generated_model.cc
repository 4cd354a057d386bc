// Random graphs: an image part, whose tensors are N x channels x H x W at some level of halving,
// and behind it a part of matrices, N x columns. Every shape of the requests fits every graph.
#include "tests/stress/model.h"

namespace stress {
namespace {

class Generator {
public:
  Generator(const std::string &name, uint64_t seed) : draw_(static_cast<unsigned>(seed)) {
    model_.name = name;
    model_.inputs = {{"x", LK_F32}};
    model_.outputs = {"y", "z"};
  }

  Model make() {
    images_ = {{"x", 3, 0}};
    convolve(images_[0]);
    for (int64_t n = draw_.in(4, 8); n > 0; n--) add_image_node();
    to_matrix(images_.back());
    for (int64_t n = draw_.in(3, 7); n > 0; n--) add_matrix_node();
    model_.nodes.push_back({"Sigmoid", {matrices_.back().name}, "y", {}, {}, {}});
    model_.nodes.push_back({"Relu", {images_.back().name}, "z", {}, {}, {}});
    const std::vector<Dims> shapes = {
        {1, 3, 8, 12}, {1, 3, 12, 8}, {2, 3, 8, 12}, {3, 3, 8, 8}, {1, 3, 16, 16}};
    for (const Dims &shape : shapes) {
      model_.requests.push_back({{"x", lk::random(shape, draw_.seed())}});
    }
    return model_;
  }

private:
  struct Tensor {
    std::string name;
    int64_t width; // channels or columns
    int level;     // how often it was halved
  };

  std::string add(const std::string &op, std::vector<std::string> inputs,
                  std::map<std::string, int64_t> numbers = {},
                  std::map<std::string, std::vector<int64_t>> lists = {}) {
    const std::string name = "t" + std::to_string(model_.nodes.size());
    model_.nodes.push_back({op, std::move(inputs), name, numbers, lists, {}});
    return name;
  }
  std::string constant(const Value &value) {
    const std::string name =
        (value.desc.rank > 1 ? "w" : "b") + std::to_string(model_.constants.size());
    model_.constants[name] = value;
    return name;
  }
  std::string weights(const Dims &dims) {
    return constant(lk::random(dims, draw_.seed(), -0.5F, 0.6F));
  }

  // ---- images ----

  void convolve(const Tensor &from) {
    const int64_t width = draw_.of<int64_t>({4, 8}), kernel = draw_.of<int64_t>({1, 3});
    const int64_t stride = kernel == 3 && from.level < 2 ? draw_.in(1, 2) : 1, pad = kernel / 2;
    std::vector<std::string> inputs = {from.name, weights({width, from.width, kernel, kernel})};
    if (draw_.maybe()) inputs.push_back(weights({width}));
    const std::string name = add("Conv", inputs, {},
                                 {{"kernel_shape", {kernel, kernel}},
                                  {"pads", {pad, pad, pad, pad}},
                                  {"strides", {stride, stride}}});
    images_.push_back({name, width, from.level + (stride == 2 ? 1 : 0)});
  }

  void pool(const Tensor &from) {
    const char *op = draw_.maybe() ? "MaxPool" : "AveragePool";
    const bool halves = from.level < 2 && draw_.maybe();
    const int64_t kernel = halves ? 2 : 3, pad = halves ? 0 : 1, stride = halves ? 2 : 1;
    const std::string name = add(op, {from.name}, {},
                                 {{"kernel_shape", {kernel, kernel}},
                                  {"pads", {pad, pad, pad, pad}},
                                  {"strides", {stride, stride}}});
    images_.push_back({name, from.width, from.level + (halves ? 1 : 0)});
  }

  std::string activation(const std::string &from, std::vector<int64_t> axes) {
    switch (draw_.in(0, 3)) {
    case 0:
      return add("Relu", {from});
    case 1:
      return add("Sigmoid", {from});
    case 2:
      return add("HardSigmoid", {from});
    default:
      return add("Softmax", {from}, {{"axis", draw_.of(axes)}});
    }
  }

  // With a tensor of its shape, where there is one, or with a constant.
  std::string arithmetic(const std::vector<Tensor> &all, const Tensor &from,
                         const Dims &constants) {
    const char *op = draw_.maybe() ? "Add" : "Mul";
    for (size_t i = all.size(); i-- > 0 && draw_.in(0, 3) > 0;) {
      if (all[i].width == from.width && all[i].level == from.level && draw_.maybe()) {
        return add(op, {from.name, all[i].name});
      }
    }
    return add(op, {from.name, weights(constants)});
  }

  std::string join(const std::vector<Tensor> &all, const Tensor &from, int64_t *width) {
    const Tensor *other = &from;
    for (const Tensor &one : all) {
      if (one.level == from.level && one.width + from.width <= 16 && draw_.maybe()) other = &one;
    }
    *width = from.width + other->width;
    return add("Concat", {from.name, other->name}, {{"axis", 1}});
  }

  void add_image_node() {
    const Tensor from = draw_.in(0, 2) > 0 ? images_.back() : draw_.of(images_);
    int64_t width = from.width;
    switch (draw_.in(0, 5)) {
    case 0:
      convolve(from);
      return;
    case 1:
      pool(from);
      return;
    case 2:
      if (from.width <= 8) {
        const std::string name = join(images_, from, &width);
        images_.push_back({name, width, from.level});
        return;
      }
      [[fallthrough]];
    case 3:
      images_.push_back(
          {arithmetic(images_, from, Dims{1, from.width, 1, 1}), from.width, from.level});
      return;
    default:
      images_.push_back({activation(from.name, {1, -1, 2}), from.width, from.level});
    }
  }

  // ---- matrices ----

  void to_matrix(const Tensor &from) {
    if (draw_.maybe()) {
      const std::string name =
          add("ReduceMean", {from.name}, {{"keepdims", 0}}, {{"axes", {2, 3}}});
      matrices_.push_back({name, from.width, 0});
    } else {
      const std::string name = add("Flatten", {add("GlobalAveragePool", {from.name})});
      matrices_.push_back({name, from.width, 0});
    }
    multiply(matrices_[0]); // from here on the number of columns is even
  }

  void multiply(const Tensor &from) {
    const int64_t width = draw_.of<int64_t>({4, 8});
    if (draw_.maybe()) {
      matrices_.push_back({add("MatMul", {from.name, weights({from.width, width})}), width, 0});
    } else {
      const std::string w = weights({width, from.width}), b = weights({width});
      matrices_.push_back({add("Gemm", {from.name, w, b}, {{"transB", 1}}), width, 0});
    }
  }

  // Each row as a matrix of two columns, times its transposition.
  void multiply_by_itself(const Tensor &from) {
    const std::string shape = constant(lk::ints({0, -1, 2}));
    const std::string matrix = add("Reshape", {from.name, shape});
    const std::string other = add("Transpose", {matrix}, {}, {{"perm", {0, 2, 1}}});
    matrices_.push_back({add("Flatten", {add("MatMul", {other, matrix})}), 4, 0});
  }

  void add_matrix_node() {
    const Tensor from = draw_.in(0, 2) > 0 ? matrices_.back() : draw_.of(matrices_);
    int64_t width = from.width;
    switch (draw_.in(0, 5)) {
    case 0:
      multiply(from);
      return;
    case 1:
      if (from.width % 2 != 0) break;
      multiply_by_itself(from);
      return;
    case 2:
      if (from.width > 8) break;
      matrices_.push_back({join(matrices_, from, &width), 0, 0});
      matrices_.back().width = width;
      return;
    case 3:
      matrices_.push_back({arithmetic(matrices_, from, Dims{from.width}), from.width, 0});
      return;
    default:
      break;
    }
    matrices_.push_back({activation(from.name, {1, -1}), from.width, 0});
  }

  lk::Draw draw_;
  Model model_;
  std::vector<Tensor> images_, matrices_;
};

} // namespace

Model generated_model(const std::string &name, uint64_t seed) {
  return Generator(name, seed).make();
}

} // namespace stress
