// Works of hosts at random that are right, and the ONNX operator that computes the same.
#pragma once

#include "tests/ops/host_works_reference.h"

namespace lk::works {

// `twin` has no inputs yet: those of the work, and behind them `extra`, which are constants.
struct Drawn {
  HostWork work;
  bool has_twin = true;
  TestNode twin;
  std::vector<Value> extra;
};

class Drawing {
public:
  explicit Drawing(unsigned seed) : draw_(seed) {}

  Drawn make() {
    static const std::vector<uint32_t> kinds = {
        LK_WORK_CONV,      LK_WORK_CONV,       LK_WORK_POOL,
        LK_WORK_POOL,      LK_WORK_LRN,        LK_WORK_REDUCE,
        LK_WORK_RESIZE,    LK_WORK_GROUP_NORM, LK_WORK_CONV_TRANSPOSED,
        LK_WORK_BATCH_NORM};
    work_.kind = draw_.of(kinds);
    take(LK_ROLE_SRC, 0);
    take(LK_ROLE_DST, 0);
    switch (work_.kind) {
    case LK_WORK_CONV:
    case LK_WORK_CONV_TRANSPOSED:
      make_conv(work_.kind == LK_WORK_CONV_TRANSPOSED);
      break;
    case LK_WORK_POOL:
      make_pool();
      break;
    case LK_WORK_LRN:
      make_lrn();
      break;
    case LK_WORK_GROUP_NORM:
      make_group_norm();
      break;
    case LK_WORK_BATCH_NORM:
      make_batch_norm();
      break;
    case LK_WORK_REDUCE:
      make_reduce();
      break;
    default:
      make_resize();
    }
    made_.work.wish = draw_.of<lk_layout>(
        {LK_LAYOUT_ANY, LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_HEADS_INSIDE});
    made_.work.flags =
        (draw_.maybe() ? uint32_t(LK_BIND_RECURS) : 0) | (one_in(4) ? uint32_t(LK_BIND_ENGINE) : 0);
    return made_;
  }

private:
  bool one_in(int64_t n) { return draw_.in(1, n) == 1; }
  void take(uint32_t role, uint32_t input) {
    work_.roles |= 1u << role;
    made_.work.says.inputs[role] = input;
  }
  void set_twin(const char *op, int32_t opset) {
    made_.twin.op = op;
    made_.twin.opset = opset;
  }
  void say(const char *name, const Dims &values) { made_.twin.ints.push_back({name, values}); }
  void say_float(const char *name, float value) { made_.twin.floats.push_back({name, {value}}); }
  void say_text(const char *name, const char *text) { made_.twin.texts.push_back({name, text}); }

  // ---- tensors ----

  // Of numbers that each type has, from `least` / 64 to 1. The first tensor is never a constant.
  void make_inputs(const std::vector<Dims> &dims, bool may_be_f64, int64_t least = -64) {
    static const std::vector<uint32_t> dtypes = {LK_F32, LK_F32, LK_F32, LK_F16, LK_BF16, LK_F64};
    const uint32_t dtype = dtypes[size_t(draw_.in(0, may_be_f64 ? 5 : 4))];
    made_.work.n_constants = uint32_t(draw_.in(0, int64_t(dims.size()) - 1));
    for (size_t i = 0; i < dims.size(); i++) {
      std::vector<double> values(size_t(count_of(dims[i])));
      for (double &value : values) value = double(draw_.in(least, 64)) / 64;
      made_.work.inputs.push_back(numbers(dtype, dims[i], values));
      const bool is_constant = i >= dims.size() - made_.work.n_constants;
      made_.work.layouts.push_back(is_constant ? lk_layout(LK_LAYOUT_PLAIN)
                                               : draw_.layout(dims[i].size()));
    }
  }
  // Of `rank` dimensions.
  Dims shape(size_t rank) {
    Dims dims = draw_.dims(rank, 1, rank > 3 ? 4 : 7);
    if (one_in(30)) dims[size_t(draw_.in(0, int64_t(rank) - 1))] = 0;
    return dims;
  }

  // ---- windows ----

