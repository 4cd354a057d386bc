// Poolings and means of no elements, where the output is not empty. A mean is 0 / 0, as ONNX's own
// reference has it; but ReduceMean, "undefined" in the specification, is 0 as in ONNX Runtime.
#include <limits>

#include "tests/ops/numbers.h"
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::numbers;
using lk::OpTester;
using lk::random;
using lk::Value;

constexpr uint32_t FLOATING[] = {LK_F32, LK_F64, LK_F16, LK_BF16};
constexpr lk_layout LAYOUTS[] = {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST};

Value zeros(uint32_t dtype, const Dims &dims) {
  return numbers(dtype, dims, std::vector<double>(static_cast<size_t>(lk::count_of(dims)), 0));
}

// All bits set is a NaN in both formats of 16 bits.
Value not_numbers(uint32_t dtype, const Dims &dims) {
  const auto count = static_cast<size_t>(lk::count_of(dims));
  if (dtype == LK_F16 || dtype == LK_BF16) {
    return lk::tensor<uint16_t>(dims, std::vector<uint16_t>(count, 0xffff), dtype);
  }
  return numbers(dtype, dims, std::vector<double>(count, std::numeric_limits<double>::quiet_NaN()));
}

struct Pool {
  Dims x, kernel;
  int64_t padding = 0;
  Dims to() const {
    const Dims ones(kernel.size(), 1), pads(kernel.size(), padding);
    Dims sizes = lk::ref::conv_sizes(lk::ref::spatial(x), {kernel, ones, ones, pads, pads});
    sizes.insert(sizes.begin(), {x[0], x[1]});
    return sizes;
  }
  OpTester tester(const char *op, uint32_t dtype, lk_layout layout) const {
    OpTester tester(op, 12);
    tester.input(numbers(dtype, x, {}), layout).wish(layout).attr_ints("kernel_shape", kernel);
    tester.attr_ints("pads", Dims(2 * kernel.size(), padding));
    return tester;
  }
};

const std::vector<Pool> &all_padding() {
  static const std::vector<Pool> pools = {{{2, 3, 0, 4}, {2, 2}, 1},
                                          {{2, 3, 0, 0}, {2, 2}, 1},
                                          {{2, 3, 0}, {3}, 2},
                                          {{2, 3, 2, 4, 0}, {3, 2, 2}, 1}};
  return pools;
}

