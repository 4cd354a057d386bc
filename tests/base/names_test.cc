// Every value of an enumeration has its name, and no other value has one.
#include <latchkey/latchkey.h>

#include <gtest/gtest.h>

#include "base/names.h"

namespace {

TEST(Names, OfKinds) {
  EXPECT_STREQ(lk_kind_name(LK_KIND_NAME), "name");
  EXPECT_STREQ(lk_kind_name(LK_KIND_RUN), "run");
  EXPECT_STREQ(lk_kind_name(LK_KIND_USER), "user");
  EXPECT_EQ(lk_kind_name(LK_KIND_COUNT), nullptr);
}

TEST(Names, OfPostOps) {
  EXPECT_STREQ(lk_post_op_name(LK_POST_RELU), "relu");
  EXPECT_STREQ(lk_post_op_name(LK_POST_DIV), "div");
  EXPECT_EQ(lk_post_op_name(0), nullptr);
  EXPECT_EQ(lk_post_op_name(LK_POST_ADD_SCALED + 1), nullptr);
  EXPECT_EQ(lk_post_op_name(LK_FUNCTION_ABS), nullptr); // nodes may not have it as a post-op
  EXPECT_STREQ(lk_function_name(LK_FUNCTION_ABS), "abs");
  EXPECT_STREQ(lk_function_name(LK_POST_DIV), "div");
  EXPECT_EQ(lk_function_name(LK_FUNCTION_ABS - 1), nullptr);
}

TEST(Names, OfCacheModes) {
  EXPECT_EQ(lk_cache_mode_name(LK_CACHE_DEFAULT), nullptr);
  EXPECT_STREQ(lk_cache_mode_name(LK_CACHE_OFF), "off");
  EXPECT_STREQ(lk_cache_mode_name(LK_CACHE_THREAD), "thread");
  EXPECT_STREQ(lk_cache_mode_name(LK_CACHE_SHARED), "shared");
  EXPECT_EQ(lk_cache_mode_name(LK_CACHE_SHARED + 1), nullptr);
}

} // namespace
