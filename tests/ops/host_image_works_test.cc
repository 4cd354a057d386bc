// Works of hosts that have windows, groups, axes and scales (op_register's `work`), at random.
// Right ones have the bits of the ONNX operator of native, by onednn and auto its numbers, and
// those of plain loops. Where a field is broken, the work is refused with the name of the field, or
// it is what the loops make of it. A case is made from its number alone.
//
// LK_TEST_HOST_WORKS says how many, LK_TEST_HOST_WORKS_FIRST the number of the first.
#include <cfloat>

#include "tests/ops/host_works_draw.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::HostWork;
using lk::numbers_of;
using lk::Outcome;
using lk::works::Drawing;
using lk::works::Drawn;
using ::testing::HasSubstr;

constexpr int kCases = 3000;

// ---- numbers ----

int64_t terms_of(const HostWork &of) {
  const lk_work &work = of.says.work;
  const Dims x = of.inputs[0].dims();
  int64_t terms = 1;
  if (lk::count_of(of.out) == 0) return terms; // nobody was asked, and all may be broken
  for (uint32_t i = 0; i < work.window.rank; i++) terms *= work.window.kernel[i];
  if (work.kind == LK_WORK_CONV || work.kind == LK_WORK_CONV_TRANSPOSED) {
    terms *= x[1] / work.groups;
  }
  for (size_t i = 0; work.kind == LK_WORK_REDUCE && i < x.size(); i++) {
    if ((work.axes >> i & 1) != 0) terms *= x[i];
  }
  return terms;
}

// Halves are rounded once, from f32 computed in another order: to neighbours at most. A norm
// divides by a deviation that may be small.
lk::Within within(const HostWork &of) {
  const uint32_t dtype = of.inputs[0].desc.dtype;
  lk::Within bound = lk::of_sums(terms_of(of));
  bound.atol += of.says.work.kind == LK_WORK_GROUP_NORM ? 2e-4 : 1e-5;
  if (dtype == LK_F16) bound.rtol = 1.0 / 1024;
  if (dtype == LK_BF16) bound.rtol = 1.0 / 128;
  return bound;
}

// Whether plain loops in double are near what f32 makes, whose numbers end before, and where a last
// bit may decide which element is the nearest one.
bool is_comparable(const HostWork &of) {
  const lk_work &work = of.says.work;
  const lk_work_resize &resize = work.resize;
  const auto lies = [](double value, double low, double high) {
    return value >= low && value <= high;
  };
  if (lk::count_of(of.out) == 0) return false; // nobody was asked
  if (lk::count_of(of.inputs[0].dims()) == 0) return work.kind == LK_WORK_CONV;
  switch (work.kind) {
  case LK_WORK_CONV:
  case LK_WORK_CONV_TRANSPOSED:
  case LK_WORK_POOL:
    return terms_of(of) < 4096;
  case LK_WORK_LRN:
    return lies(double(work.lrn.alpha), 0, 1) && lies(double(work.lrn.beta), 0, 1) &&
           lies(double(work.lrn.bias), 0.5, 2);
  case LK_WORK_GROUP_NORM:
  case LK_WORK_BATCH_NORM:
    return lies(double(work.epsilon), 1e-4, 10);
  case LK_WORK_REDUCE:
    return true;
  case LK_WORK_RESIZE:
    for (size_t i = 0; i < of.out.size(); i++) {
      if (resize.coordinates == LK_COORDINATES_TF_CROP_AND_RESIZE &&
          (!lies(resize.start[i], -2, 2) || !lies(resize.end[i], -2, 2))) {
        return false;
      }
    }
    return resize.nearest <= LK_NEAREST_CEIL && lies(double(resize.cubic), -1, 1) &&
           !(std::fabs(resize.extrapolation) > 100);
  default:
    return false;
  }
}

// ---- broken fields ----

// What it breaks, by the parts of sentences that may name it.
using Names = std::vector<std::string>;

class Breaking {
public:
  Breaking(unsigned seed, HostWork *of) : draw_(seed), of_(of), work_(of->says.work) {}

