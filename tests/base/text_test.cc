// Text of strangers on its way to a terminal.
#include "base/text.h"

#include <latchkey/base.h>

#include <string>

#include "tests/harness/lk_test.h"

namespace {

std::string escape(const std::string &text, size_t capacity = 4096) {
  std::string out(capacity, '#');
  const size_t length = lk_text_escape(text.c_str(), out.data(), capacity);
  EXPECT_LT(length, capacity);
  EXPECT_EQ('\0', out[length]);
  EXPECT_EQ(std::string::npos, out.find_first_not_of('#', length + 1)) << "wrote behind the NUL";
  out.resize(length);
  return out;
}

TEST(Text, WhatCanBeReadStays) {
  for (const char *text :
       {"", "conv1/weight:0 [1, 3]", "a\\b \\x \\x1 \\X41 'quoted' %s", "\u00e4\u00df",
        "\u4e2d\u6587\u306e\u540d\u524d", "\U0001f511 \U0010ffff", "\u00a0\u061b\u061d\u200d\u2027",
        "\u202f\u2065\u206a\ufeff\ud7ff\ue000"}) {
    EXPECT_EQ(text, escape(text));
  }
}

TEST(Text, ControlBytesBecomeEscapes) {
  EXPECT_EQ("a\\x1b[31mb", escape("a\x1b[31mb"));
  EXPECT_EQ("\\x01\\x07\\x08\\x09\\x0a\\x0d\\x1f \\x7f", escape("\x01\x07\b\t\n\r\x1f \x7f"));
}

TEST(Text, ControlCharactersBecomeEscapes) {
  EXPECT_EQ("\\xc2\\x80\\xc2\\x9b\\xc2\\x9f", escape("\u0080\u009b\u009f"));
  EXPECT_EQ("\\xe2\\x80\\xa8\\xe2\\x80\\xa9", escape("\u2028\u2029"));
  EXPECT_EQ("\\xd8\\x9c\\xe2\\x80\\x8e\\xe2\\x80\\x8f", escape("\u061c\u200e\u200f"));
  EXPECT_EQ("\\xe2\\x80\\xaa.\\xe2\\x80\\xae.\\xe2\\x81\\xa6.\\xe2\\x81\\xa9",
            escape("\u202a.\u202e.\u2066.\u2069"));
}

TEST(Text, BytesThatAreNoCharacterBecomeEscapes) {
  EXPECT_EQ("\\x80\\xbf", escape("\x80\xbf"));                   // a continuation without a start
  EXPECT_EQ("\\xc0\\xaf\\xc1\\xbf", escape("\xc0\xaf\xc1\xbf")); // two bytes for one
  EXPECT_EQ("\\xe0\\x9f\\xbf", escape("\xe0\x9f\xbf"));          // three for two
  EXPECT_EQ("\\xf0\\x8f\\xbf\\xbf", escape("\xf0\x8f\xbf\xbf")); // four for three
  EXPECT_EQ("\\xed\\xa0\\x80\\xed\\xbf\\xbf", escape("\xed\xa0\x80\xed\xbf\xbf")); // surrogates
  EXPECT_EQ("\\xf4\\x90\\x80\\x80", escape("\xf4\x90\x80\x80")); // beyond U+10FFFF
  EXPECT_EQ("\\xf5\\xff", escape("\xf5\xff"));
  EXPECT_EQ("\\xe4\\xb8", escape("\xe4\xb8"));   // cut off by the end
  EXPECT_EQ("\\xe4\\xb8x", escape("\xe4\xb8x")); // and by what follows
  EXPECT_EQ("\\xf0\\x9f\\x94 \u4e2d", escape("\xf0\x9f\x94 \u4e2d"));
}

TEST(Text, EscapingTwiceIsEscapingOnce) {
  for (int first = 1; first < 256; first++) {
    for (int second = 1; second < 256; second++) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second), 'x'};
      EXPECT_EQ(escape(bytes), escape(escape(bytes)));
    }
  }
}

TEST(Text, NothingIsCutInTwo) {
  const std::string text = "a\u00e4\u4e2d\U0001f511\x1b\xff|\\x0a|";
  const std::string whole = escape(text);
  // Where a cut may be, behind each character and each escape.
  const size_t ends[] = {0, 1, 3, 6, 10, 14, 18, 19, 23, 24};
  ASSERT_EQ(24u, whole.size());
  for (size_t capacity = 1; capacity <= whole.size() + 2; capacity++) {
    size_t expected = 0;
    for (const size_t end : ends) expected = end < capacity ? end : expected;
    EXPECT_EQ(whole.substr(0, expected), escape(text, capacity)) << capacity;
  }
}

TEST(Text, TheRoomThatIsPromisedIsEnough) {
  const std::string text(100, '\x01');
  EXPECT_EQ(400u, escape(text, LK_TEXT_ESCAPED_BYTES(text.size())).size());
}

// Where the text ends with the room, it has no NUL of its own.
TEST(Text, IsPutAsFarAsThereIsRoom) {
  const char whole[] = {'a', 'b', 'c', 'd'};
  char out[] = "xxxxxxx";
  lk_text_put(out, 5, whole);
  EXPECT_STREQ(out, "abcd");
  EXPECT_EQ(out[5], 'x');
  lk_text_put(out, 4, "abcd");
  EXPECT_STREQ(out, "abc");
  lk_text_put(out, 1, "abcd");
  EXPECT_STREQ(out, "");
  lk_text_put(out, 5, nullptr);
  EXPECT_STREQ(out, "");
}

} // namespace
