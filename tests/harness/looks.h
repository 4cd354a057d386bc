// Whether what computes for long looks again and again whether to stop.
//
// The most that it computes between two looks is not most of the whole, which larger sizes would
// make longer, and no more than LK_TEST_BOUNDED_MS. That limit is five times the 50 ms that are
// promised: an hour on a shared processor may be slower than the hour before. `make nightly` sets
// the 50 ms. Nor is more computed after a look that says that it is not wanted. Computing is
// counted in time of the processor, in which other programs have no part; what is seen once must be
// seen three times to be a fault. A test that includes this is linked with --wrap=lk_stop_look, and
// is not built for sanitizers, which make any kernel slow.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/harness/environment.h"
#include "tests/harness/lk_test.h"
#include "tests/harness/wait.h"

extern "C" {
#include "base/stop.h"

int __real_lk_stop_look(lk_stop *stop);
int __wrap_lk_stop_look(lk_stop *stop);
}

namespace lk::bounded {

// What a thread has computed between two looks.
struct Looks {
  static constexpr uint64_t ENOUGH_NS = 800000000; // more of the same is no news
  volatile int32_t cancel = 0;
  uint64_t begin_ns = 0, last_ns = 0, most_ns = 0, end_ns = 0, stopped_ns = 0;
  int count = 0, last = 0; // it is cancelled at that one; 0: none
  pthread_t thread = {};   // whose looks count

  void begin() {
    thread = pthread_self();
    most_ns = end_ns = stopped_ns = 0;
    cancel = count = 0;
    begin_ns = last_ns = lk::computed_ns(pthread_self());
  }
  void note() {
    const uint64_t now = lk::computed_ns(pthread_self());
    most_ns = std::max(most_ns, now - last_ns);
    last_ns = now;
  }
  void forget() { last_ns = lk::computed_ns(pthread_self()); }
  void look() {
    if (pthread_equal(thread, pthread_self()) == 0) return;
    note();
    count++;
    if (cancel == 0 && (count == last || last_ns - begin_ns > ENOUGH_NS)) {
      cancel = 1;
      stopped_ns = last_ns;
    }
  }
  void end() {
    note();
    end_ns = last_ns;
  }
  uint64_t all_ns() const { return end_ns - begin_ns; }
  uint64_t after_ns() const { return cancel == 0 ? 0 : end_ns - stopped_ns; }
};
inline Looks looks;

// A whole that takes less says nothing.
constexpr uint64_t LEAST_NS = 25000000;
// What may lie between two looks: this part of the whole, and LK_TEST_BOUNDED_MS.
constexpr double MOST_PART = 0.45;

class BoundedBase : public ::testing::Test {
protected:
  // The most between two looks, and what is computed after one of them said to stop: in parts of
  // what is allowed, least of some runs. `run` computes, and says false where it could not. True:
  // it did. It is stopped after so many eighths of its looks.
  bool check(const std::string &what, const std::function<bool()> &run,
             const std::vector<int> &eighths = {3}) {
    SCOPED_TRACE(what);
    looks.last = 0;
    uint64_t all = 0;
    double least = 1e9;
    for (int i = 0; i < 3 && least > 1; i++) {
      if (!run()) return false;
      if (looks.all_ns() < LEAST_NS) return true;
      all = looks.all_ns();
      least = std::min(least, double(looks.most_ns) / allowed(all));
    }
    n_long++;
    if (std::getenv("LK_TEST_BOUNDED_SHOW") != nullptr) {
      std::printf("  %8.1f ms %8.1f ms %6d  %s\n", double(all) / 1e6, double(looks.most_ns) / 1e6,
                  looks.count, what.c_str());
      std::fflush(stdout);
    }
    EXPECT_LE(least, 1) << looks.most_ns / 1000 << " us of " << all / 1000 << " us between two of "
                        << looks.count << " looks";
    const int count = looks.count;
    for (int part : eighths) check_stop(run, std::max(count * part / 8, 1), count, all);
    return true;
  }
  void check_stop(const std::function<bool()> &run, int last, int count, uint64_t all) {
    double least = 1e9;
    looks.last = last;
    for (int i = 0; i < 3 && least > 1 && run(); i++) {
      least = std::min(least, double(looks.after_ns()) / allowed(all));
    }
    EXPECT_LE(least, 1) << looks.after_ns() / 1000 << " us of " << all / 1000 << " us after look "
                        << last << " of " << count;
  }
  static double allowed(uint64_t all_ns) {
    static const double most_ns = 1e6 * number_of_variable("LK_TEST_BOUNDED_MS", 250);
    return std::min(most_ns, MOST_PART * double(all_ns));
  }
  int n_long = 0;
};

} // namespace lk::bounded

int __wrap_lk_stop_look(lk_stop *stop) {
  lk::bounded::looks.look();
  return __real_lk_stop_look(stop);
}