  void make_window() {
    lk_window_shape &window = work_.window;
    window.rank = uint32_t(draw_.in(1, LK_MAX_SPATIAL));
    for (uint32_t i = 0; i < window.rank; i++) {
      window.kernel[i] = draw_.in(1, window.rank > 2 ? 2 : 4);
      window.strides[i] = draw_.in(1, 3);
      window.dilations[i] = one_in(3) ? 2 : 1;
      window.begin[i] = draw_.in(0, 2);
      window.end[i] = draw_.in(0, 2);
    }
  }
  int64_t extent(uint32_t i) const {
    return (work_.window.kernel[i] - 1) * work_.window.dilations[i] + 1;
  }
  // The size of a dimension that the window fits into, by `excess` more than what is there.
  int64_t size_of(uint32_t i, int64_t excess) {
    const int64_t padding = work_.window.begin[i] + work_.window.end[i];
    const int64_t least = extent(i) - padding - excess;
    if (least <= 0 && one_in(20)) return 0;
    return std::max<int64_t>(1, least) + (excess > 0 ? 0 : draw_.in(0, 5));
  }
  void say_window() {
    const ref::Window window = window_of(work_.window);
    say("kernel_shape", window.kernel);
    say("strides", window.strides);
    say("dilations", window.dilations);
    say("pads", window.pads());
  }
  // Batch and channels, and a size for each spatial dimension.
  Dims image(int64_t channels, const int64_t *sizes) {
    Dims dims = {draw_.in(1, 2), channels};
    dims.insert(dims.end(), sizes, sizes + work_.window.rank);
    return dims;
  }

  void make_conv(bool is_transposed) {
    lk_window_shape &window = work_.window;
    make_window();
    int64_t sizes[LK_MAX_SPATIAL];
    Dims more;
    for (uint32_t i = 0; i < window.rank; i++) {
      sizes[i] = is_transposed ? draw_.in(1, 5) : size_of(i, 0);
      const int64_t padding = window.begin[i] + window.end[i];
      more.push_back(draw_.in(0, std::max(window.strides[i], window.dilations[i]) - 1));
      const int64_t whole = (sizes[i] - 1) * window.strides[i] + extent(i) + more.back();
      window.out[i] = is_transposed ? whole - padding
                                    : (sizes[i] + padding - extent(i)) / window.strides[i] + 1;
      if (window.out[i] >= 1) continue;
      window.begin[i] = window.end[i] = 0;
      window.out[i] = whole;
    }
    work_.groups = draw_.of<int64_t>({1, 1, 2, 3, 16});
    const int64_t most = one_in(4) ? 20 : 4;
    const int64_t in = one_in(3) ? 1 : draw_.in(1, most), out = one_in(3) ? 1 : draw_.in(1, most);
    const Dims x = image(in * work_.groups, sizes);
    Dims w = is_transposed ? Dims{in * work_.groups, out} : Dims{out * work_.groups, in};
    w.insert(w.end(), window.kernel, window.kernel + window.rank);
    std::vector<Dims> dims = {x, w};
    take(LK_ROLE_WEIGHTS, 1);
    if (draw_.maybe()) {
      take(LK_ROLE_BIAS, 2);
      dims.push_back({out * work_.groups});
    }
    made_.work.out = {x[0], out * work_.groups};
    made_.work.out.insert(made_.work.out.end(), window.out, window.out + window.rank);
    make_inputs(dims, false);
    set_twin(is_transposed ? "ConvTranspose" : "Conv", 11);
    say_window();
    say("group", {work_.groups});
    if (is_transposed) say("output_padding", more);
  }

  void make_pool() {
    lk_window_shape &window = work_.window;
    make_window();
    int64_t sizes[LK_MAX_SPATIAL];
    const bool rounds_up = draw_.maybe();
    for (uint32_t i = 0; i < window.rank; i++) {
      sizes[i] = size_of(i, one_in(10) ? window.strides[i] - 1 : 0);
      const int64_t padded = sizes[i] + window.begin[i] + window.end[i];
      const int64_t stride = window.strides[i], room = padded - extent(i);
      window.out[i] = room / stride + 1;
      const bool has_more =
          room % stride > 0 && window.out[i] * stride < sizes[i] + window.begin[i];
      if (rounds_up && has_more) window.out[i]++;
    }
    const Dims x = image(draw_.in(1, one_in(4) ? 20 : 4), sizes);
    made_.work.out = {x[0], x[1]};
    made_.work.out.insert(made_.work.out.end(), window.out, window.out + window.rank);
    work_.pooling = uint32_t(draw_.in(LK_POOLING_MAX, LK_POOLING_TOTAL));
    const bool is_total = work_.pooling == LK_POOLING_TOTAL;
    make_inputs({x}, true, is_total ? 0 : -64);
    set_twin(is_total ? "LpPool" : work_.pooling == LK_POOLING_MAX ? "MaxPool" : "AveragePool", 19);
    say_window();
    say("ceil_mode", {rounds_up ? 1 : 0});
    if (is_total) say("p", {1});
    if (work_.pooling == LK_POOLING_MEAN_WITH_PADDING) say("count_include_pad", {1});
  }

