// Random nodes for infer_test.cc, whose dimensions are partly symbols.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>

#include "tests/plugin/handles.h"

namespace lk::infer {

using lk::Dims;

// A dimension as it is known now, and as it turns out to be.
struct Dim {
  int64_t symbol, number;
};
using Shape = std::vector<Dim>;

struct Input {
  uint32_t dtype = LK_F32;
  Shape shape;
  std::vector<uint8_t> bytes; // of a list
  bool absent = false;
};

// A random node.
struct Node {
  std::string op, domain;
  int32_t opset = 13;
  uint32_t n_outputs = 1;
  std::vector<Input> inputs;
  std::map<std::string, std::vector<int64_t>> ints;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<float>> floats;
  std::vector<lk_post_op> post_ops;
};

class Draw {
public:
  Draw(std::mt19937 *random, const std::vector<Dim> *symbols)
      : random_(*random), symbols_(*symbols) {}

  Node node;

  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool one_of(int64_t n) { return between(1, n) == 1; }
  Dim dim() {
    if (one_of(2)) return symbols_[size_t(between(0, int64_t(symbols_.size()) - 1))];
    const int64_t n = between(one_of(6) ? 0 : 1, 9);
    return {n, n};
  }
  static Dim number(int64_t n) { return {n, n}; }
  Shape shape(int64_t low, int64_t high) {
    Shape shape;
    for (int64_t n = between(low, high); n > 0; n--) shape.push_back(dim());
    return shape;
  }
  // One that broadcasts with `to`, or nearly so.
  Shape beside(const Shape &to) {
    Shape shape(to.begin() + between(0, int64_t(to.size())), to.end());
    for (Dim &d : shape) {
      if (one_of(3)) d = one_of(4) ? dim() : number(1);
    }
    return shape;
  }
  void tensor(const Shape &shape, uint32_t dtype = LK_F32) {
    node.inputs.push_back({dtype, shape, {}, false});
  }
  template <typename T>
  void list(const std::vector<T> &values, uint32_t dtype, bool scalar = false) {
    Input input;
    input.dtype = dtype;
    if (!scalar) input.shape = Shape(1, number(int64_t(values.size())));
    input.bytes.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(input.bytes.data(), values.data(), input.bytes.size());
    node.inputs.push_back(input);
  }
  void ints(const std::vector<int64_t> &values) { list(values, LK_I64); }
  void absent() {
    node.inputs.emplace_back();
    node.inputs.back().absent = true;
  }
  std::vector<int64_t> many(size_t count, int64_t low, int64_t high) {
    std::vector<int64_t> values(count);
    for (int64_t &value : values) value = between(low, high);
    return values;
  }
  void windows(size_t spatial) {
    if (one_of(2)) node.ints["strides"] = many(spatial, 1, 3);
    if (one_of(3)) node.ints["dilations"] = many(spatial, 1, 2);
    const char *pads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    if (one_of(3)) {
      node.texts["auto_pad"] = pads[between(0, 3)];
    } else if (one_of(2)) {
      node.ints["pads"] = many(2 * spatial, 0, 2);
    }
  }

private:
  std::mt19937 &random_;
  const std::vector<Dim> &symbols_;
};

inline void unary(Draw &d) {
  d.tensor(d.shape(0, 5));
}
inline void binary(Draw &d, uint32_t dtype = LK_F32) {
  const Shape shape = d.shape(0, 4), other = d.beside(shape);
  const bool swap = d.one_of(2);
  d.tensor(swap ? other : shape, dtype);
  d.tensor(swap ? shape : other, dtype);
}
inline void pool(Draw &d) {
  const Shape shape = d.shape(3, 5);
  d.tensor(shape);
  d.node.ints["kernel_shape"] = d.many(shape.size() - 2, 1, 3);
  d.node.ints["ceil_mode"] = {d.between(0, 1)};
  d.node.opset = 19; // that has dilations
  d.windows(shape.size() - 2);
}
inline void convolution(Draw &d, bool transposed) {
  Shape x = d.shape(3, 5);
  const int64_t groups = d.one_of(3) ? 2 : 1;
  const Dim channels = d.one_of(2) ? Draw::number(4) : x[1];
  x[1] = channels;
  const Dim each = groups == 1 ? channels : Draw::number(std::max<int64_t>(channels.number, 2) / 2);
  Shape w = transposed ? Shape{channels, d.dim()} : Shape{Draw::number(4), each};
  for (size_t i = 2; i < x.size(); i++)
    w.push_back(d.one_of(5) ? d.dim() : Draw::number(d.between(1, 3)));
  d.tensor(x);
  d.tensor(w);
  d.node.ints["group"] = {groups};
  d.windows(x.size() - 2);
  if (transposed && d.one_of(3)) d.node.ints["output_padding"] = d.many(x.size() - 2, 0, 1);
  if (transposed && d.one_of(5)) d.node.ints["output_shape"] = d.many(x.size() - 2, 1, 9);
}
inline void axes_behind(Draw &d, int64_t rank, bool as_input) {
  if (d.one_of(6)) return;
  std::vector<int64_t> axes =
      d.many(size_t(d.between(0, 2)), -rank, std::max<int64_t>(rank - 1, 0));
  if (as_input) {
    d.ints(axes);
  } else {
    d.node.ints["axes"] = axes;
  }
}

// What draws the inputs and attributes of an operator.
using Rules = std::map<std::string, std::function<void(Draw &)>>;

} // namespace lk::infer
