// A file of measured times, with one call of the C library or of the system failing at a time: a
// save that fails leaves the file as it was, and the next one writes everything once.
#ifdef LK_TEST_FAULTS
#include <fstream>
#include <sstream>

#include "tests/faults/case.h"
#include "tests/harness/folder.h"
#include "tests/ops/engine/tuning_util.h"

extern "C" {
#include "plugin/tuning_file.h"
}

namespace {

using namespace lk::faults;

std::string content(const std::string &path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

struct Table {
  lk_intern *intern = nullptr;
  lk_tuning *tuning = nullptr;
  lk_key *key = nullptr;

  void open(Case &at) {
    const lk_allocator *allocator = lk_allocator_default();
    const std::string text = lk::work_text(1);
    at.step("intern_create",
            [&](lk_error *error) { return lk_intern_create(allocator, &intern, error); });
    at.step("tuning_create",
            [&](lk_error *error) { return lk_tuning_create(allocator, intern, &tuning, error); });
    at.step("key_parse", [&](lk_error *error) {
      return lk_key_parse(intern, allocator, text.c_str(), &key, error);
    });
  }
  void close() {
    lk_key_destroy(lk_allocator_default(), key);
    lk_tuning_destroy(tuning);
    lk_intern_destroy(intern);
  }
  void note(Case &at) const {
    const lk_tuned times = {1, 2, 1};
    at.step("tuning_note",
            [&](lk_error *error) { return lk_tuning_note(tuning, key, &times, error); });
  }
  void append(Case &at, const std::string &path) const {
    const std::string before = content(path);
    at.step(
        "append",
        [&](lk_error *error) {
          return lk_tuning_file_append(tuning, path.c_str(), nullptr, error);
        },
        [&] {
          if (content(path) != before)
            at.complain("it has been changed: %s", content(path).c_str());
        });
  }
  void read(Case &at, const std::string &path) const {
    at.step("read", [&](lk_error *error) {
      return lk_tuning_file_read(tuning, lk_allocator_default(), path.c_str(), error);
    });
  }
};

void live(Case &at, const std::string &path) {
  Table table, another;
  lk_tuned found = {};
  unlink(path.c_str());
  at.arm();
  table.open(at);
  another.open(at);
  for (int i = 0; i < 2; i++) { // a new file, and one that is there
    table.note(at);
    table.append(at, path);
  }
  const std::string line = lk::line_of(1, "1 2") + "\n", all = content(path);
  if (all != "# latchkey tuning 1\n" + line + line) at.complain("has %s", all.c_str());
  another.read(at, path);
  const bool is_found = lk_tuning_find(another.tuning, another.key, &found);
  // That a file is cut for its reader is not told. Where memory ended, what was read before stays.
  const bool is_whole = !at.has_met(FAULT_READ_END) && !at.has_met(FAULT_MEMORY);
  if (is_whole && (!is_found || !(found == lk_tuned{2, 4, 2}))) {
    at.complain("found are %g and %g", found.native_ns, found.engine_ns);
  }
  table.close();
  another.close();
}

TEST(TuningFaults, EveryCallFailsOnce) {
  const lk::Folder folder;
  const std::string path = folder.path() + "/a";
  const Scenario scenario = [&](Case &at) { live(at, path); };
  const Outcome without = run_case(scenario, {});
  ASSERT_STREQ(without.complaint, "") << without.now;
  Tally tally;
  for (int kind = 0; kind < FAULT_N_KINDS; kind++) {
    tally.try_each(scenario, fault_kind(kind), false, without);
  }
  tally.print();
  for (fault_kind kind : {FAULT_MEMORY, FAULT_OPEN, FAULT_MAKE_FILE, FAULT_STATUS, FAULT_READ,
                          FAULT_READ_AT, FAULT_WRITE, FAULT_FILE_LOCK, FAULT_SYNC}) {
    EXPECT_GT(tally.told[kind], 0u) << fault_kind_name(kind);
  }
  for (fault_kind kind : {FAULT_READ_INTERRUPTED, FAULT_READ_SHORT, FAULT_WRITE_INTERRUPTED,
                          FAULT_WRITE_SHORT, FAULT_FILE_LOCK_INTERRUPTED, FAULT_CLOSE}) {
    EXPECT_GT(tally.points[kind], 0u) << fault_kind_name(kind); // it goes on
    EXPECT_EQ(tally.told[kind], 0u) << fault_kind_name(kind);
  }
}

} // namespace

#else
#include <gtest/gtest.h>

TEST(TuningFaults, EveryCallFailsOnce) {
  GTEST_SKIP() << "the sanitizer has functions of its own in front of the C library's";
}
#endif
