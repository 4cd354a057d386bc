// Nodes at random, from a seed, of every kind that oneDNN has primitives for, with post-ops,
// layouts and wishes.
#pragma once

#include <algorithm>
#include <numeric>

#include "tests/ops/engine/host.h"

namespace lk {

class RandomNodes {
public:
  explicit RandomNodes(unsigned seed) : random_(seed) {}
  int64_t below(int64_t n) { return int64_t(random_() % uint64_t(n)); }
  int64_t from(int64_t least, int64_t most) { return least + below(most - least + 1); }
  bool coin() { return below(2) == 0; }
  Value value(const Dims &dims) { return lk::random(dims, unsigned(random_())); }

  Case conv() {
    const int64_t groups = coin() ? 1 : from(2, 8), in = groups * from(1, 6),
                  out = groups * from(1, 6), rank = from(1, 3);
    return windowed("Conv", groups, {out, in / groups}, in, out, rank);
  }
  Case conv_transpose() {
    const int64_t groups = coin() ? 1 : from(2, 4), in = groups * from(1, 5), of_group = from(1, 5);
    return windowed("ConvTranspose", groups, {in, of_group}, in, groups * of_group, from(1, 2));
  }
  Case product() {
    Case made;
    const int64_t k = from(1, 70), n = from(1, 50);
    const bool is_batch = coin();
    Dims a = {from(1, 60), k}, b = {k, n};
    if (is_batch) {
      const int64_t batch = from(2, 4);
      a.insert(a.begin(), coin() ? batch : 1);
      if (coin()) b.insert(b.begin(), batch);
    }
    made.node.op = "MatMul";
    made.inputs = {value(a), value(b)};
    if (coin()) made.node.constants = {made.inputs[1]};
    const Value y = ref::matmul(made.inputs[0], made.inputs[1]);
    add_post_ops(&made, y.dims(), y.dims().size() - 1);
    return made;
  }
  Case softmax() {
    Case made;
    const Dims dims = some_dims(2, 4);
    made.node.op = coin() ? "Softmax" : "LogSoftmax";
    made.node.ints = {{"axis", {below(int64_t(dims.size()))}}};
    if (coin()) made.node.opset = 11;
    made.inputs = {value(dims)};
    choose_layouts(&made);
    return made;
  }
  Case pool() {
    Case made;
    const int64_t rank = from(1, 3);
    Dims dims = {from(1, 2), from(1, 20)};
    std::vector<int64_t> kernel, strides, pads(size_t(rank * 2));
    for (int64_t i = 0; i < rank; i++) {
      dims.push_back(from(4, 12));
      kernel.push_back(from(1, 4)), strides.push_back(from(1, 3));
    }
    for (size_t i = 0; i < pads.size(); i++) pads[i] = below(kernel[i % size_t(rank)]);
    made.node.op = coin() ? "MaxPool" : "AveragePool";
    made.node.ints = {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
    if (coin()) made.node.ints.push_back({"ceil_mode", {1}});
    if (made.node.op == "AveragePool" && coin()) {
      made.node.ints.push_back({"count_include_pad", {1}});
    }
    made.inputs = {value(dims)};
    choose_layouts(&made);
    return made;
  }
  Case lrn() {
    Case made;
    made.node.op = "LRN";
    made.node.ints = {{"size", {from(1, 6)}}};
    made.inputs = {value({from(1, 3), from(1, 20), from(1, 9), from(1, 9)})};
    choose_layouts(&made);
    return made;
  }
  Case layer_norm() {
    Case made;
    const Dims dims = some_dims(2, 4);
    const int64_t axis = below(int64_t(dims.size()));
    const Dims rest(dims.begin() + axis, dims.end());
    made.node.op = "LayerNormalization";
    made.node.opset = 17;
    made.node.ints = {{"axis", {axis}}};
    made.inputs = {value(dims), value(rest)};
    if (coin()) made.inputs.push_back(value(rest));
    return made;
  }
  Case instance_norm() {
    Case made;
    const int64_t channels = from(1, 20);
    made.node.op = "InstanceNormalization";
    Dims dims = {from(1, 3), channels};
    for (int64_t rank = from(1, 4); rank > 0; rank--) dims.push_back(from(2, 5));
    made.inputs = {value(dims), value({channels}), value({channels})};
    choose_layouts(&made);
    return made;
  }
  // With Relu behind it, or what the engine leaves, or nothing.
  Case batch_norm() {
    Case made;
    const int64_t channels = coin() ? from(1, 20) : 16 * from(1, 4);
    Dims dims = {from(1, 3), channels};
    for (int64_t rank = from(0, 3); rank > 0; rank--) dims.push_back(from(1, 6));
    made.node.op = "BatchNormalization";
    made.node.opset = 15;
    made.inputs = {value(dims), value({channels}), value({channels}), value({channels}),
                   lk::random({channels}, unsigned(random_()), 0.1F, 2)};
    if (coin()) made.node.constants.assign(made.inputs.begin() + 1, made.inputs.end());
    if (coin()) {
      made.node.post_ops = {{LK_POST_RELU, -1, 0, 0}};
    } else if (coin()) {
      add_post_ops(&made, dims, 1);
    }
    choose_layouts(&made);
    return made;
  }
  // Channels last, with a residual in the node's own order.
  Case fused_last() {
    Case made;
    const int64_t in = from(1, 4), out = from(1, 5), size = coin() ? out : from(3, 6);
    made.node.op = "NhwcFusedConv";
    made.node.domain = "com.microsoft";
    made.node.opset = 1;
    made.node.texts = {{"activation", "Relu"}};
    const Dims y = {2, size, coin() ? size : from(3, 6), out};
    made.inputs = {value({2, y[1], y[2], in}), value({out, in, 1, 1}), value({out})};
    if (coin()) made.inputs.push_back(value(y));
    return made;
  }
  Case gemm() {
    Case made;
    const int64_t m = from(1, 40), k = from(1, 40), n = from(1, 40);
    const bool a = coin(), b = coin();
    made.node.op = "Gemm";
    made.node.ints = {{"transA", {a ? 1 : 0}}, {"transB", {b ? 1 : 0}}};
    made.node.floats = {{"alpha", {coin() ? 1.0f : 0.5f}}, {"beta", {coin() ? 1.0f : 2.0f}}};
    const Dims c = coin() ? Dims{n} : coin() ? Dims{m, 1} : coin() ? Dims{1} : Dims{m, n};
    made.inputs = {value(a ? Dims{k, m} : Dims{m, k}), value(b ? Dims{n, k} : Dims{k, n}),
                   value(c)};
    if (coin()) made.node.constants = {made.inputs[1], made.inputs[2]};
    return made;
  }
  Case vectors() {
    Case made;
    const int64_t k = from(1, 30), n = from(1, 30);
    const bool left = coin();
    made.node.op = "MatMul";
    made.inputs = {value(left ? Dims{k} : Dims{3, n, k}), value(left ? Dims{2, k, n} : Dims{k})};
    if (coin()) made.node.constants = {made.inputs[1]};
    return made;
  }
  // Scales along other dimensions than those of the sums.
  Case spread_norm() {
    Case made;
    const int64_t n = from(2, 6);
    made.node.op = "LayerNormalization";
    made.node.opset = 17;
    made.node.ints = {{"axis", {-1}}};
    made.inputs = {value({2, n, n}), value(coin() ? Dims{n, 1} : Dims{n, n})};
    return made;
  }
  Case element() {
    Case made;
    const Dims dims = some_dims(1, 4);
    const bool is_pair = coin();
    made.node.op = is_pair ? (coin() ? "Add" : "Mul") : coin() ? "Tanh" : "Sigmoid";
    made.inputs = {value(dims)};
    if (is_pair) made.inputs.push_back(value(coin() ? dims : Dims{dims.back()}));
    if (is_pair || coin()) add_post_ops(&made, dims, dims.size() > 1 ? 1 : 0);
    return made;
  }
  Case reduction() {
    Case made;
    const Dims dims = some_dims(1, 4);
    made.node.op = coin() ? "ReduceSum" : "ReduceMean";
    made.node.opset = 11;
    made.node.ints = {{"axes", {coin() ? -1 : below(int64_t(dims.size()))}}};
    made.inputs = {value(dims)};
    return made;
  }
  Case recurrent() {
    Case made;
    const int64_t gates[] = {1, 3, 4}, cell = below(3), width = from(1, 40), hidden = from(1, 40);
    static const char *const ops[] = {"RNN", "GRU", "LSTM"};
    const Dims x = {from(1, 6), from(1, 4), width};
    made.node.op = ops[cell];
    made.node.texts = {{"direction", coin() ? "forward" : "reverse"}};
    made.inputs = {value(x), value({1, gates[cell] * hidden, width}),
                   value({1, gates[cell] * hidden, hidden})};
    if (coin()) made.inputs.push_back(value({1, 2 * gates[cell] * hidden}));
    made.node.constants.assign(made.inputs.begin() + 1, made.inputs.end());
    return made;
  }
  Case transpose() {
    Case made;
    const Dims dims = some_dims(2, 5);
    std::vector<int64_t> perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random_);
    made.node.op = "Transpose";
    made.node.ints = {{"perm", perm}};
    made.inputs = {value(dims)};
    choose_layouts(&made);
    return made;
  }
  Case concat() {
    Case made;
    const Dims dims = some_dims(1, 5);
    const size_t axis = size_t(below(int64_t(dims.size())));
    made.node.op = "Concat";
    made.node.ints = {{"axis", {int64_t(axis)}}};
    for (int64_t count = from(2, 6); count > 0; count--) {
      Dims next = dims;
      next[axis] = from(1, 9);
      made.inputs.push_back(value(next));
    }
    choose_layouts(&made);
    made.others.assign(made.inputs.size() - 1, made.layout);
    return made;
  }
  Case any() {
    switch (below(18)) {
    case 17:
      return batch_norm();
    case 15:
      return transpose();
    case 16:
      return concat();
    case 14:
      return recurrent();
    case 12:
      return element();
    case 13:
      return reduction();
    case 8:
      return fused_last();
    case 9:
      return gemm();
    case 10:
      return vectors();
    case 11:
      return spread_norm();
    case 0:
      return conv();
    case 1:
      return conv_transpose();
    case 2:
      return product();
    case 3:
      return softmax();
    case 4:
      return pool();
    case 5:
      return lrn();
    case 6:
      return layer_norm();
    default:
      return instance_norm();
    }
  }

private:
  Dims some_dims(int64_t least, int64_t most) {
    Dims dims;
    for (int64_t rank = from(least, most); rank > 0; rank--) dims.push_back(from(1, 14));
    return dims;
  }
  void choose_layouts(Case *made) {
    if (made->inputs[0].dims().size() < 3) return;
    made->layout = coin() ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
    made->wish = coin() ? LK_LAYOUT_ANY : coin() ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
  }
  // Of output dimensions `dims`, whose channels are dimension `channel`.
  void add_post_ops(Case *made, const Dims &dims, size_t channel) {
    static const lk_post_op_kind kinds[] = {
        LK_POST_RELU,      LK_POST_CLIP,  LK_POST_SIGMOID,  LK_POST_HARDSIGMOID,
        LK_POST_HARDSWISH, LK_POST_SWISH, LK_POST_LINEAR,   LK_POST_ADD,
        LK_POST_MUL,       LK_POST_SUB,   LK_POST_GELU,     LK_POST_GELU_TANH,
        LK_POST_TANH,      LK_POST_MISH,  LK_POST_QUOTIENT, LK_POST_ADD_SCALED};
    std::vector<Value> operands;
    for (int64_t n = below(5); n > 0; n--) {
      const lk_post_op_kind kind = kinds[below(16)];
      lk_post_op post_op = {uint32_t(kind), -1, 0.25f, 0.75f};
      if (kind == LK_POST_RELU && coin()) post_op.alpha = 0;
      if (LK_POST_OP_IS_BINARY(kind)) {
        Dims of = dims;
        if (!coin()) {
          of = Dims(dims.size(), 1);
          if (coin()) of[channel] = dims[channel];
          if (coin()) of[size_t(below(int64_t(dims.size())))] = dims[0] == 1 ? 1 : of[0];
          for (size_t i = 0; i < of.size(); i++) of[i] = of[i] == 1 ? 1 : dims[i];
        }
        post_op.input = int32_t(made->inputs.size() + operands.size());
        operands.push_back(value(of));
      }
      made->node.post_ops.push_back(post_op);
    }
    // Constants are the last inputs: operands follow them as constants too, or none is one.
    if (!made->node.constants.empty()) {
      for (const Value &operand : operands) made->node.constants.push_back(operand);
    }
    for (const Value &operand : operands) made->inputs.push_back(operand);
  }
  Case windowed(const char *op, int64_t groups, Dims w, int64_t in, int64_t out, int64_t rank) {
    Case made;
    Dims x = {from(1, 2), in};
    std::vector<int64_t> strides, dilations, pads(size_t(rank * 2));
    for (int64_t i = 0; i < rank; i++) {
      w.push_back(from(1, 3)), x.push_back(from(5, 14));
      strides.push_back(from(1, coin() ? 2 : 4)), dilations.push_back(from(1, 2));
    }
    for (size_t i = 0; i < pads.size(); i++) {
      const size_t dim = i % size_t(rank);
      pads[i] = below(std::min((w[2 + dim] - 1) * dilations[dim] + 1, strides[dim] + 1));
    }
    made.node.op = op;
    made.node.ints = {
        {"group", {groups}}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
    made.inputs = {value(x), value(w)};
    const bool has_bias = coin();
    if (has_bias) made.inputs.push_back(value({out}));
    made.node.constants.assign(made.inputs.begin() + 1, made.inputs.end());
    Dims y = {x[0], out};
    const bool is_transposed = made.node.op == "ConvTranspose";
    for (size_t i = 0; i < size_t(rank); i++) {
      const int64_t reach = (w[2 + i] - 1) * dilations[i] + 1,
                    pad = pads[i] + pads[size_t(rank) + i];
      y.push_back(is_transposed ? (x[2 + i] - 1) * strides[i] + reach - pad
                                : (x[2 + i] + pad - reach) / strides[i] + 1);
    }
    add_post_ops(&made, y, 1);
    choose_layouts(&made);
    return made;
  }
  std::mt19937 random_;
};

} // namespace lk
