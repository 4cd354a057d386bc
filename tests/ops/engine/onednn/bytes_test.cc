// Products and convolutions of bytes by the engine of oneDNN have the bits of `native`: sums, real
// numbers and bytes, of the largest bytes, too, of any scales, and of biases that f32 lacks.
#include <cmath>
#include <limits>

#include "tests/ops/engine/host.h"

namespace {

using lk::Case;
using lk::Dims;
using lk::Host;
using lk::Value;

// Nodes at random, from a seed.
class RandomBytes {
public:
  explicit RandomBytes(unsigned seed) : random_(seed) {}
  int64_t below(int64_t n) { return int64_t(random_() % uint64_t(n)); }
  int64_t from(int64_t least, int64_t most) { return least + below(most - least + 1); }
  bool coin() { return below(2) == 0; }
  int64_t of_sizes(const Dims &sizes) { return sizes[size_t(below(int64_t(sizes.size())))]; }

  Value bytes(const Dims &dims, bool is_signed) {
    std::vector<uint8_t> made(size_t(lk::count_of(dims)));
    const int64_t kind = below(4); // all of the largest, the largest and the least, or any
    for (uint8_t &each : made) {
      const uint8_t least = is_signed ? 0x80 : 0, most = is_signed ? 0x7f : 0xff;
      each = kind == 0 ? most : kind == 1 ? (coin() ? least : most) : uint8_t(random_());
    }
    if (!is_signed) return lk::tensor<uint8_t>(dims, made);
    return lk::tensor<int8_t>(dims, std::vector<int8_t>(made.begin(), made.end()));
  }
  Value zero(bool is_signed, bool is_zero = false) {
    if (is_zero) {
      return is_signed ? lk::tensor<int8_t>({}, {0}) : lk::tensor<uint8_t>({}, {0});
    }
    return bytes({}, is_signed);
  }
  // So that sums of `count` products make numbers about as large as bytes.
  Value scales(int64_t count, float of) {
    std::vector<float> made(size_t(count > 0 ? count : 1));
    for (float &each : made) each = of * (0.5f + float(random_() % 1000) / 999);
    return lk::floats(count > 0 ? Dims{count} : Dims{}, made);
  }
  Value bias(int64_t count) {
    std::vector<int32_t> made(size_t(count), 0);
    for (int32_t &each : made) {
      each = int32_t(random_() % 200001) - 100000;
      if (below(8) == 0) each = int32_t(random_() % (1u << 31)) - (1 << 30);
    }
    return lk::tensor<int32_t>({count}, made);
  }
  float scale_for(int64_t k) { return 1 / std::sqrt(float(k) * 5000); }

