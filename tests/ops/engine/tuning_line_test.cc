// A line of measured times: read as what was printed, or not read at all.
#include <cfloat>
#include <clocale>
#include <cmath>

#include "tests/ops/engine/random_work.h"
#include "tests/ops/engine/tuning_util.h"

namespace {

using lk::OwnedIntern;
using lk::OwnedKey;

class TuningLine : public ::testing::Test {
protected:
  TuningLine() { LK_EXPECT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR)); }
  ~TuningLine() override { freelocale(c); }
  std::string print(const lk_key *key, const lk_tuned &times) {
    size_t room = 0, bytes = 0;
    LK_EXPECT_OK(lk_tuning_line_room(intern, key, &room, LK_ERR));
    std::vector<char> line(room);
    LK_EXPECT_OK(lk_tuning_line_print(intern, key, &times, c, line.data(), room, &bytes, LK_ERR));
    EXPECT_LT(bytes, room);
    EXPECT_EQ(line[bytes], '\0');
    EXPECT_EQ(bytes, strlen(line.data()));
    return {line.data(), bytes};
  }
  // Without the end of the line; an empty key: it is not one.
  OwnedKey parse(const std::string &line, lk_tuned *times) {
    const std::vector<char> exact(line.begin(), line.end()); // sanitizers see its end
    OwnedKey key;
    LK_EXPECT_OK(lk_tuning_line_parse(intern, lk_allocator_default(), exact.data(), exact.size(), c,
                                      key.out(), times, LK_ERR));
    return key;
  }
  bool is_line(const std::string &line) {
    lk_tuned times;
    return parse(line, &times) != nullptr;
  }
  void expect_round_trip(const lk_key *key, const lk_tuned &times) {
    std::string line = print(key, times);
    ASSERT_EQ(line.find('\n'), line.size() - 1);
    line.pop_back();
    lk_tuned found;
    const OwnedKey parsed = parse(line, &found);
    ASSERT_NE(parsed, nullptr) << line;
    ASSERT_EQ(lk::key_bytes(parsed), lk::key_bytes(key)) << line;
    ASSERT_TRUE(lk_key_equal(parsed, key)) << line;
    ASSERT_EQ(parsed->hash, key->hash) << line;
    ASSERT_EQ(found.native_ns, times.native_ns) << line;
    ASSERT_EQ(found.engine_ns, times.engine_ns) << line;
    ASSERT_EQ(found.count, times.count) << line;
  }
  locale_t c = newlocale(LC_ALL_MASK, "C", locale_t(nullptr));
  OwnedIntern intern;
};

TEST_F(TuningLine, IsReadAsWhatWasPrinted) {
  lk_key *fixed[LK_WORK_KINDS] = {};
  lk_key_engine engine = {};
  std::mt19937_64 random(7);
  lk::RandomWorks works(6);
  for (const auto &[member, text] :
       {std::pair{&engine.name, "test"}, {&engine.state, "1.0 isa=3;\n\xff odd"}}) {
    LK_ASSERT_OK(lk_intern_get(intern, text, strlen(text), member, LK_ERR));
  }
  for (uint32_t kind = 0; kind < LK_WORK_KINDS; kind++) {
    LK_ASSERT_OK(lk_value_key_fix(lk_allocator_default(), &engine, kind, &fixed[kind], LK_ERR));
  }
  for (int i = 0; i < lk::repeats(2000) && !HasFailure(); i++) {
    const lk_work work = works.make();
    lk_key_builder builder;
    lk_value_key_begin(&builder, lk_allocator_default(), fixed, &work);
    const OwnedKey key = lk::finish(&builder);
    const double size = std::pow(10.0, double(random() % 600) - 300);
    expect_round_trip(
        key, {size * 0.999, double(random() % 100000000 + 1) / 7, double(random() % 1000 + 1)});
  }
  for (lk_key *key : fixed) lk_key_destroy(lk_allocator_default(), key);
}

TEST_F(TuningLine, HasTheExtremesOfNumbers) {
  OwnedKey key;
  LK_ASSERT_OK(
      lk_key_parse(intern, lk_allocator_default(), lk::work_text(1).c_str(), key.out(), LK_ERR));
  const double all[] = {DBL_TRUE_MIN,
                        DBL_MIN,
                        1e-5,
                        0.1,
                        1.0,
                        1.0 / 3,
                        123456789.0,
                        9007199254740993.0,
                        1.2345678901234567e+299,
                        1e300};
  for (const double native_ns : all) {
    for (const double engine_ns : all) expect_round_trip(key, {native_ns, engine_ns, native_ns});
  }
}

TEST_F(TuningLine, IsAsTheHeaderSays) {
  OwnedKey key;
  LK_ASSERT_OK(
      lk_key_parse(intern, lk_allocator_default(), lk::work_text(1).c_str(), key.out(), LK_ERR));
  EXPECT_EQ(print(key, {1500, 0.25, 1}), lk::line_of(1, "1500 0.25") + "\n");
}

