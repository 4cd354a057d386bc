// The socket of a process: who may ask, what is answered, what bad clients do, whose file it is.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/harness/folder.h"
#include "tests/harness/wait.h"
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Context;
using ::testing::HasSubstr;

sockaddr_un address_of(const std::string &path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

int connect_to(const std::string &path) {
  const int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  if (connect(peer, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0) return peer;
  close(peer);
  return -1;
}

std::string read_all(int peer) {
  std::string all;
  char bytes[4096];
  ssize_t got;
  while ((got = read(peer, bytes, sizeof bytes)) > 0) all.append(bytes, size_t(got));
  close(peer);
  return all;
}

std::string ask(const std::string &path, const std::string &request = "statistics 1\n") {
  const int peer = connect_to(path);
  if (peer < 0) return "nobody";
  (void)send(peer, request.data(), request.size(), MSG_NOSIGNAL);
  return read_all(peer);
}

// The file is there a moment before somebody answers at it.
std::string ask_when_there(const std::string &path) {
  std::string answer;
  lk::wait_until([&] { return (answer = ask(path)) != "nobody"; });
  return answer;
}

int listen_at(const std::string &path) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  EXPECT_EQ(bind(listener, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  return listener;
}

class Serve : public ::testing::Test {
protected:
  void SetUp() override {
    unsetenv("LATCHKEY_SOCKET");
    path = folder.path() + "/s";
  }
  void TearDown() override {
    unsetenv("LATCHKEY_SOCKET");
    unsetenv("XDG_RUNTIME_DIR");
  }
  lk_status create(Context *out, const std::string &where) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.socket = where.c_str();
    return api()->context_create(&options, out->out(), LK_ERR);
  }
  lk::Folder folder;
  std::string path;
};

struct Told {
  lk_reporter reporter = {};
  std::string text;
  std::atomic<int> taken{0}, released{0};
  explicit Told(lk_context *context, std::string says) : text(std::move(says)) {
    reporter.context = context;
    reporter.object = this;
    reporter.make = [](void *self) {
      static_cast<Told *>(self)->taken++;
      return strdup(static_cast<Told *>(self)->text.c_str());
    };
    reporter.release = [](void *self, char *given) {
      static_cast<Told *>(self)->released++;
      free(given);
    };
  }
};

TEST_F(Serve, OnlyWhenAsked) {
  Context context;
  LK_ASSERT_OK(create(&context, ""));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(Serve, ItsUserAloneAndRemovesItsFile) {
  {
    Context context;
    LK_ASSERT_OK(create(&context, path));
    struct stat info = {};
    ASSERT_EQ(lstat(path.c_str(), &info), 0);
    EXPECT_TRUE(S_ISSOCK(info.st_mode));
    EXPECT_EQ(info.st_mode & 07777, 0600u);
    const std::string answer = ask(path);
    EXPECT_THAT(answer, HasSubstr("\"schema\":\"latchkey-process-1\""));
    EXPECT_THAT(answer, HasSubstr("\"pid\":" + std::to_string(getpid()) + ","));
    EXPECT_THAT(answer, HasSubstr("\"reports\":[],\"left_out\":0}\n"));
  }
  EXPECT_EQ(access(path.c_str(), F_OK), -1);
  EXPECT_EQ(ask(path), "nobody");
}

TEST_F(Serve, OptionsSayWhere) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  std::map<std::string, std::pair<std::string, uint32_t>> options;
  lk_option_info info = {};
  info.struct_size = sizeof info;
  for (uint32_t i = 0; api()->option_info(context, i, &info, nullptr) == LK_OK; i++) {
    options[info.name] = {info.text, info.source};
  }
  EXPECT_EQ(options["socket"].first, path);
  EXPECT_EQ(options["socket"].second, uint32_t(LK_FROM_ARGUMENT));
}

TEST_F(Serve, WhatReportersSay) {
  Context context, other;
  LK_ASSERT_OK(create(&context, path));
  LK_ASSERT_OK(create(&other, ""));
  Told first(context, "{\"a\":1}"), second(other, "[]");
  api()->reporter_enter(&first.reporter);
  api()->reporter_enter(&second.reporter);
  const std::string answer = ask(path);
  EXPECT_THAT(answer, ::testing::ContainsRegex(
                          "\\[\\{\"session\":[0-9]+,\"context\":[0-9]+,\"report\":\\[\\]\\},"
                          "\\{\"session\":[0-9]+,\"context\":[0-9]+,"
                          "\"report\":\\{\"a\":1\\}\\}\\],\"left_out\":0"));
  api()->reporter_leave(&second.reporter);
  api()->reporter_leave(&second.reporter); // once more does nothing
  EXPECT_THAT(ask(path), HasSubstr("\"report\":{\"a\":1}}]"));
  EXPECT_EQ(second.taken, 1);
  EXPECT_EQ(first.taken, first.released);
  api()->reporter_leave(&first.reporter);
}

TEST_F(Serve, AReporterWithoutMemoryIsLeftOut) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  Told one(context, "1"), none(context, "");
  none.reporter.make = [](void *) -> char * { return nullptr; };
  api()->reporter_enter(&one.reporter);
  api()->reporter_enter(&none.reporter);
  EXPECT_THAT(ask(path), HasSubstr(",\"report\":1}],\"left_out\":1}"));
  api()->reporter_leave(&none.reporter);
  api()->reporter_leave(&one.reporter);
}

TEST_F(Serve, RefusesBadRequestsAndGoesOn) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  for (const std::string &request :
       {std::string("\n"), std::string("statistics 2\n"), std::string("GET / HTTP/1.1\r\n"),
        std::string("statistics 1\0\n", 14), std::string(64, 'x'), std::string(1 << 20, 'x')}) {
    const std::string answer = ask(path, request);
    // more than is read is answered by a reset, which may overtake the sentence
    if (request.size() <= 64) {
      EXPECT_THAT(answer, HasSubstr("failed to read the request"));
    }
    EXPECT_THAT(ask(path), HasSubstr("latchkey-process-1"));
  }
  EXPECT_THAT(ask(path, "statistics 1\r\n"), HasSubstr("latchkey-process-1"));
}

