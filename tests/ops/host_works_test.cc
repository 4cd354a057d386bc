// Works that hosts describe (op_register's `work`) at random, by the engines native, onednn and
// auto: all give one status and the same numbers, and a product is that of plain loops. A case is
// made from its number alone.
//
// LK_TEST_HOST_WORKS says how many, LK_TEST_HOST_WORKS_FIRST the number of the first.
#include "tests/ops/host_works.h"

namespace {

using lk::Dims;
using lk::HostWork;
using lk::numbers_of;
using lk::Outcome;
using lk::Value;
using ::testing::HasSubstr;

constexpr int kCases = 3000;
constexpr size_t kInputs = lk::kMostHostInputs;
constexpr int64_t kMostElements = 8192;

// Some of what is drawn is refused, by every engine.
class DrawnWork {
public:
  explicit DrawnWork(unsigned seed) : draw_(seed) {}

  HostWork make() {
    static const std::vector<uint32_t> kinds = {
        LK_WORK_ELEMENT,    LK_WORK_SOFTMAX, LK_WORK_LOG_SOFTMAX, LK_WORK_HARDMAX,
        LK_WORK_LAYER_NORM, LK_WORK_PRODUCT, LK_WORK_PRODUCT};
    work_.kind = draw_.of(kinds);
    take(LK_ROLE_SRC, 0);
    take(LK_ROLE_DST, 0);
    switch (work_.kind) {
    case LK_WORK_PRODUCT:
      make_product();
      break;
    case LK_WORK_ELEMENT:
      make_shapes();
      make_chain();
      break;
    case LK_WORK_LAYER_NORM:
      make_shapes();
      make_norm();
      break;
    default:
      make_shapes();
      work_.axes = axes(made_.out.size(), false);
    }
    make_tensors();
    made_.wish = draw_.of<lk_layout>(
        {LK_LAYOUT_ANY, LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_HEADS_INSIDE});
    made_.flags = (draw_.maybe() ? uint32_t(LK_BIND_RECURS) : 0) |
                  (one_in(4) ? uint32_t(LK_BIND_ONCE) : 0) |
                  (one_in(4) ? uint32_t(LK_BIND_ENGINE) : 0);
    return made_;
  }

private:
  bool one_in(int64_t n) { return draw_.in(1, n) == 1; }
  uint32_t any(uint32_t low, uint32_t high) { return uint32_t(draw_.in(low, high)); }
  float number() { return float(draw_.in(-4, 4)) / 2; }
  void take(uint32_t role, uint32_t input) {
    work_.roles |= 1u << role;
    made_.says.inputs[role] = input;
  }

  // ---- shapes ----

  Dims shape() {
    Dims dims(size_t(draw_.in(0, one_in(6) ? LK_MAX_RANK : 5)));
    int64_t left = kMostElements;
    for (int64_t &dim : dims) {
      dim = one_in(30) ? 0 : draw_.in(1, std::min<int64_t>(one_in(3) ? 19 : 4, left));
      left /= std::max<int64_t>(1, dim);
    }
    return dims;
  }
  // It broadcasts to `dims`.
  Dims repeated(Dims dims) {
    for (int64_t &dim : dims) dim = one_in(3) ? 1 : dim;
    if (!dims.empty() && one_in(4)) dims.erase(dims.begin());
    return dims;
  }
  void make_shapes() {
    dims_[0] = made_.out = shape();
    for (size_t i = 1; i < kInputs; i++) dims_[i] = repeated(made_.out);
  }
  // Of a matrix whose dimensions lie in that order.
  static Dims placed(Dims batch, int64_t rows, int64_t columns, lk_matmul_order order) {
    if (order.swaps != 0) std::swap(rows, columns);
    batch.insert(order.batch_inside != 0 ? batch.begin() : batch.end(), rows);
    batch.push_back(columns);
    return batch;
  }
  Dims some_of_one(Dims dims) {
    for (int64_t &dim : dims) dim = one_in(6) ? 1 : dim;
    return dims;
  }

