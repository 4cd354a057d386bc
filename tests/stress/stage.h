// A round of the stress test: one context, and what lives in it. It holds the driver's own simple
// model of what must hold: what lives, which limits were set last, how often something was asked
// for.
#pragma once

#include <atomic>
#include <mutex>
#include <set>

#include "tests/stress/pool.h"
#include "tests/stress/recycler.h"
#include "tests/stress/report.h"
#include "tests/stress/stand_alone.h"

namespace stress {

// As the text of a key shows it: of an executor, or of a thread in per-thread mode.
using Identity = std::string;
// A field of a key's text, "" when it is not there, which is how 0 is written.
std::string field_of(const std::string &key, const char *name);
Identity executor_of(const std::string &key);
Identity thread_of(const std::string &key);

struct Limits {
  uint64_t entries = LK_UNLIMITED, bytes = LK_UNLIMITED;
};

class Stage;

// An executor that the round knows: made and ended by its owner, who calls begin and end.
class KnownExecutor {
public:
  void begin(Stage *stage, lk_executor *executor);
  void before_end(); // while the executor is still there
  void after_end();
  lk_executor *get() const { return executor_; }
  const Identity &identity() const { return identity_; }

  // Sets limits of this executor; the last ones that were set.
  void limit(const Limits &limits);
  Limits limits();

private:
  Stage *stage_ = nullptr;
  lk_executor *executor_ = nullptr;
  Identity identity_;
  std::mutex mutex_; // so that the order of calls is known
  Limits limits_;
};

// A session that any thread may run, until the last one that has it lets go.
struct Session {
  struct Kind {
    bool run_plans;
    int32_t inter; // more than 0: of the parallel executor
  };
  Session(Stage *stage, std::shared_ptr<const PreparedModel> model, Kind kind);
  explicit Session(const Session *other); // a clone
  Session(const Session &) = delete;
  ~Session();

  Stage *const stage;
  const std::shared_ptr<const PreparedModel> model;
  const Kind kind;
  lk_session *const handle;
  KnownExecutor executor;
};

// An executor of nodes, as hosts have: a few places in graphs, main and nested, whose nodes are
// replaced now and then by others of the same name.
struct Host {
  static constexpr size_t kPlaces = 4;
  struct Place {
    const PreparedNode *node = nullptr;
    lk_op *op = nullptr;
    ~Place() { lk::api()->op_destroy(op); }
  };

  explicit Host(Stage *stage);
  Host(const Host &) = delete;
  ~Host();
  std::shared_ptr<Place> place(size_t index);
  // Another node at this place, with the same name and scope, as a new generation or the same one.
  void replace(size_t index, const PreparedNode &node, bool new_generation);
  // One that differs from that of the place in its position alone; the caller's.
  std::shared_ptr<Place> twin_of(size_t index);

  Stage *const stage;
  KnownExecutor executor;

private:
  lk_op *create(size_t index, const PreparedNode &node, uint32_t position);
  std::mutex mutex_; // guards all below
  std::shared_ptr<Place> places_[kPlaces];
  uint64_t generations_[kPlaces] = {};
};

using Models = std::vector<std::shared_ptr<const PreparedModel>>;

class Stage {
public:
  Stage(uint32_t mode, Engine engine, int32_t threads, uint32_t workers, bool recycles,
        const Models &models);
  Stage(const Stage &) = delete;
  ~Stage(); // ends all that lives, and checks that nothing is left

  lk_context *context() const { return context_; }
  bool per_thread() const { return mode_ == LK_CACHE_THREAD; }

  const uint32_t mode_;
  const Engine engine_;
  const int32_t threads_;
  const uint32_t workers_; // at a time
  const Models models_;
  Pool<Session> sessions;
  Pool<Host> hosts;
  // Look-ups that were made, failed ones included; of run plans at least, and how many more at
  // most.
  std::atomic<uint64_t> user_lookups{0}, run_lookups{0}, run_lookups_more{0};
  std::atomic<int64_t> user_values{0}; // alive

  Identity identity_of(lk_executor *executor); // of the calling thread, for NULL
  void executor_begins(const Identity &identity);
  void executor_ends(const Identity &identity);
  Identity thread_begins(bool is_new);         // new: it has been in no round before
  void thread_ended(const Identity &identity); // it has been joined

  // Of the context.
  void limit(const Limits &limits);

  lk_stats stats(lk_executor *executor = nullptr);
  // The keys of all entries that can be seen.
  struct Seen {
    std::string key;
    lk_entry_info info;
  };
  std::vector<Seen> visit();

  // What holds at any moment.
  void check_sums(lk_executor *executor = nullptr);
  void check_nothing_of(const Identity &executor);
  // What holds when no thread is in a call, and when no value of a host is held either.
  void check_at_rest(bool let_go);

private:
  void check_counters(const lk_stats &stats);
  void check_limits(const lk_stats &stats, const Limits &limits, const char *whose);
  void check_owners(const std::vector<Seen> &entries);

  Recycler recycler_; // first, so that it ends last
  const bool recycles_;
  lk_context *context_ = nullptr;
  std::mutex mutex_; // guards all below
  std::set<Identity> executors_, threads_alive_;
  Limits limits_;
};

} // namespace stress
