// oneDNN's own primitive cache: off while there are contexts, and as it was afterwards, whatever
// becomes of the environment meanwhile.
#include <oneapi/dnnl/dnnl.h>

#include "tests/plugin/handles.h"

namespace {

#ifdef LK_ONEDNN_IS_PRIVATE

const char *const VARIABLE = "ONEDNN_PRIMITIVE_CACHE_CAPACITY";

int capacity() {
  int now = -1;
  EXPECT_EQ(dnnl_get_primitive_cache_capacity(&now), dnnl_success);
  return now;
}

class Library : public ::testing::Test {
protected:
  Library() {
    unsetenv(VARIABLE);
    unsetenv("DNNL_PRIMITIVE_CACHE_CAPACITY");
    EXPECT_EQ(dnnl_set_primitive_cache_capacity(77), dnnl_success);
  }
  ~Library() override { unsetenv(VARIABLE); }
};

TEST_F(Library, HasItsCacheOffWhileThereAreContexts) {
  lk::Context first = lk::open(), second = lk::open();
  EXPECT_EQ(capacity(), 0);
  first.reset();
  EXPECT_EQ(capacity(), 0);
  second.reset();
  EXPECT_EQ(capacity(), 77);
}

TEST_F(Library, IsLeftAloneWhereTheUserHasSetIt) {
  setenv(VARIABLE, "77", 1);
  const lk::Context context = lk::open();
  EXPECT_EQ(capacity(), 77);
}

TEST_F(Library, IsGivenBackWhenTheVariableIsSetMeanwhile) {
  lk::Context context = lk::open();
  setenv(VARIABLE, "5", 1);
  context.reset();
  EXPECT_EQ(capacity(), 77);
  unsetenv(VARIABLE);
  context = lk::open();
  EXPECT_EQ(capacity(), 0);
}

TEST_F(Library, IsLeftAloneWhenTheVariableGoesMeanwhile) {
  setenv(VARIABLE, "77", 1);
  lk::Context context = lk::open();
  unsetenv(VARIABLE);
  context.reset();
  EXPECT_EQ(capacity(), 77);
  context = lk::open();
  EXPECT_EQ(capacity(), 0);
}

#endif

} // namespace
