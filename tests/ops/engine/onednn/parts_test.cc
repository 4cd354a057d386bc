// Works that are a part of an operator, by the engine of oneDNN: products of Einsum, DeformConv,
// Attention and QAttention, and the softmax of a loss and of bytes. `native` computes the same.
#include <map>

#include "tests/ops/engine/onednn/halves.h"

namespace {

using lk::Case;
using lk::Dims;
using lk::Host;
using lk::Value;

// ---- Einsum ----

struct Equation {
  const char *text;
  std::vector<Dims> shapes;
  uint64_t works; // that are oneDNN's; 0: none of its layouts has the order of an operand
};

Case einsum(const Equation &of, bool is_constant = false) {
  Case made;
  made.node.op = "Einsum";
  made.node.texts = {{"equation", of.text}};
  for (const Dims &shape : of.shapes) {
    made.inputs.push_back(lk::random(shape, uint32_t(made.inputs.size() + 1)));
  }
  if (is_constant) made.node.constants = {made.inputs.back()};
  return made;
}

// One loop for each letter, of an equation of letters alone.
class Loops {
public:
  explicit Loops(const Case &of) : inputs_(of.inputs) {
    const std::string text = of.node.texts[0].second;
    std::string term;
    for (const char each : text.substr(0, text.find("->")) + ",") {
      if (each != ',') {
        term += each;
        continue;
      }
      terms_.push_back(term);
      term.clear();
    }
    output_ = text.substr(text.find("->") + 2);
    for (size_t i = 0; i < terms_.size(); i++) {
      for (size_t j = 0; j < terms_[i].size(); j++) sizes_[terms_[i][j]] = inputs_[i].dims()[j];
    }
  }

  Value sum() {
    Dims dims;
    for (const char letter : output_) dims.push_back(sizes_[letter]);
    sums_.assign(size_t(lk::count_of(dims)), 0);
    loop(sizes_.begin());
    return lk::tensor<float>(dims, std::vector<float>(sums_.begin(), sums_.end()));
  }

private:
  size_t place_of(const std::string &term) {
    int64_t place = 0;
    for (const char letter : term) place = place * sizes_[letter] + at_[letter];
    return size_t(place);
  }
  void loop(std::map<char, int64_t>::iterator letter) {
    if (letter == sizes_.end()) {
      double product = 1;
      for (size_t i = 0; i < terms_.size(); i++) {
        product *= double(inputs_[i].as<float>()[place_of(terms_[i])]);
      }
      sums_[place_of(output_)] += product;
      return;
    }
    for (int64_t &at = at_[letter->first] = 0; at < letter->second; at++) loop(std::next(letter));
  }

