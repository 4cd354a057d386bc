// Resize by the formulas of the ONNX specification, one dimension after the other in plain loops
// and in double. Where the specification is silent, its tests decide: widths that a scale gives
// keep their fraction.
#pragma once

#include "tests/harness/op_tester.h"

namespace lk::resize {

struct How {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
  double extrapolation = 0;
};

// One dimension; its scale is up / down.
struct Axis {
  int64_t in, out;
  double up, down;
  double start = 0, end = 1;

  bool still() const { return in == out && up == down && start == 0 && end == 1; }
};

inline Axis axis_by_size(int64_t in, int64_t out) {
  return {in, out, double(out), double(in)};
}
inline Axis axis_by_scale(int64_t in, float scale) {
  return {in, static_cast<int64_t>(std::floor(float(in) * scale)), double(scale), 1};
}

// Where output position x lies in the input.
inline double original(const How &how, double x, const Axis &axis) {
  const double in = double(axis.in), out = double(axis.out), width = in * axis.up / axis.down;
  const double unscaled = x * axis.down / axis.up;
  const double middle = (x + 0.5) * axis.down / axis.up, centred = middle - 0.5;
  if (how.coordinates == "asymmetric") return unscaled;
  if (how.coordinates == "align_corners") return width == 1 ? 0 : x * (in - 1) / (width - 1);
  if (how.coordinates == "tf_half_pixel_for_nn") return middle;
  if (how.coordinates == "tf_crop_and_resize") {
    if (out == 1) return 0.5 * (axis.start + axis.end) * (in - 1);
    return axis.start * (in - 1) + x * (axis.end - axis.start) * (in - 1) / (width - 1);
  }
  if (how.coordinates == "pytorch_half_pixel" && out == 1) return 0;
  if (how.coordinates == "half_pixel_symmetric") return in / 2 * (1 - out / width) + middle - 0.5;
  return centred;
}

inline bool outside(const How &how, int64_t x, const Axis &axis) {
  if (how.coordinates != "tf_crop_and_resize" || axis.still()) return false;
  const double at = original(how, double(x), axis);
  return at < 0 || at > double(axis.in - 1);
}

inline double kernel(const How &how, double distance) {
  const double x = std::fabs(distance), a = how.cubic;
  if (how.mode == "linear") return x < 1 ? 1 - x : 0;
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

// Weights of all input positions for an output position.
inline std::vector<double> weights(const How &how, int64_t x, const Axis &axis) {
  std::vector<double> result(static_cast<size_t>(axis.in), 0.0);
  if (axis.still()) {
    result[static_cast<size_t>(x)] = 1;
    return result;
  }
  // What would be an integer or a half without rounding is one.
  const double at = std::round(original(how, double(x), axis) * 0x1p30) / 0x1p30;
  const auto held = [&axis](int64_t i) {
    return static_cast<size_t>(std::min(std::max<int64_t>(i, 0), axis.in - 1));
  };
  const int64_t base = static_cast<int64_t>(std::floor(at));
  if (how.mode == "nearest") {
    bool up = at > double(base);
    if (how.nearest == "floor") up = false;
    if (how.nearest == "round_prefer_floor") up = at - double(base) > 0.5;
    if (how.nearest == "round_prefer_ceil") up = at - double(base) >= 0.5;
    result[held(base + (up ? 1 : 0))] = 1;
    return result;
  }
  // Antialiasing stretches the filter by max(1, 1 / scale).
  const double stretch = how.antialias ? std::max(1.0, axis.down / axis.up) : 1;
  const int64_t reach = static_cast<int64_t>(2 * stretch) + 2;
  double sum = 0;
  for (int64_t i = base - reach; i <= base + reach; i++) {
    if (how.exclude_outside && (i < 0 || i >= axis.in)) continue;
    const double weight = kernel(how, (at - double(i)) / stretch);
    result[held(i)] += weight;
    sum += weight;
  }
  for (double &weight : result) weight = sum != 0 ? weight / sum : 0;
  return result;
}

// Plain, row-major.
inline std::vector<double> resized(std::vector<double> now, const std::vector<Axis> &axes,
                                   const How &how) {
  Dims dims;
  for (const Axis &axis : axes) dims.push_back(axis.in);
  for (size_t a = 0; a < axes.size(); a++) {
    const Axis &axis = axes[a];
    int64_t inner = 1, outer = 1;
    for (size_t i = 0; i < a; i++) outer *= dims[i];
    for (size_t i = a + 1; i < dims.size(); i++) inner *= dims[i];
    std::vector<std::vector<double>> of_lines;
    for (int64_t y = 0; y < axis.out; y++) of_lines.push_back(weights(how, y, axis));
    std::vector<double> next;
    for (int64_t o = 0; o < outer; o++) {
      for (const std::vector<double> &w : of_lines) {
        for (int64_t i = 0; i < inner; i++) {
          double sum = 0;
          for (int64_t k = 0; k < axis.in; k++) {
            const double weight = w[static_cast<size_t>(k)];
            if (weight == 0) continue;
            sum += weight * now[static_cast<size_t>((o * axis.in + k) * inner + i)];
          }
          next.push_back(sum);
        }
      }
    }
    now = next;
    dims[a] = axis.out;
  }
  if (how.coordinates != "tf_crop_and_resize") return now;
  for (int64_t i = 0; i < static_cast<int64_t>(now.size()); i++) {
    int64_t rest = i;
    for (size_t a = axes.size(); a-- > 0;) {
      if (outside(how, rest % axes[a].out, axes[a]))
        now[static_cast<size_t>(i)] = how.extrapolation;
      rest /= axes[a].out;
    }
  }
  return now;
}

inline Value resized(const Value &x, const std::vector<Axis> &axes, const How &how) {
  std::vector<double> values;
  for (float value : x.as<float>()) values.push_back(static_cast<double>(value));
  values = resized(values, axes, how);
  Dims to;
  for (const Axis &axis : axes) to.push_back(axis.out);
  return floats(to, std::vector<float>(values.begin(), values.end()));
}

// A node without the attributes that are at their defaults.
inline OpTester node(const How &how, int32_t opset = 13) {
  OpTester tester("Resize", opset);
  tester.attr_text("mode", how.mode)
      .attr_text("coordinate_transformation_mode", how.coordinates)
      .attr_text("nearest_mode", how.nearest)
      .attr_float("cubic_coeff_a", static_cast<float>(how.cubic));
  if (how.exclude_outside) tester.attr("exclude_outside", 1);
  if (how.antialias) tester.attr("antialias", 1);
  if (how.extrapolation != 0) {
    tester.attr_float("extrapolation_value", static_cast<float>(how.extrapolation));
  }
  return tester;
}

} // namespace lk::resize