  // ---- kinds ----

  void make_product() {
    const int64_t rows = draw_.in(1, 20), columns = draw_.in(1, 20);
    const int64_t k = one_in(20) ? 0 : draw_.in(1, 20);
    const Dims batch = draw_.dims(size_t(draw_.in(0, 3)), 1, 3);
    const Dims of_src = some_of_one(batch), of_weights = one_in(3) ? Dims() : some_of_one(batch);
    const bool is_row = one_in(12), is_column = one_in(12);
    for (lk_matmul_order &order : work_.orders) order = {draw_.maybe(), one_in(3)};
    dims_[0] = is_row ? Dims{k} : placed(of_src, rows, k, work_.orders[0]);
    dims_[1] = is_column ? Dims{k} : placed(of_weights, k, columns, work_.orders[1]);
    dims_[2] = dims_[3] = {1};
    made_.out = lk::ref::broadcast(is_row ? Dims() : of_src, is_column ? Dims() : of_weights);
    if (!is_row) made_.out.push_back(rows);
    if (!is_column) made_.out.push_back(columns);
    take(LK_ROLE_WEIGHTS, 1);
  }
  void make_norm() {
    work_.axes = axes(made_.out.size(), true);
    work_.epsilon = one_in(3) ? 0 : 1e-3f;
    work_.is_centered = draw_.maybe();
    if (draw_.maybe()) take(LK_ROLE_SCALE, any(1, 3));
    if (draw_.maybe()) take(LK_ROLE_SHIFT, any(1, 3));
  }
  void make_chain() {
    uint32_t operand = LK_ROLE_OPERAND;
    if (one_in(6)) take(LK_ROLE_SRC, any(0, 3));
    work_.n_post_ops = any(1, LK_WORK_POST_OPS);
    for (uint32_t i = 0; i < work_.n_post_ops; i++) {
      lk_work_post_op &of = work_.post_ops[i];
      of = {function(), 0, one_in(20) ? HUGE_VALF : number(), number()};
      const bool has_two = LK_POST_OP_IS_BINARY(of.kind) || of.kind >= LK_FUNCTION_MIN;
      if (!has_two || operand == LK_ROLES || draw_.maybe()) continue;
      take(operand, any(0, 3));
      of.operand = operand++;
    }
  }
  uint32_t function() {
    if (one_in(30)) return any(LK_FUNCTION_NOT, LK_FUNCTION_PRELU);
    if (draw_.maybe()) return any(LK_POST_RELU, LK_POST_ADD_SCALED);
    return one_in(4) ? any(LK_FUNCTION_MIN, LK_FUNCTION_POW)
                     : any(LK_FUNCTION_ABS, LK_FUNCTION_SHRINK);
  }
  uint32_t axes(size_t rank, bool to_the_last) {
    if (rank == 0) return 0;
    const uint32_t last = uint32_t(rank) - 1, first = any(0, last);
    const uint32_t end = to_the_last ? last : any(first, last);
    return ((1u << (end - first + 1)) - 1) << first;
  }

  // ---- tensors ----

  void make_tensors() { // of numbers that each type has
    const uint32_t dtype = draw_.of<uint32_t>({LK_F32, LK_F32, LK_F32, LK_F64, LK_F16, LK_BF16});
    for (const Dims &dims : dims_) {
      std::vector<double> values(size_t(lk::count_of(dims)));
      for (double &value : values) value = double(draw_.in(-128, 128)) / 64;
      made_.inputs.push_back(lk::numbers(dtype, dims, values));
      made_.layouts.push_back(draw_.layout(dims.size()));
    }
    made_.n_constants = draw_.of<uint32_t>({0, 0, 0, 1, 2, 3, 3});
    for (size_t i = kInputs - made_.n_constants; i < kInputs; i++) {
      made_.layouts[i] = LK_LAYOUT_PLAIN;
    }
  }

