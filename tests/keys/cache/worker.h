// A thread of a test, for jobs one after another.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace lk {

// A thread that takes one job after another, and sleeps in between.
class Worker {
public:
  Worker() : thread_([this] { loop(); }) {}
  Worker(const Worker &) = delete;
  ~Worker() { end(); }

  void run(std::function<void()> job) {
    start(std::move(job));
    finish();
  }
  void start(std::function<void()> job) {
    std::lock_guard<std::mutex> guard(lock_);
    job_ = std::move(job);
    busy_ = true;
    changed_.notify_all();
  }
  void finish() {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this] { return !busy_; });
  }
  void end() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard<std::mutex> guard(lock_);
      ending_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

private:
  void loop() {
    std::unique_lock<std::mutex> guard(lock_);
    for (;;) {
      changed_.wait(guard, [this] { return busy_ || ending_; });
      if (!busy_) return;
      guard.unlock();
      job_();
      guard.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }
  std::mutex lock_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool busy_ = false, ending_ = false;
  std::thread thread_; // last: uses all of the above
};

} // namespace lk