// Whether the process has not closed its end.
bool is_open(int peer) {
  pollfd fds = {peer, POLLRDHUP, 0};
  return poll(&fds, 1, 0) == 0;
}

// Of what depends on who is faster, the machine or a client's time: it must succeed once.
template <typename Try> bool succeeds(Try attempt) {
  for (int i = 0; i < 20; i++) {
    if (attempt()) return true;
  }
  return false;
}

// Each of them has a second: who comes later is answered before the first one is sent away.
TEST_F(Serve, WhoSaysNothingKeepsNobodyOut) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  EXPECT_TRUE(succeeds([&] {
    std::vector<int> silent;
    for (int i = 0; i < 12; i++) silent.push_back(connect_to(path));
    EXPECT_EQ(send(silent[0], "stat", 4, MSG_NOSIGNAL), 4);
    EXPECT_THAT(ask(path), HasSubstr("latchkey-process-1"));
    const bool are_open = std::all_of(silent.begin(), silent.end(), is_open);
    for (const int peer : silent) EXPECT_EQ(read_all(peer), "");
    return are_open;
  }));
  std::vector<int> silent;
  for (int i = 0; i < 40; i++) silent.push_back(connect_to(path)); // no room for so many
  EXPECT_THAT(ask(path), HasSubstr("latchkey-process-1"));
  for (const int peer : silent) EXPECT_EQ(read_all(peer), "");
}

TEST_F(Serve, WhoDoesNotReadKeepsNobodyOut) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  Told large(context, "\"" + std::string(8 << 20, 'x') + "\"");
  api()->reporter_enter(&large.reporter);
  EXPECT_TRUE(succeeds([&] {
    const int before = large.taken;
    const int deaf = connect_to(path);
    EXPECT_EQ(send(deaf, "statistics 1\n", 13, MSG_NOSIGNAL), 13);
    lk::wait_until([&] { return large.taken != before; }); // its answer is being sent
    EXPECT_EQ(ask(path).size() >> 20, 8u);
    const bool was_open = is_open(deaf);
    close(deaf);
    return was_open;
  }));
  api()->reporter_leave(&large.reporter);
}

TEST_F(Serve, WhoDoesNotReadDoesNotHoldUpAReporter) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  Told large(context, "\"" + std::string(8 << 20, 'x') + "\"");
  api()->reporter_enter(&large.reporter);
  const int deaf = connect_to(path);
  ASSERT_EQ(send(deaf, "statistics 1\n", 13, MSG_NOSIGNAL), 13);
  lk::wait_until([&] { return large.released > 0; });
  api()->reporter_leave(&large.reporter); // at once: the answer is in memory of its own
  EXPECT_THAT(ask(path), HasSubstr("\"reports\":[]"));
  close(deaf);
}

TEST_F(Serve, ReplacesAStaleFile) {
  close(listen_at(path));
  ASSERT_EQ(access(path.c_str(), F_OK), 0);
  Context context;
  LK_ASSERT_OK(create(&context, path));
  EXPECT_THAT(ask(path), HasSubstr("latchkey-process-1"));
}

TEST_F(Serve, RefusesALiveOne) {
  const int other = listen_at(path);
  Context context;
  LK_EXPECT_STATUS(LK_IO, create(&context, path));
  EXPECT_EQ(LK_MESSAGE, "failed to serve at '" + path + "': another process serves there");
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  close(other);
}

