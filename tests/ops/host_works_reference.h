// What works of hosts compute, by plain loops over their fields, as latchkey/engine.h has them.
#pragma once

#include "tests/ops/host_works.h"
#include "tests/ops/resize_reference.h"

namespace lk::works {

// As f32, which all the numbers of these tests are.
inline Value real(const HostWork &of, uint32_t role) {
  const Value &input = of.inputs[of.says.inputs[role]];
  return ref::make(input.dims(), numbers_of(input));
}

inline bool has(const HostWork &of, uint32_t role) {
  return (of.says.work.roles >> role & 1) != 0;
}

inline ref::Window window_of(const lk_window_shape &from) {
  const auto list = [&from](const int64_t *values) { return Dims(values, values + from.rank); };
  return {list(from.kernel), list(from.strides), list(from.dilations), list(from.begin),
          list(from.end)};
}

inline std::vector<double> doubles(const Value &of) {
  const std::vector<float> values = of.as<float>();
  return std::vector<double>(values.begin(), values.end());
}

inline std::vector<double> conv(const HostWork &of) {
  const lk_work &work = of.says.work;
  const Value x = real(of, LK_ROLE_SRC), w = real(of, LK_ROLE_WEIGHTS);
  const Value bias = has(of, LK_ROLE_BIAS) ? real(of, LK_ROLE_BIAS) : Value();
  const Value *b = has(of, LK_ROLE_BIAS) ? &bias : nullptr;
  const ref::Window window = window_of(work.window);
  return doubles(work.kind == LK_WORK_CONV
                     ? ref::conv(x, w, b, window, work.groups)
                     : ref::conv_transpose(x, w, b, window, work.groups, ref::spatial(of.out)));
}

inline std::vector<double> pool(const HostWork &of) {
  static const ref::Pool kinds[] = {ref::Pool::MAX, ref::Pool::MEAN, ref::Pool::MEAN_WITH_PADDING,
                                    ref::Pool::TOTAL};
  return doubles(ref::pool(real(of, LK_ROLE_SRC), kinds[of.says.work.pooling],
                           window_of(of.says.work.window), ref::spatial(of.out)));
}

inline std::vector<double> lrn(const HostWork &of) {
  const lk_work_lrn &lrn = of.says.work.lrn;
  const std::vector<double> x = doubles(real(of, LK_ROLE_SRC));
  std::vector<double> out;
  ref::each(of.out, [&](const Dims &at) {
    double sum = 0;
    for (int64_t c = 0; c < of.out[1]; c++) {
      Dims from = at;
      from[1] = c;
      if (c < at[1] - (lrn.size - 1) / 2 || c > at[1] + lrn.size / 2) continue;
      sum += x[ref::offset(of.out, from)] * x[ref::offset(of.out, from)];
    }
    const double base = double(lrn.bias) + double(lrn.alpha) / double(lrn.size) * sum;
    out.push_back(x[ref::offset(of.out, at)] * std::pow(base, -double(lrn.beta)));
  });
  return out;
}

inline std::vector<double> group_norm(const HostWork &of) {
  const lk_work &work = of.says.work;
  const std::vector<double> x = doubles(real(of, LK_ROLE_SRC));
  const std::vector<double> scale = doubles(real(of, LK_ROLE_SCALE)),
                            shift = doubles(real(of, LK_ROLE_SHIFT));
  const size_t groups = size_t(of.out[0] * work.groups), n = x.size() / groups;
  const size_t share = size_t(of.out[1]) / scale.size(); // channels of a scale
  const size_t plane = x.size() / size_t(of.out[0] * of.out[1]);
  std::vector<double> out;
  for (size_t group = 0; group < groups; group++) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += x[group * n + i];
    const double mean = work.is_centered != 0 ? sum / double(n) : 0;
    for (size_t i = 0; i < n; i++) squares += std::pow(x[group * n + i] - mean, 2);
    const double deviation = std::sqrt(squares / double(n) + double(work.epsilon));
    for (size_t i = group * n; i < (group + 1) * n; i++) {
      const size_t each = i / plane % size_t(of.out[1]) / share;
      out.push_back((x[i] - mean) / deviation * scale[each] + shift[each]);
    }
  }
  return out;
}

