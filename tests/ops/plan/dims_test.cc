// Terms of dimensions: what cancels out, and what is not known.
#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "ops/plan/dims.h"
}

namespace {

class Terms : public ::testing::Test {
protected:
  void TearDown() override {
    EXPECT_FALSE(lk_dims_failed(dims));
    lk_dims_destroy(dims);
  }
  int64_t sum(int64_t p, int64_t q) {
    int64_t made = LK_DIM_UNKNOWN;
    EXPECT_TRUE(lk_dims_add(dims, p, q, &made));
    return made;
  }
  int64_t product(int64_t p, int64_t q) {
    int64_t made = LK_DIM_UNKNOWN;
    EXPECT_TRUE(lk_dims_multiply(dims, p, q, &made));
    return made;
  }
  int64_t difference(int64_t p, int64_t q) { return lk_dims_subtract(dims, p, q); }
  int64_t quotient(int64_t p, int64_t q) { return lk_dims_quotient(dims, p, q); }

  lk_dims *const dims = lk_dims_create(lk_allocator_default());
  const int64_t a = lk_dims_open(dims), b = lk_dims_open(dims), c = lk_dims_open(dims);
};

TEST_F(Terms, SubtractWhatTheyAreMadeOf) {
  EXPECT_EQ(difference(a, a), 0);
  EXPECT_EQ(difference(sum(a, b), a), b);
  EXPECT_EQ(difference(sum(sum(a, b), 7), sum(b, 7)), a);
  EXPECT_EQ(difference(sum(a, a), a), a);
}

TEST_F(Terms, ThatAreNotInASumCannotBeSubtracted) {
  EXPECT_EQ(difference(a, b), LK_DIM_UNKNOWN);
  EXPECT_EQ(difference(7, a), LK_DIM_UNKNOWN);
  EXPECT_EQ(difference(sum(a, b), c), LK_DIM_UNKNOWN);
  EXPECT_EQ(difference(sum(a, b), sum(b, b)), LK_DIM_UNKNOWN);
}

// The most that a sum is taken apart to.
TEST_F(Terms, OfSixteenLeaveFifteen) {
  std::vector<int64_t> open;
  for (int i = 0; i < 16; i++) open.push_back(lk_dims_open(dims));
  const auto sum_without = [&](size_t none) {
    int64_t made = 0;
    for (size_t i = 0; i < open.size(); i++) {
      if (i != none) made = sum(made, open[i]);
    }
    return made;
  };
  const int64_t all = sum_without(open.size());
  for (size_t i = 0; i < open.size(); i++) EXPECT_EQ(difference(all, open[i]), sum_without(i));
  EXPECT_EQ(difference(all, all), 0);
  EXPECT_EQ(sum(all, a), LK_DIM_UNKNOWN);
}

TEST_F(Terms, DivideWhatTheyAreMadeOf) {
  EXPECT_EQ(quotient(a, a), 1);
  EXPECT_EQ(quotient(product(a, b), a), b);
  EXPECT_EQ(quotient(product(product(a, b), 6), product(b, 3)), product(a, 2));
  EXPECT_EQ(quotient(product(a, a), a), a);
}

TEST_F(Terms, ThatAreNotInAProductDoNotCancelOut) {
  EXPECT_EQ(quotient(a, b), LK_DIM_UNKNOWN);
  EXPECT_EQ(quotient(6, a), LK_DIM_UNKNOWN);
  EXPECT_EQ(quotient(product(a, b), c), LK_DIM_UNKNOWN);
  EXPECT_EQ(quotient(product(a, b), product(b, b)), LK_DIM_UNKNOWN);
}

// A search has an end however terms hang together: in a chain that no stack has room for, and by
// more ways than there are nodes. What it does not find is another dimension, which is never wrong.
TEST_F(Terms, OfAnyNumberAreSearchedInShortTime) {
  int64_t end = a;
  for (int i = 0; i < 100000; i++) {
    ASSERT_TRUE(lk_dims_broadcast(dims, end, lk_dims_open(dims), &end));
  }
  int64_t x = a, y = b;
  for (int i = 0; i < 200; i++) {
    const int64_t before = x;
    ASSERT_TRUE(lk_dims_broadcast(dims, x, y, &x));
    ASSERT_TRUE(lk_dims_broadcast(dims, before, lk_dims_open(dims), &y));
  }
  EXPECT_FALSE(lk_dims_has_factors(dims, product(x, 3), c));
  EXPECT_TRUE(lk_dims_has_factors(dims, product(x, 3), x));
}

} // namespace