  // ---- norms ----

  void make_lrn() {
    made_.work.out = shape(size_t(draw_.in(2, 5)));
    made_.work.out[1] = draw_.in(1, 9);
    work_.lrn.size = draw_.in(1, 6);
    work_.lrn.alpha = draw_.of<float>({0, 1e-4f, 0.5f});
    work_.lrn.beta = draw_.of<float>({0.75f, 0.5f, 0});
    work_.lrn.bias = draw_.of<float>({1, 2});
    make_inputs({made_.work.out}, false);
    set_twin("LRN", 13);
    say("size", {work_.lrn.size});
    say_float("alpha", work_.lrn.alpha);
    say_float("beta", work_.lrn.beta);
    say_float("bias", work_.lrn.bias);
  }

  void make_group_norm() {
    const bool of_groups = draw_.maybe();
    work_.groups = draw_.in(1, 4);
    made_.work.out = shape(size_t(draw_.in(2, 5)));
    made_.work.out[1] = work_.groups * draw_.in(1, 4);
    work_.epsilon = draw_.of<float>({1e-5f, 0.01f}) + 1e-3f;
    work_.is_centered = one_in(4) ? 0 : 1;
    const Dims scale = {of_groups ? work_.groups : made_.work.out[1]};
    take(LK_ROLE_SCALE, 1);
    take(LK_ROLE_SHIFT, 2);
    make_inputs({made_.work.out, scale, scale}, false);
    set_twin("GroupNormalization", of_groups ? 18 : 21);
    say("num_groups", {work_.groups});
    say_float("epsilon", work_.epsilon);
    made_.has_twin = work_.is_centered == 1;
  }

  // Of variances above 0, and so of all numbers.
  void make_batch_norm() {
    made_.work.out = shape(size_t(draw_.in(2, 5)));
    made_.work.out[1] = draw_.in(1, 9);
    work_.epsilon = draw_.of<float>({1e-5f, 0.01f}) + 1e-3f;
    const Dims vector = {made_.work.out[1]};
    for (uint32_t i = 0; i < 4; i++) {
      static const lk_role roles[] = {LK_ROLE_SCALE, LK_ROLE_SHIFT, LK_ROLE_MEAN, LK_ROLE_VARIANCE};
      take(roles[i], 1 + i);
    }
    make_inputs({made_.work.out, vector, vector, vector, vector}, true, 1);
    set_twin("BatchNormalization", 15);
    say_float("epsilon", work_.epsilon);
  }

  // ---- reductions ----

