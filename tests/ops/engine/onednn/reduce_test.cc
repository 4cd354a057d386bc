// Reductions by oneDNN's engine, against plain loops and against `native`: all of them, over all
// axes; and of special numbers what ONNX says.
#include <cmath>

#include "tests/ops/engine/host.h"

namespace {

using lk::Case;
using lk::Dims;
using lk::Draw;
using lk::Host;
using lk::kHasPrimitives;
using lk::Value;

struct Reduction {
  const char *op;
  double start;
  double (*add)(double total, double x);
  double (*end)(double total, double count);
  bool is_taken; // by oneDNN, over the last dimensions
};

double as_it_is(double total, double) {
  return total;
}
double sum(double total, double x) {
  return total + x;
}
double sum_of_squares(double total, double x) {
  return total + x * x;
}

const Reduction REDUCTIONS[] = {
    {"ReduceSum", 0, sum, as_it_is, true},
    {"ReduceMean", 0, sum, [](double total, double count) { return total / count; }, true},
    {"ReduceProd", 1, [](double total, double x) { return total * x; }, as_it_is, true},
    {"ReduceMax", -HUGE_VAL,
     [](double total, double x) { return std::isnan(x) || x > total ? x : total; }, as_it_is,
     false},
    {"ReduceMin", HUGE_VAL,
     [](double total, double x) { return std::isnan(x) || x < total ? x : total; }, as_it_is,
     false},
    {"ReduceL1", 0, [](double total, double x) { return total + std::fabs(x); }, as_it_is, false},
    {"ReduceL2", 0, sum_of_squares, [](double total, double) { return std::sqrt(total); }, false},
    {"ReduceSumSquare", 0, sum_of_squares, as_it_is, false},
    {"ReduceLogSum", 0, sum, [](double total, double) { return std::log(total); }, false},
    {"ReduceLogSumExp", 0, [](double total, double x) { return total + std::exp(x); },
     [](double total, double) { return std::log(total); }, false},
};

Value in_loops(const Reduction &of, const Value &x, uint32_t mask, bool keeps) {
  const Dims dims = x.dims();
  const std::vector<float> values = x.as<float>();
  Dims kept, to;
  double count = 1;
  for (size_t i = 0; i < dims.size(); i++) {
    const bool is_along = (mask >> i & 1) != 0;
    kept.push_back(is_along ? 1 : dims[i]);
    count *= is_along ? double(dims[i]) : 1;
    if (keeps || !is_along) to.push_back(kept[i]);
  }
  std::vector<double> totals(size_t(lk::count_of(kept)), of.start);
  size_t next = 0;
  lk::ref::each(dims, [&](const Dims &at) {
    double &total = totals[lk::ref::broadcast_offset(kept, at)];
    total = of.add(total, double(values[next++]));
  });
  for (double &total : totals) total = of.end(total, count);
  return lk::ref::make(to, totals);
}

Case case_of(const Reduction &of, const Value &x, uint32_t mask, bool keeps) {
  Case made;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x.dims().size(); i++) {
    if ((mask >> i & 1) != 0) axes.push_back(int64_t(i));
  }
  made.node.op = of.op;
  made.node.opset = 11;
  made.node.ints = {{"axes", axes}, {"keepdims", {keeps ? 1 : 0}}};
  made.inputs = {x};
  return made;
}

TEST(Reductions, AreThoseOfPlainLoopsAndOfNative) {
  Draw draw(1);
  Host onednn("onednn"), native("native");
  for (int i = 0; i < 1500; i++) {
    const Reduction &of = REDUCTIONS[draw.in(0, int64_t(std::size(REDUCTIONS)) - 1)];
    const size_t rank = size_t(draw.in(1, 5));
    const Value x = lk::random(draw.dims(rank, 1, draw.maybe() ? 4 : 9), draw.seed(), 0.5F, 1.5F);
    const uint32_t mask = draw.maybe()
                              ? ((1U << rank) - 1) & ~((1U << draw.in(0, int64_t(rank) - 1)) - 1)
                              : uint32_t(draw.in(1, (1 << rank) - 1));
    const bool keeps = draw.maybe();
    Case each = case_of(of, x, mask, keeps);
    each.layout = draw.layout(rank);
    each.wish = keeps ? draw.wish(rank) : lk_layout(LK_LAYOUT_ANY);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + of.op);
    const Value expected = in_loops(of, x, mask, keeps);
    lk::expect_of_both(&native, &onednn, each, expected);
    if (HasFatalFailure()) return;
  }
  if (kHasPrimitives) {
    EXPECT_GT(onednn.works(), 100u);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

TEST(Reductions, AreTakenThatAreAsOnnxSaysForSpecialNumbers) {
  Host onednn("onednn");
  const std::vector<std::vector<float>> rows = {
      {1, 2, 3, 4},           {NAN, 1, 2, 3},
      {3, 2, 1, NAN},         {INFINITY, 1, 2, INFINITY},
      {1, NAN, INFINITY, 2},  {-INFINITY, 1, -2, 3},
      {1e-40F, 1e-40F, 0, 0}, {0, -1, 2, 3},
      {INFINITY, 0, 1, 2},    {1, -INFINITY, 3, 1e30F},
      {1e30F, 1e30F, 1, 1},   {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
  std::vector<float> values;
  for (const auto &row : rows) values.insert(values.end(), row.begin(), row.end());
  const Value x = lk::tensor<float>({int64_t(rows.size()), 4}, values);
  for (const Reduction &of : REDUCTIONS) {
    SCOPED_TRACE(of.op);
    const uint64_t before = onednn.works();
    Value computed;
    onednn.run(case_of(of, x, 2, false), &computed);
    if (HasFatalFailure()) return;
    EXPECT_EQ(onednn.works() - before, of.is_taken && kHasPrimitives ? 1u : 0u);
    const Value expected = in_loops(of, x, 2, false);
    for (size_t i = 0; of.is_taken && i < rows.size(); i++) {
      const float right = expected.as<float>()[i], found = computed.as<float>()[i];
      EXPECT_TRUE(std::isnan(right)
                      ? std::isnan(found)
                      : right == found || std::fabs(right - found) <= 1e-6F * std::fabs(right))
          << "row " << i << ": " << found << ", not " << right;
    }
  }
}

// oneDNN adds one element after the other, and so loses digits of long ones.
TEST(Reductions, OfLongLinesAreLeft) {
  Host onednn("onednn");
  for (const int64_t length : {4096, 4097, 1 << 20}) {
    const uint64_t before = onednn.works();
    const Value x = lk::tensor<float>({2, length}, std::vector<float>(size_t(2 * length), 0.1F));
    Value computed;
    onednn.run(case_of(REDUCTIONS[0], x, 2, false), &computed);
    if (HasFatalFailure()) return;
    const bool is_taken = length == 4096 && kHasPrimitives;
    EXPECT_EQ(onednn.works() - before, is_taken ? 1u : 0u);
    EXPECT_NEAR(double(computed.as<float>()[1]) / double(length), double(0.1F),
                5e-7 * (is_taken ? 10 : 1));
  }
}

} // namespace
