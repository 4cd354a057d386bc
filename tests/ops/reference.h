// Operators as plain loops over plain tensors, in double: what results are compared with.
// They follow the text of the ONNX specification and share nothing with the code under test.
#pragma once

#include <cfloat>

#include "tests/harness/op_tester.h"

namespace lk {
namespace ref {

// Calls f(position) for every element, in plain order.
template <typename F> void each(const Dims &dims, F f) {
  if (count_of(dims) == 0) return;
  Dims at(dims.size(), 0);
  for (;;) {
    f(static_cast<const Dims &>(at));
    size_t i = dims.size();
    while (i > 0 && ++at[i - 1] == dims[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

inline size_t offset(const Dims &dims, const Dims &at) {
  int64_t result = 0;
  for (size_t i = 0; i < dims.size(); i++) result = result * dims[i] + at[i];
  return static_cast<size_t>(result);
}

// The element of a tensor of `dims` that is met at `at` of the shape that it broadcasts to.
inline size_t broadcast_offset(const Dims &dims, const Dims &at) {
  int64_t result = 0;
  const size_t skip = at.size() - dims.size();
  for (size_t i = 0; i < dims.size(); i++) {
    result = result * dims[i] + (dims[i] == 1 ? 0 : at[skip + i]);
  }
  return static_cast<size_t>(result);
}

inline Dims broadcast(const Dims &a, const Dims &b) {
  Dims result(std::max(a.size(), b.size()), 1);
  for (const Dims *dims : {&a, &b}) {
    const size_t skip = result.size() - dims->size();
    for (size_t i = 0; i < dims->size(); i++) {
      if ((*dims)[i] != 1) result[skip + i] = (*dims)[i];
    }
  }
  return result;
}

inline Value make(const Dims &dims, const std::vector<double> &values) {
  return tensor<float>(dims, std::vector<float>(values.begin(), values.end()));
}

template <typename F> Value map(const Value &x, F f) {
  std::vector<double> out;
  for (float value : x.as<float>()) out.push_back(f(static_cast<double>(value)));
  return make(x.dims(), out);
}

template <typename F> Value binary(const Value &a, const Value &b, F f) {
  const Dims to = broadcast(a.dims(), b.dims());
  const std::vector<float> va = a.as<float>(), vb = b.as<float>();
  std::vector<double> out;
  each(to, [&](const Dims &at) {
    out.push_back(f(static_cast<double>(va[broadcast_offset(a.dims(), at)]),
                    static_cast<double>(vb[broadcast_offset(b.dims(), at)])));
  });
  return make(to, out);
}

// ---- windows ----

struct Window {
  Dims kernel, strides, dilations, begin, end;
  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
  Dims pads() const { // as the attribute has them
    Dims both = begin;
    both.insert(both.end(), end.begin(), end.end());
    return both;
  }
};

inline Dims spatial(const Dims &dims) {
  return Dims(dims.begin() + 2, dims.end());
}

inline Dims conv_sizes(const Dims &in, const Window &window) {
  Dims out;
  for (size_t i = 0; i < in.size(); i++) {
    out.push_back((in[i] + window.begin[i] + window.end[i] - window.extent(i)) / window.strides[i] +
                  1);
  }
  return out;
}

// SAME_UPPER and SAME_LOWER: as many outputs as strides fit, padding split evenly.
inline void same_padding(const Dims &in, bool upper, Window *window) {
  for (size_t i = 0; i < in.size(); i++) {
    const int64_t stride = window->strides[i];
    const int64_t out = in[i] / stride + (in[i] % stride != 0);
    const int64_t total = std::max<int64_t>(0, (out - 1) * stride + window->extent(i) - in[i]);
    const int64_t less = total / 2, more = total - less;
    window->begin[i] = upper ? less : more;
    window->end[i] = upper ? more : less;
  }
}

inline Value conv(const Value &x, const Value &w, const Value *bias, const Window &window,
                  int64_t groups) {
  const Dims xd = x.dims(), wd = w.dims();
  const std::vector<float> vx = x.as<float>(), vw = w.as<float>();
  const std::vector<float> vb = bias != nullptr ? bias->as<float>() : std::vector<float>();
  Dims to = conv_sizes(spatial(xd), window);
  to.insert(to.begin(), {xd[0], wd[0]});
  const int64_t out_per_group = wd[0] / groups;
  std::vector<double> out;
  const Dims kernel = spatial(wd);
  const int64_t plane = count_of(spatial(xd)), window_plane = count_of(kernel);
  each(to, [&](const Dims &at) {
    double sum = vb.empty() ? 0 : static_cast<double>(vb[static_cast<size_t>(at[1])]);
    const int64_t channel = at[0] * xd[1] + at[1] / out_per_group * wd[1]; // the group's first
    int64_t tap_place = 0;
    each(kernel, [&](const Dims &tap) {
      const int64_t of_tap = tap_place++;
      int64_t place = 0;
      for (size_t i = 0; i < tap.size(); i++) {
        const int64_t from =
            at[2 + i] * window.strides[i] + tap[i] * window.dilations[i] - window.begin[i];
        if (from < 0 || from >= xd[2 + i]) return;
        place = place * xd[2 + i] + from;
      }
      const float *pixel = vx.data() + channel * plane + place;
      const float *weight = vw.data() + at[1] * wd[1] * window_plane + of_tap;
      for (int64_t c = 0; c < wd[1]; c++) {
        sum +=
            static_cast<double>(pixel[c * plane]) * static_cast<double>(weight[c * window_plane]);
      }
    });
    out.push_back(sum);
  });
  return make(to, out);
}

// `out`: spatial sizes. Every input element is scattered; what falls outside is dropped.
inline Value conv_transpose(const Value &x, const Value &w, const Value *bias, const Window &window,
                            int64_t groups, const Dims &out_sizes) {
  const Dims xd = x.dims(), wd = w.dims();
  const std::vector<float> vx = x.as<float>(), vw = w.as<float>();
  Dims to = out_sizes;
  to.insert(to.begin(), {xd[0], wd[1] * groups});
  const int64_t in_per_group = xd[1] / groups;
  std::vector<double> out(static_cast<size_t>(count_of(to)), 0.0);
  each(xd, [&](const Dims &at) {
    Dims taps = wd;
    taps.erase(taps.begin());
    each(taps, [&](const Dims &tap) {
      Dims target = {at[0], at[1] / in_per_group * wd[1] + tap[0]}, weight = {at[1], tap[0]};
      for (size_t i = 0; i + 1 < tap.size(); i++) {
        target.push_back(at[2 + i] * window.strides[i] + tap[1 + i] * window.dilations[i] -
                         window.begin[i]);
        weight.push_back(tap[1 + i]);
        if (target.back() < 0 || target.back() >= to[2 + i]) return;
      }
      out[offset(to, target)] +=
          static_cast<double>(vx[offset(xd, at)]) * static_cast<double>(vw[offset(wd, weight)]);
    });
  });
  if (bias != nullptr) {
    const std::vector<float> vb = bias->as<float>();
    size_t i = 0;
    each(to,
         [&](const Dims &at) { out[i++] += static_cast<double>(vb[static_cast<size_t>(at[1])]); });
  }
  return make(to, out);
}

enum class Pool { MAX, MEAN, MEAN_WITH_PADDING, TOTAL };

inline Value pool(const Value &x, Pool kind, const Window &window, const Dims &out_sizes) {
  const Dims xd = x.dims();
  const std::vector<float> vx = x.as<float>();
  Dims to = out_sizes;
  to.insert(to.begin(), {xd[0], xd[1]});
  std::vector<double> out;
  each(to, [&](const Dims &at) {
    double sum = 0, largest = -HUGE_VAL;
    int64_t inside = 0, padded = 0;
    each(window.kernel, [&](const Dims &tap) {
      Dims from = {at[0], at[1]};
      bool is_inside = true, is_padded = true;
      for (size_t i = 0; i < tap.size(); i++) {
        from.push_back(at[2 + i] * window.strides[i] + tap[i] * window.dilations[i] -
                       window.begin[i]);
        is_inside = is_inside && from.back() >= 0 && from.back() < xd[2 + i];
        is_padded = is_padded && from.back() < xd[2 + i] + window.end[i];
      }
      padded += is_padded ? 1 : 0;
      if (!is_inside) return;
      const double value = static_cast<double>(vx[offset(xd, from)]);
      inside++;
      sum += value;
      largest = std::max(largest, value);
    });
    if (kind == Pool::MAX || kind == Pool::TOTAL)
      out.push_back(kind == Pool::MAX ? largest : sum);
    else
      out.push_back(sum / static_cast<double>(kind == Pool::MEAN ? inside : padded));
  });
  return make(to, out);
}

// ---- products ----

// numpy.matmul.
inline Value matmul(const Value &a, const Value &b) {
  Dims ad = a.dims(), bd = b.dims();
  const bool row = ad.size() == 1, column = bd.size() == 1;
  if (row) ad.insert(ad.begin(), 1);
  if (column) bd.push_back(1);
  const std::vector<float> va = a.as<float>(), vb = b.as<float>();
  const Dims a_batch(ad.begin(), ad.end() - 2), b_batch(bd.begin(), bd.end() - 2);
  const Dims batch = broadcast(a_batch, b_batch);
  const int64_t m = ad[ad.size() - 2], k = ad.back(), n = bd.back();
  std::vector<double> out;
  each(batch, [&](const Dims &at) {
    const size_t from_a = broadcast_offset(a_batch, at) * static_cast<size_t>(m * k);
    const size_t from_b = broadcast_offset(b_batch, at) * static_cast<size_t>(k * n);
    for (int64_t i = 0; i < m; i++) {
      for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t p = 0; p < k; p++) {
          sum += static_cast<double>(va[from_a + static_cast<size_t>(i * k + p)]) *
                 static_cast<double>(vb[from_b + static_cast<size_t>(p * n + j)]);
        }
        out.push_back(sum);
      }
    }
  });
  Dims to = batch;
  if (!row) to.push_back(m);
  if (!column) to.push_back(n);
  return make(to, out);
}

inline Value transposed(const Value &x) { // a matrix
  const Dims d = x.dims();
  const std::vector<float> v = x.as<float>();
  std::vector<double> out;
  for (int64_t j = 0; j < d[1]; j++) {
    for (int64_t i = 0; i < d[0]; i++) {
      out.push_back(static_cast<double>(v[static_cast<size_t>(i * d[1] + j)]));
    }
  }
  return make({d[1], d[0]}, out);
}

// ---- post-ops ----

inline double post(const lk_post_op &op, double x) {
  const double alpha = static_cast<double>(op.alpha), beta = static_cast<double>(op.beta);
  switch (op.kind) {
  case LK_POST_RELU:
    return x < 0 ? alpha * x : x;
  case LK_POST_CLIP:
    return std::min(std::max(x, alpha), beta);
  case LK_POST_SIGMOID:
    return 1 / (1 + std::exp(-x));
  case LK_POST_HARDSIGMOID:
    return std::min(std::max(alpha * x + beta, 0.0), 1.0);
  case LK_POST_HARDSWISH:
    return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
  case LK_POST_SWISH:
    return x / (1 + std::exp(-alpha * x));
  case LK_POST_LINEAR:
    return alpha * x + beta;
  case LK_POST_QUOTIENT:
    return x / alpha;
  case LK_POST_GELU:
    return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
  case LK_POST_GELU_TANH:
    return x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x))) / 2;
  case LK_POST_TANH:
    return std::tanh(x);
  case LK_POST_MISH:
    return x * std::tanh(std::log1p(std::exp(x)));
  default:
    ADD_FAILURE() << "no such post-op: " << op.kind;
    return 0;
  }
}

inline Value apply(const Value &x, const lk_post_op &op, const Value *operand = nullptr) {
  switch (op.kind) {
  case LK_POST_ADD:
    return binary(x, *operand, [](double a, double b) { return a + b; });
  case LK_POST_MUL:
    return binary(x, *operand, [](double a, double b) { return a * b; });
  case LK_POST_ADD_SCALED:
    return binary(x, *operand,
                  [&op](double a, double b) { return a + static_cast<double>(op.alpha) * b; });
  case LK_POST_SUB:
    return binary(x, *operand, [](double a, double b) { return a - b; });
  case LK_POST_DIV:
    return binary(x, *operand, [](double a, double b) { return a / b; });
  default:
    return map(x, [&op](double value) { return post(op, value); });
  }
}

} // namespace ref