  void make_reduce() {
    static const char *const names[] = {
        "ReduceSum", "ReduceMean", "ReduceMax",       "ReduceMin",    "ReduceProd",
        "ReduceL1",  "ReduceL2",   "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};
    const Dims x = shape(size_t(draw_.in(1, one_in(6) ? LK_MAX_RANK : 5)));
    const bool keeps = draw_.maybe();
    work_.axes = uint32_t(draw_.in(1, (int64_t(1) << x.size()) - 1));
    work_.reducing = uint32_t(draw_.in(LK_REDUCING_SUM, LK_REDUCING_LOG_SUM_EXP));
    Dims axes;
    for (size_t i = 0; i < x.size(); i++) {
      const bool is_along = (work_.axes >> i & 1) != 0;
      if (is_along) axes.push_back(int64_t(i));
      if (!is_along || keeps) made_.work.out.push_back(is_along ? 1 : x[i]);
    }
    make_inputs({x}, true, work_.reducing == LK_REDUCING_LOG_SUM ? 1 : -64);
    set_twin(names[work_.reducing], 12); // whose axes are an attribute
    say("axes", axes);
    say("keepdims", {keeps ? 1 : 0});
  }

  // ---- Resize ----

  void make_rule() {
    lk_work_resize &of = work_.resize;
    of.interpolation = uint32_t(draw_.in(0, LK_INTERPOLATION_CUBIC));
    of.coordinates = uint32_t(draw_.in(0, LK_COORDINATES_TF_HALF_PIXEL_FOR_NN));
    of.nearest = uint32_t(draw_.in(0, LK_NEAREST_CEIL));
    of.antialias = draw_.maybe();
    of.exclude_outside = draw_.maybe();
    of.cubic = draw_.of<float>({-0.75f, -0.5f});
    of.extrapolation = draw_.of<float>({0, 0.5f});
    set_twin("Resize", 19);
    say_text("mode", kInterpolations[of.interpolation]);
    say_text("coordinate_transformation_mode", kCoordinates[of.coordinates]);
    say_text("nearest_mode", kNearest[of.nearest]);
    say("antialias", {int64_t(of.antialias)});
    say("exclude_outside", {int64_t(of.exclude_outside)});
    say_float("cubic_coeff_a", of.cubic);
    say_float("extrapolation_value", of.extrapolation);
  }

  // One scale for all dimensions, and sizes rounded to the nearest, halves up.
  void keep_ratio(const Dims &x) {
    const int64_t up = draw_.in(1, 12), down = draw_.in(1, 8);
    for (size_t i = 0; i < x.size(); i++) {
      work_.resize.up[i] = double(up);
      work_.resize.down[i] = double(down);
      made_.work.out.push_back((2 * x[i] * up + down) / (2 * down));
    }
    made_.has_twin = false; // the operator wants a dimension whose size that is
  }

  void by_scales(const Dims &x, std::vector<float> *scales) {
    // Nearest is computed in float where scales are given: none that a last bit decides.
    std::vector<float> choice = {0.25f, 0.5f, 0.75f, 1, 1.25f, 1.5f, 2, 3};
    if (work_.resize.interpolation != 0) choice.insert(choice.end(), {0.3f, 0.7f, 1.7f});
    for (size_t i = 0; i < x.size(); i++) {
      const float scale = one_in(3) ? 1 : draw_.of(choice);
      const int64_t out = int64_t(std::floor(float(x[i]) * scale));
      const bool is_exact = double(x[i]) * double(scale) == double(out);
      scales->push_back(scale);
      made_.work.out.push_back(out);
      work_.resize.up[i] = is_exact ? double(out) : double(scale);
      work_.resize.down[i] = is_exact ? double(x[i]) : 1;
      if (!is_exact) work_.resize.rounded |= 1u << i;
    }
  }

  void by_sizes(const Dims &x) {
    for (size_t i = 0; i < x.size(); i++) {
      const int64_t times = draw_.of<int64_t>({0, 1, 1, 2, 3});
      made_.work.out.push_back(times == 0 ? draw_.in(1, 9) : times * x[i]);
      work_.resize.up[i] = double(made_.work.out[i]);
      work_.resize.down[i] = double(x[i]);
    }
  }

  void make_resize() {
    const Dims x = draw_.dims(size_t(draw_.in(1, 5)), 1, 5);
    std::vector<float> roi, ends, scales;
    make_rule();
    const int64_t how = draw_.in(0, 5);
    if (how == 0) keep_ratio(x);
    if (how == 1 || how == 2) by_scales(x, &scales);
    if (how > 2) by_sizes(x);
    for (size_t i = 0; i < x.size(); i++) {
      if (work_.resize.coordinates != LK_COORDINATES_TF_CROP_AND_RESIZE) break;
      roi.push_back(one_in(3) ? 0 : float(draw_.in(-2, 8)) / 8);
      ends.push_back(one_in(3) ? 1 : float(draw_.in(0, 10)) / 8);
      work_.resize.start[i] = double(roi.back());
      work_.resize.end[i] = double(ends.back());
    }
    roi.insert(roi.end(), ends.begin(), ends.end());
    make_inputs({x}, true);
    made_.extra = {floats({int64_t(roi.size())}, roi), floats({int64_t(scales.size())}, scales)};
    if (scales.empty()) made_.extra.push_back(ints(made_.work.out));
  }

  Draw draw_;
  Drawn made_;
  lk_work &work_ = made_.work.says.work;
};

} // namespace lk::works
