// BatchNormalization at inference and LRN against the formulas of the specification, and what
// SkipLayerNormalization refuses.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::OpTester;
using lk::random;
using lk::Value;

struct BatchNorm {
  Value x, scale, shift, mean, variance;
  float epsilon = 1e-5F;

  BatchNorm(const Dims &dims, unsigned seed)
      : x(random(dims, seed)), scale(random({dims[1]}, seed + 1)),
        shift(random({dims[1]}, seed + 2)), mean(random({dims[1]}, seed + 3)),
        variance(random({dims[1]}, seed + 4, 0.1F, 2)) {}

  Value y() const {
    std::vector<double> out;
    const std::vector<float> v = x.as<float>(), s = scale.as<float>(), b = shift.as<float>(),
                             m = mean.as<float>(), u = variance.as<float>();
    size_t i = 0;
    lk::ref::each(x.dims(), [&](const Dims &at) {
      const auto c = static_cast<size_t>(at[1]);
      const double centred = static_cast<double>(v[i++]) - static_cast<double>(m[c]);
      out.push_back(centred / std::sqrt(static_cast<double>(u[c]) + static_cast<double>(epsilon)) *
                        static_cast<double>(s[c]) +
                    static_cast<double>(b[c]));
    });
    return lk::ref::make(x.dims(), out);
  }
  OpTester tester(lk_layout layout, bool constant) const {
    OpTester t("BatchNormalization", 15);
    t.attr_float("epsilon", epsilon).input(x, layout);
    for (const Value *value : {&scale, &shift, &mean, &variance}) {
      if (constant)
        t.constant(*value);
      else
        t.input(*value);
    }
    return t;
  }
};

// Where its rows are scaled alike, and there is nothing to add, too.
TEST(LayerNorm, IsOneStep) {
  const Value x = random({4, 6}, 1), row = random({6}, 2);
  for (const bool has_shift : {false, true}) {
    OpTester tester("LayerNormalization", 17);
    tester.input(x).constant(row);
    if (has_shift) tester.constant(row);
    EXPECT_EQ(tester.work_of_steps().steps, 1u);
  }
}

TEST(BatchNormalization, MatchesPlainLoops) {
  for (const Dims &dims :
       {Dims{3, 7}, Dims{2, 3, 9}, Dims{2, 5, 4, 3}, Dims{1, 16, 6, 6}, Dims{2, 3, 2, 3, 2}}) {
    SCOPED_TRACE(lk::text_of(dims));
    BatchNorm norm(dims, 1);
    for (bool constant : {true, false}) {
      norm.epsilon = constant ? 1e-5F : 0.1F;
      norm.tester(LK_LAYOUT_PLAIN, constant).expect(norm.y()).run();
      norm.tester(LK_LAYOUT_PLAIN, constant)
          .wish(LK_LAYOUT_PLAIN)
          .in_place(0)
          .expect(norm.y())
          .run();
      if (dims.size() < 3) continue;
      norm.tester(LK_LAYOUT_CHANNELS_LAST, constant)
          .expect_layout(LK_LAYOUT_CHANNELS_LAST)
          .expect_reorders(0)
          .expect(norm.y())
          .run();
      norm.tester(LK_LAYOUT_CHANNELS_LAST, constant).in_place(0).expect(norm.y()).run();
    }
  }
}

// Both layouts, whatever the wish, without a reorder behind.
TEST(BatchNormalization, KeepsItsLayout) {
  BatchNorm norm({2, 5, 4, 3}, 7);
  for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    norm.tester(layout, true)
        .post_op(LK_POST_RELU)
        .expect_layout(layout)
        .expect_reorders(0)
        .expect(lk::ref::apply(norm.y(), {LK_POST_RELU, -1, 0, 0}))
        .run();
  }
}

TEST(BatchNormalization, OfNothingIsNothing) {
  BatchNorm norm({0, 3, 4, 4}, 1);
  norm.tester(LK_LAYOUT_PLAIN, true).expect(norm.y()).run();
}

TEST(BatchNormalization, NamesWhatIsWrong) {
  const Value c = random({3}, 1);
  const auto norm = [](const Value &x, const Value &a, const Value &b) {
    OpTester tester("BatchNormalization", 15);
    tester.input(x).input(a).input(b).input(b).input(b);
    return tester;
  };
  norm(random({2, 4, 5}, 1), c, c).expect_bind(LK_INVALID_ARGUMENT, "'scale' is 3:f32");
  norm(random({2, 3, 5}, 1), c, random({3, 1}, 1)).expect_bind(LK_INVALID_ARGUMENT, "'B'");
  norm(random({3}, 1), c, c).expect_bind(LK_INVALID_ARGUMENT, "rank 1");
  norm(lk::iota<double>({2, 3}), c, c).expect_bind(LK_UNSUPPORTED, "f64");
  norm(random({2, 3}, 1), c, c).attr("spatial", 0).expect_create(LK_INVALID_ARGUMENT, "opset 8");
  OpTester("BatchNormalization", 8)
      .attr("spatial", 0)
      .input(random({2, 3}, 1))
      .input(c)
      .input(c)
      .input(c)
      .input(c)
      .expect_create(LK_UNSUPPORTED, "'spatial' is 0");
}