// Between bind and listen nobody can connect, as nobody can to a file that was left behind.
TEST_F(Serve, RefusesOneThatDoesNotListenYet) {
  const int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  ASSERT_EQ(bind(other, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
  Context context;
  LK_EXPECT_STATUS(LK_IO, create(&context, path));
  EXPECT_EQ(LK_MESSAGE, "failed to serve at '" + path + "': another process serves there");
  ASSERT_EQ(listen(other, 1), 0);
  EXPECT_GE(connect_to(path), 0); // the file is still its
  close(other);
}

// Of processes that find the same stale file at the same moment, one serves, and keeps its file.
TEST_F(Serve, OneOfManyTakesAStaleFile) {
  for (int round = 0; round < 20; round++) {
    unlink(path.c_str());
    close(listen_at(path));
    int go[2], told[2];
    ASSERT_EQ(pipe(go), 0);
    ASSERT_EQ(pipe(told), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 6; i++) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      char byte;
      close(go[1]);
      (void)!read(go[0], &byte, 1); // until all are there
      Context context;
      lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
      options.socket = path.c_str();
      const bool serves = api()->context_create(&options, context.out(), nullptr) == LK_OK;
      (void)!write(told[1], serves ? "1" : "0", 1);
      pause();
    }
    close(go[0]);
    close(go[1]);
    std::string all(children.size(), '?');
    for (char &each : all) ASSERT_EQ(read(told[0], &each, 1), 1);
    EXPECT_EQ(std::count(all.begin(), all.end(), '1'), 1) << all;
    EXPECT_THAT(ask(path), HasSubstr("latchkey-process-1"));
    for (const pid_t child : children) kill(child, SIGKILL);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    close(told[0]);
    close(told[1]);
  }
}

TEST_F(Serve, ARelativePathIsOneOfTheFolderOfNow) {
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  {
    Context context;
    LK_EXPECT_OK(create(&context, "s"));
    std::filesystem::current_path("/");
    EXPECT_THAT(ask(path), HasSubstr("latchkey-process-1"));
    Context second;
    LK_EXPECT_OK(create(&second, path)); // the same place
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "the file was left";
  std::filesystem::current_path(before);
}

TEST_F(Serve, AFileThatIsGoneIsMadeAgain) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(unlink(path.c_str()), 0);
    EXPECT_THAT(ask_when_there(path), HasSubstr("latchkey-process-1"));
  }
  // With its folder, in which it may be made again meanwhile.
  for (std::error_code why; std::filesystem::exists(folder.path());) {
    std::filesystem::remove_all(folder.path(), why);
  }
  lk::wait_until_others_sleep(); // it has seen that
  ASSERT_EQ(mkdir(folder.path().c_str(), 0700), 0);
  EXPECT_THAT(ask_when_there(path), HasSubstr("latchkey-process-1"));
}

// All who wait at the old socket while a report is made are answered, when its file is gone.
TEST_F(Serve, WhoWaitsAtAFileThatIsGoneIsAnswered) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  struct Slow {
    std::atomic<bool> is_asked{false}, may_go_on{false};
  } slow;
  lk_reporter reporter = {};
  reporter.context = context;
  reporter.object = &slow;
  reporter.make = [](void *of) {
    auto *self = static_cast<Slow *>(of);
    self->is_asked = true;
    lk::wait_until([&] { return self->may_go_on.load(); });
    return strdup("{}");
  };
  reporter.release = [](void *, char *text) { free(text); };
  api()->reporter_enter(&reporter);
  std::vector<int> peers;
  for (int i = 0; i < 6; i++) {
    peers.push_back(connect_to(path));
    EXPECT_EQ(send(peers.back(), "statistics 1\n", 13, MSG_NOSIGNAL), 13);
    lk::wait_until([&] { return slow.is_asked.load(); });
  }
  ASSERT_EQ(unlink(path.c_str()), 0);
  slow.may_go_on = true;
  for (const int peer : peers) EXPECT_THAT(read_all(peer), HasSubstr("latchkey-process-1"));
  api()->reporter_leave(&reporter);
}

TEST_F(Serve, AFileOfAnotherIsLeftToIt) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  std::ofstream(path + ".new") << "precious";
  ASSERT_EQ(rename((path + ".new").c_str(), path.c_str()), 0);
  lk::wait_until_others_sleep(); // it has seen that
  EXPECT_EQ(std::filesystem::file_size(path), 8u);
  std::filesystem::remove(path);
  EXPECT_THAT(ask_when_there(path), HasSubstr("latchkey-process-1")) << "looked for every second";
}

