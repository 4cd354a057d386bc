#include "tests/stress/worker.h"

namespace stress {

Worker::Worker(Stage *stage, uint64_t seed, bool inner)
    : stage_(stage), random_(static_cast<unsigned>(seed ^ seed >> 32)), inner_(inner),
      identity_(stage->thread_begins(!inner)) {}

Worker::~Worker() {
  let_go();
}

void Worker::let_go() {
  release_values(0);
  release_host();
}

void Worker::act() {
  const int64_t dice = random_.in(1, 100);
  if (dice <= 38 || stage_->sessions.size() == 0) {
    if (dice % 4 == 0 || stage_->sessions.size() < 3) {
      if (stage_->sessions.size() < 9) open_session();
    }
    run_sessions();
  } else if (dice <= 42) {
    close_session();
  } else if (dice <= 70) {
    if (dice % 8 == 0 || stage_->hosts.size() < 2) {
      if (stage_->hosts.size() < 6) make_host();
    }
    run_hosts();
  } else if (dice <= 73) {
    end_host();
  } else if (dice <= 90) {
    use_values();
  } else {
    control();
  }
}

} // namespace stress
