// Options as text: what is a number, and what is not.
#include <latchkey/latchkey.h>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/parse.h"
}

namespace {

struct Case {
  const char *text;
  bool units;
  bool is_number;
  uint64_t value;
};

TEST(Parse, Numbers) {
  const Case cases[] = {
      {.text = "0", .units = false, .is_number = true, .value = 0},
      {.text = "007", .units = false, .is_number = true, .value = 7},
      {.text = "18446744073709551615", .units = false, .is_number = true, .value = UINT64_MAX},
      {.text = "18446744073709551616", .units = false, .is_number = false, .value = 0},
      {.text = "", .units = true, .is_number = false, .value = 0},
      {.text = " 1", .units = true, .is_number = false, .value = 0},
      {.text = "1 ", .units = true, .is_number = false, .value = 0},
      {.text = "+1", .units = true, .is_number = false, .value = 0},
      {.text = "-1", .units = true, .is_number = false, .value = 0},
      {.text = "0x10", .units = true, .is_number = false, .value = 0},
      {.text = "1k", .units = false, .is_number = false, .value = 0},
      {.text = "1k", .units = true, .is_number = true, .value = 1024},
      {.text = "3M", .units = true, .is_number = true, .value = 3u << 20},
      {.text = "2g", .units = true, .is_number = true, .value = uint64_t{2} << 30},
      {.text = "1t", .units = true, .is_number = false, .value = 0},
      {.text = "1kb", .units = true, .is_number = false, .value = 0},
      {.text = "17179869183g", .units = true, .is_number = true, .value = UINT64_MAX << 30},
      {.text = "17179869184g", .units = true, .is_number = false, .value = 0},
  };
  for (const Case &c : cases) {
    uint64_t value = 42;
    EXPECT_EQ(lk_parse_number(c.text, c.units, &value), c.is_number) << c.text;
    EXPECT_EQ(value, c.is_number ? c.value : 42) << c.text;
  }
}

TEST(Parse, CacheModes) {
  uint32_t mode = 42;
  EXPECT_FALSE(lk_parse_cache_mode("Shared", &mode));
  EXPECT_FALSE(lk_parse_cache_mode("", &mode));
  EXPECT_EQ(mode, 42u);
  EXPECT_TRUE(lk_parse_cache_mode("off", &mode));
  EXPECT_EQ(mode, uint32_t{LK_CACHE_OFF});
  EXPECT_TRUE(lk_parse_cache_mode("thread", &mode));
  EXPECT_EQ(mode, uint32_t{LK_CACHE_THREAD});
  EXPECT_TRUE(lk_parse_cache_mode("shared", &mode));
  EXPECT_EQ(mode, uint32_t{LK_CACHE_SHARED});
}

} // namespace
