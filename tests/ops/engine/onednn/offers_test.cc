// Offers of oneDNN's module at their borders: the largest work that is taken, and the smallest one
// that is estimated to be worth it.
#include "tests/ops/engine/onednn/module.h"

namespace {

using lk::Dims;

lk_work work_of(lk_work_kind kind, uint32_t dtype, const Dims &src, const Dims &dst,
                lk_layout layout = LK_LAYOUT_PLAIN) {
  lk_work work = {};
  work.kind = uint32_t(kind);
  work.roles = 1U << LK_ROLE_SRC | 1U << LK_ROLE_DST;
  work.tensors[LK_ROLE_SRC] = lk::desc_of(dtype, src, layout);
  work.tensors[LK_ROLE_DST] = lk::desc_of(dtype, dst, layout);
  return work;
}

// A mean over lines of `in` elements, of which each window takes one.
lk_work pooling(int64_t in) {
  lk_work work = work_of(LK_WORK_POOL, LK_F32, {1, 16, in}, {1, 16, in}, LK_LAYOUT_CHANNELS_LAST);
  work.pooling = LK_POOLING_MEAN;
  work.window.rank = 1;
  work.window.kernel[0] = work.window.strides[0] = work.window.dilations[0] = 1;
  work.window.out[0] = in;
  return work;
}

class Offers : public ::testing::Test {
protected:
  const lk::Module module;
};

TEST_F(Offers, TakeWindowsUpToEachLimit) {
  constexpr int64_t most = 1 << 14, most_positions = 1 << 20;
  const struct {
    const char *what;
    int64_t *(*of)(lk_window_shape *);
    int64_t most;
  } members[] = {{"kernel", [](lk_window_shape *of) { return &of->kernel[0]; }, most},
                 {"strides", [](lk_window_shape *of) { return &of->strides[0]; }, most},
                 {"begin", [](lk_window_shape *of) { return &of->begin[0]; }, most},
                 {"end", [](lk_window_shape *of) { return &of->end[0]; }, most},
                 {"out", [](lk_window_shape *of) { return &of->out[0]; }, most_positions}};
  for (const auto &member : members) {
    SCOPED_TRACE(member.what);
    lk_work work = pooling(2 * most_positions);
    work.window.out[0] = 1;
    *member.of(&work.window) = member.most;
    EXPECT_TRUE(module.offers(work).is_made) << module.offers(work).reason;
    *member.of(&work.window) = member.most + 1;
    EXPECT_FALSE(module.offers(work).is_made);
    EXPECT_EQ(module.offers(work).reason, "the window is too large");
  }
}

// Tensors that lie already are taken as they lie, or not at all.
TEST_F(Offers, LeaveWhatLiesInAnotherLayout) {
  const Dims dims = {2, 6, 4, 8};
  for (const lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    lk_work one = work_of(LK_WORK_SOFTMAX, LK_F32, dims, dims, layout);
    lk_work two = one, norm = work_of(LK_WORK_LAYER_NORM, LK_F32, dims, dims, layout);
    one.axes = 8, two.axes = norm.axes = 12;
    norm.is_centered = 1;
    EXPECT_TRUE(module.offers(one).is_made) << module.offers(one).reason;
    EXPECT_EQ(module.offers(two).is_made, layout == LK_LAYOUT_PLAIN);
    EXPECT_EQ(module.offers(norm).is_made, layout == LK_LAYOUT_PLAIN);
  }
}

// By estimates `auto` takes what is at least so large, and nothing smaller.
TEST_F(Offers, AreEstimatedToWinFromASizeOn) {
  constexpr lk_layout plain = LK_LAYOUT_PLAIN, last = LK_LAYOUT_CHANNELS_LAST;
  struct Case {
    const char *what;
    Dims least, less; // of src
    lk_layout layout;
    lk_work (*make)(const Dims &src, lk_layout layout);
  };
  const auto layer = [](const Dims &src, lk_layout layout) {
    lk_work work =
        work_of(LK_WORK_LAYER_NORM, src.size() == 2 ? LK_F32 : LK_BF16, src, src, layout);
    work.axes = 1U << (src.size() - 1);
    work.is_centered = 1;
    return work;
  };
  const auto rms = [](const Dims &src, lk_layout layout) {
    lk_work work = work_of(LK_WORK_LAYER_NORM, LK_BF16, src, src, layout);
    work.axes = 2;
    return work;
  };
  const auto lrn = [](const Dims &src, lk_layout layout) {
    lk_work work = work_of(LK_WORK_LRN, layout == last ? LK_BF16 : LK_F32, src, src, layout);
    work.lrn = {5, 1e-4F, 0.75F, 1, 0};
    return work;
  };
  const auto groups = [](const Dims &src, lk_layout layout) {
    lk_work work = work_of(LK_WORK_GROUP_NORM, LK_BF16, src, src, layout);
    work.groups = 4;
    work.is_centered = 1;
    return work;
  };
  const auto instance = [](const Dims &src, lk_layout layout) {
    lk_work work = work_of(LK_WORK_GROUP_NORM, LK_BF16, src, src, layout);
    work.groups = src[1];
    work.is_centered = 1;
    return work;
  };
  const auto sum = [](const Dims &src, lk_layout layout) {
    lk_work work = work_of(LK_WORK_ELEMENT, LK_BF16, src, src, layout);
    work.roles |= 1U << LK_ROLE_OPERAND;
    work.tensors[LK_ROLE_OPERAND] = work.tensors[LK_ROLE_SRC];
    work.n_post_ops = 1;
    work.post_ops[0] = {LK_POST_ADD, LK_ROLE_OPERAND, 0, 0};
    return work;
  };
  const auto square = [](const Dims &src, lk_layout layout) {
    lk_work work = work_of(LK_WORK_ELEMENT, LK_BF16, src, src, layout);
    work.n_post_ops = 1;
    work.post_ops[0] = {LK_FUNCTION_SQUARE, 0, 0, 0};
    return work;
  };
  const auto total = [](const Dims &src, lk_layout layout) {
    lk_work work = work_of(LK_WORK_REDUCE, LK_BF16, src, {src[0], 1}, layout);
    work.axes = 2;
    work.reducing = LK_REDUCING_SUM;
    return work;
  };
  const auto product_of_all = [](const Dims &src, lk_layout layout) {
    lk_work work = work_of(LK_WORK_REDUCE, LK_BF16, src, {src[0], 1}, layout);
    work.axes = 2;
    work.reducing = LK_REDUCING_PRODUCT;
    return work;
  };
  const auto larger = [](const Dims &src, lk_layout layout) {
    const Dims dst = {src[0], src[1], 2 * src[2], 2 * src[3]};
    lk_work work = work_of(LK_WORK_RESIZE, LK_BF16, src, dst, layout);
    work.resize.interpolation = LK_INTERPOLATION_LINEAR;
    work.resize.coordinates = LK_COORDINATES_HALF_PIXEL;
    for (int i = 0; i < 4; i++) {
      work.resize.up[i] = i < 2 ? 1 : 2;
      work.resize.down[i] = 1;
    }
    return work;
  };
  const Case cases[] = {
      {"layer norm", {96, 128}, {95, 128}, plain, layer},
      {"layer norm of bf16", {8, 96, 128}, {8, 95, 128}, plain, layer},
      {"layer norm of bf16, rows", {1, 8, 16384}, {1, 7, 32768}, plain, layer},
      {"RMS norm of bf16", {8, 3072}, {8, 3071}, plain, rms},
      {"LRN", {1, 75, 64, 64}, {1, 75, 64, 63}, plain, lrn},
      {"LRN of bf16", {1, 64, 16, 32}, {1, 64, 16, 31}, last, lrn},
      {"LRN of bf16, channels", {1, 64, 64, 64}, {1, 63, 64, 64}, last, lrn},
      {"group norm", {1, 128, 64, 96}, {1, 128, 64, 95}, last, groups},
      {"group norm, channels", {1, 128, 96, 96}, {1, 124, 128, 128}, last, groups},
      {"instance norm", {1, 128, 64, 96}, {1, 128, 64, 95}, last, instance},
      {"instance norm, channels", {1, 128, 96, 96}, {1, 127, 128, 128}, last, instance},
      {"sum", {32, 1024}, {32, 1023}, plain, sum},
      {"square", {64, 1024}, {64, 1023}, plain, square},
      {"reduction", {128, 512}, {127, 512}, plain, total},
      {"reduction, lines", {128, 512}, {512, 511}, plain, total},
      {"reduction by products", {64, 1024}, {64, 1023}, plain, product_of_all},
      {"resizing", {1, 16, 16, 16}, {1, 16, 16, 15}, last, larger},
      {"resizing, channels", {1, 16, 32, 32}, {1, 15, 32, 32}, last, larger},
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(each.what);
    const lk_work least = each.make(each.least, each.layout);
    const lk_work less = each.make(each.less, each.layout);
    if (least.tensors[LK_ROLE_SRC].dtype == LK_BF16 && !module.offers(least).is_made) {
      continue; // this processor computes no bf16
    }
    EXPECT_TRUE(module.offers(least).is_made) << module.offers(least).reason;
    EXPECT_TRUE(module.offers(less).is_made) << module.offers(less).reason;
    EXPECT_LT(module.offers(least).run_ratio, 0.95);
    EXPECT_GT(module.offers(less).run_ratio, 1.1);
  }
}

// One row goes through large weights once.
TEST_F(Offers, AreEstimatedToWinWithOneRowByLargeWeights) {
  const auto product = [](int64_t rows, int64_t k) {
    lk_work work = work_of(LK_WORK_PRODUCT, LK_F32, {rows, k}, {rows, 1024});
    work.roles |= 1U << LK_ROLE_WEIGHTS;
    work.constants = 1U << LK_ROLE_WEIGHTS;
    work.tensors[LK_ROLE_WEIGHTS] = lk::desc_of(LK_F32, {k, 1024}, LK_LAYOUT_ANY);
    return work;
  };
  const auto large = module.offers(product(1, 4096));
  EXPECT_TRUE(large.is_made) << large.reason;
  EXPECT_LT(large.run_ratio, 0.95);
  EXPECT_GT(module.offers(product(1, 4095)).run_ratio, 1);
  EXPECT_GT(module.offers(product(2, 4096)).run_ratio, 1);
}

} // namespace
