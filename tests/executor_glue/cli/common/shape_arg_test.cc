// Shapes on the command line: what they mean, what is refused, and that a seed repeats itself.
extern "C" {
#include "base/alloc.h"
#include "executor_glue/cli/common/shape_arg.h"
}

#include <set>
#include <string>
#include <vector>

#include "tests/harness/lk_test.h"

namespace {

using ::testing::HasSubstr;

class ShapeArg : public ::testing::Test {
protected:
  void SetUp() override {
    LK_ASSERT_OK(shape_set_create(lk_allocator_default(), set_.out(), LK_ERR));
  }
  lk_status add(const std::string &text) { return shape_set_add(set_.get(), text.c_str(), LK_ERR); }
  std::vector<int64_t> dims(uint32_t index) const {
    lk_tensor_desc desc = {};
    shape_set_get(set_.get(), index, &desc);
    return std::vector<int64_t>(desc.dims, desc.dims + desc.rank);
  }
  lk::Owned<shape_set, shape_set_destroy> set_;
  uint64_t state_ = 1;
};

using Dims = std::vector<int64_t>;

TEST_F(ShapeArg, FixedShapes) {
  LK_ASSERT_OK(add("x=1x3x48x320"));
  LK_ASSERT_OK(add("a=b/c:0=7"));
  LK_ASSERT_OK(add("s=scalar"));
  LK_ASSERT_OK(add("empty=0x4"));
  LK_ASSERT_OK(shape_set_check(set_.get(), LK_ERR));
  EXPECT_FALSE(shape_set_varies(set_.get()));
  shape_set_draw(set_.get(), &state_);
  ASSERT_EQ(4u, shape_set_count(set_.get()));
  EXPECT_STREQ("x", shape_set_name(set_.get(), 0));
  EXPECT_STREQ("a=b/c:0", shape_set_name(set_.get(), 1));
  EXPECT_EQ((Dims{1, 3, 48, 320}), dims(0));
  EXPECT_EQ((Dims{7}), dims(1));
  EXPECT_EQ(Dims{}, dims(2));
  EXPECT_EQ((Dims{0, 4}), dims(3));
}

TEST_F(ShapeArg, TheTypeIsLeftAsItIs) {
  LK_ASSERT_OK(add("x=2"));
  lk_tensor_desc desc = {};
  desc.dtype = LK_I64;
  desc.dims[5] = 9;
  shape_set_get(set_.get(), 0, &desc);
  EXPECT_EQ(static_cast<uint32_t>(LK_I64), desc.dtype);
  EXPECT_EQ(0, desc.dims[5]) << "dimensions beyond the rank are 0";
}

TEST_F(ShapeArg, ARangeReachesBothEndsAndNothingElse) {
  LK_ASSERT_OK(add("x={2..5}x{10..30..10}x{7,9}x4"));
  EXPECT_TRUE(shape_set_varies(set_.get()));
  std::set<int64_t> seen[4];
  for (int i = 0; i < 1000; i++) {
    shape_set_draw(set_.get(), &state_);
    const Dims now = dims(0);
    for (size_t d = 0; d < 4; d++) seen[d].insert(now[d]);
  }
  EXPECT_EQ((std::set<int64_t>{2, 3, 4, 5}), seen[0]);
  EXPECT_EQ((std::set<int64_t>{10, 20, 30}), seen[1]);
  EXPECT_EQ((std::set<int64_t>{7, 9}), seen[2]);
  EXPECT_EQ((std::set<int64_t>{4}), seen[3]);
}

TEST_F(ShapeArg, ASeedRepeatsItself) {
  LK_ASSERT_OK(add("x={1..1000000}"));
  std::vector<int64_t> first, second, other;
  for (auto *list : {&first, &second, &other}) {
    uint64_t state = list == &other ? 8 : 7;
    for (int i = 0; i < 50; i++) {
      shape_set_draw(set_.get(), &state);
      list->push_back(dims(0)[0]);
    }
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
}

TEST_F(ShapeArg, SplitmixIsThePublishedOne) {
  // First outputs of the reference implementation for seed 1234567.
  EXPECT_EQ(UINT64_C(6457827717110365317), splitmix(1234567));
  EXPECT_EQ(UINT64_C(3203168211198807973), splitmix(1234567 + SPLITMIX_STEP));
}

TEST_F(ShapeArg, ANamedRangeIsOneChoiceEverywhere) {
  LK_ASSERT_OK(add("ids=1x{seq}"));
  LK_ASSERT_OK(add("mask=1x{seq:8..512}"));
  LK_ASSERT_OK(add("other={8..512}x{seq}"));
  LK_ASSERT_OK(shape_set_check(set_.get(), LK_ERR));
  bool differs = false;
  for (int i = 0; i < 100; i++) {
    shape_set_draw(set_.get(), &state_);
    EXPECT_EQ(dims(0)[1], dims(1)[1]);
    EXPECT_EQ(dims(0)[1], dims(2)[1]);
    differs = differs || dims(2)[0] != dims(2)[1];
  }
  EXPECT_TRUE(differs) << "a range without a name is a choice of its own";
}

TEST_F(ShapeArg, ANameMustBeExplained) {
  LK_ASSERT_OK(add("x=1x{seq}"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, shape_set_check(set_.get(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("{seq:8..128}"));
}

TEST_F(ShapeArg, RefusesWhatItCannotRead) {
  const char *cases[] = {
      "x",
      "=1x2",
      "x=",
      "x=1x",
      "x=x1",
      "x=1,2",
      "x=1 x2",
      "x=-1",
      "x=1x{}",
      "x=1x{1",
      "x=1x{1..}",
      "x=1x{5..2}",
      "x=1x{1,}",
      "x=1x{..4}",
      "x=1x{1..4..0}",
      "x=1x{n:}",
      "x=1x{n:1..2",
      "x=1x{n;1..2}",
      "x=2147483648",
      "x=99999999999999999999999",
      "x=1x1x1x1x1x1x1x1x1",
      "x=1x2 ",
      "x={1..2}3",
      "x=?x3",
      "x=1x{1..2}{3..4}",
  };
  for (const char *text : cases) {
    SCOPED_TRACE(text);
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, add(text));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(text));
  }
}

TEST_F(ShapeArg, RefusesTheSameTwice) {
  LK_ASSERT_OK(add("x=1x{n:1..2}"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, add("x=1x2"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, add("y={n:3..4}"));
}

} // namespace
