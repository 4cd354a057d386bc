// Keys of works, and measured times in tables and in text.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cinttypes>

#include "tests/keys/random_key.h"

extern "C" {
#include "ops/engine/tuning.h"
#include "ops/engine/value_key.h"
}

inline bool operator==(const lk_tuned &a, const lk_tuned &b) {
  return a.native_ns == b.native_ns && a.engine_ns == b.engine_ns && a.count == b.count;
}

namespace lk {

using OwnedTuning = Owned<lk_tuning, lk_tuning_destroy>;

// Of a work that no other number has.
inline std::string work_text(int64_t number, const std::string &state = "1") {
  return "value:fixed=96;op=element;precision=f32;engine=name:test,state:" + state +
         ";tensor.src=" + std::to_string(number) + "x3:f32";
}
// Of the class of all works up to this power of two and above its half.
inline std::string class_text(int64_t power) {
  return "value:fixed=96;op=element;precision=f32;engine=name:test,state:1;tensor.src=" +
         std::to_string(power) + "x4:f32";
}

// A line as it is written, with the digits of whatever the rest is.
inline std::string sealed(const std::string &rest) {
  char digits[17];
  snprintf(digits, sizeof digits, "%016" PRIx64, uint64_t(XXH3_64bits(rest.data(), rest.size())));
  return digits + (" " + rest);
}
inline std::string line_of(int64_t number, const std::string &times, int count = 1) {
  return sealed(times + " " + std::to_string(count) + " " + work_text(number));
}

// Measured times with names of their own.
class Times {
public:
  explicit Times(const lk_allocator *allocator = lk_allocator_default()) {
    LK_EXPECT_OK(lk_intern_create(allocator, intern.out(), LK_ERR));
    LK_EXPECT_OK(lk_tuning_create(allocator, intern, tuning.out(), LK_ERR));
  }
  OwnedKey key(const std::string &text) const {
    OwnedKey made;
    LK_EXPECT_OK(lk_key_parse(intern, lk_allocator_default(), text.c_str(), made.out(), LK_ERR));
    return made;
  }
  OwnedKey key(int64_t number) const { return key(work_text(number)); }
  lk_status note(int64_t number, double native_ns, double engine_ns) const {
    const lk_tuned times = {native_ns, engine_ns, 1};
    return lk_tuning_note(tuning, key(number), &times, LK_ERR);
  }
  // Zeros: nothing is known.
  lk_tuned find(int64_t number) const {
    lk_tuned found = {};
    const bool is_there = lk_tuning_find(tuning, key(number), &found);
    EXPECT_EQ(is_there, found.native_ns > 0);
    return found;
  }
  lk_tuned find_class(const std::string &text) const {
    lk_tuned found = {};
    const bool is_there = lk_tuning_find_class(tuning, key(text), &found);
    EXPECT_EQ(is_there, found.native_ns > 0);
    return found;
  }
  lk_tuned find_class(int64_t power) const { return find_class(class_text(power)); }
  lk_status read(const std::string &text) const {
    const std::vector<char> exact(text.begin(), text.end()); // sanitizers see its end
    return lk_tuning_read(tuning, exact.data(), exact.size(), LK_ERR);
  }
  // What is not saved, which is settled.
  std::string write(bool is_saved = true) const {
    lk_tuning_lines lines;
    LK_EXPECT_OK(lk_tuning_write(tuning, &lines, LK_ERR));
    std::string text(lines.text != nullptr ? lines.text : "", lines.bytes);
    EXPECT_EQ(uint64_t(std::count(text.begin(), text.end(), '\n')), lines.works);
    lk_tuning_settle(tuning, &lines, is_saved);
    return text;
  }
  uint64_t works() const { return lk_tuning_works(tuning); }
  uint64_t skipped() const { return lk_tuning_skipped(tuning); }

  OwnedIntern intern; // first: it outlives the times
  OwnedTuning tuning;
};

} // namespace lk