// Small draws for differential tests, the same for the same seed.
class Draw {
public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  int64_t in(int64_t low, int64_t high) { // both included
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool maybe() { return in(0, 1) == 1; }
  unsigned seed() { return static_cast<unsigned>(engine_()); }
  template <typename T> const T &of(const std::vector<T> &choices) {
    return choices[static_cast<size_t>(in(0, static_cast<int64_t>(choices.size()) - 1))];
  }
  Dims dims(size_t rank, int64_t low, int64_t high) {
    Dims result;
    for (size_t i = 0; i < rank; i++) result.push_back(in(low, high));
    return result;
  }
  // A layout that tensors of this rank can have.
  lk_layout layout(size_t rank) {
    if (rank < 3 || maybe()) return LK_LAYOUT_PLAIN;
    return rank == 4 && maybe() ? LK_LAYOUT_HEADS_INSIDE : LK_LAYOUT_CHANNELS_LAST;
  }
  lk_layout wish(size_t rank) { return maybe() ? LK_LAYOUT_ANY : layout(rank); }

private:
  std::mt19937 engine_;
};

// `check(draw, spatial)` for 1 to 3 spatial dimensions, `count` times each, until one fails.
template <typename Check> void check_windows(int count, const Check &check) {
  for (size_t spatial = 1; spatial <= 3; spatial++) {
    Draw draw(static_cast<unsigned>(spatial));
    for (int i = 0; i < count; i++) {
      check(draw, spatial);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

inline std::string text_of(const Dims &dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); i++) text += (i > 0 ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

} // namespace lk