TEST(EmptyAveragePool, IsNoNumberUnlessPaddingCounts) {
  for (const Pool &pool : all_padding()) {
    for (uint32_t dtype : FLOATING) {
      for (lk_layout layout : LAYOUTS) {
        SCOPED_TRACE(lk::text_of(pool.x) + " of type " + std::to_string(dtype));
        const OpTester tester = pool.tester("AveragePool", dtype, layout);
        OpTester(tester).expect(not_numbers(dtype, pool.to())).run();
        OpTester(tester).attr("count_include_pad", 1).expect(zeros(dtype, pool.to())).run();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(EmptyAveragePool, HasPostOps) {
  const Pool pool = all_padding()[0];
  const Value residual = random(pool.to(), 1);
  pool.tester("AveragePool", LK_F32, LK_LAYOUT_CHANNELS_LAST)
      .attr("count_include_pad", 1)
      .input(residual)
      .post_op(LK_POST_ADD, 0, 0, 1)
      .post_op(LK_POST_RELU)
      .expect(lk::ref::apply(residual, {LK_POST_RELU, -1, 0, 0}))
      .run();
}

// Nothing is the largest of no elements: numpy has no identity for it, ONNX Runtime refuses it.
TEST(EmptyMaxPool, IsNotDefined) {
  for (const Pool &pool : all_padding()) {
    for (uint32_t dtype : {LK_F32, LK_F64, LK_U8}) {
      OpTester tester = pool.tester("MaxPool", dtype, LK_LAYOUT_PLAIN);
      OpTester(tester).expect_bind(LK_INVALID_ARGUMENT, "the largest of no elements");
      tester.expect(Value()).expect(Value()); // two outputs
      tester.expect_bind(LK_INVALID_ARGUMENT, "the largest of no elements");
    }
  }
}

TEST(EmptyPools, OfNoBatchOrNoChannelsAreEmpty) {
  for (const Pool &pool : {Pool{{0, 3, 4, 4}, {2, 2}, 1}, Pool{{2, 0, 4, 4}, {2, 2}, 1},
                           Pool{{2, 0, 0, 4}, {2, 2}, 1}, Pool{{0, 3, 5}, {3}}}) {
    for (lk_layout layout : LAYOUTS) {
      const Value y = zeros(LK_F32, pool.to());
      pool.tester("AveragePool", LK_F32, layout).expect(y).run();
      pool.tester("MaxPool", LK_F32, layout).expect(y).run();
      pool.tester("MaxPool", LK_F32, layout).expect(y).expect(zeros(LK_I64, pool.to())).run();
      if (HasFatalFailure()) return;
    }
  }
  OpTester("MaxPool", 12)
      .input(random({2, 3, 0, 4}, 1))
      .attr_ints("kernel_shape", {2, 2})
      .attr_text("auto_pad", "SAME_UPPER")
      .expect(random({2, 3, 0, 4}, 1))
      .run();
}

TEST(EmptyGlobalAveragePool, IsNoNumber) {
  for (const Dims &dims : {Dims{2, 3, 0, 4}, Dims{2, 3, 0, 0}, Dims{2, 3, 0}, Dims{2, 3, 4, 0, 4},
                           Dims{0, 3, 4, 4}, Dims{2, 0, 4, 4}, Dims{2, 0, 0, 4}}) {
    Dims to(dims.size(), 1);
    to[0] = dims[0];
    to[1] = dims[1];
    for (uint32_t dtype : FLOATING) {
      for (lk_layout layout : LAYOUTS) {
        SCOPED_TRACE(lk::text_of(dims) + " of type " + std::to_string(dtype));
        OpTester("GlobalAveragePool", 7)
            .input(numbers(dtype, dims, {}), layout)
            .expect(not_numbers(dtype, to))
            .run();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// No byte is no number.
TEST(EmptyGlobalAveragePool, OfBytesIsRefused) {
  const auto scale = lk::tensor<float>({}, {0.5f});
  const auto zero = lk::tensor<uint8_t>({}, {3});
  for (const Dims &dims : {Dims{2, 3, 0, 4}, Dims{2, 3, 0}, Dims{2, 0, 4, 4}, Dims{0, 3, 4, 4}}) {
    SCOPED_TRACE(lk::text_of(dims));
    OpTester tester("QLinearGlobalAveragePool", 1);
    tester.domain("com.microsoft").input(lk::tensor<uint8_t>(dims, {}));
    for (int i = 0; i < 2; i++) tester.input(scale).input(zero);
    if (dims[0] * dims[1] > 0) {
      tester.expect_bind(LK_INVALID_ARGUMENT, "one with elements");
    } else {
      tester.expect(lk::tensor<uint8_t>({dims[0], dims[1], 1, 1}, {})).run();
    }
    if (HasFatalFailure()) return;
  }
}

TEST(EmptyReduceMean, IsZeroOverEverySubsetOfAxes) {
  for (const Dims &dims : {Dims{0}, Dims{0, 3}, Dims{3, 0}, Dims{0, 0}, Dims{2, 0, 3},
                           Dims{2, 3, 0, 4}, Dims{2, 3, 0, 0}, Dims{0, 3, 4, 5}}) {
    const Value x = random(dims, 1);
    for (uint32_t mask = 1; mask < 1U << dims.size(); mask++) {
      for (bool keep : {true, false}) {
        SCOPED_TRACE(lk::text_of(dims) + " axes " + std::to_string(mask) + (keep ? " kept" : ""));
        Dims to;
        std::vector<int64_t> axes, negative;
        for (size_t i = 0; i < dims.size(); i++) {
          const bool reduced = (mask >> i & 1) != 0;
          if (!reduced || keep) to.push_back(reduced ? 1 : dims[i]);
          if (!reduced) continue;
          axes.push_back(static_cast<int64_t>(i));
          negative.push_back(axes.back() - static_cast<int64_t>(dims.size()));
        }
        const Value y = zeros(LK_F32, to);
        OpTester("ReduceMean", 13)
            .attr_ints("axes", negative)
            .attr("keepdims", keep)
            .input(x, dims.size() >= 3 ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN)
            .expect(y)
            .run();
        OpTester("ReduceMean", 18)
            .attr("keepdims", keep)
            .input(x)
            .input(lk::ints(axes))
            .expect(y)
            .run();
        if (HasFatalFailure()) return;
      }
    }
    OpTester("ReduceMean", 18)
        .attr("noop_with_empty_axes", 1)
        .input(x)
        .input(lk::ints({}))
        .expect(x)
        .run();
  }
}

} // namespace
