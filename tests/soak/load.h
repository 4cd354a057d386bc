// The load of the soak: two contexts, the sessions in them, and threads that do at random what
// hosts do to sessions. Every output must have the bits of a run by itself
// (tests/stress/stand_alone.h).
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "tests/soak/figures.h"
#include "tests/stress/pool.h"
#include "tests/stress/report.h"
#include "tests/stress/stand_alone.h"

namespace soak {

using stress::PreparedModel;
using stress::Random;

// Models of the soak, each in memory and in a file.
class Models {
public:
  explicit Models(uint64_t seed);
  Models(const Models &) = delete;
  ~Models(); // removes the files

  struct Each {
    std::shared_ptr<const PreparedModel> model;
    std::string path;
  };
  const std::vector<Each> &all() const { return all_; }

private:
  std::string folder_;
  std::vector<Each> all_;
};

struct Counts {
  std::atomic<uint64_t> requests{0}, refused{0}, stopped{0}, opened{0}, closed{0}, forks{0},
      threads{0}, contexts{0};
};

// A context, and how its memory is limited.
class Home {
public:
  Home(const lk_context_options &options, Counts *counts);
  Home(const Home &) = delete;
  ~Home();

  lk_context *context() const { return context_; }
  Counts *counts() const { return counts_; }

  // While `body` runs, the context may hold `more` bytes beyond what it holds now, or as many less.
  // False: another thread limits it already.
  template <typename Body> bool limited(int64_t more, const Body &body) {
    const std::unique_lock<std::mutex> lock(limiting_, std::try_to_lock);
    if (!lock) return false;
    const int64_t now = static_cast<int64_t>(stats().memory_bytes);
    began_++;
    set_limit(static_cast<uint64_t>(std::max<int64_t>(now + more, 1)));
    body();
    set_limit(LK_UNLIMITED);
    ended_++;
    return true;
  }
  // A call may be refused when a limit was in force at any time in it.
  class Call {
  public:
    explicit Call(const Home &home) : home_(home), ended_(home.ended_) {}
    bool may_be_refused() const { return home_.began_ != ended_; }

  private:
    const Home &home_;
    const uint64_t ended_;
  };

  lk_stats stats() const;
  void limit_cache(uint64_t entries, uint64_t bytes, uint64_t weights);
  // As it was made, with nothing in its cache.
  void settle();

private:
  void set_limit(uint64_t bytes);

  lk_context *context_ = nullptr;
  Counts *const counts_;
  std::mutex limiting_;
  std::atomic<uint64_t> began_{0}, ended_{0};
};

// A session that any thread may run, until the last one that has it lets go.
class Session {
public:
  enum class From { kFile, kCopiedFile, kMemory };
  // NULL: refused for want of memory, which is counted.
  static std::shared_ptr<Session> open(Home *home, const Models::Each &model, From from,
                                       int32_t inter, uint32_t max_runs);
  std::shared_ptr<Session> clone() const;
  // `bytes`: of a model in memory, which stay as long as it and its clones; or null.
  Session(Home *home, std::shared_ptr<const PreparedModel> model,
          std::shared_ptr<const std::string> bytes, lk_session *handle);
  Session(const Session &) = delete;
  ~Session();

  Home *const home;
  const std::shared_ptr<const PreparedModel> model;
  const std::shared_ptr<const std::string> bytes;
  lk_session *const handle;
};

class Load {
public:
  Load(const Models *models, uint64_t seed, unsigned threads);
  Load(const Load &) = delete;

  // Threads come and go for so many seconds; when this returns, none is there.
  void work(double seconds);
  // Ends what `work` has left but the standing sessions, one of each model and context.
  void settle();
  Figures figures() const;
  const Counts &counts() const { return counts_; }

private:
  friend class Worker;
  static constexpr size_t kMostOpen = 12;

  const Models &models_;
  const uint64_t seed_;
  const unsigned places_;
  Counts counts_;
  std::array<std::unique_ptr<Home>, 2> homes_; // one cache for all threads, one for each
  std::vector<std::shared_ptr<Session>> standing_;
  stress::Pool<Session> sessions_;
  std::atomic<uint64_t> lives_{0};
  std::atomic<bool> ends_{false};
  std::array<std::atomic<int32_t>, 64> cancels_{}; // of the threads, by place
};

} // namespace soak