TEST_F(TuningLine, DoesNotDependOnTheLocale) {
  const std::string before = setlocale(LC_ALL, nullptr);
  OwnedKey key;
  LK_ASSERT_OK(
      lk_key_parse(intern, lk_allocator_default(), lk::work_text(1).c_str(), key.out(), LK_ERR));
  for (const char *name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
    if (setlocale(LC_ALL, name) == nullptr) continue; // not installed; the last one always is
    EXPECT_EQ(print(key, {0.5, 0.25, 1}), lk::line_of(1, "0.5 0.25") + "\n");
    expect_round_trip(key, {0.5, 0.25, 1});
    char text[8];
    snprintf(text, sizeof text, "%.1f", 0.5);
    EXPECT_EQ(text, std::string("0") + localeconv()->decimal_point + "5") << "the host's is lost";
  }
  setlocale(LC_ALL, before.c_str());
}

TEST_F(TuningLine, WithAnyByteChangedIsNone) {
  const std::string line = lk::line_of(1, "1500.5 0.25");
  ASSERT_TRUE(is_line(line));
  for (size_t at = 0; at < line.size(); at++) {
    for (int byte = 0; byte < 256; byte++) {
      std::string changed = line;
      changed[at] = char(byte);
      ASSERT_EQ(is_line(changed), changed == line) << "byte " << at << " is " << byte;
    }
  }
}

TEST_F(TuningLine, CutAnywhereIsNone) {
  const std::string line = lk::line_of(1, "1500.5 0.25");
  for (size_t bytes = 0; bytes < line.size(); bytes++) {
    ASSERT_FALSE(is_line(line.substr(0, bytes))) << bytes;
    ASSERT_FALSE(is_line(line.substr(line.size() - bytes))) << bytes;
  }
}

// Such a line comes from another version, or from somebody who means harm.
TEST_F(TuningLine, WhoseDigitsAreRightMayBeNone) {
  const std::string key = lk::work_text(1);
  ASSERT_TRUE(is_line(lk::sealed("1 1 1 " + key)));
  ASSERT_TRUE(is_line(lk::sealed("1e+2 1.5e0 3e0 " + key)));
  for (const char *number : {"",       "0",        "0.0",
                             "-1",     "+1",       "-0",
                             "inf",    "infinity", "nan",
                             "-nan",   "1e301",    "1e999",
                             "1e-999", "0x10",     "0x1p3",
                             "1,5",    "1.5.5",    "1e",
                             "1e+",    "e5",       ".5",
                             "1-",     "--",       "1 2",
                             " 1",     "\t1",      "99999999999999999999e999999999999999999"}) {
    EXPECT_FALSE(is_line(lk::sealed(number + (" 1 1 " + key)))) << number;
    EXPECT_FALSE(is_line(lk::sealed("1 " + (number + (" 1 " + key))))) << number;
    EXPECT_FALSE(is_line(lk::sealed("1 1 " + (number + (" " + key))))) << number;
  }
  const std::string null(1, '\0');
  for (const std::string &rest : {std::string(),
                                  std::string("1"),
                                  std::string("1 1"),
                                  std::string("1 1 "),
                                  std::string("1 1 1"),
                                  std::string("1 1 1 "),
                                  "1 1 " + key,
                                  "1 1 1" + key,
                                  "1  1 1 " + key,
                                  "1 1 1  " + key,
                                  "1 1 1 " + key + " ",
                                  "1 1 1 " + key + ";",
                                  "1 1 1 " + key + "x",
                                  "1 1 1 " + key + null,
                                  "1 1 1 " + key + null + "x",
                                  null + "1 1 1 " + key,
                                  "1" + null + " 1 1 " + key,
                                  std::string("1 1 1 name:op=Conv;out=y"),
                                  std::string("1 1 1 user:out=y"),
                                  std::string("1 1 1 run:out=y"),
                                  std::string("1 1 1 value:"),
                                  std::string("1 1 1 value:op=Conv"),
                                  std::string("1 1 1 value:op=later"),
                                  "1 1 1 " + key + ";attr.later=[1]",
                                  "1 1 1 " + key + ";tensor.later=1:f32",
                                  "1 1 1 9:" + key.substr(key.find(':') + 1)}) {
    EXPECT_FALSE(is_line(lk::sealed(rest))) << rest;
  }
}

TEST_F(TuningLine, LongerThanAKeyMayBeIsNone) {
  EXPECT_TRUE(
      is_line(lk::sealed("1 1 1 value:op=element;engine=state:" + std::string(100000, 'x'))));
  EXPECT_FALSE(
      is_line(lk::sealed("1 1 1 value:op=element;engine=state:" + std::string(17 << 20, 'x'))));
  std::string many = "1 1 1 value:op=element";
  while (many.size() < 3 << 20) many += ";tensor.src=1x2x3x4:f32";
  EXPECT_FALSE(is_line(lk::sealed(many)));
}

TEST(TuningLineFaults, EachAllocationThatFailsIsTold) {
  const std::string line = lk::line_of(1, "1500.5 0.25");
  const locale_t c = newlocale(LC_ALL_MASK, "C", locale_t(nullptr));
  lk::fail_every_allocation([&](lk::FailingAllocator &failing) {
    OwnedIntern intern;
    lk_key *key = nullptr;
    lk_tuned times;
    lk_status status = lk_intern_create(failing.get(), intern.out(), LK_ERR);
    if (status != LK_OK) return status;
    status = lk_tuning_line_parse(intern, failing.get(), line.data(), line.size(), c, &key, &times,
                                  LK_ERR);
    EXPECT_EQ(status == LK_OK, key != nullptr);
    lk_key_destroy(failing.get(), key);
    return status;
  });
  freelocale(c);
}

} // namespace
