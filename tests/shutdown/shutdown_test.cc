// Processes with threads inside of the library, each ending in its own order: all of them
// exit soon, with the wanted status and not by a signal.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "tests/executor_glue/ort/models.h"
#include "tests/harness/environment.h"
#include "tests/harness/folder.h"
#include "tests/harness/places.h"

extern char **environ;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr int kSeeds = 60, kOrtSeeds = 10;
#else
constexpr int kSeeds = 200, kOrtSeeds = 30; // `make nightly` has 2,000 of each
#endif

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kMostTime(90); // more than the program's own alarm

struct Program {
  std::string path;
  std::vector<std::string> arguments; // before the seed
};

pid_t start(const Program &program, int seed) {
  std::vector<std::string> words = {program.path};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  words.push_back(std::to_string(seed));
  std::vector<char *> argv;
  for (std::string &word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ), 0) << words[0];
  return pid;
}

std::string end_of(int status) {
  if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGKILL) return "no end";
  return std::string("signal ") + strsignal(WTERMSIG(status));
}

// A status of 0 is one where all threads have ended.
void run_all(const Program &program, int first, int count) {
  std::string command = program.path;
  for (const std::string &argument : program.arguments) command += " " + argument;
  const size_t most = 2 * std::max(1u, std::thread::hardware_concurrency()); // they sleep as well
  struct Run {
    int seed;
    Clock::time_point begin;
  };
  std::map<pid_t, Run> running;
  int failed = 0;
  for (int seed = first; seed < first + count || !running.empty();) {
    if (seed < first + count && running.size() < most) {
      running[start(program, seed)] = {seed, Clock::now()};
      seed++;
      continue;
    }
    int status = -1;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      // A process whose remaining threads block all signals does not hear its own alarm.
      for (const auto &each : running) {
        if (Clock::now() - each.second.begin > kMostTime) kill(each.first, SIGKILL);
      }
      continue;
    }
    const auto found = running.find(pid);
    ASSERT_NE(found, running.end());
    const int of = found->second.seed;
    const bool is_well =
        WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == of % 50 + 1);
    if (!is_well && failed++ < 10) {
      ADD_FAILURE() << end_of(status) << ": " << command << " " << of;
    }
    running.erase(found);
  }
  EXPECT_EQ(failed, 0) << "of " << count;
}

class Shutdown : public ::testing::Test {
protected:
  Shutdown() {
    // What is left at the end is left on purpose.
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    setenv("TSAN_OPTIONS", ("report_thread_leaks=0:" + tsan_).c_str(), 1);
  }
  const lk::Folder folder_;
  const std::string tsan_ = getenv("TSAN_OPTIONS") != nullptr ? getenv("TSAN_OPTIONS") : "";
};

TEST_F(Shutdown, OfManyOrders) {
  const std::string model = folder_.write("model.onnx", ort::classifier());
  run_all({LK_TEST_SHUTDOWN_PROGRAM, {lk_test_library, model}},
          int(lk::number_of_variable("LK_TEST_SHUTDOWN_FIRST", 1)),
          int(lk::number_of_variable("LK_TEST_SHUTDOWN_SEEDS", kSeeds)));
}

TEST_F(Shutdown, OfOnnxRuntime) {
  run_all({LK_TEST_SHUTDOWN_ORT_PROGRAM, {"provider"}},
          int(lk::number_of_variable("LK_TEST_SHUTDOWN_FIRST", 1)),
          int(lk::number_of_variable("LK_TEST_SHUTDOWN_SEEDS", kOrtSeeds)));
}

} // namespace
