// The threads of a round: each does some of its place's actions and is followed by another thread.
// Now and then all are held outside of calls, and what must hold at rest is checked.
#pragma once

#include <condition_variable>
#include <thread>

#include "tests/stress/worker.h"

namespace stress {

// Two numbers as one that looks random.
uint64_t mixed(uint64_t a, uint64_t b);

class Crew {
public:
  Crew(Stage *stage, uint64_t round, uint64_t seed, unsigned count)
      : stage_(stage), round_(round), seed_(seed), places_(count) {}

  void run();
  uint64_t actions() const { return actions_; }
  uint64_t lives() const { return lives_; }

private:
  struct Place {
    std::thread thread;
    Identity identity;
    uint64_t actions = 0;
    unsigned life = 0;
  };

  void begin(unsigned index);
  void follow(unsigned index); // the thread has ended; another one takes its place
  void rest(Worker *worker);   // waits when all are to be outside of calls for a moment
  bool can_go_on() const { return !ended_.empty() || (rests_ != 0 && resting_ == living_); }

  Stage *const stage_;
  const uint64_t round_, seed_;
  std::vector<Place> places_;
  std::atomic<uint64_t> actions_{0};
  // 1: all are to rest, 2: and let go of all they have; ended under the lock.
  std::atomic<unsigned> rests_{0};
  uint64_t lives_ = 0;
  std::mutex mutex_; // guards all below
  std::condition_variable changed_;
  std::vector<unsigned> ended_;
  size_t living_ = 0, resting_ = 0;
  uint64_t rests_ended_ = 0;
};

} // namespace stress