  std::vector<Value> inputs_;
  std::vector<std::string> terms_;
  std::string output_;
  std::map<char, int64_t> sizes_, at_;
  std::vector<double> sums_;
};

const Equation kEquations[] = {
    {"ij,jk->ik", {{5, 7}, {7, 6}}, 1},
    {"ij,kj->ik", {{5, 7}, {6, 7}}, 1},
    {"ji,jk->ik", {{7, 5}, {7, 6}}, 1},
    {"ij,jk->ki", {{5, 7}, {7, 6}}, 1},
    {"i,i->", {{9}, {9}}, 1},
    {"bi,i->b", {{4, 9}, {9}}, 1},
    {"bi,bi->b", {{4, 9}, {4, 9}}, 1},
    {"bij,bjk->bik", {{3, 5, 7}, {3, 7, 6}}, 1},
    {"ibj,bjk->bik", {{5, 3, 7}, {3, 7, 6}}, 1},
    {"jbi,bkj->bik", {{7, 3, 5}, {3, 6, 7}}, 1},
    {"bihd,bjhd->bhij", {{2, 5, 3, 7}, {2, 6, 3, 7}}, 1},
    {"bhij,bjhd->bihd", {{2, 3, 5, 6}, {2, 6, 3, 7}}, 1},
    {"bsd,dnh->bsnh", {{2, 5, 7}, {7, 3, 4}}, 1},
    {"abij,abjk->abik", {{2, 3, 5, 7}, {2, 3, 7, 6}}, 1},
    {"ij,jk,kl->il", {{5, 7}, {7, 6}, {6, 4}}, 2},
    {"iij,jk->ik", {{5, 5, 7}, {7, 6}}, 1},               // a diagonal, which is copied
    {"ikbh,bkhj->bhij", {{5, 7, 2, 3}, {2, 7, 3, 6}}, 1}, // in an order that no work has
    {"ikb,jkb->bij", {{5, 7, 3}, {6, 7, 3}}, 0},
    {"bikc,bjkc->bcij", {{2, 5, 7, 3}, {2, 6, 7, 3}}, 0},
};

TEST(Parts, OfEinsumAreProducts) {
  for (const Equation &each : kEquations) {
    for (const bool is_constant : {false, true}) {
      SCOPED_TRACE(std::string(each.text) + (is_constant ? ", constant" : ""));
      const Case given = einsum(each, is_constant);
      Host native("native"), onednn("onednn");
      lk::expect_of_both(&native, &onednn, given, Loops(given).sum());
      if (HasFatalFailure()) return;
      if (lk::kHasPrimitives) {
        EXPECT_EQ(onednn.works(), each.works);
      }
    }
  }
}

TEST(Parts, OfEinsumTakeHalvesAsTheyAre) {
  for (const uint32_t dtype : {uint32_t(LK_F16), uint32_t(LK_BF16)}) {
    SCOPED_TRACE(lk::name_of_half(dtype));
    Host native("native"), onednn("onednn");
    Case given = einsum({"bihd,bjhd->bhij", {{2, 5, 3, 8}, {2, 6, 3, 8}}, 1});
    for (Value &input : given.inputs) input = lk::cast(&native, input, dtype);
    Value expected, computed;
    native.run(given, &expected);
    onednn.run(given, &computed);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(lk::are_neighbours(expected, computed, 1e-2));
    if (lk::computes(dtype)) {
      EXPECT_EQ(lk::steps_of(&onednn, given), 1u);
    }
  }
}

// ---- DeformConv ----

Case deform_conv(int64_t groups, int64_t images, bool has_bias) {
  Case made;
  made.node.op = "DeformConv";
  made.node.opset = 19;
  made.node.ints = {{"group", {groups}}, {"pads", {1, 1, 1, 1}}};
  made.inputs = {lk::random({images, 4, 6, 5}, 1), lk::random({6, 4 / groups, 3, 3}, 2),
                 lk::random({images, 18, 6, 5}, 3)};
  if (has_bias) made.inputs.push_back(lk::random({6}, 4));
  return made;
}

TEST(Parts, OfDeformConvAreProducts) {
  for (const int64_t groups : {1, 2}) {
    for (const int64_t images : {1, 3}) {
      for (const bool has_bias : {false, true}) {
        SCOPED_TRACE(std::to_string(groups) + " groups, " + std::to_string(images) + " images");
        const Case given = deform_conv(groups, images, has_bias);
        Host native("native"), onednn("onednn");
        Value expected;
        native.run(given, &expected);
        lk::expect_of_both(&native, &onednn, given, expected);
        if (HasFatalFailure()) return;
        if (lk::kHasPrimitives) {
          EXPECT_EQ(onednn.works(), 1u);
        }
      }
    }
  }
}

// ---- Attention and QAttention ----

Case attention(bool is_constant, bool has_bias) {
  Case made;
  made.node.op = "Attention";
  made.node.domain = "com.microsoft";
  made.node.opset = 1;
  made.node.ints = {{"num_heads", {2}}};
  made.inputs = {lk::random({2, 5, 12}, 1), lk::random({12, 48}, 2)};
  if (has_bias) made.inputs.push_back(lk::random({48}, 3));
  if (is_constant) made.node.constants.assign(made.inputs.begin() + 1, made.inputs.end());
  return made;
}

TEST(Parts, OfAttentionAreProducts) {
  for (const bool is_constant : {false, true}) {
    for (const bool has_bias : {false, true}) {
      SCOPED_TRACE(is_constant ? "constant" : "of a run");
      const Case given = attention(is_constant, has_bias);
      Host native("native"), onednn("onednn");
      Value expected;
      native.run(given, &expected);
      lk::expect_of_both(&native, &onednn, given, expected);
      if (HasFatalFailure()) return;
      if (lk::kHasPrimitives) {
        EXPECT_EQ(onednn.works(), 1u);
      }
    }
  }
}

template <typename T> Value bytes(const Dims &dims, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> made(size_t(lk::count_of(dims)));
  for (T &each : made) each = T(random());
  return lk::tensor<T>(dims, made);
}

Case attention_of_bytes(bool has_zero) {
  Case given;
  given.node.op = "QAttention";
  given.node.domain = "com.microsoft";
  given.node.opset = 1;
  given.node.ints = {{"num_heads", {2}}};
  given.inputs = {bytes<uint8_t>({2, 5, 12}, 1),
                  bytes<int8_t>({12, 48}, 2),
                  lk::random({48}, 3),
                  lk::tensor<float>({}, {0.01F}),
                  lk::tensor<float>({}, {0.02F}),
                  lk::tensor<int32_t>({2}, {5, 3}),
                  lk::tensor<uint8_t>({}, {uint8_t(has_zero ? 130 : 0)})};
  given.node.constants.assign(given.inputs.begin() + 1, given.inputs.end());
  return given;
}

TEST(Parts, OfQAttentionAreProducts) {
  for (const bool has_zero : {false, true}) {
    const Case given = attention_of_bytes(has_zero);
    SCOPED_TRACE(has_zero ? "with a zero point" : "without");
    Host native("native"), onednn("onednn");
    Value expected;
    native.run(given, &expected);
    lk::expect_of_both(&native, &onednn, given, expected);
    if (HasFatalFailure()) return;
    if (lk_isa_has_vnni()) {
      EXPECT_EQ(onednn.works(), 1u);
    }
  }
}

// ---- softmax ----

TEST(Parts, OfALossAreItsSoftmax) {
  Case given;
  given.node.op = "SoftmaxCrossEntropyLoss";
  given.inputs = {lk::random({3, 50, 4}, 1),
                  lk::tensor<int64_t>({3, 4}, {1, 7, 49, 0, 3, 2, 5, 8, 13, 21, 34, 11})};
  Host native("native"), onednn("onednn");
  Value expected;
  native.run(given, &expected);
  lk::expect_of_both(&native, &onednn, given, expected);
  if (lk::kHasPrimitives) {
    EXPECT_EQ(onednn.works(), 1u);
  }
}

TEST(Parts, OfBytesAreTheirSoftmax) {
  Case given;
  given.node.op = "QLinearSoftmax";
  given.node.domain = "com.microsoft";
  given.node.opset = 1;
  given.node.ints = {{"axis", {-1}}, {"opset", {13}}};
  const Value scale = lk::tensor<float>({}, {0.05F}),
              to_scale = lk::tensor<float>({}, {1.0F / 256});
  const Value zero = lk::tensor<uint8_t>({}, {128}), to_zero = lk::tensor<uint8_t>({}, {0});
  given.inputs = {bytes<uint8_t>({6, 40}, 1), scale, zero, to_scale, to_zero};
  Host native("native"), onednn("onednn");
  Value expected, computed;
  native.run(given, &expected);
  onednn.run(given, &computed);
  if (HasFatalFailure()) return;
  const std::vector<uint8_t> right = expected.as<uint8_t>(), found = computed.as<uint8_t>();
  for (size_t i = 0; i < right.size(); i++) EXPECT_NEAR(right[i], found[i], 1);
  if (lk::kHasPrimitives) {
    EXPECT_EQ(onednn.works(), 1u);
  }
}

// ---- auto ----

// What native is expected to take for the product of a node, in nanoseconds.
double estimate_of(Case given) {
  given.flags = LK_BIND_RECURS;
  Host chooses("auto");
  Value computed;
  chooses.run(given, &computed);
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  LK_EXPECT_OK(lk::api()->engine_choice(chooses.context, 0, &info, LK_ERR));
  EXPECT_STREQ(info.work, "product");
  return info.native_ns;
}

TEST(Parts, AreExpectedToTakeWhatAProductTakes) {
  if (!lk::kHasPrimitives) return; // nothing is offered
  Case product = einsum({"ij,jk->ik", {{200, 300}, {300, 400}}, 1});
  const double of_einsum = estimate_of(product);
  product.node = lk::TestNode();
  product.node.op = "MatMul";
  EXPECT_GT(of_einsum, 0);
  EXPECT_EQ(of_einsum, estimate_of(product));

  const Case given = attention(true, false); // its projection: 10 rows of 12 numbers by 48 columns
  product.inputs = {lk::random({2, 5, 12}, 1), lk::random({12, 48}, 2)};
  product.node.constants = {product.inputs[1]};
  EXPECT_EQ(estimate_of(given), estimate_of(product));
}

TEST(Parts, AreOfferedWhereSizesRecur) {
  for (Case given : {einsum(kEquations[0]), deform_conv(1, 1, true), attention(true, true),
                     attention_of_bytes(true)}) {
    SCOPED_TRACE(given.node.op);
    const bool is_of_bytes = given.node.op == "QAttention";
    if (!(is_of_bytes ? lk_isa_has_vnni() : lk::kHasPrimitives)) continue;
    given.flags = LK_BIND_RECURS;
    Host native("native"), chooses("auto");
    Value expected, computed;
    lk_engine_choice_info info = {};
    info.struct_size = sizeof info;
    native.run(given, &expected);
    chooses.run(given, &computed);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(lk::all_close(expected, computed, {1e-5, 1e-5}));
    LK_ASSERT_OK(lk::api()->engine_choice(chooses.context, 0, &info, LK_ERR));
    EXPECT_STREQ(info.work, "product");
  }
}

} // namespace
