// The command, with one call of the C library or of the system failing at a time: it shows and
// writes all, or says why not and leaves no output.
#ifdef LK_TEST_FAULTS
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/faults/faults.h"
#include "tests/faults/session_model.h"
#include "tests/harness/folder.h"

extern char **environ;

namespace {

using namespace lk::faults;

std::string text_of(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string npy(const Floats &values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size() / kWidth) + ", " + std::to_string(kWidth) +
                       "), }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\0\x76\0", 10) + header + proto::raw(values);
}

struct Result {
  int status = -1;
  size_t calls = 0;
  bool fired = false;
  std::string out, err;
};

// MODEL, INPUT and OUT stand for paths.
struct Command {
  const char *name;
  std::vector<std::string> words;
  bool writes;
};

const Command kCommands[] = {
    {"run", {"run", "MODEL", "-i", "x=INPUT", "-o", "OUT"}, true},
    {"run_json", {"run", "MODEL", "-i", "x=INPUT", "-o", "OUT", "--json"}, true},
    {"inspect", {"inspect", "MODEL"}, false},
    {"inspect_json", {"inspect", "MODEL", "--json"}, false},
};

class CommandFaults : public ::testing::TestWithParam<Command> {
protected:
  CommandFaults() : model_(write_model(folder_, false)), outputs_(folder_.path() + "/out") {
    folder_.write("x.npy", npy(input(kRows)));
  }

  // Starts with no output.
  Result run(const std::string &kind, size_t nth, bool on) {
    (void)!system(("rm -rf '" + outputs_ + "'").c_str());
    const std::string fault =
        std::string(FAULT_VARIABLE "=") + kind + " " + std::to_string(nth) + (on ? " 1" : " 0");
    std::vector<std::string> words = GetParam().words;
    for (std::string &each : words) {
      if (each == "MODEL") each = model_;
      if (each == "OUT") each = outputs_;
      if (each == "x=INPUT") each = "x=" + folder_.path() + "/x.npy";
    }
    return start(words, fault);
  }

  Result start(std::vector<std::string> words, const std::string &fault) {
    words.insert(words.begin(), LK_TEST_COMMAND);
    const std::string report = folder_.path() + "/report", out = folder_.path() + "/stdout",
                      err = folder_.path() + "/stderr";
    std::vector<std::string> variables = {std::string("LD_PRELOAD=") + LK_TEST_FAULTS, fault,
                                          FAULT_REPORT_VARIABLE "=" + report, "LATCHKEY_THREADS=3"};
    std::vector<char *> argv, envp;
    for (std::string &each : words) argv.push_back(each.data());
    for (std::string &each : variables) envp.push_back(each.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    unlink(report.c_str());
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), flags, 0600);
    pid_t pid = -1;
    EXPECT_EQ(posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), envp.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    Result result;
    EXPECT_EQ(waitpid(pid, &result.status, 0), pid);
    std::ifstream(report) >> result.calls >> result.fired;
    result.out = std::regex_replace(text_of(out), times_, "TIME");
    result.err = text_of(err);
    return result;
  }

  // Names and contents of what is there.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    if (access(outputs_.c_str(), F_OK) != 0) return all;
    for (const auto &each : std::filesystem::directory_iterator(outputs_)) {
      all[each.path().filename()] = text_of(each.path());
    }
    return all;
  }

  // All or nothing. Returns what is wrong.
  std::string complaint(const Result &without, const std::map<std::string, std::string> &wanted,
                        const Result &it) const {
    const auto there = files();
    if (!WIFEXITED(it.status)) return strsignal(WTERMSIG(it.status));
    if (it.status == 0) {
      if (there != wanted) return "it worked, but the outputs are others";
      if (it.out == without.out) return "";
      const auto at =
          std::mismatch(it.out.begin(), it.out.end(), without.out.begin(), without.out.end());
      const std::string rest(at.first, it.out.end());
      return "it worked, but it did not show '" +
             std::string(at.second, without.out.end()).substr(0, 80) + "', but '" +
             rest.substr(0, 80) + "'";
    }
    if (it.err.find("latchkey") != 0 || it.err.find(": failed to ") == std::string::npos) {
      return "it failed with this sentence: '" + it.err + "'";
    }
    if (there.empty()) return "";
    // What is shown comes after the outputs, and may fail too.
    return there == wanted ? "" : "it left some outputs, with the sentence: " + it.err;
  }

  static void check_y(const std::map<std::string, std::string> &written) {
    ASSERT_EQ(written.size(), 3u);
    const Floats y = output(input(kRows));
    const std::string &bytes = written.at("y.npy");
    ASSERT_EQ(bytes.size(), 128 + y.size() * sizeof(float));
    Floats got(y.size());
    memcpy(got.data(), &bytes[128], got.size() * sizeof(float));
    EXPECT_TRUE(lk::all_close(y, got));
  }

  static constexpr size_t kRows = 256;
  const std::regex times_{"\"[a-z_]*ms\": [0-9.e+-]+|[0-9.e+-]+ ms"};
  lk::Folder folder_;
  std::string model_, outputs_;
};

TEST_P(CommandFaults, EveryCallFailsOnce) {
  const Result without = run("malloc", 0, false);
  const auto wanted = files();
  ASSERT_EQ(without.status, 0) << without.err;
  ASSERT_EQ(run("malloc", 0, false).out, without.out) << "two runs say the same";
  if (GetParam().writes) check_y(wanted);
  int complaints = 0;
  for (int kind = 0; kind < FAULT_N_KINDS; kind++) {
    const std::string name = fault_kind_name(fault_kind(kind));
    size_t points = 0, told = 0;
    for (bool on : {false, true}) {
      if (on && kind == FAULT_READ_INTERRUPTED) continue;             // nothing would ever be read
      if (on && kind == FAULT_MEMORY && !GetParam().writes) continue; // slow, and much the same
      for (size_t nth = 1; complaints < 20; nth++) {
        const Result it = run(name, nth, on);
        if (WIFEXITED(it.status) && !it.fired) break;
        points++;
        told += it.status != 0;
        const std::string wrong = complaint(without, wanted, it);
        if (wrong.empty()) continue;
        complaints++;
        ADD_FAILURE() << name << " " << nth << (on ? " and on" : "") << ": " << wrong;
      }
    }
    if (points == 0) continue;
    printf("%-20s %6zu points, of which %zu were told\n", name.c_str(), points, told);
    if (kind == FAULT_MEMORY) {
      EXPECT_GT(told, 100u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Commands, CommandFaults, ::testing::ValuesIn(kCommands),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

#else
#include <gtest/gtest.h>

TEST(CommandFaults, EveryCallFailsOnce) {
  GTEST_SKIP() << "the sanitizer has functions of its own in front of the C library's";
}
#endif
