// One fault in one process: what a scenario calls, and what must hold after a call that failed.
#pragma once

#include <dirent.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <functional>

#include "tests/faults/faults.h"
#include "tests/harness/lk_test.h"

namespace lk::faults {

inline long open_files() {
  DIR *folder = opendir("/proc/self/fd");
  long n = 0;
  while (readdir(folder) != nullptr) n++;
  closedir(folder);
  return n;
}

// What a case leaves in memory that its parent reads. Texts of a fixed size: it must not be lost
// when the case crashes.
struct Outcome {
  size_t calls, failures; // of the fault's kind; of the library's functions
  bool fired, is_complete;
  fault_live live; // after all has been closed
  long files;
  char step[64]; // the newest, until one met the fault
  char now[64];  // the newest
  char complaint[768];
};

struct Fault {
  fault_kind kind = FAULT_MEMORY;
  size_t nth = 0; // 0: never
  bool on = false;
  long files = LONG_MAX; // that are open at the end without a fault
};

// A process of its own for each fault: what the library does once in a process may fail as well,
// and a crash is one failure among others.
class Case {
public:
  Case(Outcome *outcome, const Fault &fault)
      : outcome_(outcome), fault_(fault), before_(fault_live_get()) {}

  bool has_met(fault_kind kind) const { return fault_has_fired() && fault_.kind == kind; }

  // From here on calls fail. Not always from the beginning.
  void arm() { fault_arm(fault_.kind, fault_.nth, fault_.on); }

  [[noreturn]] __attribute__((format(printf, 2, 3))) void complain(const char *format, ...) {
    fault_disarm();
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(outcome_->complaint, sizeof outcome_->complaint, format, arguments);
    va_end(arguments);
    _exit(1);
  }

  // A call that may fail if a fault is met in it: then with a status and a sentence, and it works
  // when it is made again. `check` looks at what a failed call has left.
  template <typename Call, typename Check> void step(const char *name, Call call, Check check) {
    const bool fired_before = fault_has_fired();
    snprintf(outcome_->now, sizeof outcome_->now, "%s", name);
    if (!fired_before) snprintf(outcome_->step, sizeof outcome_->step, "%s", name);
    lk_error error = {};
    fault_resume();
    lk_status status = call(&error);
    fault_pause();
    const bool fires = fault_has_fired() && !fired_before;
    if (fires) outcome_->calls = fault_disarm();
    if (status == LK_OK) return;
    outcome_->failures++;
    if (!fires) complain("failed without a fault: %s", error.message);
    if (error.status != status || error.message[0] == '\0') {
      complain("status %d, but its error says %d: '%s'", int(status), int(error.status),
               error.message);
    }
    check();
    lk_error again = {};
    status = call(&again);
    if (status != LK_OK) {
      complain("fails again: %s; at first it was: %s", again.message, error.message);
    }
  }
  template <typename Call> void step(const char *name, Call call) {
    step(name, call, [] {});
  }
  // A call that has no status.
  template <typename Call> void call(const char *name, Call call) {
    step(name, [&](lk_error *) { return call(), LK_OK; });
  }

  // The first one that comes here tells, which may be a child of the case.
  void finish() {
    if (outcome_->is_complete) return;
    if (!fault_has_fired()) outcome_->calls = fault_disarm();
    outcome_->fired = fault_has_fired();
    outcome_->live = fault_live_get();
    outcome_->live.blocks -= before_.blocks; // those of the test
    outcome_->live.maps -= before_.maps;
    outcome_->files = files_at_the_end();
    outcome_->is_complete = true;
  }

private:
  // The fewest of several counts: a thread's first malloc reads from a file how many processors
  // there are, which may be just now, for as long as the thread does not get one.
  long files_at_the_end() const {
    const bool is_known = fault_.files != LONG_MAX;
    long fewest = open_files();
    for (int i = 0; i < (is_known ? 60000 : 50) && (!is_known || fewest > fault_.files); i++) {
      usleep(1000);
      fewest = std::min(fewest, open_files());
    }
    return fewest;
  }

  Outcome *outcome_;
  Fault fault_;
  fault_live before_;
};

using Scenario = std::function<void(Case &)>;

inline Outcome run_case(const Scenario &scenario, const Fault &fault) {
  static Outcome *const shared = static_cast<Outcome *>(
      mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *shared = {};
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60); // a case takes milliseconds: one that waits for ever must end
    Case it(shared, fault);
    scenario(it);
    it.finish();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  if (WIFSIGNALED(status)) {
    snprintf(shared->complaint, sizeof shared->complaint, "signal %s", strsignal(WTERMSIG(status)));
  } else if (!shared->is_complete && shared->complaint[0] == '\0') {
    snprintf(shared->complaint, sizeof shared->complaint, "ended within a step");
  }
  return *shared;
}

// How many points were tried, and at how many of them a call has failed.
struct Tally {
  size_t points[FAULT_N_KINDS] = {}, told[FAULT_N_KINDS] = {};

  // The nth call, for every n. `without`: what there is without a fault.
  void try_each(const Scenario &scenario, fault_kind kind, bool on, const Outcome &without) {
    for (size_t nth = 1; complaints_ < 20; nth++) {
      const Outcome it = run_case(scenario, {kind, nth, on, without.files});
      const std::string where = std::string(fault_kind_name(kind)) + " " + std::to_string(nth) +
                                (on ? " and on" : "") + ", in " + it.step;
      const long blocks = counts_blocks ? it.live.blocks - without.live.blocks : 0;
      const long maps = it.live.maps - without.live.maps, files = it.files - without.files;
      if (it.complaint[0] != '\0') {
        ADD_FAILURE() << where << ": " << it.now << ": " << it.complaint;
        complaints_++;
      } else if (blocks != 0 || maps != 0 || files != 0) {
        ADD_FAILURE() << where << " leaves blocks: " << blocks << ", bytes of maps: " << maps
                      << ", files: " << files;
        complaints_++;
      }
      if (!it.fired && it.is_complete) break;
      points[kind]++;
      told[kind] += it.failures > 0;
    }
  }

  void print() const {
    for (int kind = 0; kind < FAULT_N_KINDS; kind++) {
      if (points[kind] == 0) continue;
      printf("%-20s %6zu points, of which %zu were told\n", fault_kind_name(fault_kind(kind)),
             points[kind], told[kind]);
    }
  }

  bool counts_blocks = true; // not where a host keeps some of its own

private:
  int complaints_ = 0;
};

} // namespace lk::faults
