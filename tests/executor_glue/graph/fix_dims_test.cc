// Sizes for dimensions that a model leaves open: which ones a name means, and what is refused.
#include "tests/executor_glue/graph/builder.h"

using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

namespace {

class FixDims : public ::testing::Test {
protected:
  void SetUp() override {
    x = g.input("x", {-1, 3, -1});
    name_dims(x, {"batch", nullptr, nullptr});
    mask = g.input("mask", {-1, -1});
    name_dims(mask, {"batch", "length"});
    y = g.node("Relu", {x});
    g.declare(y, {-1, 3, -1});
    name_dims(y, {"batch", nullptr, "length"});
    g.output(y);
  }
  void name_dims(int32_t v, const std::vector<const char *> &symbols) {
    auto *declared = const_cast<lk_declaration *>(g->values[v].declared);
    std::copy(symbols.begin(), symbols.end(), declared->symbols);
  }
  lk_status fix(const std::vector<lk_fixed_dim> &dims) {
    EXPECT_EQ(g.status(), LK_OK);
    return lk_graph_fix_dims(g.get(), dims.data(), uint32_t(dims.size()), LK_ERR);
  }
  Dims dims_of(int32_t v) {
    const lk_declaration *declared = g->values[v].declared;
    return {declared->dims, declared->dims + declared->rank};
  }

  lk::GraphBuilder g;
  int32_t x, mask, y;
};

TEST_F(FixDims, ASymbolMeansAllDimensionsOfThatName) {
  LK_EXPECT_OK(fix({{"batch", 2}}));
  EXPECT_EQ(dims_of(x), (Dims{2, 3, -1}));
  EXPECT_EQ(dims_of(mask), (Dims{2, -1}));
  EXPECT_EQ(dims_of(y), (Dims{2, 3, -1}));
  EXPECT_EQ(g->values[mask].declared->symbols[0], nullptr);
  EXPECT_STREQ(g->values[mask].declared->symbols[1], "length");
}

TEST_F(FixDims, AnInputAndANumberMeanTheSymbolThere) {
  LK_EXPECT_OK(fix({{"mask[0]", 0}, {"x[2]", 7}}));
  EXPECT_EQ(dims_of(x), (Dims{0, 3, 7}));
  EXPECT_EQ(dims_of(mask), (Dims{0, -1}));
  EXPECT_EQ(dims_of(y), (Dims{0, 3, -1})) << "x[2] has no name";
}

TEST_F(FixDims, WhatIsKnownMayBeSaidAgain) {
  LK_EXPECT_OK(fix({{"x[1]", 3}, {"batch", 4}, {"mask[0]", 4}}));
  EXPECT_EQ(dims_of(x), (Dims{4, 3, -1}));
  LK_EXPECT_OK(fix({}));
}

TEST_F(FixDims, NamesWhatIsOpenWhereThereIsNoSuchDimension) {
  for (const char *name : {"lengths", "x", "x[3]", "x[01]", "x[0]]", "y[0]", "[0]", ""}) {
    LK_EXPECT_STATUS(LK_NOT_FOUND, fix({{name, 1}}));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(std::string("dimension '") + name + "'"));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("the free dimensions are: batch, x[2], length"));
  }
  LK_EXPECT_OK(fix({{"batch", 1}, {"length", 2}, {"x[2]", 3}}));
  LK_EXPECT_STATUS(LK_NOT_FOUND, fix({{"batch", 1}}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the free dimensions are: none"));
}

TEST_F(FixDims, NamesAsManyAsASentenceHolds) {
  for (int i = 0; i < 40; i++) g.input("another_input_" + std::to_string(i), {-1});
  LK_EXPECT_STATUS(LK_NOT_FOUND, fix({{"none", 1}}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("length, another_input_0[0], another_input_1[0]"));
  EXPECT_LT(LK_MESSAGE.size(), 300u);
}

TEST_F(FixDims, RefusesWhatDoesNotFit) {
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, fix({{"x[1]", 4}}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'x[1]' to 4: input 'x' has the size 3"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, fix({{"batch", 1}, {"mask[0]", 2}}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 'mask' has the size 1"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, fix({{"length", 1}, {"length", 1}}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("given twice"));
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, fix({{"length", -1}}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("size -1"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, fix({{"x[2]", 1}, {nullptr, 1}}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("name 1 is NULL"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_graph_fix_dims(g.get(), nullptr, 1, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("NULL"));
}

TEST_F(FixDims, RanksThatAreNotKnownHaveNoDimensions) {
  auto *declared = const_cast<lk_declaration *>(g->values[mask].declared);
  declared->rank = -1;
  LK_EXPECT_STATUS(LK_NOT_FOUND, fix({{"length", 1}}));
  LK_EXPECT_OK(fix({{"batch", 1}}));
}

} // namespace
