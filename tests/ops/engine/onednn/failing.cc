// Which call of oneDNN fails: the state that the calls of failing.h ask.
#include "tests/ops/engine/onednn/failing.h"

#include <latchkey/base.h>

#include <atomic>
#include <new>

namespace {

std::atomic<unsigned> left{0}; // 0: disarmed; 1: the next call fails
std::atomic<int> given{0};
std::atomic<const char *> name_of_failed{nullptr};
std::atomic<long> n_alive{0};

void arm(unsigned nth, int status) {
  given = status;
  name_of_failed = nullptr;
  left = nth;
}
const char *failed() {
  return name_of_failed;
}
long alive() {
  return n_alive;
}

} // namespace

extern "C" {

extern LK_EXPORT failing_calls failing;
failing_calls failing = {arm, failed, alive, nullptr};

int failing_takes(const char *name) {
  unsigned now = left;
  while (now != 0 && !left.compare_exchange_weak(now, now - 1)) {
  }
  if (now != 1) return 0;
  if (failing.before != nullptr) failing.before();
  name_of_failed = name;
  if (given == FAILING_THROWS) throw std::bad_alloc();
  return 1;
}

dnnl_status_t failing_status(void) {
  return static_cast<dnnl_status_t>(given.load());
}

dnnl_status_t failing_made(dnnl_status_t status) {
  if (status == dnnl_success) n_alive++;
  return status;
}

dnnl_status_t failing_ended(dnnl_status_t status) {
  if (status == dnnl_success) n_alive--;
  return status;
}
}