  Case conv(bool is_qlinear) {
    const bool x_sign = coin(), w_sign = below(6) != 0;
    const int64_t kind = below(4), rank = from(1, 3);
    const int64_t groups = kind == 0 ? from(2, 20) : kind == 1 ? 2 : 1;
    const int64_t in = kind == 0 ? 1 : from(1, kind == 2 ? 3 : 40);
    const int64_t out = kind == 0 ? 1 : from(1, kind == 1 ? 40 : 100);
    Dims x = {from(1, 2), groups * in}, w = {groups * out, in};
    std::vector<int64_t> strides, dilations, pads(size_t(rank * 2));
    int64_t k = in;
    for (int64_t i = 0; i < rank; i++) {
      w.push_back(from(1, rank == 3 ? 3 : 4)), x.push_back(from(7, 13));
      k *= w.back();
      strides.push_back(from(1, coin() ? 2 : 6)), dilations.push_back(from(1, 2));
      const int64_t reach = (w.back() - 1) * dilations.back() + 1;
      pads[size_t(i)] = below(reach), pads[size_t(rank + i)] = below(coin() ? 2 : reach);
    }
    Case made = of(is_qlinear ? "QLinearConv" : "ConvInteger");
    made.node.ints = {
        {"group", {groups}}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
    const Value weights = bytes(w, w_sign), w_zero = zero(w_sign, below(8) != 0);
    const Value x_zero = zero(x_sign, coin());
    if (is_qlinear) {
      const bool y_sign = x_sign;
      made.inputs = {bytes(x, x_sign),
                     scales(0, 0.1f),
                     x_zero,
                     weights,
                     scales(coin() ? w[0] : 0, 0.1f),
                     w_zero,
                     scales(0, 0.01f / scale_for(k)),
                     zero(y_sign, below(4) == 0)};
      if (coin()) made.inputs.push_back(bias(w[0]));
    } else {
      made.inputs = {bytes(x, x_sign), weights, x_zero, w_zero};
    }
    const bool is_known = is_qlinear || coin();
    if (is_known) made.node.constants.assign(made.inputs.begin() + 1, made.inputs.end());
    made.layout = coin() ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
    made.wish = coin() ? LK_LAYOUT_ANY : coin() ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
    return made;
  }

  Case product() {
    const bool a_sign = coin(), b_sign = below(4) != 0;
    const int64_t m = coin() ? 1 : from(1, 70), n = from(1, 90);
    const int64_t k = below(8) == 0 ? from(1000, 3000) : from(1, 600);
    Dims a = {m, k}, b = {k, n};
    if (below(4) == 0) {
      a.insert(a.begin(), from(1, 3));
      if (coin()) b.insert(b.begin(), a[0]);
    }
    const Value left = bytes(a, a_sign), right = bytes(b, b_sign);
    const Value a_zero = zero(a_sign, coin()), b_zero = zero(b_sign, coin());
    const Value a_scale = scales(0, 0.1f);
    const Value b_scale = scales(b.size() == 2 && coin() ? n : 0, 0.1f);
    const Value y_scale = scales(0, 0.01f / scale_for(k));
    Case made;
    size_t first = 1; // of the constants
    switch (below(5)) {
    case 0:
      made = of("MatMulInteger");
      made.inputs = {left, right, a_zero, b_zero};
      break;
    case 1:
      made = of("QLinearMatMul");
      made.inputs = {left,    a_scale, a_zero,  right,
                     b_scale, b_zero,  y_scale, zero(a_sign, below(4) == 0)};
      break;
    case 2:
      made = of("MatMulIntegerToFloat", "com.microsoft");
      made.inputs = {left, right, a_scale, b_scale, a_zero, b_zero};
      if (coin()) made.inputs.push_back(lk::random({n}, unsigned(random_())));
      if (coin()) first = 2; // scales and zero points of the left come with a run
      break;
    case 3:
      made = of("DynamicQuantizeMatMul", "com.microsoft");
      made.inputs = {lk::random(a, unsigned(random_())), right, b_scale, b_zero};
      if (coin()) made.inputs.push_back(lk::random({n}, unsigned(random_())));
      break;
    default:
      return gemm(m, k, n, a_sign, b_sign);
    }
    if (coin()) made.node.constants.assign(made.inputs.begin() + int64_t(first), made.inputs.end());
    return made;
  }

  Case gemm(int64_t m, int64_t k, int64_t n, bool a_sign, bool b_sign) {
    Case made = of("QGemm", "com.microsoft");
    const bool a = coin(), b = coin(), is_bytes = coin();
    made.node.ints = {{"transA", {a ? 1 : 0}}, {"transB", {b ? 1 : 0}}};
    made.node.floats = {{"alpha", {coin() ? 1.0f : 0.7f}}};
    made.inputs = {bytes(a ? Dims{k, m} : Dims{m, k}, a_sign),
                   scales(0, 0.1f),
                   zero(a_sign, coin()),
                   bytes(b ? Dims{n, k} : Dims{k, n}, b_sign),
                   scales(coin() ? n : 0, 0.1f),
                   zero(b_sign, coin()),
                   bias(n)};
    if (is_bytes) {
      made.inputs.push_back(scales(0, 0.01f / scale_for(k)));
      made.inputs.push_back(zero(a_sign));
    }
    if (coin()) made.node.constants.assign(made.inputs.begin() + 1, made.inputs.end());
    return made;
  }

  Case any() {
    const int64_t kind = below(4);
    return kind < 2 ? conv(kind == 0) : product();
  }

private:
  static Case of(const char *op, const char *domain = "") {
    Case made;
    made.node.op = op;
    made.node.domain = domain;
    made.node.opset = *domain == 0 ? 10 : 1;
    return made;
  }
  std::mt19937 random_;
};

void expect_same_bits(Host *native, Host *onednn, const Case &each) {
  Value expected, computed;
  native->run(each, &expected);
  onednn->run(each, &computed);
  std::string dims;
  for (const Value &input : each.inputs) dims += " " + lk::text_of(input.dims());
  ASSERT_EQ(expected.desc.dtype, computed.desc.dtype);
  ASSERT_TRUE(lk::all_close(expected, computed, {0, 0})) << each.node.op << dims;
}

TEST(Bytes, AreWhatNativeComputes) {
  RandomBytes random(1);
  Host native("native"), onednn("onednn");
  for (int i = 0; i < 1200; i++) {
    const Case each = random.any();
    SCOPED_TRACE("case " + std::to_string(i));
    onednn.shift = size_t(i % 16);
    expect_same_bits(&native, &onednn, each);
    if (HasFatalFailure()) return;
  }
  if (lk_isa_has_vnni()) { // else oneDNN may add products of bytes in 16 bits
    EXPECT_GT(onednn.works(), 500u);
  }
}

// Of one channel, oneDNN 3.14.1 gets some numbers of outputs wrong.
TEST(Bytes, OfOneChannelHaveAnyNumberOfOutputs) {
  RandomBytes random(8);
  Host native("native"), onednn("onednn");
  for (const Dims &kernel : {Dims{2}, Dims{3}, Dims{3, 3}}) {
    for (const int64_t outputs : {1, 16, 17, 33, 48, 64, 65, 96, 200}) {
      for (const bool is_signed : {false, true}) {
        Dims x = {1, 1}, w = {outputs, 1};
        for (const int64_t size : kernel) x.push_back(7), w.push_back(size);
        Case each;
        each.node.op = "QLinearConv";
        each.node.opset = 10;
        each.inputs = {random.bytes(x, is_signed),
                       random.scales(0, 0.1f),
                       is_signed ? lk::tensor<int8_t>({}, {77}) : lk::tensor<uint8_t>({}, {177}),
                       random.bytes(w, true),
                       random.scales(0, 0.1f),
                       random.zero(true, true),
                       random.scales(0, 0.3f),
                       random.zero(is_signed)};
        each.node.constants.assign(each.inputs.begin() + 1, each.inputs.end());
        SCOPED_TRACE(lk::text_of(w) + (is_signed ? " of i8" : " of u8"));
        expect_same_bits(&native, &onednn, each);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A scale that is no number, or divides by 0, makes NaN of some sums and infinity of others.
TEST(Bytes, HaveAnyScales) {
  const float infinity = std::numeric_limits<float>::infinity();
  Host native("native"), onednn("onednn");
  for (const float scale : {infinity, -infinity, std::nanf(""), 0.0f, -1.0f, 1e-38f, 1e38f}) {
    for (const size_t which : {size_t(1), size_t(6)}) {
      Case each;
      each.node.op = "QLinearMatMul";
      each.node.opset = 10;
      each.inputs = {lk::tensor<uint8_t>({2, 4}, {0, 0, 0, 0, 9, 8, 250, 255}),
                     lk::floats({}, {0.5f}),
                     lk::tensor<uint8_t>({}, {0}),
                     lk::tensor<int8_t>({4, 2}, {1, -1, 3, -128, 5, -6, 127, -8}),
                     lk::floats({2}, {0.5f, 0.25f}),
                     lk::tensor<int8_t>({}, {0}),
                     lk::floats({}, {2}),
                     lk::tensor<uint8_t>({}, {7})};
      each.inputs[which] = lk::floats({}, {scale});
      SCOPED_TRACE("scale " + std::to_string(scale) + " as input " + std::to_string(which));
      expect_same_bits(&native, &onednn, each);
    }
  }
}

// Of so many threads that oneDNN shares the sums themselves among them, if it does.
TEST(Bytes, AddManyProducts) {
  RandomBytes random(2);
  Host native("native", 4), onednn("onednn", 4);
  for (int i = 0; i < 40; i++) {
    const int64_t m = random.of_sizes({1, 2, 7, 40}), n = random.of_sizes({1, 16, 130}),
                  k = random.of_sizes({4096, 9001});
    const bool is_real = random.coin();
    Case each;
    each.node.op = is_real ? "MatMulIntegerToFloat" : "MatMulInteger";
    each.node.domain = is_real ? "com.microsoft" : "";
    each.node.opset = is_real ? 1 : 10;
    each.inputs = {random.bytes({m, k}, is_real && random.coin()), random.bytes({k, n}, true)};
    if (is_real) each.inputs.push_back(random.scales(0, 0.1f));
    if (is_real) each.inputs.push_back(random.scales(n, 0.1f));
    if (is_real) each.inputs.push_back(random.zero(each.inputs[0].desc.dtype == LK_I8));
    if (random.coin()) each.node.constants.assign(each.inputs.begin() + 1, each.inputs.end());
    SCOPED_TRACE("case " + std::to_string(i));
    expect_same_bits(&native, &onednn, each);
    if (HasFatalFailure()) return;
  }
}

std::string reason_of(const Case &each) {
  Host native("native"), onednn("onednn");
  expect_same_bits(&native, &onednn, each);
  lk_engine_left_info info = {};
  info.struct_size = sizeof info;
  if (onednn.stats().engine_left == 0) return "";
  LK_EXPECT_OK(lk::api()->engine_left(onednn.context, 0, &info, LK_ERR));
  return info.reason;
}

Case conv_of(const Dims &w, int64_t groups, bool has_bias) {
  RandomBytes random(3);
  Case made;
  made.node.op = "QLinearConv";
  made.node.opset = 10;
  made.node.ints = {{"group", {groups}}};
  made.inputs = {random.bytes({1, w[1] * groups, 6, 6}, false),
                 random.scales(0, 0.1f),
                 random.zero(false),
                 random.bytes(w, true),
                 random.scales(w[0], 0.1f),
                 random.zero(true, true),
                 random.scales(0, 9),
                 random.zero(false)};
  if (has_bias) made.inputs.push_back(random.bias(w[0]));
  made.node.constants.assign(made.inputs.begin() + 1, made.inputs.end());
  return made;
}

// `reason` "": it is taken.
void expect_left(const Case &each, const char *reason) {
  EXPECT_EQ(reason_of(each), lk_isa_has_vnni()
                                 ? reason
                                 : "the processor has no instructions for exact sums of bytes");
}

// What oneDNN does not have exactly, or not at all.
TEST(Bytes, AreLeftWithAReason) {
  expect_left(conv_of({16, 56, 3, 3}, 1, true), "");
  expect_left(conv_of({16, 64, 3, 3}, 1, false), "");
  expect_left(conv_of({16, 64, 3, 3}, 1, true),
              "a bias is added to sums that f32 may not have exactly");
  expect_left(conv_of({32, 16, 3, 3}, 2, false), "");
  expect_left(conv_of({66, 1, 3, 3}, 2, false), "groups of one channel have several outputs");
  Case single = conv_of({16, 1, 3, 3}, 1, false);
  single.inputs[0].desc.dtype = LK_I8;
  single.inputs[2] = single.node.constants[1] = lk::tensor<int8_t>({}, {3});
  single.inputs[7] = single.node.constants[6] = lk::tensor<int8_t>({}, {3});
  expect_left(single, "");
  RandomBytes many(9);
  single.inputs[3] = single.node.constants[2] = many.bytes({17, 1, 3, 3}, true);
  single.inputs[4] = single.node.constants[3] = many.scales(17, 0.1f);
  expect_left(single, "one channel of i8 with a zero point has more than 16 outputs");
  for (const int64_t kernel : {1, 2}) { // the second one has taps on both sides of an image
    Case padded = conv_of({40, 16, kernel, 3}, 1, true);
    padded.node.ints = {{"pads", {1, 0, 1, 0}}, {"dilations", {7, 1}}};
    expect_left(padded, "a window lies in the padding alone");
  }
  Case late = conv_of({32, 16, 2, 4}, 1, true); // windows at -3 and 1 of 8
  RandomBytes wide(10);
  late.inputs[0] = wide.bytes({1, 16, 6, 8}, false);
  late.node.ints = {{"pads", {0, 3, 0, 0}}, {"strides", {1, 4}}};
  late.layout = late.wish = LK_LAYOUT_CHANNELS_LAST;
  expect_left(late, "windows leave as much behind them as there is padding before");
  late.inputs[0] = wide.bytes({1, 16, 6, 9}, false);
  expect_left(late, "");
  Case turned = conv_of({16, 8, 3, 3}, 1, false), shifted = turned;
  shifted.inputs[5] = shifted.node.constants[4] = lk::tensor<int8_t>({}, {3});
  expect_left(shifted, "weights of the convolution have a zero point that may not be 0");
  turned.inputs[3] = turned.node.constants[2] = RandomBytes(4).bytes({16, 8, 3, 3}, false);
  turned.inputs[5] = turned.node.constants[4] = lk::tensor<uint8_t>({}, {0});
  expect_left(turned, "weights of the convolution are of u8");
  RandomBytes random(6);
  Case sums;
  sums.node.op = "MatMulInteger";
  sums.node.opset = 10;
  sums.inputs = {random.bytes({4, 600}, false), random.bytes({600, 8}, true)};
  expect_left(sums, "");
  sums.inputs.push_back(lk::tensor<uint8_t>({}, {1}));
  expect_left(sums, "sums of i32 go through f32, which may not have them exactly");
  sums.inputs = {random.bytes({4, 60}, false), random.bytes({60, 8}, false)};
  expect_left(sums, "weights of u8 come with a run");
  sums.inputs = {random.bytes({4, 60}, false), random.bytes({60, 8}, true),
                 lk::tensor<uint8_t>({}, {1}), random.bytes({8}, true)};
  expect_left(sums, "columns have zero points of their own");
}

// Equal bytes, which are other numbers, are packed once for each of them.
TEST(Bytes, ArePackedByTheirType) {
  RandomBytes random(7);
  Host native("native"), onednn("onednn");
  const Value x = random.bytes({4, 64}, false), w = random.bytes({64, 48}, false);
  Value of_signs = w;
  of_signs.desc.dtype = LK_I8;
  for (const Value &weights : {w, of_signs, w}) {
    Case each;
    each.node.op = "MatMulInteger";
    each.node.opset = 10;
    each.inputs = {x, weights};
    each.node.constants = {weights};
    expect_same_bits(&native, &onednn, each);
  }
  if (lk_isa_has_vnni()) {
    EXPECT_EQ(onednn.works(), 3u);
  }
}

} // namespace
