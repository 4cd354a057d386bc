// The socket of a process, with one call of the C library or of the system failing at a time: the
// context is refused with a sentence, or a client gets no answer once, and the next one gets it.
#ifdef LK_TEST_FAULTS
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "tests/faults/case.h"
#include "tests/harness/folder.h"

namespace {

using namespace lk::faults;

const lk_api *api() {
  return lk_get_api(LK_API_VERSION);
}

// A client's own calls do not fail: it takes no memory, and calls the system past the C library.
void ask(const std::string &path, char (&answer)[4096]) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
  const long file = syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
  size_t length = 0;
  if (syscall(SYS_connect, file, &address, sizeof address) == 0) {
    syscall(SYS_sendto, file, "statistics 1\n", 13, MSG_NOSIGNAL, nullptr, 0);
    for (long got = 1; got > 0 && length < sizeof answer - 1; length += size_t(got)) {
      got = std::max(0L, syscall(SYS_read, file, answer + length, sizeof answer - 1 - length));
    }
  }
  answer[length] = '\0';
  syscall(SYS_close, file);
}

char *make_report(void *) {
  static char text[] = "{}";
  return text;
}

void live(Case &at, const std::string &path) {
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.socket = path.c_str();
  lk_context *context = nullptr;
  at.arm();
  at.step(
      "context_create",
      [&](lk_error *error) { return api()->context_create(&options, &context, error); },
      [&] {
        if (context != nullptr) at.complain("a context that failed");
      });
  lk_reporter reporter = {};
  reporter.context = context;
  reporter.make = make_report;
  reporter.release = [](void *, char *) {};
  at.call("reporter_enter", [&] { api()->reporter_enter(&reporter); });
  at.step("ask", [&](lk_error *error) {
    char answer[4096];
    ask(path, answer);
    if (strstr(answer, "\"report\":{}}],\"left_out\":0") != nullptr) return LK_OK;
    if (answer[0] != '\0') at.complain("half an answer: %s", answer);
    error->status = LK_IO;
    snprintf(error->message, sizeof error->message, "closed without an answer");
    return LK_IO;
  });
  at.call("reporter_leave", [&] { api()->reporter_leave(&reporter); });
  at.call("context_destroy", [&] { api()->context_destroy(context); });
  unlink(path.c_str()); // what is left where nobody could look whose it is
}

TEST(ServeFaults, EveryCallFailsOnce) {
  const lk::Folder folder;
  const std::string path = folder.path() + "/s";
  const Scenario scenario = [&](Case &at) { live(at, path); };
  const Outcome without = run_case(scenario, {});
  ASSERT_STREQ(without.complaint, "") << without.now;
  Tally tally;
  for (int kind = 0; kind < FAULT_N_KINDS; kind++) {
    tally.try_each(scenario, fault_kind(kind), false, without);
  }
  tally.print();
  for (fault_kind kind :
       {FAULT_MEMORY, FAULT_THREAD, FAULT_SOCKET, FAULT_BIND, FAULT_LISTEN, FAULT_EVENT, FAULT_PEER,
        FAULT_SEND, FAULT_READ, FAULT_MODE, FAULT_STREAM_MEMORY, FAULT_LINK_STATUS}) {
    EXPECT_GT(tally.told[kind], 0u) << fault_kind_name(kind);
  }
  for (fault_kind kind : {FAULT_ACCEPT, FAULT_POLL}) { // it rests, and goes on
    EXPECT_GT(tally.points[kind], 0u) << fault_kind_name(kind);
  }
  for (fault_kind kind : {FAULT_READ_INTERRUPTED, FAULT_READ_SHORT}) { // it reads on
    EXPECT_GT(tally.points[kind], 0u) << fault_kind_name(kind);
    EXPECT_EQ(tally.told[kind], 0u) << fault_kind_name(kind);
  }
}

} // namespace

#else
#include <gtest/gtest.h>

TEST(ServeFaults, EveryCallFailsOnce) {
  GTEST_SKIP() << "the sanitizer has functions of its own in front of the C library's";
}
#endif
