#include "tests/stress/crew.h"

#include <chrono>

namespace stress {
namespace {

using Clock = std::chrono::steady_clock;

// Of each place, in a round; fewer where they take longer, so that there are rounds of all modes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kActions = 150;
#else
constexpr uint64_t kActions = 400;
#endif
constexpr uint64_t kActionsToRest = 100;
uint64_t actions_of(const Stage &stage) {
  return stage.engine_ == kOnednn ? kActions / 2 : kActions; // primitives take long to build
}
constexpr std::chrono::seconds kStill(120);

} // namespace

uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b + 1;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

void Crew::run() {
  for (unsigned i = 0; i < places_.size(); i++) begin(i);
  uint64_t seen = 0;
  Clock::time_point moved = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (living_ > 0 || !ended_.empty()) {
    changed_.wait_for(lock, std::chrono::seconds(1), [this] { return can_go_on(); });
    std::vector<unsigned> ended;
    ended.swap(ended_);
    if (ended.empty() && rests_ != 0 && resting_ == living_) {
      stage_->check_at_rest(rests_ == 2); // with the lock: all others wait
      rests_ = 0;
      resting_ = 0;
      rests_ended_++;
      changed_.notify_all();
    }
    lock.unlock();
    for (unsigned i : ended) follow(i);
    const uint64_t now = actions_.load(std::memory_order_relaxed);
    if (now != seen || !ended.empty()) moved = Clock::now();
    seen = now;
    STRESS_CHECK(Clock::now() - moved < kStill, "no thread has got on for %lld seconds",
                 static_cast<long long>(kStill.count()));
    lock.lock();
  }
}

void Crew::begin(unsigned index) {
  Place &place = places_[index];
  const uint64_t seed = mixed(mixed(mixed(seed_, round_), index), place.life);
  const uint64_t count = std::min(actions_of(*stage_) - place.actions, 10 + seed % 140);
  const unsigned life = place.life++;
  place.actions += count;
  lives_++;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    living_++;
  }
  place.thread = std::thread([this, index, seed, count, life] {
    note_worker(round_, index, life);
    {
      Worker worker(stage_, seed);
      places_[index].identity = worker.identity();
      for (uint64_t i = 0; i < count; i++) {
        rest(&worker);
        worker.act();
        const uint64_t before = actions_.fetch_add(1, std::memory_order_relaxed);
        if (before % kActionsToRest == 0) rests_ = before / kActionsToRest % 2 + 1;
      }
    }
    note_end();
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_.push_back(index);
    living_--;
    changed_.notify_all();
  });
}

void Crew::follow(unsigned index) {
  places_[index].thread.join();
  stage_->thread_ended(places_[index].identity);
  if (places_[index].actions < actions_of(*stage_)) begin(index);
}

void Crew::rest(Worker *worker) {
  const unsigned kind = rests_.load(std::memory_order_relaxed);
  if (kind == 0) return;
  if (kind == 2) worker->let_go();
  std::unique_lock<std::mutex> lock(mutex_);
  resting_++;
  changed_.notify_all();
  // Not until rests_ is 0: it may be set again before a slow thread wakes, which would then rest
  // through a rest for which it has let go of nothing.
  const uint64_t mine = rests_ended_;
  changed_.wait(lock, [this, mine] { return rests_ended_ != mine; });
}

} // namespace stress