inline std::vector<double> batch_norm(const HostWork &of) {
  const std::vector<double> x = doubles(real(of, LK_ROLE_SRC)),
                            scale = doubles(real(of, LK_ROLE_SCALE)),
                            shift = doubles(real(of, LK_ROLE_SHIFT)),
                            mean = doubles(real(of, LK_ROLE_MEAN)),
                            variance = doubles(real(of, LK_ROLE_VARIANCE));
  std::vector<double> out;
  ref::each(of.out, [&](const Dims &at) {
    const size_t c = size_t(at[1]);
    const double deviation = std::sqrt(variance[c] + double(of.says.work.epsilon));
    out.push_back((x[ref::offset(of.out, at)] - mean[c]) / deviation * scale[c] + shift[c]);
  });
  return out;
}

inline double reduced(uint32_t reducing, const std::vector<double> &x) {
  double sum = 0, product = 1, sizes = 0, squares = 0, powers = 0;
  double most = -HUGE_VAL, least = HUGE_VAL;
  for (const double each : x) {
    sum += each;
    product *= each;
    sizes += std::fabs(each);
    squares += each * each;
    powers += std::exp(each);
    most = std::max(most, each);
    least = std::min(least, each);
  }
  switch (reducing) {
  case LK_REDUCING_SUM:
    return sum;
  case LK_REDUCING_MEAN:
    return sum / double(x.size());
  case LK_REDUCING_MAX:
    return most;
  case LK_REDUCING_MIN:
    return least;
  case LK_REDUCING_PRODUCT:
    return product;
  case LK_REDUCING_L1:
    return sizes;
  case LK_REDUCING_L2:
    return std::sqrt(squares);
  case LK_REDUCING_SUM_SQUARE:
    return squares;
  case LK_REDUCING_LOG_SUM:
    return std::log(sum);
  default:
    return std::log(powers);
  }
}

inline std::vector<double> reduce(const HostWork &of) {
  const Value src = real(of, LK_ROLE_SRC);
  const std::vector<double> x = doubles(src);
  Dims kept = src.dims();
  for (size_t i = 0; i < kept.size(); i++) {
    if ((of.says.work.axes >> i & 1) != 0) kept[i] = 1;
  }
  std::vector<std::vector<double>> rows(size_t(count_of(kept)));
  ref::each(src.dims(), [&](const Dims &at) {
    rows[ref::broadcast_offset(kept, at)].push_back(x[ref::offset(src.dims(), at)]);
  });
  std::vector<double> out;
  for (const std::vector<double> &row : rows) out.push_back(reduced(of.says.work.reducing, row));
  return out;
}

inline const char *const kInterpolations[] = {"nearest", "linear", "cubic"};
inline const char *const kCoordinates[] = {
    "half_pixel",           "pytorch_half_pixel", "align_corners",       "asymmetric",
    "half_pixel_symmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"};
inline const char *const kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

// Where every position's nearest element is rounded alike.
inline std::vector<double> resize(const HostWork &of) {
  const lk_work_resize &work = of.says.work.resize;
  const Value src = real(of, LK_ROLE_SRC);
  std::vector<resize::Axis> axes;
  for (size_t i = 0; i < of.out.size(); i++) {
    axes.push_back({src.dims()[i], of.out[i], work.up[i], work.down[i]});
    if (work.coordinates != LK_COORDINATES_TF_CROP_AND_RESIZE) continue;
    axes.back().start = work.start[i];
    axes.back().end = work.end[i];
  }
  resize::How how;
  how.mode = kInterpolations[work.interpolation];
  how.coordinates = kCoordinates[work.coordinates];
  how.nearest = kNearest[work.nearest];
  how.cubic = double(work.cubic);
  how.exclude_outside = work.exclude_outside != 0;
  how.antialias = work.antialias != 0;
  how.extrapolation = double(work.extrapolation);
  return resize::resized(doubles(src), axes, how);
}

inline std::vector<double> computed(const HostWork &of) {
  switch (of.says.work.kind) {
  case LK_WORK_CONV:
  case LK_WORK_CONV_TRANSPOSED:
    return conv(of);
  case LK_WORK_POOL:
    return pool(of);
  case LK_WORK_LRN:
    return lrn(of);
  case LK_WORK_GROUP_NORM:
    return group_norm(of);
  case LK_WORK_BATCH_NORM:
    return batch_norm(of);
  case LK_WORK_REDUCE:
    return reduce(of);
  default:
    return resize(of);
  }
}

} // namespace lk::works
