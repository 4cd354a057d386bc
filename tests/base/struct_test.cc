// Structs that cross the ABI: callers with older and newer headers.
#include "tests/harness/lk_test.h"

extern "C" {
#include "base/struct.h"
}

namespace {

using ::testing::HasSubstr;

struct Older {
  size_t struct_size;
  uint64_t first;
};
struct Known {
  size_t struct_size;
  uint64_t first, second;
};
struct Newer {
  size_t struct_size;
  uint64_t first, second, third;
};

TEST(Struct, OlderCallersGetDefaults) {
  const Older older = {sizeof older, 7};
  Known known = {sizeof known, 1, 2};
  LK_ASSERT_OK(lk_struct_read(&known, sizeof known, &older, "options", LK_ERR));
  EXPECT_EQ(known.struct_size, sizeof known);
  EXPECT_EQ(known.first, 7u);
  EXPECT_EQ(known.second, 2u);
}

TEST(Struct, NewerCallersMaySetOnlyWhatIsKnown) {
  Newer newer = {sizeof newer, 7, 8, 0};
  Known known = {sizeof known, 1, 2};
  LK_ASSERT_OK(lk_struct_read(&known, sizeof known, &newer, "options", LK_ERR));
  EXPECT_EQ(known.second, 8u);
  newer.third = 1;
  known = {sizeof known, 1, 2};
  LK_EXPECT_STATUS(LK_VERSION, lk_struct_read(&known, sizeof known, &newer, "options", LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to read options: byte 24 is set"));
  EXPECT_EQ(known.first, 1u) << "nothing is copied";
}

TEST(Struct, ASizeIsRequired) {
  Known known = {sizeof known, 1, 2};
  const Known without = {0, 7, 8};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk_struct_read(&known, sizeof known, &without, "options", LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk_struct_read(&known, sizeof known, nullptr, "options", LK_ERR));
  EXPECT_EQ(known.first, 1u);
}

TEST(Struct, IsWrittenAsFarAsTheCallersGoes) {
  const Known known = {sizeof known, 1, 2};
  Older older = {sizeof older, 7};
  LK_ASSERT_OK(lk_struct_write(&older, &known, sizeof known, "statistics", LK_ERR));
  EXPECT_EQ(older.struct_size, sizeof older);
  EXPECT_EQ(older.first, 1u);
  Newer newer = {sizeof newer, 7, 8, 9};
  LK_ASSERT_OK(lk_struct_write(&newer, &known, sizeof known, "statistics", LK_ERR));
  EXPECT_EQ(newer.struct_size, sizeof newer);
  EXPECT_EQ(newer.second, 2u);
  EXPECT_EQ(newer.third, 0u) << "what this library does not know is not left as it was";
}

} // namespace