// The thread that asks is the one that ends by this.
TEST_F(Serve, TheLastContextMayEndWhileItsReporterIsAsked) {
  for (int i = 0; i < 20; i++) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.socket = path.c_str();
    lk_context *context = nullptr;
    LK_ASSERT_OK(api()->context_create(&options, &context, LK_ERR));
    lk_reporter reporter = {};
    reporter.context = context;
    reporter.object = &context;
    reporter.make = [](void *of) {
      auto **last = static_cast<lk_context **>(of);
      api()->context_destroy(*last);
      *last = nullptr;
      return strdup("\"the last\"");
    };
    reporter.release = [](void *, char *text) { free(text); };
    api()->reporter_enter(&reporter);
    EXPECT_THAT(ask(path), HasSubstr("\"report\":\"the last\"")) << "its client is answered";
    api()->reporter_leave(&reporter);
    EXPECT_EQ(context, nullptr);
    EXPECT_NE(access(path.c_str(), F_OK), 0);
  }
}

TEST_F(Serve, RefusesWhatIsNotASocket) {
  std::ofstream(path) << "precious";
  Context context;
  LK_EXPECT_STATUS(LK_IO, create(&context, path));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("it exists and is not a socket"));
  EXPECT_EQ(std::filesystem::file_size(path), 8u);
}

TEST_F(Serve, RefusesPathsThatAreTooLong) {
  Context context;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, create(&context, folder.path() + "/" + std::string(120, 'x')));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("1 to 107 are allowed"));
  LK_EXPECT_STATUS(LK_IO, create(&context, folder.path() + "/none/s"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("No such file"));
}

TEST_F(Serve, OneSocketForAllContexts) {
  Context second;
  {
    Context first, third;
    LK_ASSERT_OK(create(&first, path));
    LK_ASSERT_OK(create(&second, path));
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, create(&third, path + "2"));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("this process serves at '" + path + "' already"));
  }
  EXPECT_THAT(ask(path), HasSubstr("latchkey-process-1"));
}

TEST_F(Serve, AFolderAndTheDefault) {
  const std::string name = std::to_string(getpid()) + ".sock";
  {
    Context context;
    LK_ASSERT_OK(create(&context, folder.path()));
    EXPECT_THAT(ask(folder.path() + "/" + name), HasSubstr("latchkey-process-1"));
  }
  Context context;
  LK_EXPECT_STATUS(LK_NOT_FOUND, create(&context, "default"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("XDG_RUNTIME_DIR is not set"));
  setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  LK_ASSERT_OK(create(&context, "default"));
  EXPECT_THAT(ask(folder.path() + "/latchkey/" + name), HasSubstr("latchkey-process-1"));
  struct stat info = {};
  ASSERT_EQ(stat((folder.path() + "/latchkey").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST_F(Serve, WhatTheEnvironmentAsksForMayFail) {
  std::string line;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.log = [](void *user, lk_log_level, const char *text) {
    *static_cast<std::string *>(user) += text;
  };
  options.log_user = &line;
  const int other = listen_at(path);
  setenv("LATCHKEY_SOCKET", path.c_str(), 1);
  Context context;
  LK_ASSERT_OK(api()->context_create(&options, context.out(), LK_ERR));
  EXPECT_THAT(line, HasSubstr("another process serves there"));
  close(other);
  Context second;
  LK_ASSERT_OK(api()->context_create(&options, second.out(), LK_ERR));
  EXPECT_THAT(ask(path), HasSubstr("latchkey-process-1"));
}

TEST_F(Serve, AChildDoesNotServeItsParentsSocket) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  const std::string parent = "\"pid\":" + std::to_string(getpid()) + ",";
  const pid_t child = fork();
  if (child == 0) {
    const bool is_parents = ask(path).find(parent) != std::string::npos;
    api()->context_destroy(*context.out());
    _exit(is_parents && access(path.c_str(), F_OK) == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(ask(path), HasSubstr(parent));
}

TEST_F(Serve, AChildMayServeAtAPlaceOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork";
#endif
  Context context;
  LK_ASSERT_OK(create(&context, path));
  const pid_t child = fork();
  if (child == 0) {
    Context own;
    const bool is_made = create(&own, path + "2") == LK_OK;
    const std::string pid = "\"pid\":" + std::to_string(getpid()) + ",";
    _exit(is_made && ask(path + "2").find(pid) != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Serve, ReportersComeAndGoWhileTheyAreAsked) {
  Context context;
  LK_ASSERT_OK(create(&context, path));
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&] {
      while (!ends) {
        auto one = std::make_unique<Told>(context, "{}");
        api()->reporter_enter(&one->reporter);
        api()->reporter_leave(&one->reporter);
        EXPECT_EQ(one->taken, one->released);
      }
    });
  }
  for (int i = 0; i < 100; i++) EXPECT_THAT(ask(path), HasSubstr("left_out"));
  ends = true;
  for (std::thread &thread : threads) thread.join();
}

} // namespace