  Names break_one() {
    const int64_t which = draw_.in(0, 9);
    if (which == 0) return break_roles();
    if (which == 1) return break_inputs();
    if (which == 2) return break_out();
    switch (work_.kind) {
    case LK_WORK_CONV:
    case LK_WORK_CONV_TRANSPOSED:
      return which == 3 ? whole(&work_.groups, "groups") : break_window();
    case LK_WORK_POOL:
      return which == 3 ? choice(&work_.pooling, "pooling") : break_window();
    case LK_WORK_LRN:
      return break_lrn();
    case LK_WORK_GROUP_NORM:
      if (which < 6) return whole(&work_.groups, "groups");
      return which < 8 ? real(&work_.epsilon, "epsilon")
                       : choice(&work_.is_centered, "is_centered");
    case LK_WORK_BATCH_NORM:
      return real(&work_.epsilon, "epsilon");
    case LK_WORK_REDUCE:
      return which < 6 ? choice(&work_.reducing, "reducing") : choice(&work_.axes, "axes");
    case LK_WORK_RESIZE:
      return break_resize();
    default:
      return {""};
    }
  }

private:
  Names whole(int64_t *value, const char *name) {
    const int64_t now = *value, high = INT64_C(1) << 40;
    const int64_t less = int64_t(uint64_t(now) - 1), more = int64_t(uint64_t(now) + 1);
    *value = draw_.of<int64_t>({0, -1, 1, 2, 3, 7, less, more, INT32_MAX, INT64_C(1) + INT32_MAX,
                                high, high + 1, high << 20, INT64_MAX, INT64_MIN});
    return {name};
  }
  Names choice(uint32_t *value, const char *name) {
    const uint32_t now = *value;
    *value = draw_.of<uint32_t>(
        {0, 1, 2, 3, now + 1, now ^ 4, 10, 255, 256, UINT32_MAX, uint32_t(1) << draw_.in(0, 31)});
    return {name};
  }
  double odd(double now) {
    return draw_.of<double>({0, -0.0, 1, -1, 1.05 * now, 0.95 * now, -now, double(NAN), HUGE_VAL,
                             -HUGE_VAL, 1e-300, 4.9e-324, 1e308, 0x1p62, 0x1p-62});
  }
  Names real(float *value, const char *name) {
    const double made = odd(double(*value));
    *value = std::isfinite(made) ? float(std::max(-1e38, std::min(1e38, made))) : float(made);
    return {name};
  }
  Names real(double *values, const char *name) {
    double &value = values[draw_.in(0, LK_MAX_RANK - 1)];
    value = odd(value);
    return {name};
  }

  Names break_roles() {
    if (draw_.maybe()) {
      work_.n_post_ops = uint32_t(draw_.in(1, 20));
      return {"post-ops"};
    }
    work_.roles ^= 1u << draw_.in(0, 31);
    return {"roles are", "the bias is", "inputs[", "input "};
  }
  Names break_inputs() {
    of_->says.inputs[draw_.in(0, LK_ROLE_SHIFT)] = draw_.of<uint32_t>({0, 1, 2, 3, 64, UINT32_MAX});
    return {"inputs[", "the tensor of LK_ROLE_", "the bias is"};
  }
  Names break_out() {
    Dims &out = of_->out;
    const int64_t how = draw_.in(0, 2);
    if (how == 0 || out.empty()) out.insert(out.begin(), 1);
    if (how == 1) out.erase(out.begin() + draw_.in(0, int64_t(out.size()) - 1));
    if (how == 2) {
      int64_t &dim = out[size_t(draw_.in(0, int64_t(out.size()) - 1))];
      dim = std::max<int64_t>(0, dim + draw_.in(-1, 2));
    }
    out.resize(std::min<size_t>(out.size(), LK_MAX_RANK));
    return {"output"};
  }
  Names break_window() {
    lk_window_shape &window = work_.window;
    const int64_t which = draw_.in(0, 6), i = draw_.in(0, LK_MAX_SPATIAL - 1);
    if (which == 6) return choice(&window.rank, "window.rank");
    if (work_.kind == LK_WORK_CONV_TRANSPOSED && which == 5 && 2 + size_t(i) < of_->out.size()) {
      of_->out[2 + size_t(i)] += window.out[i] < 20 ? 3 : 0; // beyond what windows reach
      window.out[i] = of_->out[2 + size_t(i)];
      return {"window.out"};
    }
    int64_t *const lists[] = {window.kernel, window.strides, window.dilations,
                              window.begin,  window.end,     window.out};
    return whole(&lists[which][i], "window");
  }
  Names break_lrn() {
    lk_work_lrn &lrn = work_.lrn;
    const int64_t which = draw_.in(0, 3);
    if (which == 0) return whole(&lrn.size, "lrn.size");
    if (which == 1) return real(&lrn.alpha, "lrn.alpha");
    return which == 2 ? real(&lrn.beta, "lrn.beta") : real(&lrn.bias, "lrn.bias");
  }
  Names break_resize() {
    lk_work_resize &of = work_.resize;
    switch (draw_.in(0, 11)) {
    case 0:
      return choice(&of.interpolation, "resize.interpolation");
    case 1:
      return choice(&of.coordinates, "resize.coordinates");
    case 2:
      return choice(&of.nearest, "resize.nearest");
    case 3:
      return choice(&of.antialias, "resize.antialias");
    case 4:
      return choice(&of.exclude_outside, "resize.exclude_outside");
    case 5:
      return choice(&of.rounded, "resize.rounded");
    case 6:
      return real(&of.cubic, "resize.cubic");
    case 7:
      return real(&of.extrapolation, "resize.extrapolation");
    case 8:
      return real(of.up, "resize.up[");
    case 9:
      return real(of.down, "resize.down[");
    case 10:
      return real(of.start, "resize.start[");
    default:
      return real(of.end, "resize.end[");
    }
  }