Value lrn(const Value &x, int64_t size, double alpha, double beta, double bias) {
  const Dims dims = x.dims();
  const std::vector<float> v = x.as<float>();
  std::vector<double> out;
  lk::ref::each(dims, [&](const Dims &at) {
    double squares = 0;
    const int64_t first = at[1] - (size - 1) / 2, last = at[1] + size / 2;
    for (int64_t c = std::max<int64_t>(first, 0); c <= std::min(last, dims[1] - 1); c++) {
      Dims there = at;
      there[1] = c;
      const double value = static_cast<double>(v[lk::ref::offset(dims, there)]);
      squares += value * value;
    }
    out.push_back(static_cast<double>(v[lk::ref::offset(dims, at)]) /
                  std::pow(bias + alpha / static_cast<double>(size) * squares, beta));
  });
  return lk::ref::make(dims, out);
}

TEST(LRN, MatchesPlainLoops) {
  for (const Dims &dims : {Dims{2, 5, 4, 3}, Dims{1, 16, 5, 5}, Dims{1, 3, 2, 2}}) {
    for (int64_t size : {1, 3, 5}) {
      for (float beta : {0.75F, 0.5F, 1.0F, 0.6F}) {
        SCOPED_TRACE(lk::text_of(dims) + " size " + std::to_string(size));
        const Value x = random(dims, 1, -3, 3);
        const auto b = static_cast<double>(beta);
        for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
          OpTester("LRN", 13)
              .attr("size", size)
              .attr_float("alpha", 0.5F)
              .attr_float("beta", beta)
              .attr_float("bias", 2)
              .input(x, layout)
              .expect_reorders(0)
              .expect(lrn(x, size, 0.5, b, 2))
              .run();
        }
      }
    }
  }
  const Value x = random({1, 7, 3, 3}, 1, -3, 3);
  OpTester("LRN", 13).attr("size", 3).input(x).expect(lrn(x, 3, 1e-4, 0.75, 1)).run();
}

TEST(LRN, NamesWhatIsWrong) {
  const Value x = random({1, 3, 2, 2}, 1);
  OpTester("LRN", 13).input(x).expect_create(LK_INVALID_ARGUMENT, "'size' is missing");
  OpTester("LRN", 13).attr("size", 0).input(x).expect_create(LK_OUT_OF_RANGE, "'size' is 0");
  OpTester("LRN", 13)
      .attr("size", 3)
      .input(random({3}, 1))
      .expect_bind(LK_INVALID_ARGUMENT, "rank");
  OpTester("LRN", 13)
      .attr("size", 3)
      .input(lk::iota<int8_t>({1, 3, 2, 2}))
      .expect_bind(LK_UNSUPPORTED, "i8");
}

// Each of what is added or multiplied must fit the rows: it would be read beyond its end.
// As many numbers as a row has, but along the dimension before it.
TEST(LayerNormalization, ScalesAlongOtherDimensionsThanThoseOfItsSums) {
  const Value x = lk::random({2, 4, 4}, 1), scale = lk::random({4, 1}, 2);
  const std::vector<float> from = x.as<float>(), by = scale.as<float>();
  std::vector<double> to;
  for (size_t row = 0; row < 8; row++) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < 4; i++) mean += double(from[row * 4 + i]) / 4;
    for (size_t i = 0; i < 4; i++) square += std::pow(double(from[row * 4 + i]) - mean, 2) / 4;
    for (size_t i = 0; i < 4; i++) {
      to.push_back((double(from[row * 4 + i]) - mean) / std::sqrt(square + 1e-5) *
                   double(by[row % 4]));
    }
  }
  lk::OpTester("LayerNormalization", 17)
      .attr("axis", -1)
      .input(x)
      .input(scale)
      .expect(lk::ref::make({2, 4, 4}, to))
      .run();
}

TEST(SkipLayerNormalization, NamesWhatDoesNotFit) {
  const char *const names[] = {"skip", "scale", "bias", "bias of the input"};
  for (size_t wrong = 0; wrong < std::size(names); wrong++) {
    OpTester tester("SkipLayerNormalization", 1);
    tester.domain("com.microsoft").input(random({2, 3, 4}, 1));
    tester.input(random(wrong == 0 ? Dims{2, 3, 3} : Dims{2, 3, 4}, 2));
    for (size_t i = 1; i < std::size(names); i++) {
      tester.input(random({wrong == i ? 5 : 4}, 3));
    }
    tester.expect_bind(LK_INVALID_ARGUMENT, "the " + std::string(names[wrong]) + " is");
  }
}

} // namespace
