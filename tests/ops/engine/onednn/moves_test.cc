// Transposes, changes of layout and concatenations by oneDNN's engine: every bit stays as it is,
// whatever the type, and a node that moves nothing is no work.
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/ops/engine/host.h"

extern "C" {
#include "base/tensor.h"
}

namespace {

using lk::Case;
using lk::Dims;
using lk::Host;
using lk::kHasPrimitives;
using lk::Value;

constexpr lk_dtype kTypes[] = {LK_F32, LK_F16, LK_BF16, LK_I32, LK_I8, LK_U8, LK_I64, LK_BOOL};

class Moves {
public:
  explicit Moves(unsigned seed) : random_(seed) {}
  int64_t from(int64_t least, int64_t most) {
    return least + int64_t(random_() % uint64_t(most - least + 1));
  }
  bool coin() { return from(0, 1) == 0; }

  // Any bits: of real numbers also NaN that signal.
  Value value(lk_dtype dtype, const Dims &dims) {
    Value made;
    made.desc = lk_tensor_desc_make(dtype, uint32_t(dims.size()), dims.data());
    made.bytes.resize(size_t(made.count()) * lk::dtype_bytes(dtype));
    for (uint8_t &byte : made.bytes) byte = uint8_t(random_() & (dtype == LK_BOOL ? 1 : 255));
    return made;
  }
  Dims dims(size_t least, size_t most) {
    Dims made;
    made.resize(size_t(from(int64_t(least), int64_t(most))));
    for (int64_t &dim : made) dim = coin() ? from(1, 4) : from(1, 19);
    return made;
  }
  void lay(Case *made) {
    const size_t rank = made->inputs[0].dims().size();
    if (rank < 3) return;
    made->layout = coin() ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
    made->wish = coin() ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
    if (rank == 4 && from(0, 3) == 0) made->layout = LK_LAYOUT_HEADS_INSIDE;
  }
  Case transpose() {
    Case made;
    const Dims of = dims(1, 6);
    std::vector<int64_t> perm;
    perm.resize(of.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random_);
    made.node.op = "Transpose";
    made.node.ints = {{"perm", perm}};
    made.inputs = {value(type(), of)};
    lay(&made);
    return made;
  }
  // Whose inputs lie alike, or not.
  Case concat() {
    Case made;
    const Dims of = dims(1, 5);
    const lk_dtype dtype = type();
    const size_t axis = size_t(from(0, int64_t(of.size()) - 1));
    made.node.op = "Concat";
    made.node.ints = {{"axis", {int64_t(axis)}}};
    for (int64_t count = from(1, 7); count > 0; count--) {
      Dims next = of;
      next[axis] = from(0, 9);
      made.inputs.push_back(value(dtype, next));
    }
    lay(&made);
    for (size_t i = 1; i < made.inputs.size(); i++) {
      made.others.push_back(coin() ? made.layout : lk_layout(LK_LAYOUT_PLAIN));
    }
    if (from(0, 3) == 0) made.node.constants = {made.inputs.back()};
    if (!made.node.constants.empty() && made.inputs.size() > 1) {
      made.others.back() = LK_LAYOUT_PLAIN;
    } else {
      made.node.constants.clear();
    }
    return made;
  }

private:
  lk_dtype type() { return kTypes[from(0, int64_t(std::size(kTypes)) - 1)]; }
  std::mt19937 random_;
};

TEST(Moves, KeepEveryBit) {
  Moves random(1);
  Host native("native"), onednn("onednn");
  for (int i = 0; i < 700; i++) {
    const Case each = random.coin() ? random.transpose() : random.concat();
    SCOPED_TRACE("case " + std::to_string(i) + ", " + each.node.op);
    Value expected, computed;
    native.run(each, &expected);
    onednn.run(each, &computed);
    if (HasFatalFailure()) return;
    ASSERT_EQ(expected.dims(), computed.dims());
    ASSERT_EQ(expected.bytes, computed.bytes);
  }
  if (kHasPrimitives) {
    EXPECT_GT(onednn.stats().kind[LK_KIND_VALUE].builds, 150u);
  }
  EXPECT_EQ(native.stats().kind[LK_KIND_VALUE].builds, 0u);
}

Case transpose_of(const Dims &dims, const std::vector<int64_t> &perm) {
  Case made;
  made.node.op = "Transpose";
  made.node.ints = {{"perm", perm}};
  made.inputs = {lk::random(dims, 1)};
  return made;
}

TEST(Moves, AreNoWorkWhereNothingMoves) {
  Host onednn("onednn");
  Value out;
  onednn.run(transpose_of({1, 5, 1}, {2, 1, 0}), &out);
  Case last = transpose_of({2, 3, 4, 5}, {0, 3, 1, 2}); // NHWC to NCHW, which may lie as NHWC
  last.wish = LK_LAYOUT_ANY;
  onednn.run(last, &out);
  EXPECT_EQ(onednn.stats().engine_left, 0u);
  EXPECT_EQ(onednn.works(), 0u);
  onednn.run(transpose_of({7, 5}, {1, 0}), &out);
  EXPECT_EQ(onednn.works(), kHasPrimitives ? 1u : 0u);
}

Case plain_conv() {
  Case made;
  made.node.op = "Conv";
  made.inputs = {lk::random({1, 24, 9, 9}, 1), lk::random({32, 24, 3, 3}, 2)};
  made.node.constants = {made.inputs[1]};
  return made;
}

// What a primitive wants otherwise than it lies is brought there by the engine, too.
TEST(Moves, BringTensorsIntoTheLayoutsOfPrimitives) {
  if (!kHasPrimitives) GTEST_SKIP() << "oneDNN has reference implementations alone";
  Host onednn("onednn");
  Value out;
  onednn.run(plain_conv(), &out);
  const lk_stats stats = onednn.stats();
  EXPECT_EQ(stats.reorders, 2u); // plain to channels last, and back
  EXPECT_EQ(stats.engine_works, 1u);
  EXPECT_EQ(stats.engine_left, 0u);
  EXPECT_EQ(stats.kind[LK_KIND_VALUE].builds, 3u);
}

// `auto` weighs and measures the convolution, of which they are a part.
TEST(Moves, AreNativeBetweenWorksThatAutoHasChosen) {
  if (!kHasPrimitives) GTEST_SKIP() << "oneDNN has reference implementations alone";
  Host both("auto");
  Case conv = plain_conv();
  conv.flags = LK_BIND_ENGINE;
  Value out;
  both.run(conv, &out);
  const lk_stats stats = both.stats();
  EXPECT_EQ(stats.reorders, 2u);
  EXPECT_EQ(stats.engine_works, 1u);
  EXPECT_EQ(stats.kind[LK_KIND_VALUE].builds, 1u);
}

} // namespace