  Draw draw_;
  HostWork *of_;
  lk_work &work_;
};

// ---- engines ----

class HostImageWorks : public lk::HostWorksTest {
protected:
  // By all engines, which agree; where broken numbers may be those at which f32 ends, on the status
  // alone. False: it was refused.
  bool run_all(const std::string &name, bool is_broken, Outcome *by_native) {
    for (const lk::HostSide &side : sides) {
      SCOPED_TRACE(side.engine);
      Outcome found;
      run(side, name, &found);
      if (HasFatalFailure()) return false;
      if (&side == &sides[0]) *by_native = found;
      EXPECT_EQ(found.status, by_native->status) << found.message;
      if (found.status != LK_OK || by_native->status != LK_OK) continue;
      EXPECT_EQ(found.out.desc.dtype, now.inputs[0].desc.dtype);
      EXPECT_EQ(found.out.dims(), now.out);
      EXPECT_EQ(found.flops, by_native->flops);
      if (is_broken && !is_comparable(now)) continue;
      EXPECT_TRUE(
          lk::all_close(now.out, numbers_of(by_native->out), numbers_of(found.out), within(now)));
    }
    return by_native->status == LK_OK && !HasFailure();
  }
  void expect_computed(const Outcome &found) {
    if (!is_comparable(now)) return;
    EXPECT_TRUE(
        lk::all_close(now.out, lk::works::computed(now), numbers_of(found.out), within(now)));
    n_compared++;
  }
  // The operator by native, of the same tensors in the same layouts.
  void run_twin(const Drawn &drawn, const std::string &name, Outcome *to) {
    HostWork given = drawn.work;
    lk::TestNode node = drawn.twin;
    node.name = name;
    for (const lk::Value &each : drawn.extra) {
      given.inputs.push_back(each);
      given.layouts.push_back(LK_LAYOUT_PLAIN);
      given.n_constants++;
    }
    sides[0].run(node, given, to);
  }

  void check_right(int seed) {
    const Drawn drawn = Drawing(unsigned(seed)).make();
    now = drawn.work;
    SCOPED_TRACE("case " + std::to_string(seed) + ", " + lk::text_of(now));
    Outcome found, right;
    const bool is_there = run_all(std::to_string(seed), false, &found);
    if (HasFailure()) return;
    if (drawn.has_twin) {
      run_twin(drawn, "twin" + std::to_string(seed), &right);
      if (HasFatalFailure()) return;
      ASSERT_EQ(found.status, right.status) << found.message << right.message;
      EXPECT_EQ(found.out.bytes, right.out.bytes) << "other bits than " << drawn.twin.op;
      if (lk::count_of(now.inputs[0].dims()) > 0) {
        EXPECT_EQ(found.flops, right.flops);
      }
    } else {
      ASSERT_EQ(found.status, LK_OK) << found.message;
    }
    if (is_there) expect_computed(found);
  }

  void check_broken(int seed) {
    now = Drawing(unsigned(seed)).make().work;
    Breaking breaking(unsigned(seed) + 1, &now);
    Names names = breaking.break_one();
    if (seed % 4 == 0) {
      const Names more = breaking.break_one();
      names.insert(names.end(), more.begin(), more.end());
    }
    SCOPED_TRACE("case " + std::to_string(seed) + ", " + lk::text_of(now));
    Outcome found;
    if (run_all(std::to_string(seed), true, &found)) {
      expect_computed(found);
      n_run++;
      return;
    }
    if (HasFailure()) return;
    const auto names_it = [&](const std::string &name) {
      return found.message.find(name) != std::string::npos;
    };
    EXPECT_THAT(found.message, HasSubstr("failed to bind Scaled"));
    if (found.status != LK_INTERNAL) { // what kernels do not do
      EXPECT_TRUE(names_it("largest of no elements") || names_it("product of the strides") ||
                  names_it("tables of"))
          << found.message;
      return;
    }
    EXPECT_THAT(found.message, HasSubstr("'work' describes work "));
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), names_it))
        << found.message << ", which does not name " << ::testing::PrintToString(names);
    n_refused++;
  }

  int n_run = 0, n_refused = 0, n_compared = 0;
};

TEST_F(HostImageWorks, AreWhatOperatorsCompute) {
  const int count = check_all(kCases, [this](int seed) { check_right(seed); });
  if (count < 200) return; // only some were asked for
  EXPECT_GT(n_compared, count / 2);
  expect_offers(count);
}

TEST_F(HostImageWorks, AreRefusedByTheNameOfWhatIsBroken) {
  const int count = check_all(kCases, [this](int seed) { check_broken(seed); });
  if (count < 200) return; // only some were asked for
  EXPECT_GT(n_run, count / 10);
  EXPECT_GT(n_compared, count / 20);
  EXPECT_GT(n_refused, count / 4);
}

} // namespace
