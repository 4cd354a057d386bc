// Models in plain loops, so that the library is not the only witness of what its stand-alone runs
// give.
#include <algorithm>
#include <cmath>

#include "tests/stress/model.h"

namespace stress {
namespace {

using lk::ref::each;
using lk::ref::offset;

int64_t number(const Node &node, const char *name, int64_t fallback) {
  const auto found = node.numbers.find(name);
  return found != node.numbers.end() ? found->second : fallback;
}
double real(const Node &node, const char *name, float fallback) {
  const auto found = node.floats.find(name);
  return static_cast<double>(found != node.floats.end() ? found->second : fallback);
}
std::vector<int64_t> list(const Node &node, const char *name, std::vector<int64_t> fallback) {
  const auto found = node.lists.find(name);
  return found != node.lists.end() ? found->second : fallback;
}
size_t axis_of(const Node &node, int64_t fallback, size_t rank) {
  const int64_t axis = number(node, "axis", fallback);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

lk::ref::Window window_of(const Node &node, const Dims &kernel) {
  const size_t n = kernel.size();
  const std::vector<int64_t> pads = list(node, "pads", std::vector<int64_t>(2 * n, 0));
  lk::ref::Window window;
  window.kernel = kernel;
  window.strides = list(node, "strides", Dims(n, 1));
  window.dilations = Dims(n, 1);
  window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  window.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  return window;
}

Value convolution(const Node &node, const std::vector<const Value *> &in) {
  const Dims kernel = lk::ref::spatial(in[1]->dims());
  return lk::ref::conv(*in[0], *in[1], in.size() > 2 ? in[2] : nullptr, window_of(node, kernel), 1);
}

Value pooling(const Node &node, const Value &x, lk::ref::Pool kind) {
  const Dims sizes = lk::ref::spatial(x.dims());
  const lk::ref::Window window = window_of(node, list(node, "kernel_shape", sizes));
  return lk::ref::pool(x, kind, window, lk::ref::conv_sizes(sizes, window));
}

Value softmax(const Node &node, const Value &x) {
  const Dims dims = x.dims();
  const size_t axis = axis_of(node, -1, dims.size());
  const std::vector<float> v = x.as<float>();
  std::vector<double> out;
  // Less the largest, as ONNX's reference does it: an infinity among them makes NaN of them all.
  each(dims, [&](const Dims &at) {
    double sum = 0;
    Dims other = at;
    const auto element = [&](const Dims &where) { return double(v[offset(dims, where)]); };
    double largest = element(at);
    for (other[axis] = 0; other[axis] < dims[axis]; other[axis]++) {
      largest = std::max(largest, element(other));
    }
    for (other[axis] = 0; other[axis] < dims[axis]; other[axis]++) {
      sum += std::exp(element(other) - largest);
    }
    out.push_back(std::exp(element(at) - largest) / sum);
  });
  return lk::ref::make(dims, out);
}

Value concat(const Node &node, const std::vector<const Value *> &in) {
  Dims to = in[0]->dims();
  const size_t axis = axis_of(node, 0, to.size());
  for (size_t i = 1; i < in.size(); i++) to[axis] += in[i]->dims()[axis];
  std::vector<double> out;
  each(to, [&](const Dims &at) {
    Dims from = at;
    size_t i = 0;
    while (from[axis] >= in[i]->dims()[axis]) from[axis] -= in[i++]->dims()[axis];
    out.push_back(static_cast<double>(in[i]->as<float>()[offset(in[i]->dims(), from)]));
  });
  return lk::ref::make(to, out);
}

Value transposition(const Node &node, const Value &x) {
  const std::vector<int64_t> perm = list(node, "perm", {});
  const Dims from = x.dims();
  const std::vector<float> v = x.as<float>();
  Dims to;
  for (int64_t p : perm) to.push_back(from[static_cast<size_t>(p)]);
  std::vector<double> out;
  each(to, [&](const Dims &at) {
    Dims back(from.size());
    for (size_t i = 0; i < perm.size(); i++) back[static_cast<size_t>(perm[i])] = at[i];
    out.push_back(static_cast<double>(v[offset(from, back)]));
  });
  return lk::ref::make(to, out);
}

Value reduced_mean(const Node &node, const Value &x) {
  const Dims dims = x.dims();
  const std::vector<float> v = x.as<float>();
  const std::vector<int64_t> axes = list(node, "axes", {});
  Dims kept = dims, named;
  for (int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  std::vector<double> sums(static_cast<size_t>(lk::count_of(kept)), 0.0);
  each(dims, [&](const Dims &at) {
    Dims to = at;
    for (int64_t axis : axes) to[static_cast<size_t>(axis)] = 0;
    sums[offset(kept, to)] += static_cast<double>(v[offset(dims, at)]);
  });
  const double share =
      static_cast<double>(lk::count_of(kept)) / static_cast<double>(lk::count_of(dims));
  for (double &sum : sums) sum *= share;
  for (size_t i = 0; i < dims.size(); i++) {
    const bool gone = std::count(axes.begin(), axes.end(), static_cast<int64_t>(i)) > 0;
    if (!gone || number(node, "keepdims", 1) != 0) named.push_back(kept[i]);
  }
  return lk::ref::make(named, sums);
}

Value with_dims(const Value &x, Dims dims) {
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); i++) {
    if (dims[i] == 0) dims[i] = x.dims()[i];
    if (dims[i] > 0) known *= dims[i];
  }
  for (int64_t &dim : dims) {
    if (dim < 0) dim = x.count() / known;
  }
  Value result = x;
  result.desc = lk::desc_of(x.desc.dtype, dims);
  return result;
}

Value gemm(const Node &node, const std::vector<const Value *> &in) {
  const Value b = number(node, "transB", 0) != 0 ? lk::ref::transposed(*in[1]) : *in[1];
  const Value product = lk::ref::matmul(*in[0], b);
  if (in.size() < 3) return product;
  return lk::ref::binary(product, *in[2], [](double x, double y) { return x + y; });
}

} // namespace

Value computed(const Node &node, const std::vector<const Value *> &in) {
  const Value &x = *in[0];
  if (node.op == "MatMul") return lk::ref::matmul(x, *in[1]);
  if (node.op == "Gemm") return gemm(node, in);
  if (node.op == "Add") return lk::ref::binary(x, *in[1], [](double a, double b) { return a + b; });
  if (node.op == "Mul") return lk::ref::binary(x, *in[1], [](double a, double b) { return a * b; });
  if (node.op == "Relu") return lk::ref::map(x, [](double v) { return std::max(v, 0.0); });
  if (node.op == "Sigmoid") return lk::ref::map(x, [](double v) { return 1 / (1 + std::exp(-v)); });
  if (node.op == "HardSigmoid") {
    const double alpha = real(node, "alpha", 0.2F), beta = real(node, "beta", 0.5F);
    return lk::ref::map(x,
                        [=](double v) { return std::min(std::max(alpha * v + beta, 0.0), 1.0); });
  }
  if (node.op == "Softmax") return softmax(node, x);
  if (node.op == "Conv") return convolution(node, in);
  if (node.op == "MaxPool") return pooling(node, x, lk::ref::Pool::MAX);
  if (node.op == "AveragePool" || node.op == "GlobalAveragePool") {
    return pooling(node, x, lk::ref::Pool::MEAN);
  }
  if (node.op == "Concat") return concat(node, in);
  if (node.op == "Transpose") return transposition(node, x);
  if (node.op == "ReduceMean") return reduced_mean(node, x);
  if (node.op == "Reshape") return with_dims(x, in[1]->as<int64_t>());
  if (node.op == "Flatten") return with_dims(x, {x.dims()[0], -1});
  ADD_FAILURE() << "no plain loops for " << node.op;
  return x;
}

Values computed(const Model &model, const Values &inputs) {
  Values values = model.constants, result;
  values.insert(inputs.begin(), inputs.end());
  for (const Node &node : model.nodes) {
    std::vector<const Value *> in;
    for (const std::string &input : node.inputs) in.push_back(&values.at(input));
    values[node.output] = computed(node, in);
  }
  for (const std::string &output : model.outputs) result[output] = values.at(output);
  return result;
}

} // namespace stress