  lk::Draw draw_;
  std::vector<Dims> dims_ = std::vector<Dims>(kInputs);
  HostWork made_;
  lk_work &work_ = made_.says.work;
};

// ---- numbers ----

// How many numbers it sums, but for products.
int64_t terms_of(const HostWork &of) {
  int64_t terms = 1;
  for (size_t i = 0; i < of.out.size(); i++) {
    if ((of.says.work.axes >> i & 1) != 0) terms *= of.out[i];
  }
  return terms;
}

// oneDNN's logarithm of a number near 1 is some 1e-6 off, and with SSE2 its sums round at each
// step. Halves are rounded once, from f32 computed in another order: to neighbours at most.
lk::Within within(const HostWork &of) {
  const uint32_t dtype = of.inputs[0].desc.dtype;
  lk::Within bound = lk::of_sums(terms_of(of));
  bound.atol += 1e-5;
  if (dtype == LK_F16) bound.rtol = 1.0 / 1024;
  if (dtype == LK_BF16) bound.rtol = 1.0 / 128;
  return bound;
}

// As numpy.matmul takes it.
Value in_order(const Value &x, lk_matmul_order order) {
  const Dims from = x.dims();
  const std::vector<double> values = numbers_of(x);
  const size_t rank = from.size();
  if (rank < 2) return lk::ref::make(from, values);
  std::vector<size_t> lies(rank); // where dimension i lies
  std::iota(lies.begin(), lies.end(), 0);
  if (order.batch_inside != 0) std::rotate(lies.begin(), lies.begin() + 1, lies.end() - 1);
  if (order.swaps != 0) std::swap(lies[rank - 2], lies[rank - 1]);
  Dims to, place(rank);
  for (const size_t each : lies) to.push_back(from[each]);
  std::vector<double> out;
  lk::ref::each(to, [&](const Dims &at) {
    for (size_t i = 0; i < rank; i++) place[lies[i]] = at[i];
    out.push_back(values[lk::ref::offset(from, place)]);
  });
  return lk::ref::make(to, out);
}

Value product_of(const HostWork &of) {
  const lk_matmul_order *orders = of.says.work.orders;
  return lk::ref::matmul(in_order(of.inputs[0], orders[0]), in_order(of.inputs[1], orders[1]));
}

class HostWorks : public lk::HostWorksTest {
protected:
  void check(int seed) {
    now = DrawnWork(unsigned(seed)).make();
    SCOPED_TRACE("case " + std::to_string(seed) + ", " + text_of(now));
    std::vector<double> right;
    for (const lk::HostSide &side : sides) {
      SCOPED_TRACE(side.engine);
      Outcome found;
      run(side, std::to_string(seed), &found);
      if (HasFatalFailure()) return;
      if (found.status != LK_OK) {
        ASSERT_NE(now.says.work.kind, LK_WORK_PRODUCT) << found.message;
        ASSERT_EQ(found.status, LK_INTERNAL) << found.message;
        ASSERT_THAT(found.message, HasSubstr("'work' describes"));
      }
      if (&side == &sides[0]) {
        status = found.status;
        right = numbers_of(now.says.work.kind == LK_WORK_PRODUCT ? product_of(now) : found.out);
      }
      ASSERT_EQ(found.status, status) << found.message;
      if (status != LK_OK) continue;
      ASSERT_EQ(found.out.desc.dtype, now.inputs[0].desc.dtype);
      ASSERT_EQ(found.out.dims(), now.out);
      ASSERT_TRUE(lk::all_close(now.out, right, numbers_of(found.out), within(now)));
    }
    n_run += status == LK_OK ? 1 : 0;
  }

  lk_status status = LK_OK; // of `now`, by all
  int n_run = 0;
};

TEST_F(HostWorks, AreTheSameByAnyEngine) {
  const int count = check_all(kCases, [this](int seed) { check(seed); });
  if (count < 200) return; // only some were asked for
  EXPECT_GT(n_run, count / 2);
  expect_offers(count);
}

} // namespace
