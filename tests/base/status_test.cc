// Sentences of failures: one line of valid UTF-8, whatever is in the names that they quote.
extern "C" {
#include "base/status.h"
#include "base/text.h"
}

#include <cstring>
#include <string>

#include "tests/harness/lk_test.h"

namespace {

constexpr size_t kLongest = LK_ERROR_CAPACITY - 1;

// The sentence with which a function fails that quotes `name`.
std::string sentence(const std::string &name) {
  lk_error error;
  memset(&error, '#', sizeof error);
  EXPECT_EQ(LK_NOT_FOUND, lk_fail(&error, LK_NOT_FOUND, "no '%s'", name.c_str()));
  EXPECT_EQ(LK_NOT_FOUND, error.status);
  EXPECT_LE(strnlen(error.message, LK_ERROR_CAPACITY), kLongest);
  return error.message;
}

std::string prefixed(const std::string &prefix, const std::string &message) {
  lk_error error;
  memset(&error, '#', sizeof error);
  memcpy(error.message, message.c_str(), message.size() + 1);
  EXPECT_EQ(LK_IO, lk_error_prefix(&error, LK_IO, "%s", prefix.c_str()));
  EXPECT_EQ(LK_IO, error.status);
  EXPECT_LE(strnlen(error.message, LK_ERROR_CAPACITY), kLongest);
  return error.message;
}

TEST(Status, NoErrorIsAllowed) {
  EXPECT_EQ(LK_IO, lk_fail(nullptr, LK_IO, "%s", "x"));
  EXPECT_EQ(LK_IO, lk_error_prefix(nullptr, LK_IO, "%s", "x"));
  EXPECT_EQ(LK_OUT_OF_MEMORY, lk_fail_memory(nullptr, "x", 1));
}

TEST(Status, NamesAreEscaped) {
  EXPECT_EQ("no 'conv\u4e2d'", sentence("conv\u4e2d"));
  EXPECT_EQ("no '\\x1b]0;title\\x07'", sentence("\x1b]0;title\x07"));
  EXPECT_EQ("no 'a\\x0ab'", sentence("a\nb"));
  EXPECT_EQ("no '\\xff\\xfe'", sentence("\xff\xfe"));
  EXPECT_EQ("no '\\xe2\\x80\\xaetxt.onnx'", sentence("\u202etxt.onnx"));
}

TEST(Status, PrefixesAreEscapedOnce) {
  EXPECT_EQ("model \\x01: no '\\x02'", prefixed("model \x01", sentence("\x02")));
  EXPECT_EQ("a: b: c", prefixed("a", prefixed("b", "c")));
}

TEST(Status, ASentenceIsCutBetweenCharactersAndEscapes) {
  for (const std::string character : {"x", "\u00e4", "\u4e2d", "\U0001f511"}) {
    for (const std::string &unit : {character, std::string("\x1b"), std::string("\xff")}) {
      const std::string shown = unit == character ? unit : unit == "\x1b" ? "\\x1b" : "\\xff";
      for (size_t before = 0; before < 8; before++) {
        std::string name(before, '.');
        for (size_t i = 0; i < LK_ERROR_CAPACITY; i++) name += unit;
        const std::string message = sentence(name);
        EXPECT_GT(message.size() + shown.size(), kLongest);
        EXPECT_EQ(shown, message.substr(message.size() - shown.size()));
        EXPECT_EQ(0u, (message.size() - before - strlen("no '")) % shown.size());
      }
    }
  }
}

TEST(Status, APrefixedSentenceIsCutBetweenCharactersAndEscapes) {
  const std::string message = sentence(std::string(LK_ERROR_CAPACITY, '\x1b'));
  for (size_t length = 0; length < 12; length++) {
    const std::string whole = prefixed(std::string(length, 'p'), message);
    EXPECT_GT(whole.size() + 4, kLongest);
    EXPECT_EQ("\\x1b", whole.substr(whole.size() - 4));
  }
  const std::string name = sentence(std::string(kLongest - 4 - 2, '.') + "\u4e2d");
  EXPECT_EQ(kLongest - 2, name.size()) << "three bytes did not fit";
}

TEST(Status, ALongPrefixLeavesNoSentence) {
  for (const size_t length : {kLongest - 2, kLongest - 1, kLongest, kLongest + 1, kLongest + 9}) {
    const std::string whole = prefixed(std::string(length, 'p'), "message");
    EXPECT_EQ((std::string(length, 'p') + ": message").substr(0, kLongest), whole);
  }
}

TEST(Status, TheSentenceItselfMayBeQuoted) {
  lk_error error;
  (void)lk_fail(&error, LK_IO, "first \xff");
  EXPECT_EQ(LK_IO, lk_fail(&error, LK_IO, "second after '%s'", error.message));
  EXPECT_STREQ("second after 'first \\xff'", error.message);
}

TEST(Status, EveryStatusHasAText) {
#define EXPECT_TEXT(symbol, value, text) EXPECT_STREQ(text, lk_status_text(symbol));
  LK_STATUS_LIST(EXPECT_TEXT)
#undef EXPECT_TEXT
  EXPECT_STREQ("unknown status", lk_status_text(static_cast<lk_status>(15)));
}

} // namespace
